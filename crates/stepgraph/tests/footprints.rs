//! Nothing outside a declared footprint is read or written: checked by brute force on random
//! programs.
//!
//! Writing: everything that a transition changes must be in the footprints of its possible steps.
//! Reading: a change to a variable outside the footprints must change neither what the process can
//! do nor the result. `EVERYPATH_SEEDS=from..to` tests other programs.

use bytecode::{Layout, Location, Mode, Op, ProcessId, Shape, Slot, StateMap, Type, Verified};
use contract::{Successors, System};
use std::collections::{BTreeSet, HashSet, VecDeque};
use std::sync::Arc;
use stepgraph::{Channels, Footprint, Place, StepGraph};
use vm::Interpreter;

/// Everything that the transitions of one process from one state may access, as bytes of the state.
struct Allowed {
    reads: Vec<bool>,
    writes: Vec<bool>,
    /// The number of processes and channels may change, so everything after them may move.
    resizes: bool,
    /// It depends on more than the bytes that the footprint names.
    entangled: bool,
}

struct Bench<'p> {
    program: &'p Verified,
    graph: &'p StepGraph,
}

impl Bench<'_> {
    /// The footprint of a location, together with those of the locations to which it continues
    /// within the same transition.
    fn closure(&self, ty: ProcessId, start: Location) -> Footprint {
        let mut all = Footprint::default();
        let mut seen = BTreeSet::new();
        let mut open = vec![start];
        while let Some(location) = open.pop() {
            if !seen.insert(location) {
                continue;
            }
            for alternative in self.graph.alternatives(ty, location) {
                all.merge(&alternative.footprint);
                if let Some((Mode::Invisible | Mode::Deterministic, step)) = alternative.end {
                    open.extend(self.program.locations().after_step(step));
                }
            }
        }
        all
    }

    fn allowed(&self, state: &[u8], map: &StateMap, process: usize) -> Allowed {
        let layout = self.program.layout();
        let mut allowed = Allowed { reads: vec![false; state.len()], writes: vec![false; state.len()], resizes: false, entangled: false };
        let footprint = self.mark(state, map, process, &mut allowed);
        let offers = footprint.sends.iter().any(|channel| match channel {
            Channels::Any => layout.channel_types.iter().any(|ty| ty.capacity == 0),
            Channels::One(number) => match map.channel(*number).map(|c| c.shape) {
                Some(Shape::Channel(ty)) => layout.channel_types[ty.index()].capacity == 0,
                _ => false,
            },
        });
        if offers {
            for other in 0..map.processes.len() {
                self.mark(state, map, other, &mut allowed);
            }
        }
        allowed
    }

    /// Marks what one process may read and write.
    fn mark(&self, state: &[u8], map: &StateMap, process: usize, allowed: &mut Allowed) -> Footprint {
        let layout = self.program.layout();
        let component = map.processes[process];
        let Shape::Process(ty) = component.shape else { panic!("not a process") };
        let inside = &layout.processes[ty.index()];
        let footprint = self.closure(ty, inside.location(&state[component.offset..]));
        let range = |slot: &Slot, base: usize, element: Option<u32>| {
            let width = slot.ty.width();
            match element {
                Some(i) if (i as usize) < slot.elements => {
                    let start = base + slot.offset + i as usize * width;
                    start..start + width
                }
                Some(_) => 0..0,
                None => base + slot.offset..base + slot.offset + slot.size(),
            }
        };
        let places = |place: &Place| -> Vec<std::ops::Range<usize>> {
            match place {
                Place::Global(id, e) => vec![range(&layout.globals[id.index()], 0, *e)],
                Place::Local(id, e) => vec![range(&inside.locals[id.index()], component.offset, *e)],
                Place::Location => {
                    let start = component.offset + inside.location;
                    std::iter::once(start..start + if inside.wide { 2 } else { 1 }).collect()
                }
                Place::Others => map.processes.iter().map(|c| self.extent(layout, c.shape, c.offset)).collect(),
                Place::Processes => vec![],
                Place::Last => layout.last.map(|at| at..at + 1).into_iter().collect(),
                Place::Scratch => self.scratch(map),
                Place::Privilege => layout.exclusive.map(|at| at..at + 1).into_iter().collect(),
            }
        };
        for place in &footprint.reads {
            places(place).into_iter().flatten().for_each(|i| allowed.reads[i] = true);
        }
        for place in &footprint.writes {
            places(place).into_iter().flatten().for_each(|i| allowed.writes[i] = true);
        }
        for (channels, written) in [(&footprint.sends, true), (&footprint.receives, true), (&footprint.tests, false)] {
            for (number, channel) in map.channels.iter().enumerate() {
                let named = channels.iter().any(|c| matches!(c, Channels::Any) || *c == Channels::One(number as i32 + 1));
                if named {
                    for i in self.extent(layout, channel.shape, channel.offset) {
                        allowed.reads[i] = true;
                        allowed.writes[i] |= written;
                    }
                }
            }
        }
        allowed.resizes |= footprint.writes.contains(&Place::Processes) || footprint.creates_channel;
        allowed.entangled |= footprint.reads.contains(&Place::Others) || footprint.entangled;
        footprint
    }

    /// The bytes of the variables that every step resets.
    fn scratch(&self, map: &StateMap) -> Vec<std::ops::Range<usize>> {
        let (layout, declared) = (self.program.layout(), self.program.program());
        let of = |slots: &[Slot], variables: &[bytecode::Variable], base: usize| -> Vec<std::ops::Range<usize>> {
            let both = slots.iter().zip(variables).filter(|(_, variable)| variable.scratch);
            both.map(|(slot, _)| base + slot.offset..base + slot.offset + slot.size()).collect()
        };
        let mut all = of(&layout.globals, &declared.globals, 0);
        for component in &map.processes {
            if let Shape::Process(ty) = component.shape {
                all.extend(of(&layout.processes[ty.index()].locals, &declared.processes[ty.index()].locals, component.offset));
            }
        }
        all
    }

    fn extent(&self, layout: &Layout, shape: Shape, offset: usize) -> std::ops::Range<usize> {
        match shape {
            Shape::Process(ty) => offset..offset + layout.processes[ty.index()].size,
            Shape::Channel(ty) => offset..offset + layout.channel_types[ty.index()].size,
        }
    }
}

