//! Embedded C: `c_code`, `c_expr`, `c_decl`, `c_state`, `c_track`.
//!
//! A fragment is translated to the statements of the model, so that everything downstream treats it
//! like the rest: it is verified, interpreted, compiled to native code, reduced and replayed. A
//! `c_code` becomes the inside of a `d_step`, because it is one transition and always executable; a
//! `c_expr` becomes an expression. Nothing of it is executed by the host. A division by zero, an
//! index outside an array and an endless loop are faults of the machine, with their positions.
//!
//! Variables of C are divided into leaves, like those of Promela. A variable of a fragment or of a
//! function is a scratch variable of the process. Functions are expanded where they are called. A
//! pointer is known when the model is read: it stands for the object it was made from.

mod address;
mod arithmetic;
mod bytes;
mod call;
mod expression;
mod float;
mod guard;
mod initial;
mod library;
mod memory;
mod object;
pub(crate) mod outline;
mod pure;
mod read;
mod recursion;
mod statement;
mod strings;
pub(super) mod types;
mod wide;

use super::Resolver;
use super::types::{Symbol, Ty};
use crate::ast::{self, Embedded, Fragment, Unit};
use crate::limits::MAX_LEAVES;
use crate::model::{Action, Ex, Leaf, Node, Place, Scalar, Scope, Stm, Target};
use crate::token::Text;
use lang_c::ast as c;
use lang_c::span::Node as CNode;
use source::{Diagnostic, Span};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;
use types::{CType, Int, Struct};

/// Names of types that every fragment may use.
const TYPES: [(&str, Int); 20] = [
    ("uchar", Int::new(8, false)),
    ("ushort", Int::new(16, false)),
    ("uint", Int::new(32, false)),
    ("ulong", Int::new(64, false)),
    ("size_t", Int::new(64, false)),
    ("ssize_t", Int::new(64, true)),
    ("int8_t", Int::new(8, true)),
    ("int16_t", Int::new(16, true)),
    ("int32_t", Int::new(32, true)),
    ("int64_t", Int::new(64, true)),
    ("uint8_t", Int::new(8, false)),
    ("uint16_t", Int::new(16, false)),
    ("uint32_t", Int::new(32, false)),
    ("uint64_t", Int::new(64, false)),
    ("u_char", Int::new(8, false)),
    ("u_short", Int::new(16, false)),
    ("u_int", Int::new(32, false)),
    ("byte", Int::new(8, false)),
    ("bit", Int::new(8, false)),
    ("bool", Int { bits: 1, signed: false, truth: true }),
];

/// The declarations in the fragments of a model.
#[derive(Debug, Default)]
pub(super) struct World {
    typenames: BTreeSet<String>,
    typedefs: HashMap<String, CType>,
    structs: Vec<Struct>,
    tags: HashMap<String, usize>,
    constants: HashMap<String, i32>,
    functions: HashMap<String, Rc<Function>>,
    /// Global variables of C.
    objects: BTreeMap<String, Object>,
    /// The variables whose values are kept with the state.
    tracked: BTreeSet<String>,
    /// `c_state … "Global"`.
    state: HashMap<String, Object>,
    /// `c_state … "Local P"`: the process type, the declaration, the initial value.
    locals: Vec<(Text, Fragment, Option<Fragment>)>,
    /// The structure for each user-defined type of Promela.
    user_types: HashMap<usize, usize>,
    /// Globals that some fragment writes.
    written: BTreeSet<usize>,
    labels: usize,
    /// The addresses of variables.
    addresses: address::Addresses,
    /// What the whole model is known to use, and what was found to be used.
    given: Uses,
    wanted: Uses,
}

/// What a model uses that concerns the meaning of every pointer in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Uses {
    /// Numbers are taken apart by pointers to characters, or put together.
    bytes: bool,
    /// Memory is allocated.
    heap: bool,
}

impl World {
    /// A world for a model that is known to use this.
    pub fn with(uses: Uses) -> World {
        World { given: uses, wanted: uses, ..World::default() }
    }

