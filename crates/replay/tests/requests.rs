//! Processes that wait for messages of LF, told in its words.

use contract::{Successors, System, Trace, TraceStep};
use lf::{Options, Request};
use replay::{Narrator, Waiting, Why};
use source::SourceMap;
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

/// The waiting processes in the first deadlock that a search in breadth finds.
fn stuck(text: &str) -> Vec<Waiting> {
    let mut map = SourceMap::new();
    let file = map.add("test.lf", text);
    let mut loader = |_: &str, _: &str| Err("there are no files here".to_owned());
    let compiled = lf::compile(&mut map, file, &mut loader, Request { options: Options::default(), ..Request::default() });
    let program = compiled.program.unwrap_or_else(|| panic!("{}", source::render_all(&map, &compiled.diagnostics)));
    let program = Arc::new(bytecode::verify(program).expect("it is verified"));
    let mut system = vm::Interpreter::new(Arc::clone(&program));
    let mut out = Successors::new();
    system.initial(&mut out);
    let initial = out.iter().find_map(|(_, state)| state.map(<[u8]>::to_vec)).expect("an initial state");
    let mut seen = HashSet::from([initial.clone()]);
    let mut open = VecDeque::from([Trace { initial, steps: Vec::new(), loop_start: None }]);
    while let Some(trace) = open.pop_front() {
        let state = trace.last_state().to_vec();
        out.clear();
        system.successors(&state, &mut out);
        if out.is_empty() && !system.is_valid_end(&state) {
            return Narrator::new(program).waiting(&trace);
        }
        for (entry, next) in out.iter() {
            let Some(next) = next.filter(|next| seen.insert(next.to_vec())) else { continue };
            let mut longer = trace.clone();
            longer.steps.push(TraceStep { action: entry.action, state: Some(next.to_vec()) });
            open.push_back(longer);
        }
    }
    panic!("no deadlock");
}

/// What a process waits for, and for whom.
fn wait(waiting: &[Waiting], pid: usize) -> (String, bool, Vec<usize>) {
    let process = waiting.iter().find(|process| process.pid == pid).expect("it waits");
    let option = &process.options[0];
    let Why::NoPartner { channel, sends } = &option.why else { panic!("{option:?}") };
    (channel.clone(), *sends, option.on.iter().map(|on| on.pid).collect())
}

const FORKS: &str = "MODULE Forks;
TYPE Fork = [take, drop];
CONST N = 3;
PORT f : ARRAY N OF Fork;
VAR i : INTEGER;
PROCESS F(p : Fork); BEGIN WHILE TRUE DO p?take; p?drop END END F;
PROCESS Ph(l, r : Fork); BEGIN WHILE TRUE DO l!take; r!take; RESCHEDULE; r!drop; l!drop END END Ph;
BEGIN
  FOR i := 0 TO N - 1 DO NEW(f[i]); CREATE F(f[i]) END;
  FOR i := 0 TO N - 1 DO CREATE Ph(f[i], f[(i + 1) MOD N]) END
END Forks.";

/// Each philosopher has one fork and waits for the next; each fork waits for the one who has it.
#[test]
fn a_fork_waits_for_the_one_who_has_it() {
    let waiting = stuck(FORKS);
    for number in 0..3 {
        let (fork, philosopher) = (1 + number, 4 + number);
        assert_eq!(wait(&waiting, fork), ("Fork.drop".to_owned(), false, vec![philosopher]), "{waiting:#?}");
        assert_eq!(wait(&waiting, philosopher), ("Fork.take".to_owned(), true, vec![1 + (number + 1) % 3]), "{waiting:#?}");
    }
}

/// Nobody is named who has nothing to do with the channel, and values make no difference.
#[test]
fn partners_have_the_same_channel() {
    let waiting = stuck(
        "MODULE M; TYPE C = [v(INTEGER)]; PORT a, b : C;
         PROCESS S(p : C); BEGIN p!v(1) END S; PROCESS R(p : C); VAR x : INTEGER; BEGIN p?v(x) END R;
         BEGIN NEW(a); NEW(b); CREATE S(a); CREATE R(b) END M.",
    );
    for (pid, sends) in [(1, true), (2, false)] {
        let (channel, direction, on) = wait(&waiting, pid);
        assert!(channel.starts_with('C') && channel.ends_with(".v"), "{channel}");
        assert_eq!((direction, on), (sends, Vec::new()), "{waiting:#?}");
    }
}
