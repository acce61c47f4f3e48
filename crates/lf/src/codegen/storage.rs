//! The storage of variables of LF in the machine's state, and the code that accesses them.
//!
//! The machine has numbers and arrays of numbers. A variable of LF becomes one of these for each
//! *leaf*: each path from the variable through fields of records to numbers. The arrays on the path
//! are dimensions of the leaf, so an element is found by one index computed from all of them.
//!
//! A *frame* holds the variables of one process of LF inside a process of the machine: those of the
//! process itself, or of one that it calls. The variables of a recursive process have one more
//! dimension, the depth of the call.

use super::{Generator, Kind, machine_type, new_local};
use crate::limits::CALL_DEPTH;
use crate::tree::{self, Step};
use bytecode::{GlobalId, LocalId, Op, ProcessId, Shown, Type, Variable};
use std::collections::HashMap;
use std::rc::Rc;

/// A leaf of a type: the fields that lead to it, the lengths of the arrays on the path, the type.
#[derive(Clone, Debug)]
pub(crate) struct Leaf {
    pub path: Vec<usize>,
    pub dimensions: Vec<u32>,
    pub ty: tree::Type,
    pub name: String,
}

/// The leaves of a type.
pub(crate) fn leaves_of(program: &tree::Program, ty: &tree::Type) -> Vec<Leaf> {
    match ty {
        tree::Type::Array(length, element) => {
            let mut leaves = leaves_of(program, element);
            leaves.iter_mut().for_each(|leaf| leaf.dimensions.insert(0, *length));
            leaves
        }
        tree::Type::Record(number) => {
            let mut all = Vec::new();
            for (position, (name, ty)) in program.records[*number].fields.iter().enumerate() {
                for mut leaf in leaves_of(program, ty) {
                    leaf.path.insert(0, position);
                    leaf.name = format!(".{name}{}", leaf.name);
                    all.push(leaf);
                }
            }
            all
        }
        scalar => vec![Leaf { path: Vec::new(), dimensions: Vec::new(), ty: scalar.clone(), name: String::new() }],
    }
}

/// A variable of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Cell {
    Global(GlobalId),
    Local(LocalId),
}

/// The storage of a variable: in the globals of the state or in a process of a kind.
#[derive(Clone, Debug)]
pub(crate) struct Home {
    pub leaves: Rc<Vec<(Leaf, Cell)>>,
    /// The kind that has these locals; `None` for globals.
    pub kind: Option<usize>,
}

/// The variable to which a parameter by reference is bound.
#[derive(Clone, Debug)]
pub(crate) struct Binding {
    home: Home,
    path: Vec<usize>,
    /// The local with the number of the process that has the variable, if it is another process.
    process: Option<LocalId>,
    /// The cell with the part of the index that has been computed, if there is one, and its frame.
    base: Option<(Cell, usize)>,
    /// The number of dimensions that this index covers.
    used: usize,
}

/// The part of a binding on which code depends.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Shape {
    kind: Option<usize>,
    first: Cell,
    path: Vec<usize>,
    indexed: bool,
    used: usize,
}

/// The part of a frame that distinguishes it from other frames of the process.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct FrameKey {
    pub parent: Option<usize>,
    pub shapes: Vec<Shape>,
}

/// The variables of a process of LF inside a process of the machine.
pub(crate) struct Frame {
    pub process: usize,
    pub kind: usize,
    pub parent: Option<usize>,
    pub homes: HashMap<usize, Home>,
    pub bindings: HashMap<usize, Binding>,
    /// For a recursive process that is called: the local that holds the depth of the call.
    pub depth: Option<LocalId>,
    /// For such a process: the local that holds the return position of each call.
    pub returns: Option<LocalId>,
}

/// A place that code accesses.
#[derive(Clone)]
pub(crate) struct Spot {
    home: Home,
    path: Vec<usize>,
    indices: Vec<Index>,
    /// The local that holds the number of the process, for a parameter by reference.
    process: Option<LocalId>,
    /// The number of dimensions that an earlier computed index covers.
    used: usize,
}

/// A part of an index.
#[derive(Clone)]
enum Index {
    /// The depth of a recursive call.
    Depth(LocalId),
    /// An index computed before; the cell belongs to a frame.
    Base(Cell, Option<LocalId>),
    /// An index that the program computes.
    Expression(tree::Expression, u32, usize),
}