    /// What must be known before the model is read again, if there is something.
    pub fn unknown(&self) -> Option<Uses> {
        (self.wanted != self.given).then_some(self.wanted)
    }
}

/// A function.
#[derive(Clone, Debug)]
struct Function {
    name: String,
    parameters: Vec<(String, CType)>,
    result: CType,
    body: CNode<c::Statement>,
    fragment: Fragment,
    shift: usize,
    /// The names that it changes, or whose addresses it takes.
    moving: HashSet<String>,
}

/// A variable or a part of one.
#[derive(Clone, Debug)]
pub(super) struct Object {
    scope: Scope,
    /// The first of its leaves.
    leaf: usize,
    indices: Vec<Ex>,
    ty: CType,
    /// Its address, if it is known only when it is used.
    at: Option<Ex>,
    /// It is a part of an array of bytes: the distance of its first byte.
    within: Option<Ex>,
}

/// The meaning of a name in a fragment.
#[derive(Clone, Debug)]
enum Binding {
    Object(Object),
    /// A pointer to this object.
    Pointer(Object),
    /// A variable whose value is known as an expression.
    Value(expression::Value, CType),
}

/// The translation has ended; an error has been reported, unless it was a trial.
#[derive(Clone, Copy, Debug)]
struct Stop;

/// A loop or a `switch` around a statement, with the targets of `break` and `continue`.
#[derive(Debug)]
struct Around {
    leave: Text,
    left: bool,
    /// `None` for a `switch`.
    next: Option<(Text, bool)>,
}

/// A call being expanded, with the destination of its value and its end.
#[derive(Debug)]
struct Return {
    value: Option<Object>,
    end: Text,
    used: bool,
}

/// A label of C: its name in the model, whether it has been set, and the first `goto` to it.
#[derive(Debug)]
struct Goto {
    label: Text,
    set: bool,
    used: Option<lang_c::span::Span>,
}

/// Translates one fragment.
struct Lower<'r, 'a> {
    r: &'r mut Resolver<'a>,
    /// The text that positions refer to, and the distance by which its offsets are too large.
    fragment: Fragment,
    shift: usize,
    scopes: Vec<HashMap<String, Binding>>,
    out: Vec<Stm>,
    /// Nothing may be changed: only an expression is wanted.
    pure: bool,
    /// Errors are not reported, because this is a trial.
    quiet: bool,
    /// The scratch variables in use, by their indices among those of the process.
    taken: Vec<bool>,
    around: Vec<Around>,
    returns: Vec<Return>,
    calls: Vec<String>,
    /// The labels of the function or the fragment.
    gotos: HashMap<String, Goto>,
    /// The number of statements that may still be followed while functions are evaluated as
    /// expressions.
    budget: usize,
    /// A condition is made that may need statements.
    guard: Option<guard::Guard>,
    /// Pointers that are changed after their declaration.
    moving: HashSet<String>,
    /// The function that is being read, for the names of its static variables.
    inside: String,
    /// Functions that call themselves.
    recursion: recursion::Recursion,
}

impl<'a> Resolver<'a> {
    fn lower(&mut self, fragment: &Fragment, shift: usize) -> Lower<'_, 'a> {
        Lower {
            r: self,
            fragment: fragment.clone(),
            shift,
            scopes: vec![HashMap::new()],
            out: Vec::new(),
            pure: false,
            quiet: false,
            taken: Vec::new(),
            around: Vec::new(),
            returns: Vec::new(),
            calls: Vec::new(),
            gotos: HashMap::new(),
            budget: 2000,
            guard: None,
            moving: HashSet::new(),
            inside: String::new(),
            recursion: recursion::Recursion::default(),
        }
    }

    fn c_mistake(&mut self, fragment: &Fragment, mistake: &read::Mistake) {
        let span = fragment.place(mistake.offset, mistake.offset + 1);
        self.error(span, mistake.message.clone());
    }