/// A transition: fault and state.
type Transition = (Option<u32>, Option<Vec<u8>>);

/// Transitions of one process.
fn of_process(out: &Successors, process: usize) -> Vec<Transition> {
    out.iter()
        .filter(|(entry, _)| entry.action.process as usize == process)
        .map(|(entry, state)| (entry.fault().map(|f| f.get()), state.map(<[u8]>::to_vec)))
        .collect()
}

/// Whether one transition may be the other one after the bytes `at` of its state were changed.
fn alike(
    (fault, next): &Transition,
    (fault_after, next_after): &Transition,
    before: &[u8],
    after: &[u8],
    at: &std::ops::Range<usize>,
) -> bool {
    let (Some(next), Some(next_after)) = (next, next_after) else { return fault == fault_after && next.is_none() && next_after.is_none() };
    let elsewhere = |bytes: &[u8]| bytes.iter().enumerate().filter(|(i, _)| !at.contains(i)).map(|(_, byte)| *byte).collect::<Vec<u8>>();
    let (here, there) = (next.get(at.clone()), next_after.get(at.clone()));
    // They are written with the same value, or left as they were. If the process ended, there may
    // be something else at their place, or nothing.
    let kept = here == before.get(at.clone()) && there == after.get(at.clone());
    fault == fault_after && elsewhere(next) == elsewhere(next_after) && (here == there || kept)
}

/// Whether the transitions differ by more than the change.
fn differ(before: &[Transition], after: &[Transition], state: &[u8], changed: &[u8], at: std::ops::Range<usize>) -> bool {
    before.len() != after.len() || !before.iter().zip(after).all(|(one, other)| alike(one, other, state, changed, &at))
}

/// The same for bytes that the transitions may write. A sequence of invisible steps that is back in
/// a state in which it has been is cut. So one that writes the value that is there already may be
/// cut a round earlier, without the outcomes that it has had before (S-ENDLESS).
fn differ_as_sets(before: &[Transition], after: &[Transition], state: &[u8], changed: &[u8], at: std::ops::Range<usize>) -> bool {
    let found = |one: &Transition| after.iter().any(|other| alike(one, other, state, changed, &at));
    let known = |other: &Transition| before.iter().any(|one| alike(one, other, state, changed, &at));
    !before.iter().all(found) || !after.iter().all(known)
}