impl Spot {
    /// Whether it is in a process.
    pub(super) fn is_of_process(&self) -> bool {
        self.home.kind.is_some()
    }

    /// Whether it is accessed by an index.
    pub(super) fn is_indexed(&self) -> bool {
        !self.indices.is_empty()
    }
}

impl Generator<'_> {
    /// Makes variables of modules globals. Variables with the same address are one global.
    pub(super) fn declare_globals(&mut self) {
        let mut by_address: HashMap<i32, (Home, tree::Type)> = HashMap::new();
        for (id, variable) in self.program.variables.iter().enumerate().filter(|(_, variable)| variable.owner.is_none()) {
            if let Some(address) = variable.address
                && let Some((home, ty)) = by_address.get(&address)
            {
                if *ty != variable.ty {
                    let message = format!("another variable at the address {address} has another type");
                    self.fail(variable.span, message, "variables at one address are one variable");
                }
                self.global_homes.insert(id, home.clone());
                continue;
            }
            let mut leaves = Vec::new();
            for leaf in leaves_of(self.program, &variable.ty) {
                let (ty, shown) = machine_type(&leaf.ty);
                let mut name = format!("{}{}", variable.name, leaf.name);
                while self.globals.iter().any(|known| known.name == name) {
                    name.push('\'');
                }
                let length = length_of(&leaf.dimensions);
                let cell = Cell::Global(GlobalId::new(self.globals.len()).unwrap_or_default());
                self.globals.push(Variable { name, ty, length, init: Vec::new(), shown, scratch: false });
                leaves.push((leaf, cell));
            }
            let home = Home { leaves: Rc::new(leaves), kind: None };
            if let Some(address) = variable.address {
                by_address.insert(address, (home.clone(), variable.ty.clone()));
            }
            self.global_homes.insert(id, home);
        }
        if self.globals.len() > 60_000 {
            self.fail(source::Span::default(), "the program has too many variables", "records in arrays are one variable a field");
        }
    }

    /// A frame with room for the variables of a process. Parameters come first, so that a created
    /// process gets them.
    pub(super) fn new_frame(&mut self, process: usize, kind: usize, parent: Option<usize>, called: bool) -> usize {
        let declared = &self.program.processes[process];
        let recursive = called && self.recursive[process];
        // A recursive process has one set of variables in a kind, whatever its parameters are bound
        // to: it may pass them to itself by reference.
        // The frame of a process that was created, and calls itself, has another.
        let same =
            |frame: &&Frame| recursive && frame.depth.is_some() && frame.process == process && frame.kind == kind && frame.parent == parent;
        if let Some(Frame { homes, depth, returns, .. }) = self.frames.iter().find(same) {
            let (homes, depth, returns) = (homes.clone(), *depth, *returns);
            self.frames.push(Frame { process, kind, parent, homes, bindings: HashMap::new(), depth, returns });
            return self.frames.len() - 1;
        }
        let prefix = if called { format!("{}.", declared.name) } else { String::new() };
        let mut homes = HashMap::new();
        let own: Vec<usize> = declared.variables.iter().copied().filter(|id| !self.program.variables[*id].reference).collect();
        let is_number = |id: &usize| declared.parameters.contains(id) && self.program.variables[*id].ty.is_scalar();
        let (first, rest): (Vec<usize>, Vec<usize>) = own.into_iter().partition(is_number);
        for id in first.into_iter().chain(rest) {
            let variable = &self.program.variables[id];
            let mut leaves = Vec::new();
            for mut leaf in leaves_of(self.program, &variable.ty) {
                if recursive {
                    leaf.dimensions.insert(0, CALL_DEPTH);
                }
                let (ty, shown) = machine_type(&leaf.ty);
                let name = format!("{prefix}{}{}", variable.name, leaf.name);
                let local = new_local(&mut self.kinds[kind], &name, ty, length_of(&leaf.dimensions), shown);
                leaves.push((leaf, Cell::Local(local)));
            }
            homes.insert(id, Home { leaves: Rc::new(leaves), kind: Some(kind) });
        }
        let mut more = |name: &str, length: Option<u32>| {
            let name = format!("{}.{name}", declared.name);
            recursive.then(|| new_local(&mut self.kinds[kind], &name, Type::Byte, length, Shown::Hidden))
        };
        let (depth, returns) = (more("depth", None), more("return", Some(CALL_DEPTH)));
        self.frames.push(Frame { process, kind, parent, homes, bindings: HashMap::new(), depth, returns });
        self.frames.len() - 1
    }

    /// A kind for a process that is created: its frame, and parameters for the variables outside
    /// it.
    pub(super) fn new_kind(&mut self, process: usize, key: FrameKey, parent: Option<usize>) -> usize {
        let number = self.kinds.len();
        let mut name = self.program.processes[process].name.clone();
        let mut copy = 2;
        while self.kinds.iter().any(|kind| kind.name == name) {
            name = format!("{}'{copy}", self.program.processes[process].name);
            copy += 1;
        }
        self.kinds.push(Kind {
            name,
            frame: 0,
            params: 0,
            locals: Vec::new(),
            outer: Vec::new(),
            carried: Vec::new(),
            hidden: HashMap::new(),
        });
        self.kind_index.insert((process, key.clone()), number);
        let frame = self.new_frame(process, number, parent, false);
        let parameters = &self.program.processes[process].parameters;
        let is_number = |id: &&usize| !self.program.variables[**id].reference && self.program.variables[**id].ty.is_scalar();
        let values = parameters.iter().filter(is_number).count();
        let mut params = values;
        // Locals that are not parameters must come after all parameters.
        let rest = self.kinds[number].locals.split_off(values);
        let references = parameters.iter().filter(|id| self.program.variables[**id].reference);
        for (id, shape) in references.zip(&key.shapes) {
            let name = &self.program.variables[*id].name;
            let kind = &mut self.kinds[number];
            let mut hidden = |what: &str, ty| new_local(kind, &format!("{name}.{what}"), ty, None, Shown::Hidden);
            let process = shape.kind.map(|_| hidden("process", Type::Byte));
            let base = shape.indexed.then(|| hidden("index", Type::Int));
            params += usize::from(process.is_some()) + usize::from(base.is_some());
            let home = self.home_of_shape(shape);
            let base = base.map(|local| (Cell::Local(local), frame));
            self.frames[frame].bindings.insert(*id, Binding { home, path: shape.path.clone(), process, base, used: shape.used });
        }
        for kind in self.outer_kinds(parent) {
            let local = new_local(&mut self.kinds[number], &format!("outer{kind}"), Type::Byte, None, Shown::Hidden);
            self.kinds[number].outer.push((kind, local));
            params += 1;
        }
        for id in self.composite_values(process) {
            let variable = &self.program.variables[id];
            for leaf in leaves_of(self.program, &variable.ty) {
                for element in 0..length_of(&leaf.dimensions).unwrap_or(1) {
                    let name = format!("{}{}.{element}", variable.name, leaf.name);
                    let local = new_local(&mut self.kinds[number], &name, machine_type(&leaf.ty).0, None, Shown::Hidden);
                    self.kinds[number].carried.push(local);
                    params += 1;
                }
            }
        }
        let added = self.kinds[number].locals.len() - values;
        self.kinds[number].locals.extend(rest);
        for home in self.frames[frame].homes.values_mut() {
            for (_, cell) in Rc::make_mut(&mut home.leaves).iter_mut() {
                if let Cell::Local(local) = cell
                    && local.index() >= values
                {
                    *local = LocalId::new(local.index() + added).unwrap_or_default();
                }
            }
        }
        self.kinds[number].frame = frame;
        self.kinds[number].params = u16::try_from(params).unwrap_or(u16::MAX);
        number
    }

    /// The kinds of the processes around a frame, without repetition.
    pub(super) fn outer_kinds(&self, mut frame: Option<usize>) -> Vec<usize> {
        let mut kinds = Vec::new();
        while let Some(number) = frame {
            let kind = self.frames[number].kind;
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
            frame = self.frames[number].parent;
        }
        kinds
    }

    fn home_of_shape(&self, shape: &Shape) -> Home {
        let homes = self.global_homes.values().chain(self.frames.iter().flat_map(|frame| frame.homes.values()));
        let mut found = homes.filter(|home| home.kind == shape.kind && home.leaves.first().is_some_and(|leaf| leaf.1 == shape.first));
        found.next().cloned().unwrap_or(Home { leaves: Rc::new(Vec::new()), kind: None })
    }

    /// The spot of a place of the program, seen from a frame.
    pub(super) fn spot(&self, place: &tree::Place, frame: usize) -> Spot {
        let variable = &self.program.variables[place.variable];
        let mut spot = match variable.owner {
            None => {
                let home = self.global_homes.get(&place.variable).cloned();
                let home = home.unwrap_or(Home { leaves: Rc::new(Vec::new()), kind: None });
                Spot { home, path: Vec::new(), indices: Vec::new(), process: None, used: 0 }
            }
            Some(owner) => {
                let mut at = Some(frame);
                while let Some(number) = at.filter(|number| self.frames.get(*number).is_some_and(|frame| frame.process != owner)) {
                    at = self.frames[number].parent;
                }
                match at.and_then(|number| self.frames.get(number)) {
                    Some(found) => match found.bindings.get(&place.variable) {
                        Some(binding) => {
                            let depth = |frame: usize| self.frames[frame].depth;
                            let indices = binding.base.iter().map(|(cell, frame)| Index::Base(*cell, depth(*frame))).collect();
                            Spot {
                                home: binding.home.clone(),
                                path: binding.path.clone(),
                                indices,
                                process: binding.process,
                                used: binding.used,
                            }
                        }
                        None => {
                            let home = found.homes.get(&place.variable).cloned();
                            let home = home.unwrap_or(Home { leaves: Rc::new(Vec::new()), kind: None });
                            let indices = found.depth.map(Index::Depth).into_iter().collect();
                            Spot { home, path: Vec::new(), indices, process: None, used: 0 }
                        }
                    },
                    None => Spot {
                        home: Home { leaves: Rc::new(Vec::new()), kind: None },
                        path: Vec::new(),
                        indices: Vec::new(),
                        process: None,
                        used: 0,
                    },
                }
            }
        };
        for step in &place.steps {
            match step {
                Step::Field(position) => spot.path.push(*position),
                Step::Element(index, length) => spot.indices.push(Index::Expression((**index).clone(), *length, frame)),
            }
        }
        spot
    }

    /// The leaves of a spot, each with its cell and the number of its elements.
    pub(super) fn leaves(&self, spot: &Spot) -> Vec<(Cell, u32, Leaf)> {
        let parts = spot.home.leaves.iter().filter(|(leaf, _)| leaf.path.starts_with(&spot.path));
        let rest = |leaf: &Leaf| {
            let all: u32 = leaf.dimensions.iter().product();
            let used: u32 = leaf.dimensions.iter().take(self.dimensions_used(spot)).product();
            all / used.max(1)
        };
        parts.map(|(leaf, cell)| (*cell, rest(leaf), leaf.clone())).collect()
    }

    /// The number of dimensions that the indices of a spot cover. An index computed before covers
    /// the dimensions that were used then.
    fn dimensions_used(&self, spot: &Spot) -> usize {
        let expressions = spot.indices.iter().filter(|index| matches!(index, Index::Expression(..))).count();
        let depth = spot.indices.iter().filter(|index| matches!(index, Index::Depth(_))).count();
        expressions + depth + spot.used
    }

    /// Pushes the index of element `element` of `of` of a cell; returns whether it has an index.
    fn push_index_of(&mut self, spot: &Spot, cell: Cell, element: u32, of: u32) -> bool {
        let pushed = self.push_index(spot, element, of);
        // An array of one element has an index, too.
        let has_index = spot.home.leaves.iter().any(|(leaf, other)| *other == cell && !leaf.dimensions.is_empty());
        if has_index && !pushed {
            self.constant(0);
        }
        pushed || has_index
    }

    /// Pushes the index of element `element` of `of` of the part, if it has an index; returns
    /// whether it did.
    fn push_index(&mut self, spot: &Spot, element: u32, of: u32) -> bool {
        let mut pushed = false;
        for index in &spot.indices {
            match index {
                Index::Depth(local) => self.emit(Op::Ldl { var: *local }),
                Index::Base(Cell::Local(local), None) => self.emit(Op::Ldl { var: *local }),
                Index::Base(Cell::Local(local), Some(depth)) => {
                    self.emit(Op::Ldl { var: *depth });
                    self.emit(Op::Ldlx { var: *local });
                }
                Index::Base(Cell::Global(_), _) => {}
                Index::Expression(expression, length, frame) => {
                    if pushed {
                        self.constant(*length as i32);
                        self.emit(Op::Mul {});
                    }
                    // If the environment decides the index, any index will do.
                    self.value(expression, *frame);
                    if !self.outside.depends(expression) {
                        self.emit(Op::Chk { length: *length });
                    }
                    if pushed {
                        self.emit(Op::Add {});
                    }
                }
            }
            pushed = true;
        }
        if of > 1 {
            if pushed {
                self.constant(of as i32);
                self.emit(Op::Mul {});
                self.constant(element as i32);
                self.emit(Op::Add {});
            } else {
                self.constant(element as i32);
            }
            pushed = true;
        }
        pushed
    }

    /// A spot whose index is computed once, if storing in `target` may change what the index is
    /// computed from; and the local that holds the index then.
    pub(super) fn settled(&mut self, place: &tree::Place, target: &tree::Place, frame: usize) -> (Spot, Option<LocalId>) {
        let mut spot = self.spot(place, frame);
        let may_change = |step: &Step| matches!(step, Step::Element(index, _) if self.may_read(index, target.variable));
        if !place.steps.iter().any(may_change) {
            return (spot, None);
        }
        let used = self.dimensions_used(&spot);
        if !self.push_index(&spot, 0, 1) {
            return (spot, None);
        }
        let name = if std::ptr::eq(place, target) { "target index" } else { "source index" };
        let local = self.hidden(name, Type::Int);
        self.emit(Op::Stl { var: local });
        spot.indices = vec![Index::Base(Cell::Local(local), None)];
        spot.used = used;
        (spot, Some(local))
    }

    /// Whether an expression may read a variable, perhaps by another name.
    fn may_read(&self, expression: &tree::Expression, variable: usize) -> bool {
        use tree::Kind;
        let has_names = |id: usize| self.program.variables[id].reference || self.program.variables[id].address.is_some();
        match &expression.kind {
            Kind::Constant(_) => false,
            Kind::Load(place) => {
                let inside = |step: &Step| matches!(step, Step::Element(index, _) if self.may_read(index, variable));
                let same = place.variable == variable || has_names(place.variable) || self.program.variables[variable].reference;
                same || place.steps.iter().any(inside)
            }
            Kind::Not(operand) | Kind::Complement(operand) | Kind::Negate(operand) | Kind::Absolute(operand) | Kind::Cast(operand) => {
                self.may_read(operand, variable)
            }
            Kind::Binary(_, left, right) => self.may_read(left, variable) || self.may_read(right, variable),
            Kind::Set(elements) => elements
                .iter()
                .any(|(first, last)| self.may_read(first, variable) || last.as_ref().is_some_and(|last| self.may_read(last, variable))),
        }
    }

    /// Pushes the number of the process of a spot, if it is not the current one; returns its kind.
    fn push_process(&mut self, spot: &Spot) -> Option<usize> {
        let kind = spot.home.kind?;
        if let Some(local) = spot.process {
            self.emit(Op::Ldl { var: local });
            return Some(kind);
        }
        if kind == self.kind {
            return None;
        }
        let outer = self.kinds[self.kind].outer.iter().find(|(outer, _)| *outer == kind).map(|(_, local)| *local);
        self.emit(Op::Ldl { var: outer? });
        Some(kind)
    }

    /// Pushes the value of an element.
    pub(super) fn load(&mut self, spot: &Spot, cell: Cell, element: u32, of: u32) {
        let remote = match cell {
            Cell::Global(_) => None,
            Cell::Local(_) => self.push_process(spot),
        };
        let indexed = self.push_index_of(spot, cell, element, of);
        self.emit(match (cell, remote, indexed) {
            (Cell::Global(var), _, false) => Op::Ldg { var },
            (Cell::Global(var), _, true) => Op::Ldgx { var },
            (Cell::Local(var), None, false) => Op::Ldl { var },
            (Cell::Local(var), None, true) => Op::Ldlx { var },
            (Cell::Local(var), Some(kind), false) => Op::Ldr { var: (ProcessId(kind as u8), var) },
            (Cell::Local(var), Some(kind), true) => Op::Ldrx { var: (ProcessId(kind as u8), var) },
        });
    }

    /// Pops a value into an element.
    pub(super) fn store(&mut self, spot: &Spot, cell: Cell, element: u32, of: u32) {
        let remote = match cell {
            Cell::Global(_) => None,
            Cell::Local(_) => self.push_process(spot),
        };
        let indexed = self.push_index_of(spot, cell, element, of);
        if remote.is_some() {
            let hint = "declare the variable in the module, or send the value in a message";
            self.fail(self.now, "a process that runs beside another may read its variables and not change them", hint);
            return;
        }
        self.emit(match (cell, indexed) {
            (Cell::Global(var), false) => Op::Stg { var },
            (Cell::Global(var), true) => Op::Stgx { var },
            (Cell::Local(var), false) => Op::Stl { var },
            (Cell::Local(var), true) => Op::Stlx { var },
        });
    }

    /// Pops a value into the element whose number a local holds.
    pub(super) fn store_at_counter(&mut self, spot: &Spot, cell: Cell, of: u32, counter: LocalId) {
        if self.push_index(spot, 0, 1) {
            self.constant(of as i32);
            self.emit(Op::Mul {});
            self.emit(Op::Ldl { var: counter });
            self.emit(Op::Add {});
        } else {
            self.emit(Op::Ldl { var: counter });
        }
        if let Cell::Local(var) = cell {
            self.emit(Op::Stlx { var });
        }
    }

    /// The shape of a spot that is passed by reference.
    pub(super) fn shape(&self, spot: &Spot) -> Shape {
        let first = spot.home.leaves.first().map_or(Cell::Global(GlobalId(0)), |leaf| leaf.1);
        Shape { kind: spot.home.kind, first, path: spot.path.clone(), indexed: !spot.indices.is_empty(), used: self.dimensions_used(spot) }
    }

    /// Pushes the data that a new process needs to access a spot: process number and index,
    /// depending on its shape.
    pub(super) fn push_reference(&mut self, spot: &Spot) {
        if spot.home.kind.is_some() && self.push_process(spot).is_none() {
            self.emit(Op::Pid {});
        }
        self.push_index(spot, 0, 1);
    }

    /// Binds a parameter by reference of a called process. Pushes the index, if there is one.
    pub(super) fn bind(&mut self, spot: &Spot, frame: usize, parameter: usize) {
        let indexed = self.push_index(spot, 0, 1);
        let base = match self.frames[frame].bindings.get(&parameter) {
            Some(binding) => binding.base,
            None => indexed.then(|| {
                let length = self.frames[frame].depth.map(|_| CALL_DEPTH);
                let name =
                    format!("{}.{}.index", self.program.processes[self.frames[frame].process].name, self.program.variables[parameter].name);
                let kind = self.kind;
                (Cell::Local(new_local(&mut self.kinds[kind], &name, Type::Int, length, Shown::Hidden)), frame)
            }),
        };
        let used = self.dimensions_used(spot);
        let binding = Binding { home: spot.home.clone(), path: spot.path.clone(), process: spot.process, base, used };
        self.frames[frame].bindings.insert(parameter, binding);
    }

    /// The local that holds the number of the process that has the variable of a bound parameter.
    pub(super) fn bound_process(&self, frame: usize, parameter: usize) -> Option<LocalId> {
        self.frames[frame].bindings.get(&parameter)?.process
    }

    /// The local that holds the index of a bound parameter.
    pub(super) fn bound_index(&self, frame: usize, parameter: usize) -> Option<LocalId> {
        match self.frames[frame].bindings.get(&parameter)?.base? {
            (Cell::Local(local), _) => Some(local),
            (Cell::Global(_), _) => None,
        }
    }
}

fn length_of(dimensions: &[u32]) -> Option<u32> {
    (!dimensions.is_empty()).then(|| dimensions.iter().product())
}