    /// Declarations of C, and variables of C in the state.
    pub(super) fn c_declarations(&mut self) {
        let tree = self.tree;
        let units: Vec<&Embedded> = tree
            .units
            .iter()
            .filter_map(|unit| match unit {
                Unit::Embedded(embedded) => Some(embedded),
                _ => None,
            })
            .collect();
        for (name, int) in TYPES {
            self.c.typenames.insert(name.to_owned());
            self.c.typedefs.insert(name.to_owned(), CType::Int(int));
        }
        if self.c.given.heap && self.lower(&empty(), 0).allocate_heap().is_err() {
            self.c_stopped(true, Span::default());
        }
        for embedded in &units {
            if let Embedded::Declarations(fragment) = embedded {
                match read::unit(&fragment.text, &self.c.typenames) {
                    Ok((unit, shift)) => self.c_unit(fragment, &unit, shift),
                    Err(mistake) => self.c_mistake(fragment, &mistake),
                }
            }
        }
        for embedded in &units {
            match embedded {
                Embedded::Declarations(_) => {}
                Embedded::State { declaration, scope, initial, span } => self.c_state(declaration, scope, initial.as_ref(), *span),
                Embedded::Track { object, size, matched, span } => self.c_track(object, size, *matched, *span),
            }
        }
    }

    /// Variables of C that are not tracked are not part of SPIN's states.
    pub(super) fn c_finish(&mut self) {
        let mut hidden = Vec::new();
        for (name, object) in &self.c.objects {
            if !self.c.tracked.contains(name) {
                hidden.push(object.clone());
            }
        }
        for object in hidden {
            let lower = self.lower(&empty(), 0);
            let count = lower.leaves(&object.ty);
            for leaf in object.leaf..object.leaf + count {
                self.model.globals[leaf].hidden = self.c.written.contains(&leaf);
            }
        }
    }

    fn c_unit(&mut self, fragment: &Fragment, unit: &c::TranslationUnit, shift: usize) {
        for external in &unit.0 {
            let mut lower = self.lower(fragment, shift);
            // Errors have been reported; the other declarations are still read.
            _ = match &external.node {
                c::ExternalDeclaration::Declaration(declaration) => lower.global_declaration(&declaration.node),
                c::ExternalDeclaration::FunctionDefinition(function) => lower.function(&function.node),
                c::ExternalDeclaration::StaticAssert(_) => Ok(()),
            };
        }
    }

    fn c_state(&mut self, declaration: &Fragment, scope: &Text, initial: Option<&Fragment>, span: Span) {
        let words: Vec<&str> = scope.split_whitespace().collect();
        match words.as_slice() {
            ["Global"] | ["Hidden"] => {
                let hidden = words == ["Hidden"];
                let objects = self.c_variables(declaration, hidden);
                if let (Some(initial), Some((_, object))) = (initial, objects.last()) {
                    self.c_initial(&object.clone(), initial);
                }
                for (name, object) in objects {
                    let known =
                        if hidden { self.c.objects.insert(name, object).is_some() } else { self.c.state.insert(name, object).is_some() };
                    if known {
                        self.error(span, "this variable is declared twice");
                    }
                }
            }
            ["Local", process] => {
                let exists = self.tree.units.iter().any(|unit| matches!(unit, Unit::Proctype(p) if *p.name.text == **process));
                if !exists {
                    self.error(span, format!("there is no process type `{process}`"));
                }
                self.c.locals.push(((*process).into(), declaration.clone(), initial.cloned()));
            }
            _ => {
                let diagnostic =
                    Diagnostic::error(span, format!("`{scope}` is not a scope")).with_hint("write \"Global\", \"Local P\" or \"Hidden\"");
                self.report(diagnostic);
            }
        }
    }

