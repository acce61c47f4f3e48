//! Calls and creation of processes.
//!
//! A call that runs to completion is expanded in place: the code of the called process becomes part
//! of its caller, and its variables are locals of the caller that are 0 outside the call. So a call
//! does not end an action. The code of a recursive process is generated once; the depth of the call
//! is an index of its variables, and each call stores its return position.

use super::storage::FrameKey;
use super::{Generator, Mark, SPARE};
use crate::limits::{CALL_DEPTH, MAX_CREATED, MAX_DEPTH, MAX_FRAMES};
use crate::tree::{self, Action, Argument};
use bytecode::{LocalId, Mode, Op, ProcessId, Type};
use source::Span;
use std::collections::HashSet;

/// The code of a recursive process inside one kind.
pub(super) struct Routine {
    frame: usize,
    entry: Mark,
    returns: Vec<Mark>,
    made: bool,
}

/// Which processes call themselves, directly or through others.
pub(super) fn recursive(program: &tree::Program) -> Vec<bool> {
    let calls: Vec<Vec<usize>> = program
        .processes
        .iter()
        .map(|process| {
            let mut called = Vec::new();
            super::each_statement(&process.body, &mut |statement| {
                if let Action::Call(process, _) = statement.kind {
                    called.push(process);
                }
            });
            called
        })
        .collect();
    let reaches_itself = |start: usize| {
        let mut seen = vec![false; calls.len()];
        let mut open = calls[start].clone();
        while let Some(process) = open.pop() {
            if !std::mem::replace(&mut seen[process], true) {
                open.extend(&calls[process]);
            }
        }
        seen[start]
    };
    (0..calls.len()).map(reaches_itself).collect()
}

