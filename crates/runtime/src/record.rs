//! Records a run as a trace of the checked graph.
//!
//! The last states of the run are kept. At its end each action between two of them is looked up
//! among the transitions that the reference interpreter finds. So a recorded run is also confirmed:
//! an action that the graph does not have is found here. The number of actions and the bytes of
//! their states have limits. A longer run loses its beginning, because what a user looks for is
//! usually at its end.

use bytecode::{Fault, Verified};
use contract::{Action, FaultCode, Successors, System, Trace, TraceStep};
use std::collections::VecDeque;
use std::sync::Arc;

/// The most bytes of all states that are kept. A single larger state is kept too.
const MOST_BYTES: usize = 64 << 20;

/// An action of a run: who began it, and what it led to.
struct Recorded {
    process: usize,
    /// The state after it; `None` if it failed.
    state: Option<Vec<u8>>,
    fault: Option<Fault>,
}

/// The last actions of a run.
struct Tail {
    /// The state before the first action that is kept.
    first: Vec<u8>,
    kept: VecDeque<Recorded>,
    /// The bytes of the states of these actions.
    bytes: usize,
    most: usize,
    most_bytes: usize,
}

impl Tail {
    fn push(&mut self, new: Recorded) {
        let length = |recorded: &Recorded| recorded.state.as_ref().map_or(0, Vec::len);
        self.bytes += length(&new);
        self.kept.push_back(new);
        while self.kept.len() > 1
            && (self.kept.len() > self.most || self.bytes > self.most_bytes)
            && let Some(oldest) = self.kept.pop_front()
        {
            self.bytes -= length(&oldest);
            self.first = oldest.state.unwrap_or_default();
        }
    }
}

pub(crate) struct Recorder {
    program: Arc<Verified>,
    tail: Tail,
}

impl Recorder {
    pub fn new(program: &Arc<Verified>, initial: Vec<u8>, most: usize) -> Recorder {
        let tail = Tail { first: initial, kept: VecDeque::new(), bytes: 0, most, most_bytes: MOST_BYTES };
        Recorder { program: Arc::clone(program), tail }
    }

    /// Adds an action of a process that led to a state, or failed.
    pub fn add(&mut self, process: usize, state: Option<Vec<u8>>, fault: Option<Fault>) {
        self.tail.push(Recorded { process, state, fault });
    }

    /// The trace; it is an error if an action is not in the graph.
    pub fn into_trace(self) -> Result<Trace, Trace> {
        let mut system = vm::Interpreter::new(self.program);
        let mut out = Successors::new();
        let mut trace = Trace { initial: self.tail.first, ..Trace::default() };
        for Recorded { process, state, fault } in self.tail.kept {
            out.clear();
            system.expand_part(trace.last_state(), bytecode::Part::Process(process as u32).number(), &mut out);
            let code = fault.and_then(|fault| FaultCode::new(fault.code()));
            let same = |found: Option<&[u8]>, with: Option<FaultCode>| match &state {
                Some(state) => found == Some(&state[..]) && with == code,
                None => found.is_none() && with == code,
            };
            let found: Option<Action> = out.iter().find(|(entry, found)| same(*found, entry.fault())).map(|(entry, _)| entry.action);
            match found {
                Some(action) => trace.steps.push(TraceStep { action, state }),
                None => return Err(trace),
            }
        }
        Ok(trace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last actions are kept, and the state before them.
    #[test]
    fn actions_and_bytes_are_bounded() {
        for (most, most_bytes, kept) in [(10, 1000, 10), (100, 50, 12), (100, 4, 1), (100, 1, 1)] {
            let mut tail = Tail { first: vec![0; 4], kept: VecDeque::new(), bytes: 0, most, most_bytes };
            for number in 1..=40 {
                tail.push(Recorded { process: 0, state: Some(vec![number; 4]), fault: None });
            }
            let states: Vec<u8> = tail.kept.iter().filter_map(|recorded| recorded.state.as_ref()).map(|state| state[0]).collect();
            assert_eq!(states, (41 - kept..=40).collect::<Vec<u8>>(), "{most} {most_bytes}");
            assert_eq!((tail.first, tail.bytes), (vec![40 - kept; 4], 4 * usize::from(kept)));
        }
    }
}