    /// The variables that a text declares, as new leaves.
    fn c_variables(&mut self, declaration: &Fragment, hidden: bool) -> Vec<(String, Object)> {
        let text = format!("{};", declaration.text.trim_end().trim_end_matches(';'));
        let (unit, shift) = match read::unit(&text, &self.c.typenames) {
            Ok(read) => read,
            Err(mistake) => {
                self.c_mistake(declaration, &mistake);
                return Vec::new();
            }
        };
        let mut found = Vec::new();
        for external in &unit.0 {
            let c::ExternalDeclaration::Declaration(declared) = &external.node else { continue };
            let mut lower = self.lower(declaration, shift);
            if let Ok(variables) = lower.variables(&declared.node) {
                for (name, ty, _) in variables {
                    if let Ok(object) = lower.allocate(&name, &ty, hidden, declared.span) {
                        found.push((name, object));
                    }
                }
            }
        }
        found
    }

    /// A constant as the initial value of a variable.
    fn c_initial(&mut self, object: &Object, initial: &Fragment) {
        match read::expression(&initial.text, &self.c.typenames) {
            Ok((expression, shift)) => {
                let mut lower = self.lower(initial, shift);
                let mut element = object.ty.clone();
                while let CType::Array(inner, _) = element {
                    element = (*inner).clone();
                }
                if element.number().is_some()
                    && let Ok(value) = lower.constant_of(&expression, &element)
                {
                    for (half, bits) in
                        [value as i32, (value >> 32) as i32].into_iter().take(1 + usize::from(element.is_wide())).enumerate()
                    {
                        let leaf = &mut self.table(object.scope)[object.leaf + half];
                        let length = leaf.length();
                        leaf.initial = vec![leaf.ty.truncate(bits); length];
                    }
                }
            }
            Err(mistake) => self.c_mistake(initial, &mistake),
        }
    }

    fn c_track(&mut self, object: &Fragment, size: &Fragment, matched: bool, span: Span) {
        let name = object.text.trim().trim_start_matches('&').trim().trim_start_matches('(').trim_end_matches(')').trim().to_owned();
        let Some(found) = self.c.objects.get(&name).cloned() else {
            let hint = "what is tracked is a variable of C that a `c_decl` declares";
            self.report(Diagnostic::error(span, format!("there is no variable `{name}` of C")).with_hint(hint));
            return;
        };
        if matches!(found.ty, CType::Pointer(_)) && !object.text.contains('&') {
            // What it points to is in the state if it is used by later steps.
            if !matched {
                let message = format!("what `{name}` points to is compared like the rest of the state");
                self.report(Diagnostic::warning(span, message).named("unmatched-in-state"));
            }
            return;
        }
        match read::expression(&size.text, &self.c.typenames) {
            Ok((expression, shift)) => {
                let mut lower = self.lower(size, shift);
                if let Ok(bytes) = lower.constant(&expression) {
                    let (whole, _) = lower.size(&found.ty);
                    if i64::from(bytes) != whole as i64 {
                        let message = format!("`{name}` has {whole} bytes, and {bytes} are tracked");
                        self.report(Diagnostic::error(span, message).with_hint(format!("write \"sizeof({name})\"")));
                    }
                }
            }
            Err(mistake) => self.c_mistake(size, &mistake),
        }
        let count = self.lower(object, 0).leaves(&found.ty);
        for leaf in found.leaf..found.leaf + count {
            self.model.globals[leaf].unmatched = !matched;
        }
        self.c.tracked.insert(name);
    }

    /// The variables of C that a process type has, when its body is about to be resolved.
    pub(super) fn c_locals(&mut self, process: &Text) {
        let own: Vec<(Fragment, Option<Fragment>)> =
            self.c.locals.iter().filter(|(of, ..)| of == process).map(|(_, text, initial)| (text.clone(), initial.clone())).collect();
        for (declaration, initial) in own {
            let objects = self.c_variables(&declaration, false);
            if let (Some(initial), Some((_, object))) = (&initial, objects.last()) {
                self.c_initial(&object.clone(), initial);
            }
            if let Some(current) = &mut self.current {
                current.c_objects.extend(objects);
            }
        }
    }