/// Variables of a state: type, offset.
fn variables(program: &Verified, map: &StateMap) -> Vec<(Type, usize)> {
    let layout = program.layout();
    let each = |slot: &Slot, base: usize| {
        let (ty, start) = (slot.ty, base + slot.offset);
        (0..slot.elements).map(move |i| (ty, start + i * ty.width())).collect::<Vec<_>>()
    };
    // A variable that no instruction writes is a constant and not part of a footprint.
    let written = |i: usize| program.program().code.iter().any(|op| matches!(op, Op::Stg { var } | Op::Stgx { var } if var.index() == i));
    let globals = layout.globals.iter().enumerate().filter(|(i, _)| written(*i));
    let mut all: Vec<(Type, usize)> = globals.flat_map(|(_, slot)| each(slot, 0)).collect();
    for component in &map.processes {
        if let Shape::Process(ty) = component.shape {
            all.extend(layout.processes[ty.index()].locals.iter().flat_map(|slot| each(slot, component.offset)));
        }
    }
    all
}

/// Checks up to `most` states. Returns how many reads and writes were checked.
fn check(program: &Arc<Verified>, most: usize) -> [usize; 3] {
    let Ok(graph) = StepGraph::of(program) else { return [0; 3] };
    let bench = Bench { program, graph: &graph };
    let mut engine = Interpreter::new(program.clone());
    let mut out = Successors::new();
    engine.initial(&mut out);
    let mut queue: VecDeque<Vec<u8>> = out.iter().filter_map(|(_, s)| s.map(<[u8]>::to_vec)).collect();
    let mut seen: HashSet<Vec<u8>> = queue.iter().cloned().collect();
    let (mut readings, mut writings, mut privileged) = (0, 0, 0);
    while let Some(state) = queue.pop_front() {
        let mut map = StateMap::default();
        map.read(program.layout(), &state).expect("a state");
        out.clear();
        engine.successors(&state, &mut out);
        for process in 0..map.processes.len() {
            let mut allowed = bench.allowed(&state, &map, process);
            if let Some(at) = program.layout().exclusive
                && state[at] != 0
            {
                // Such a state is one part: every step may return the privilege, and depends on
                // whether its holder can move.
                (allowed.writes[at], allowed.entangled) = (true, true);
                privileged += 1;
            }
            let before = of_process(&out, process);
            for next in before.iter().filter_map(|(_, s)| s.as_ref()) {
                assert!(allowed.resizes || next.len() == state.len(), "an undeclared change of components");
                for i in 0..state.len().min(next.len()) {
                    assert!(
                        state[i] == next[i] || allowed.writes[i] || allowed.resizes && next.len() != state.len(),
                        "process {process} writes byte {i} of {state:?}, which is in no footprint\n{}",
                        graph.to_text(program, true)
                    );
                }
                writings += 1;
            }
            if allowed.entangled {
                continue;
            }
            for (ty, at) in variables(program, &map) {
                if allowed.reads[at] {
                    continue;
                }
                let mut changed = state.clone();
                let value = ty.read(&state[at..]);
                ty.write(value ^ 1, &mut changed[at..]);
                let mut other = Successors::new();
                engine.successors(&changed, &mut other);
                let after = of_process(&other, process);
                let wrong = if allowed.writes[at] {
                    differ_as_sets(&before, &after, &state, &changed, at..at + ty.width())
                } else {
                    differ(&before, &after, &state, &changed, at..at + ty.width())
                };
                assert!(
                    !wrong,
                    "process {process} reads byte {at} of {state:?}, which is in no footprint: {before:?} became {after:?}\n{}",
                    graph.to_text(program, true)
                );
                readings += 1;
            }
        }
        for (_, next) in out.iter() {
            if let Some(next) = next
                && seen.len() < most
                && seen.insert(next.to_vec())
            {
                queue.push_back(next.to_vec());
            }
        }
    }
    [readings, writings, privileged]
}

#[test]
fn nothing_outside_the_footprint() {
    let mut checked = [0; 3];
    // How many programs tie processes together by each of the rules of the scheduler.
    let mut tied = [0; 5];
    for seed in testkit::models::seeds(0..600) {
        let Some(program) = testkit::random::verified(seed) else { continue };
        let by = [
            program.layout().exclusive.is_some(),
            program.layout().last.is_some(),
            program.layout().processes.iter().any(|p| p.priority.is_some()),
            program.program().code.iter().any(|op| matches!(op, Op::Timeout {} | Op::Enabled {})),
            program.program().globals.iter().any(|v| v.scratch),
        ];
        tied.iter_mut().zip(by).for_each(|(count, is)| *count += u32::from(is));
        checked.iter_mut().zip(check(&Arc::new(program), 40)).for_each(|(all, more)| *all += more);
    }
    let [readings, writings, privileged] = checked;
    assert!(readings > 1000 && writings > 1000 && privileged > 100, "{readings} readings, {writings} writings, {privileged} privileged");
    assert!(tied.iter().all(|&count| count > 10), "{tied:?}");
}
