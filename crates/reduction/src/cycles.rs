//! Marks steps so that every cycle of states contains one. If a marked step is chosen, everything
//! is expanded.
//!
//! With a temporal property no process may be postponed for ever along a cycle. It is enough that
//! each cycle has a state in which everything is expanded. Here the code alone decides it (Kurshan,
//! Levin, Minea, Peled and Yenigün, "Static partial order reduction", 1998): some steps are marked
//! so that every cycle contains one. Then the choice in a state depends only on the state. The
//! states and steps that are left form a smaller system, and every search for runs is right on it:
//! in every order, with any number of workers, and in the product with an automaton.
//!
//! A cycle of states is a closed walk through the code of each process that moves. Every message
//! that is sent on it is received on it, and every process that is started on it also ends. So the
//! steps of a cycle without marked steps lie on cycles of code without marked steps, with a
//! receiver for each sender and an end for each start. Steps are marked until no step is left that
//! could be on such a cycle.

use crate::places::Places;
use crate::steps::{Class, Step};
use bytecode::ProcessId;

/// A step as a move through the code.
pub(crate) struct Move {
    from: usize,
    /// Where it leads. The end of a process leads to the start of another one of its type.
    to: usize,
    /// The channels it may put messages into, and take messages out of.
    sends: Vec<usize>,
    takes: Vec<usize>,
    /// The rendezvous channels on which it may make or answer an offer.
    offers: Vec<usize>,
    answers: Vec<usize>,
    runs: Vec<ProcessId>,
    /// The type of the process that it ends.
    ends: Option<ProcessId>,
}

impl Move {
    /// The move of a step, before the steps that follow it are added. `entry` is the node at which
    /// processes of its type start.
    pub fn of(step: &Step, class: &Class, entry: usize, places: &Places) -> Move {
        let channels = |end: &dyn Fn(usize) -> usize| (0..=places.created()).filter(|&c| step.writes.has(end(c))).collect();
        Move {
            from: step.node,
            to: step.target.map_or(if step.ends { entry } else { step.node }, |to| class.first + to.index()),
            sends: channels(&|channel| places.tail(channel)),
            takes: channels(&|channel| places.head(channel)),
            offers: step.offers.clone(),
            answers: step.answers.clone(),
            runs: step.runs.clone(),
            ends: step.ends.then_some(class.ty),
        }
    }
}

/// Marks steps so that every cycle has one: those that are `marked` already, and others, those with
/// the highest `score` first.
pub(crate) fn mark(moves: &[Move], nodes: usize, marked: &mut [bool], score: &dyn Fn(usize) -> usize) {
    loop {
        let left = repeated(moves, nodes, marked);
        // Of equal scores the last is taken: the last step in the text mostly closes a cycle of
        // code.
        let Some(next) = (0..moves.len()).filter(|&step| left[step]).max_by_key(|&step| score(step)) else { return };
        marked[next] = true;
    }
}

/// The steps that may be on a cycle without marked ones.
fn repeated(moves: &[Move], nodes: usize, marked: &[bool]) -> Vec<bool> {
    let mut left: Vec<bool> = marked.iter().map(|marked| !marked).collect();
    loop {
        let before = left.iter().filter(|left| **left).count();
        let components = components(moves, nodes, &left);
        for (step, on) in moves.iter().enumerate() {
            left[step] &= components[on.from] == components[on.to];
        }
        let all = left.clone();
        let any = |test: &dyn Fn(&Move) -> bool| moves.iter().zip(&all).any(|(other, left)| *left && test(other));
        for (step, on) in moves.iter().enumerate().filter(|(step, _)| all[*step]) {
            let sends = !on.sends.is_empty() || !on.offers.is_empty();
            let takes = !on.takes.is_empty() || !on.answers.is_empty();
            left[step] = (!sends || any(&|other| meet(&on.sends, &other.takes) || meet(&on.offers, &other.answers)))
                && (!takes || any(&|other| meet(&on.takes, &other.sends) || meet(&on.answers, &other.offers)))
                && (on.runs.is_empty() || any(&|other| other.ends.is_some_and(|ty| on.runs.contains(&ty))))
                && on.ends.is_none_or(|ty| any(&|other| other.runs.contains(&ty)));
        }
        if left.iter().filter(|left| **left).count() == before {
            return left;
        }
    }
}