    /// A `c_code` in a process.
    pub(super) fn c_statement(&mut self, fragment: &Fragment, condition: Option<&Fragment>, span: Span) -> Node {
        let mut steps = Vec::new();
        if let Some(condition) = condition {
            let ex = self.c_pure(condition);
            steps.push(Stm { node: Node::Basic(Action::Assert(ex)), span: condition.span });
        }
        match read::block(&fragment.text, &self.c.typenames) {
            Ok((block, shift)) => {
                let mut lower = self.lower(fragment, shift);
                lower.moving = address::moving(&block);
                lower.inside = format!("{}", fragment.span.start);
                let done = lower.statement(&block).and_then(|()| lower.labels_are_set()).and_then(|()| lower.recursive_bodies());
                steps.append(&mut lower.out);
                self.c_stopped(done.is_err(), fragment.span);
            }
            Err(mistake) => self.c_mistake(fragment, &mistake),
        }
        match steps.as_slice() {
            [] => Node::Basic(Action::Skip),
            [Stm { node: Node::Basic(_), .. }] => steps.remove(0).node,
            _ => {
                // A choice or a loop at the beginning would decide whether the step is executable.
                steps.insert(0, Stm { node: Node::Basic(Action::Skip), span });
                Node::DStep(steps)
            }
        }
    }

    /// A translation that ended has a reason. If none was reported, this is one: nothing of a model
    /// is left out silently.
    fn c_stopped(&mut self, stopped: bool, span: Span) {
        if stopped && self.doubts.is_none() && !self.diagnostics.iter().any(Diagnostic::is_error) {
            self.error(span, "this piece of C is not supported");
        }
    }

    /// A `c_expr`.
    pub(super) fn c_expression(&mut self, fragment: &Fragment, condition: Option<&Fragment>) -> Ex {
        let value = self.c_pure(fragment);
        match condition {
            Some(condition) => {
                let condition = self.c_pure(condition);
                Ex::After([crate::model::Part::Assert(condition)].into(), Box::new(value))
            }
            None => value,
        }
    }
}

fn empty() -> Fragment {
    Fragment { text: "".into(), places: [].into(), span: Span::default() }
}

impl Lower<'_, '_> {
    fn at(&self, span: lang_c::span::Span) -> Span {
        self.fragment.place(span.start.saturating_sub(self.shift), span.end.saturating_sub(self.shift))
    }

    fn wrong(&mut self, span: lang_c::span::Span, message: impl Into<String>) -> Stop {
        if !self.quiet {
            let span = self.at(span);
            self.r.report(Diagnostic::error(span, message));
        }
        Stop
    }

    fn wrong_perhaps(&mut self, span: lang_c::span::Span, message: String, hint: Option<String>) -> Stop {
        match hint {
            Some(hint) => self.wrong_with(span, message, hint),
            None => self.wrong(span, message),
        }
    }

    fn wrong_with(&mut self, span: lang_c::span::Span, message: impl Into<String>, hint: impl Into<String>) -> Stop {
        if !self.quiet {
            let span = self.at(span);
            self.r.report(Diagnostic::error(span, message).with_hint(hint));
        }
        Stop
    }

    /// The variables that a declaration declares; types, tags and constants are added to the world.
    #[allow(clippy::type_complexity)]
    fn variables(&mut self, declaration: &c::Declaration) -> Result<Vec<(String, CType, Option<CNode<c::Initializer>>)>, Stop> {
        let (base, typedef) = self.specified(&declaration.specifiers)?;
        let mut found = Vec::new();
        for declarator in &declaration.declarators {
            let inner = &declarator.node.declarator;
            let pointer = matches!(inner.node.kind.node, c::DeclaratorKind::Declarator(_));
            let function = !pointer && inner.node.derived.iter().any(|part| matches!(part.node, c::DerivedDeclarator::Function(_)));
            let (name, mut ty) = self.declared(base.clone(), inner)?;
            let Some(name) = name else { continue };
            if typedef {
                self.r.c.typenames.insert(name.clone());
                self.r.c.typedefs.insert(name, ty);
                continue;
            }
            if function {
                continue;
            }
            if let (CType::Array(element, 0), Some(initializer)) = (&ty, &declarator.node.initializer)
                && let c::Initializer::List(list) = &initializer.node
            {
                ty = CType::Array(element.clone(), list.len() as u32);
            }
            if let (CType::Array(element, 0), Some(initializer)) = (&ty, &declarator.node.initializer)
                && let c::Initializer::Expression(text) = &initializer.node
                && let c::Expression::StringLiteral(text) = &text.node
            {
                ty = CType::Array(element.clone(), strings::bytes(&text.node).len() as u32);
            }
            if let CType::Array(_, 0) = ty {
                return Err(self.wrong(inner.span, "the length of this array is not known"));
            }
            found.push((name, ty, declarator.node.initializer.clone()));
        }
        Ok(found)
    }