impl Generator<'_> {
    /// `CREATE`.
    pub(super) fn create(&mut self, process: usize, arguments: &[Argument], span: Span, frame: usize) {
        let parent = self.surroundings(process, frame);
        let mut shapes = Vec::new();
        let declared = &self.program.processes[process];
        let mut count = 0;
        for (parameter, argument) in declared.parameters.iter().zip(arguments) {
            let ty = &self.program.variables[*parameter].ty;
            if let Argument::Value(value) = argument
                && ty.is_scalar()
            {
                self.value_for(value, ty, frame);
                count += 1;
            }
        }
        for argument in arguments {
            if let Argument::Reference(place) = argument {
                let spot = self.spot(place, frame);
                let shape = self.shape(&spot);
                count += u32::from(spot.is_of_process()) + u32::from(spot.is_indexed());
                shapes.push(shape);
                self.push_reference(&spot);
            }
        }
        for kind in self.outer_kinds(parent) {
            if kind == self.kind {
                self.emit(Op::Pid {});
            } else if let Some((_, local)) = self.kinds[self.kind].outer.iter().find(|(outer, _)| *outer == kind) {
                let var = *local;
                self.emit(Op::Ldl { var });
            }
            count += 1;
        }
        for argument in arguments {
            if let Argument::Value(tree::Expression { kind: tree::Kind::Load(source), ty, .. }) = argument
                && !ty.is_scalar()
            {
                count += self.load_all(source, frame);
            }
        }
        let kind = self.kind_for(process, FrameKey { parent, shapes }, parent, span);
        self.emit(Op::Run { args: count, process: ProcessId(kind as u8) });
        self.emit(Op::Drop {});
    }

    /// Pushes all numbers of an array or a record; returns how many they are.
    fn load_all(&mut self, source: &tree::Place, frame: usize) -> u32 {
        let from = self.spot(source, frame);
        let mut count = 0;
        for (cell, of, _) in self.leaves(&from) {
            for element in 0..of {
                self.load(&from, cell, element, of);
                count += 1;
            }
        }
        count
    }

    /// Copies an array or a record to a parameter of a process that is called.
    fn copy_parameter(&mut self, source: &tree::Place, frame: usize, parameter: usize, callee: usize) {
        let (from, to) = (self.spot(source, frame), self.parameter_spot(parameter, callee));
        for ((read, of, _), (written, _, _)) in self.leaves(&from).into_iter().zip(self.leaves(&to)) {
            for element in 0..of {
                self.load(&from, read, element, of);
                self.store(&to, written, element, of);
            }
        }
    }

    /// The place of a parameter that is a value.
    fn parameter_spot(&mut self, parameter: usize, frame: usize) -> super::storage::Spot {
        let variable = &self.program.variables[parameter];
        let place = tree::Place { variable: parameter, steps: Vec::new(), ty: variable.ty.clone(), span: variable.span };
        self.spot(&place, frame)
    }

    /// Stores the arrays and records that a created process got as values. The machine passes only
    /// numbers, so each element came as a parameter of its own.
    pub(super) fn take_values(&mut self, frame: usize) {
        let mut carried = self.kinds[self.kind].carried.clone().into_iter();
        for parameter in self.composite_values(self.frames[frame].process) {
            let spot = self.parameter_spot(parameter, frame);
            for (cell, of, _) in self.leaves(&spot) {
                for (element, var) in (0..of).zip(&mut carried) {
                    self.emit(Op::Ldl { var });
                    self.store(&spot, cell, element, of);
                    self.constant(0);
                    self.emit(Op::Stl { var });
                }
            }
        }
    }

    /// The parameters of a process that are arrays or records by value.
    pub(super) fn composite_values(&self, process: usize) -> Vec<usize> {
        let parameters = self.program.processes[process].parameters.iter().copied();
        let is_one = |id: &usize| !self.program.variables[*id].reference && !self.program.variables[*id].ty.is_scalar();
        parameters.filter(is_one).collect()
    }

    /// The frame in which a process is declared, seen from another.
    fn surroundings(&self, process: usize, frame: usize) -> Option<usize> {
        let parent = self.program.processes[process].parent?;
        let mut at = Some(frame);
        while let Some(number) = at.filter(|number| self.frames[*number].process != parent) {
            at = self.frames[number].parent;
        }
        at
    }

    /// A call that runs to completion.
    pub(super) fn call(&mut self, process: usize, arguments: &[Argument], span: Span, frame: usize) {
        if self.calls_open > MAX_DEPTH {
            self.fail(span, "too many calls are nested here", "make some of these processes one");
            return;
        }
        if self.program.processes[process].period.is_some() {
            self.fail(span, "a process with a period never ends, so it cannot be called", "write CREATE before it");
            return;
        }
        let parent = self.surroundings(process, frame);
        let spots: Vec<_> = arguments
            .iter()
            .map(|argument| match argument {
                Argument::Reference(place) => Some(self.spot(place, frame)),
                Argument::Value(_) => None,
            })
            .collect();
        let shapes = spots.iter().flatten().map(|spot| self.shape(spot)).collect();
        let key = (self.kind, process, FrameKey { parent, shapes });
        let callee = match self.frame_index.get(&key) {
            Some(callee) => *callee,
            None => {
                if self.frames.len() >= MAX_FRAMES {
                    self.fail(
                        span,
                        "processes are called with too many different variables",
                        "pass values, or use variables of the module",
                    );
                    return;
                }
                let callee = self.new_frame(process, self.kind, parent, true);
                self.frame_index.insert(key, callee);
                callee
            }
        };
        // All arguments of a recursive call are computed before a parameter changes, because the
        // parameters of the caller are the same variables. Other calls copy arrays and records at
        // once, which needs less of the machine's stack.
        let parameters = self.program.processes[process].parameters.clone();
        let recursive = self.frames[callee].depth.is_some();
        let (mut stores, mut loaded) = (Vec::new(), 0);
        for ((parameter, argument), spot) in parameters.iter().zip(arguments).zip(&spots) {
            match (argument, spot) {
                (Argument::Value(value), _) => {
                    let ty = self.program.variables[*parameter].ty.clone();
                    if ty.is_scalar() {
                        self.value_for(value, &ty, frame);
                    } else if let tree::Kind::Load(source) = &value.kind {
                        if !recursive {
                            self.copy_parameter(source, frame, *parameter, callee);
                            continue;
                        }
                        loaded += self.load_all(source, frame);
                    }
                    stores.push((*parameter, false));
                }
                (Argument::Reference(_), Some(spot)) => {
                    self.bind(spot, callee, *parameter);
                    if spot.is_indexed() {
                        stores.push((*parameter, true));
                    }
                }
                _ => {}
            }
        }
        if loaded > MAX_CREATED {
            let message = format!("a recursive call takes at most {MAX_CREATED} elements of arrays and records as values");
            self.fail(span, message, "pass an array by reference: VAR");
            return;
        }
        let depth = self.frames[callee].depth;
        if let Some(depth) = depth {
            self.emit(Op::Ldl { var: depth });
            self.constant(1);
            self.emit(Op::Add {});
            self.name_failure("call_depth");
            self.emit(Op::Chk { length: CALL_DEPTH });
            self.emit(Op::Stl { var: depth });
        }
        for (parameter, is_index) in stores.into_iter().rev() {
            self.store_parameter(callee, parameter, is_index, depth);
        }
        if depth.is_some() {
            self.enter_routine(callee);
            return;
        }
        self.calls_open += 1;
        let body = &self.program.processes[process].body;
        self.statements(body, callee);
        self.at(self.program.processes[process].end);
        self.clear_frame(callee);
        self.calls_open -= 1;
    }

    /// Pops the values of a parameter, last element on top.
    fn store_parameter(&mut self, frame: usize, parameter: usize, is_index: bool, depth: Option<LocalId>) {
        if is_index {
            let Some(local) = self.bound_index(frame, parameter) else { return };
            match depth {
                Some(depth) => {
                    self.emit(Op::Ldl { var: depth });
                    self.emit(Op::Stlx { var: local });
                }
                None => self.emit(Op::Stl { var: local }),
            }
            return;
        }
        let spot = self.parameter_spot(parameter, frame);
        for (cell, of, _) in self.leaves(&spot).into_iter().rev() {
            for element in (0..of).rev() {
                self.store(&spot, cell, element, of);
            }
        }
    }

    /// Jumps to the code of a recursive process, and returns here.
    fn enter_routine(&mut self, frame: usize) {
        let position = match self.routines.iter().position(|routine| routine.frame == frame) {
            Some(position) => position,
            None => {
                let entry = self.mark();
                self.routines.push(Routine { frame, entry, returns: Vec::new(), made: false });
                self.routines.len() - 1
            }
        };
        let back = self.mark();
        self.routines[position].returns.push(back);
        let number = self.routines[position].returns.len() as i32;
        if number > 255 {
            let span = self.program.processes[self.frames[frame].process].span;
            self.fail(span, "this recursive process is called from too many places", "call it through another process");
        }
        let (Some(depth), Some(returns)) = (self.frames[frame].depth, self.frames[frame].returns) else { return };
        self.constant(number);
        self.emit(Op::Ldl { var: depth });
        self.emit(Op::Stlx { var: returns });
        self.step(Mode::Invisible);
        let entry = self.routines[position].entry;
        self.jump(entry);
        self.place_mark(back);
    }

    /// The code of the recursive processes that this kind calls.
    pub(super) fn routine_code(&mut self) {
        let mut dispatches = Vec::new();
        while let Some(position) = self.routines.iter().position(|routine| !routine.made) {
            self.routines[position].made = true;
            let (frame, entry) = (self.routines[position].frame, self.routines[position].entry);
            let process = self.frames[frame].process;
            self.place_mark(entry);
            self.at(self.program.processes[process].span);
            let body = &self.program.processes[process].body;
            self.statements(body, frame);
            self.at(self.program.processes[process].end);
            self.step(Mode::Invisible);
            self.clear_frame(frame);
            let (Some(depth), Some(returns)) = (self.frames[frame].depth, self.frames[frame].returns) else { continue };
            self.emit(Op::Ldl { var: depth });
            self.emit(Op::Ldlx { var: returns });
            self.emit(Op::Pop { reg: SPARE });
            self.constant(0);
            self.emit(Op::Ldl { var: depth });
            self.emit(Op::Stlx { var: returns });
            self.emit(Op::Ldl { var: depth });
            self.constant(1);
            self.emit(Op::Sub {});
            self.emit(Op::Stl { var: depth });
            // Calls found later add return positions, so the position is chosen at the end of the
            // code.
            let dispatch = self.mark();
            dispatches.push((position, dispatch));
            self.jump(dispatch);
        }
        for (position, dispatch) in dispatches {
            self.place_mark(dispatch);
            let returns = self.routines[position].returns.clone();
            for (number, back) in returns.iter().enumerate().skip(1) {
                self.emit(Op::Push { reg: SPARE });
                self.constant(number as i32 + 1);
                self.emit(Op::Eq {});
                self.jump_if_not_zero(*back);
            }
            self.jump(returns[0]);
        }
    }

    /// Resets the variables of a frame to 0.
    fn clear_frame(&mut self, frame: usize) {
        let mut homes: Vec<(usize, _)> = self.frames[frame].homes.iter().map(|(id, home)| (*id, home.clone())).collect();
        homes.sort_by_key(|(id, _)| *id);
        for (id, _) in homes {
            let variable = &self.program.variables[id];
            let place = tree::Place { variable: id, steps: Vec::new(), ty: variable.ty.clone(), span: variable.span };
            let spot = self.spot(&place, frame);
            for (cell, of, _) in self.leaves(&spot) {
                if of <= 16 {
                    for element in 0..of {
                        self.constant(0);
                        self.store(&spot, cell, element, of);
                    }
                } else {
                    self.clear_in_loop(&spot, cell, of);
                }
            }
        }
        let mut bases: Vec<LocalId> = self.program.processes[self.frames[frame].process]
            .parameters
            .iter()
            .filter_map(|parameter| self.bound_index(frame, *parameter))
            .collect();
        bases.sort();
        let depth = self.frames[frame].depth;
        for local in bases {
            self.constant(0);
            match depth {
                Some(depth) => {
                    self.emit(Op::Ldl { var: depth });
                    self.emit(Op::Stlx { var: local });
                }
                None => self.emit(Op::Stl { var: local }),
            }
        }
    }

    /// Resets what a created process knows about the variables outside it.
    fn clear_surroundings(&mut self, frame: usize) {
        let mut locals: Vec<LocalId> = self.kinds[self.kind].outer.iter().map(|(_, local)| *local).collect();
        for parameter in &self.program.processes[self.frames[frame].process].parameters {
            locals.extend(self.bound_process(frame, *parameter));
        }
        for var in locals {
            self.constant(0);
            self.emit(Op::Stl { var });
        }
    }

    /// Sets a long array to 0, in invisible steps.
    fn clear_in_loop(&mut self, spot: &super::storage::Spot, cell: super::storage::Cell, of: u32) {
        let counter = self.hidden("counter", Type::Int);
        let (top, out) = (self.mark(), self.mark());
        self.place_mark(top);
        self.constant(0);
        self.store_at_counter(spot, cell, of, counter);
        self.emit(Op::Ldl { var: counter });
        self.constant(1);
        self.emit(Op::Add {});
        self.emit(Op::Stl { var: counter });
        self.emit(Op::Ldl { var: counter });
        self.constant(of as i32);
        self.emit(Op::Ge {});
        self.jump_if_not_zero(out);
        self.step(Mode::Invisible);
        self.jump(top);
        self.place_mark(out);
        self.constant(0);
        self.emit(Op::Stl { var: counter });
    }

    /// The end of a process. A process is removed at once if it is the youngest. Otherwise it waits
    /// until the younger ones are gone, because the machine numbers processes by their position.
    pub(super) fn end_of_process(&mut self, frame: usize) {
        let later = self.mark();
        if !self.is_looked_at(frame) {
            self.clear_frame(frame);
            self.clear_surroundings(frame);
        }
        self.emit(Op::Pid {});
        self.constant(1);
        self.emit(Op::Add {});
        self.emit(Op::Nrpr {});
        self.emit(Op::Eq {});
        self.jump_if_zero(later);
        self.step(Mode::Terminate);
        self.place_mark(later);
        self.step(Mode::Normal);
        self.step(Mode::Terminate);
    }

    /// Whether other processes may read the variables of a process.
    fn is_looked_at(&self, frame: usize) -> bool {
        let process = self.frames[frame].process;
        let is_inside = |mut other: usize| {
            while let Some(parent) = self.program.processes[other].parent {
                if parent == process {
                    return true;
                }
                other = parent;
            }
            false
        };
        let mut created = HashSet::new();
        for process in &self.program.processes {
            super::each_statement(&process.body, &mut |statement| {
                if let Action::Create(process, _) = statement.kind {
                    created.insert(process);
                }
            });
        }
        let has_inner = created.into_iter().any(is_inside);
        // A process that it calls may pass on a reference to a variable.
        let (mut passes, mut seen, mut open) = (false, HashSet::from([process]), vec![process]);
        while let Some(process) = open.pop() {
            super::each_statement(&self.program.processes[process].body, &mut |statement| match &statement.kind {
                Action::Create(_, arguments) => {
                    passes |= arguments.iter().any(|argument| match argument {
                        Argument::Reference(place) => self.program.variables[place.variable].owner.is_some(),
                        Argument::Value(_) => false,
                    });
                }
                Action::Call(called, _) if seen.insert(*called) => open.push(*called),
                _ => {}
            });
        }
        has_inner || passes
    }
}