fn meet(a: &[usize], b: &[usize]) -> bool {
    a.iter().any(|channel| b.contains(channel))
}

/// For each node, a number that it shares with those it lies on a cycle with: strongly connected
/// components (Kosaraju).
fn components(moves: &[Move], nodes: usize, left: &[bool]) -> Vec<usize> {
    let (mut after, mut before) = (vec![Vec::new(); nodes], vec![Vec::new(); nodes]);
    for on in moves.iter().zip(left).filter(|(_, left)| **left).map(|(on, _)| on) {
        after[on.from].push(on.to);
        before[on.to].push(on.from);
    }
    let mut order = Vec::with_capacity(nodes);
    let mut seen = vec![false; nodes];
    for root in 0..nodes {
        // A node, and how many of its edges were followed.
        let mut path = vec![(root, 0)];
        while let Some((node, followed)) = path.last_mut() {
            if *followed == 0 && std::mem::replace(&mut seen[*node], true) {
                path.pop();
                continue;
            }
            *followed += 1;
            match after[*node].get(*followed - 1) {
                Some(&next) => path.push((next, 0)),
                None => {
                    order.push(*node);
                    path.pop();
                }
            }
        }
    }
    let mut component = vec![usize::MAX; nodes];
    for &root in order.iter().rev() {
        let mut open = vec![root];
        while let Some(node) = open.pop() {
            if component[node] == usize::MAX {
                component[node] = root;
                open.extend(&before[node]);
            }
        }
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(from: usize, to: usize) -> Move {
        Move { from, to, sends: vec![], takes: vec![], offers: vec![], answers: vec![], runs: vec![], ends: None }
    }

    fn marked(moves: &[Move], nodes: usize, score: &dyn Fn(usize) -> usize) -> Vec<usize> {
        let mut marked = vec![false; moves.len()];
        mark(moves, nodes, &mut marked, score);
        (0..moves.len()).filter(|&step| marked[step]).collect()
    }

    #[test]
    fn every_cycle_of_code_has_a_mark() {
        // 0 -> 1 -> 2 -> 0, 1 -> 1, and an exit.
        let moves = [step(0, 1), step(1, 2), step(2, 0), step(1, 1), step(2, 3)];
        assert_eq!(marked(&moves, 4, &|_| 0), [2, 3]);
        assert_eq!(marked(&moves, 4, &|step| usize::from(step == 0)), [0, 3]);
        let mut known = [false, true, false, true, false];
        mark(&moves, 4, &mut known, &|_| 0);
        assert_eq!(known, [false, true, false, true, false]);
    }

    #[test]
    fn what_is_sent_is_received() {
        let sender = Move { sends: vec![5], ..step(0, 0) };
        let receiver = Move { takes: vec![5], ..step(1, 1) };
        let other = Move { takes: vec![6], ..step(1, 1) };
        // One mark is enough for both, and none is needed if there is no receiver.
        assert_eq!(marked(&[sender, receiver], 2, &|_| 0), [1]);
        let sender = Move { sends: vec![5], ..step(0, 0) };
        assert_eq!(marked(&[sender, other], 2, &|_| 0), []);
        let offer = Move { offers: vec![7], ..step(0, 0) };
        let answer = Move { answers: vec![7], ..step(1, 1) };
        assert_eq!(marked(&[offer, answer, step(2, 3)], 4, &|step| 2 - step), [0]);
    }

    #[test]
    fn what_is_started_ends() {
        let ty = ProcessId(1);
        let start = || Move { runs: vec![ty], ..step(0, 0) };
        let end = Move { ends: Some(ty), ..step(2, 1) };
        assert_eq!(marked(&[start(), step(1, 2), end], 3, &|_| 0), [2]);
        // A process that is not started again ends only once.
        let end = Move { ends: Some(ProcessId(2)), ..step(2, 1) };
        assert_eq!(marked(&[start(), step(1, 2), end], 3, &|_| 0), []);
    }
}