    /// A declaration outside functions.
    fn global_declaration(&mut self, declaration: &c::Declaration) -> Result<(), Stop> {
        for (name, ty, initializer) in self.variables(declaration)? {
            let span = declaration.specifiers.first().map_or(lang_c::span::Span::span(0, 1), |s| s.span);
            // It may have been declared before, by `extern` or without a value.
            let known = self.r.c.objects.get(&name).filter(|object| object.ty == ty).cloned();
            let object = match known {
                Some(object) => object,
                None => self.allocate(&name, &ty, false, span)?,
            };
            if let Some(initializer) = &initializer {
                self.initial_values(&object, &initializer.node, initializer.span)?;
            }
            self.r.c.objects.insert(name, object);
        }
        Ok(())
    }

    /// New leaves for a variable.
    fn allocate(&mut self, name: &str, ty: &CType, hidden: bool, at: lang_c::span::Span) -> Result<Object, Stop> {
        let scope = if self.r.current.is_some() { Scope::Local } else { Scope::Global };
        self.allocate_in(scope, name, ty, hidden, at)
    }

    fn allocate_in(&mut self, scope: Scope, name: &str, ty: &CType, hidden: bool, at: lang_c::span::Span) -> Result<Object, Stop> {
        self.storable(ty, at)?;
        let mut leaves = Vec::new();
        self.expand(name, ty, &[], &mut leaves);
        let span = self.at(at);
        let first = self.r.table(scope).len();
        let mut elements = 0usize;
        for (_, _, dimensions) in &leaves {
            elements = elements.saturating_add(dimensions.iter().fold(1usize, |n, &d| n.saturating_mul(d as usize)));
        }
        if first + leaves.len() > MAX_LEAVES || elements > 1 << 20 {
            return Err(self.wrong(at, format!("`{name}` is too large to be part of a state")));
        }
        for (name, ty, dimensions) in leaves {
            let leaf = Leaf { name, ty, dimensions, initial: Vec::new(), hidden, unmatched: false, scratch: false, span };
            self.r.table(scope).push(leaf);
        }
        Ok(Object { scope, leaf: first, indices: Vec::new(), ty: ty.clone(), at: None, within: None })
    }

    /// A scratch variable of the process.
    fn temporary(&mut self, ty: &CType, at: lang_c::span::Span) -> Result<Object, Stop> {
        if self.pure || self.r.current.is_none() {
            return Err(self.wrong_with(at, "a condition in C must not change anything", "use `c_code` for statements"));
        }
        let slots = self.r.current.as_ref().map_or(0, |current| current.c_slots.len());
        self.taken.resize(slots, false);
        for slot in 0..slots {
            let known = self.r.current.as_ref().map(|current| &current.c_slots[slot]);
            if let Some(object) = known.filter(|object| !self.taken[slot] && object.ty == *ty).cloned() {
                self.taken[slot] = true;
                self.recursion.note(&object);
                return Ok(object);
            }
        }
        let object = self.allocate(&format!("c'{}", slots + 1), ty, false, at)?;
        let count = self.leaves(ty);
        for leaf in object.leaf..object.leaf + count {
            self.r.table(Scope::Local)[leaf].scratch = true;
        }
        if let Some(current) = &mut self.r.current {
            current.c_slots.push(object.clone());
        }
        self.taken.push(true);
        self.recursion.note(&object);
        Ok(object)
    }

