//! Numbers of states and transitions that are known from elsewhere.

mod common;

use common::{counts, graph_of};
use lf::{Options, Queues};
use std::collections::HashSet;

const QUEUE: &str = "MODULE Queue;
CONST N = 4;
TYPE C = [s];
PORT ch : C;
VAR i : INTEGER;
PROCESS Sender;
BEGIN WHILE TRUE DO ch!s END
END Sender;
PROCESS Receiver;
BEGIN WHILE TRUE DO ch?s END
END Receiver;
BEGIN
  NEW(ch);
  FOR i := 1 TO N DO CREATE Sender END;
  CREATE Receiver
END Queue.";

/// Table 3 of the thesis: sorted queues, with every partner.
#[test]
fn sorted_queues() {
    for (n, states, transitions) in [("4", 113, 465), ("5", 307, 1563), ("6", 857, 5201)] {
        let graph = graph_of(QUEUE, &[("N", n)], Options::default());
        assert_eq!((graph.states, graph.transitions), (states, transitions), "{n} senders");
    }
}

/// First in, first out, without stale data in processes that have continued.
#[test]
fn first_in_first_out() {
    for (n, states, transitions) in [("4", 249, 661), ("5", 1230, 3358), ("6", 7317, 20051)] {
        let options = Options { queues: Queues::Fifo, ..Options::default() };
        let graph = graph_of(QUEUE, &[("N", n)], options);
        assert_eq!((graph.states, graph.transitions), (states, transitions), "{n} senders");
    }
}

/// Independent processes of k actions have k^n states, plus the state before they exist. The first
/// action is at a location of its own.
#[test]
fn independent_processes() {
    for n in 1..=4_u32 {
        for k in 2..=5_usize {
            let body = "RESCHEDULE; ".repeat(k - 1);
            let text = format!(
                "MODULE M; CONST N = {n}; VAR i : INTEGER; PROCESS P; BEGIN WHILE TRUE DO {body} END END P;
                 BEGIN FOR i := 1 TO N DO CREATE P END END M."
            );
            let (states, _) = counts(&text);
            assert_eq!(states, k.pow(n) + 1, "{n} processes of {k} actions");
        }
    }
}

/// The asynchronous product of two processes of three states has nine states, each with two
/// successors.
#[test]
fn product() {
    let text = "MODULE Product;
        PROCESS P; BEGIN WHILE TRUE DO RESCHEDULE; RESCHEDULE END END P;
        BEGIN CREATE P; CREATE P END Product.";
    assert_eq!(counts(text), (9 + 1, 18 + 1));
}

/// The senders and the receiver of table 3, modelled by hand with three options: queues are sorted,
/// every partner is tried, and a link to the next in the queue stays in a process that has left it.
fn by_hand(n: usize, sorted: bool, every: bool, stale: bool) -> (usize, usize) {
    #[derive(Clone, PartialEq, Eq, Hash)]
    struct State {
        // 0 at the beginning, 1 in the loop, 2 waiting.
        senders: Vec<u8>,
        receiver: u8,
        queue: Vec<usize>,
        links: Vec<usize>,
    }
    let link = |state: &mut State| {
        if stale {
            for (at, sender) in state.queue.clone().into_iter().enumerate() {
                state.links[sender] = state.queue.get(at + 1).map_or(0, |next| next + 1);
            }
        }
    };
    let successors = |state: &State| {
        let mut all = Vec::new();
        for sender in (0..n).filter(|sender| !state.queue.contains(sender)) {
            let mut next = state.clone();
            if state.receiver == 2 {
                next.senders[sender] = 1;
                next.receiver = 1;
            } else {
                next.senders[sender] = 2;
                next.queue.push(sender);
                if sorted {
                    next.queue.sort_unstable();
                }
                link(&mut next);
            }
            all.push(next);
        }
        if state.receiver != 2 {
            if state.queue.is_empty() {
                all.push(State { receiver: 2, ..state.clone() });
            }
            for at in 0..if every { state.queue.len() } else { state.queue.len().min(1) } {
                let mut next = state.clone();
                let sender = next.queue.remove(at);
                next.senders[sender] = 1;
                next.receiver = 1;
                link(&mut next);
                all.push(next);
            }
        }
        all
    };
    let first = State { senders: vec![0; n], receiver: 0, queue: Vec::new(), links: vec![0; n] };
    let mut seen = HashSet::from([first.clone()]);
    let mut open = vec![first];
    // The state before they exist, and the step from it.
    let mut transitions = 1;
    while let Some(state) = open.pop() {
        for next in successors(&state) {
            transitions += 1;
            if seen.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    (seen.len() + 1, transitions)
}

/// All eight variants for four, five and six senders; the two variants that the compiler offers
/// must agree with the compiled program.
#[test]
fn eight_variants() {
    let expected = [
        (true, true, false, vec![(113, 465), (307, 1563), (857, 5201)]),
        (true, false, false, vec![(113, 405), (307, 1320), (857, 4279)]),
        (true, true, true, vec![(342, 1430), (1989, 10267), (13764, 84536)]),
        (true, false, true, vec![(342, 1317), (1989, 9394), (13764, 76990)]),
        (false, true, false, vec![(249, 1009), (1230, 6178), (7317, 43961)]),
        (false, false, false, vec![(249, 661), (1230, 3358), (7317, 20051)]),
        (false, true, true, vec![(1221, 5093), (14085, 72538), (203895, 1250195)]),
        (false, false, true, vec![(1221, 4385), (14085, 61698), (203895, 1054565)]),
    ];
    for (sorted, every, stale, counts) in expected {
        for (n, counts) in [4, 5, 6].into_iter().zip(counts) {
            assert_eq!(by_hand(n, sorted, every, stale), counts, "{n} {sorted} {every} {stale}");
        }
    }
    for (queues, sorted) in [(Queues::Sorted, true), (Queues::Fifo, false)] {
        let graph = graph_of(QUEUE, &[("N", "3")], Options { queues, ..Options::default() });
        assert_eq!((graph.states, graph.transitions), by_hand(3, sorted, sorted, false));
    }
}