    pub(super) fn function(&mut self, function: &c::FunctionDefinition) -> Result<(), Stop> {
        let (base, _) = self.specified(&function.specifiers)?;
        let declarator = &function.declarator;
        let (name, result) = self.declared(base, declarator)?;
        let name = name.unwrap_or_default();
        let mut parameters = Vec::new();
        for part in &declarator.node.derived {
            let c::DerivedDeclarator::Function(list) = &part.node else { continue };
            if list.node.ellipsis == c::Ellipsis::Some {
                return Err(self.wrong(part.span, "a function here has a fixed number of parameters"));
            }
            for parameter in &list.node.parameters {
                let (base, _) = self.specified(&parameter.node.specifiers)?;
                let (name, ty) = match &parameter.node.declarator {
                    Some(declarator) => self.declared(base, declarator)?,
                    None => (None, base),
                };
                let ty = match ty {
                    CType::Void => continue,
                    CType::Array(element, _) => CType::Pointer(element),
                    ty => ty,
                };
                parameters.push((name.unwrap_or_default(), ty));
            }
        }
        let made = Function {
            name: name.clone(),
            parameters,
            result,
            moving: address::moving(&function.statement),
            body: function.statement.clone(),
            fragment: self.fragment.clone(),
            shift: self.shift,
        };
        self.r.c.functions.insert(name, Rc::new(made));
        Ok(())
    }

    // --- Variables of the model
    // -----------------------------------------------------------------

    /// A variable of Promela as an object of C.
    fn promela(&mut self, symbol: &Symbol) -> Object {
        let ty = self.promela_type(symbol.ty, symbol.length.is_some());
        let ty = match symbol.length {
            Some(length) => CType::Array(Rc::new(ty), length),
            None => ty,
        };
        Object { scope: symbol.scope, leaf: symbol.first, indices: Vec::new(), ty, at: None, within: None }
    }

    fn promela_type(&mut self, ty: Ty, in_array: bool) -> CType {
        match ty {
            // Arrays of bits and of narrow numbers are arrays of bytes in SPIN.
            Ty::Scalar(Scalar::Bit | Scalar::Unsigned(_)) if in_array => CType::Int(Int::new(8, false)),
            Ty::Scalar(scalar) => CType::Int(match scalar {
                Scalar::Bit => Int::new(1, false),
                Scalar::Byte | Scalar::Mtype(_) | Scalar::Chan => Int::new(8, false),
                Scalar::Short => Int::new(16, true),
                Scalar::Int => Int::new(32, true),
                Scalar::Unsigned(bits) => Int::new(bits, false),
            }),
            Ty::User(index) => {
                if let Some(&known) = self.r.c.user_types.get(&index) {
                    return CType::Struct(known);
                }
                let fields: Vec<(String, Ty, Option<u32>)> =
                    self.r.types[index].fields.iter().map(|field| (field.name.to_string(), field.ty, field.length)).collect();
                let fields = fields
                    .into_iter()
                    .map(|(name, ty, length)| {
                        let ty = self.promela_type(ty, length.is_some());
                        (name, length.map_or(ty.clone(), |length| CType::Array(Rc::new(ty), length)))
                    })
                    .collect();
                self.r.c.structs.push(Struct { fields, union: false });
                let made = self.r.c.structs.len() - 1;
                self.r.c.user_types.insert(index, made);
                CType::Struct(made)
            }
        }
    }

    /// `now.name`.
    fn global(&mut self, name: &str) -> Option<Object> {
        if let Some(object) = self.r.c.state.get(name) {
            return Some(object.clone());
        }
        let symbol = self.r.globals.get(name).cloned()?;
        Some(self.promela(&symbol))
    }

    /// `P->name`, in a process of that type.
    fn local(&mut self, name: &str) -> Option<Object> {
        let current = self.r.current.as_ref()?;
        if let Some((_, object)) = current.c_objects.iter().find(|(known, _)| known == name) {
            return Some(object.clone());
        }
        let visible = current.scopes.iter().rev().find_map(|scope| scope.get(name));
        let symbol = visible.or_else(|| current.outline.get(name)).cloned()?;
        Some(self.promela(&symbol))
    }

    /// The element of an array.
    fn element(&self, object: &Object, index: Ex) -> Object {
        let mut part = object.clone();
        if let CType::Array(element, _) = &object.ty {
            part.ty = (**element).clone();
        }
        match (part.at.take(), part.within.take()) {
            (Some(at), _) => part.at = Some(guard::at_distance(at, index, self.size(&part.ty).0)),
            (_, Some(within)) => part.within = Some(guard::at_distance(within, index, self.size(&part.ty).0)),
            _ => part.indices.push(index),
        }
        part
    }

    fn field_at(&self, object: &Object, structure: usize, number: usize) -> Object {
        let Struct { fields, union } = &self.r.c.structs[structure];
        let ty = fields[number].1.clone();
        let distance = Ex::Const(self.offset(structure, number) as i32);
        if let Some(at) = &object.at {
            return Object { at: Some(guard::at_distance(at.clone(), distance, 1)), ty, ..object.clone() };
        }
        if object.within.is_some() || *union {
            let within = object.within.clone().unwrap_or(Ex::Const(0));
            return Object { within: Some(guard::at_distance(within, distance, 1)), ty, ..object.clone() };
        }
        let before: usize = fields[..number].iter().map(|(_, ty)| self.leaves(ty)).sum();
        Object { leaf: object.leaf + before, ty, ..object.clone() }
    }

    /// The place of a scalar.
    fn scalar(&mut self, object: &Object, at: lang_c::span::Span) -> Result<Place, Stop> {
        if object.at.is_some() || object.within.is_some() {
            return Err(self.wrong(at, "a variable is expected here"));
        }
        match &object.ty {
            CType::Int(_) | CType::Float(_) | CType::Pointer(_) => {
                let ty = self.r.table(object.scope)[object.leaf].ty;
                Ok(Place { scope: object.scope, leaf: object.leaf, indices: object.indices.clone(), ty })
            }
            CType::Array(..) => Err(self.wrong(at, "an array is not a value: an index is missing")),
            _ => Err(self.wrong(at, "a structure is not a number: a field is missing")),
        }
    }

    fn emit(&mut self, action: Action, at: lang_c::span::Span) -> Result<(), Stop> {
        if self.pure {
            return Err(self.wrong_with(at, "a condition in C must not change anything", "use `c_code` for statements"));
        }
        if !self.may_be_in_condition(&action) {
            return Err(self.wrong_with(at, "a condition in C must not change anything", "use `c_code` for statements"));
        }
        if let Action::Assign(Target::Place(place), _) = &action
            && place.scope == Scope::Global
        {
            self.r.c.written.insert(place.leaf);
        }
        let span = self.at(at);
        self.out.push(Stm { node: Node::Basic(action), span });
        Ok(())
    }

    fn label(&mut self, what: &str) -> Text {
        self.r.c.labels += 1;
        format!("c'{what}'{}", self.r.c.labels).into()
    }

    fn jump(&mut self, label: &Text, at: lang_c::span::Span) -> Result<(), Stop> {
        let span = self.at(at);
        let node = Node::Goto(ast::Ident { text: label.clone(), span }, self.r.path());
        self.out.push(Stm { node, span });
        self.note_jump(label);
        Ok(())
    }

    fn set_label(&mut self, label: &Text, at: lang_c::span::Span) {
        self.note_label(label);
        let span = self.at(at);
        let nothing = Stm { node: Node::Basic(Action::Skip), span };
        let path = self.r.path();
        self.out.push(Stm { node: Node::Label(ast::Ident { text: label.clone(), span }, path, Box::new(nothing)), span });
    }
}
