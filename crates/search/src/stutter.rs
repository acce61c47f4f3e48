//! Whether an automaton counts steps: whether it can distinguish runs that differ only in how often
//! letters are repeated.
//!
//! A reduction changes how often letters are repeated. A formula without *next* does not notice
//! that. Of an automaton it must be tested. Every word that it accepts is changed by all possible
//! repetitions and by all possible omissions of repeated letters, which is another automaton
//! (Michaud and Duret-Lutz, "Practical stutter-invariance checks for ω-regular languages", 2015).
//! The automaton does not count steps if it accepts those words, too. Inclusion of languages is
//! expensive, so a sufficient condition is decided instead: the automaton simulates the other one
//! fairly (Etessami, Wilke and Schuller, "Fair simulation relations, parity games, and state space
//! reduction for Büchi automata", 2001). A player follows a run of the other automaton letter by
//! letter, and must accept if that run does. If it does not succeed, or if that takes too long, the
//! automaton counts as one that counts steps.

use crate::product::{Automaton, AutomatonEdge};
use std::collections::HashMap;

/// Automata that read more propositions are not tested.
const PROPOSITIONS_MAX: u32 = 12;

/// The most positions of the game, and the most edges that are followed in it.
const POSITIONS_MAX: usize = 1 << 15;
const WORK_MAX: u64 = 1 << 21;

/// A target and whether the edge is accepting.
type Move = (usize, bool);

/// For each state and each letter, where it leads. The last state accepts everything.
struct Table {
    letters: usize,
    moves: Vec<Vec<Vec<Move>>>,
}

impl Automaton {
    /// Whether it is known that repeating letters of a word, or leaving out repetitions, never
    /// changes whether the automaton accepts it, nor whether it does so after finitely many
    /// letters. Automata with several acceptance sets are not tested.
    pub fn ignores_repetition(&self) -> bool {
        let Some(table) = Table::of(self) else { return false };
        let Some(changed) = table.without_repetitions() else { return false };
        Game { own: &table, other: &changed }.is_won(usize::from(self.initial)) == Some(true)
    }
}

impl Table {
    fn of(automaton: &Automaton) -> Option<Table> {
        let edges = || automaton.edges.iter().flatten();
        let used = edges().fold(0, |used, edge| used | edge.required | edge.forbidden);
        if automaton.sets > 1 || used.count_ones() > PROPOSITIONS_MAX || usize::from(automaton.initial) >= automaton.edges.len() {
            return None;
        }
        let words = 1_u64 << used.count_ones();
        if (words * edges().count() as u64) > WORK_MAX {
            return None;
        }
        // Letters that enable the same edges are one letter.
        let mut letters: HashMap<Vec<bool>, u64> = HashMap::new();
        for word in 0..words {
            let letter = spread(word, used);
            letters.entry(edges().map(|edge| edge.is_enabled(letter)).collect()).or_insert(letter);
        }
        let mut letters: Vec<u64> = letters.into_values().collect();
        letters.sort_unstable();
        let all = automaton.edges.len();
        let target = |edge: &AutomatonEdge| edge.target.map_or(all, usize::from);
        let accepts = |edge: &AutomatonEdge| edge.marks == automaton.all_marks() || edge.target.is_none();
        let row = |own: &Vec<AutomatonEdge>, letter: u64| {
            let mut moves = Vec::new();
            own.iter().filter(|edge| edge.is_enabled(letter)).for_each(|edge| _ = add(&mut moves, (target(edge), accepts(edge))));
            moves
        };
        let rows = automaton.edges.iter().map(|own| letters.iter().map(|&letter| row(own, letter)).collect());
        let last = vec![vec![(all, true)]; letters.len()];
        Some(Table { letters: letters.len(), moves: rows.chain(std::iter::once(last)).collect() })
    }

    /// The same, with further moves that read a letter once where the automaton reads it several
    /// times. `None` if there are too many.
    fn without_repetitions(&self) -> Option<Table> {
        let mut moves = self.moves.clone();
        let mut work = 0;
        let mut changed = true;
        while changed {
            changed = false;
            for state in 0..moves.len() {
                for letter in 0..self.letters {
                    changed |= repeat(&mut moves, state, letter, &mut work)?;
                }
            }
        }
        Some(Table { letters: self.letters, moves })
    }

    /// The state that accepts everything.
    fn last(&self) -> usize {
        self.moves.len() - 1
    }
}

/// Adds to the moves of a state by a letter those of its targets by the same letter. Returns
/// whether any was new, or `None` if there is too much work.
fn repeat(moves: &mut [Vec<Vec<Move>>], state: usize, letter: usize, work: &mut u64) -> Option<bool> {
    let (mut at, mut changed) = (0, false);
    while let Some(&(between, first)) = moves[state][letter].get(at) {
        at += 1;
        *work += moves[between][letter].len() as u64 + 1;
        if *work > WORK_MAX {
            return None;
        }
        for next in 0..moves[between][letter].len() {
            let (target, second) = moves[between][letter][next];
            changed |= add(&mut moves[state][letter], (target, first || second));
        }
    }
    Some(changed)
}

/// The `word`'s bits at the places of the bits of `used`.
fn spread(word: u64, used: u64) -> u64 {
    let places = (0..64).filter(|place| used >> place & 1 != 0);
    places.enumerate().fold(0, |letter, (bit, place)| letter | (word >> bit & 1) << place)
}

/// Adds a move; returns whether it is new. Of two moves to a state an accepting one is enough.
fn add(moves: &mut Vec<Move>, (target, accepting): Move) -> bool {
    match moves.iter_mut().find(|(known, _)| *known == target) {
        Some((_, known)) => {
            let new = accepting && !*known;
            *known |= accepting;
            new
        }
        None => {
            moves.push((target, accepting));
            true
        }
    }
}

/// The game between a run of the automaton with changed repetitions and a player who follows it
/// with the automaton itself.
struct Game<'a> {
    own: &'a Table,
    other: &'a Table,
}

/// The state of the run, the letter that it has read last and may read again, and the state of the
/// player.
type Position = (usize, Option<usize>, usize);

/// An answer of the player: the position it leads to, and whether the player's edge accepts.
type Answer = (u32, bool);

/// A step of the run: whether its edge accepts, and the answers to it.
type Step = (bool, Vec<Answer>);

impl Game<'_> {
    /// Whether the player wins from the initial state; `None` if that takes too long.
    fn is_won(&self, initial: usize) -> Option<bool> {
        let steps = self.positions((initial, None, initial))?;
        let count = steps.len();
        let each = steps.iter().flatten().map(|(_, answers)| answers.len() as u64 + 1).sum::<u64>() + count as u64;
        let mut work = 0;
        // The player loses if from some point on the run accepts again and again and the player
        // does not.
        let mut won = vec![true; count];
        loop {
            let mut progress = vec![false; count];
            loop {
                let mut idle = vec![true; count];
                loop {
                    work += each;
                    if work > WORK_MAX {
                        return None;
                    }
                    let stays = |&(target, accepting): &Answer, accepted: bool| match (accepting, accepted) {
                        (true, _) => won[target as usize],
                        (false, true) => progress[target as usize],
                        (false, false) => idle[target as usize],
                    };
                    let holds =
                        |own: &Vec<Step>| own.iter().all(|(accepted, answers)| answers.iter().any(|answer| stays(answer, *accepted)));
                    let next: Vec<bool> = steps.iter().map(holds).collect();
                    if next == idle {
                        break;
                    }
                    idle = next;
                }
                if idle == progress {
                    break;
                }
                progress = idle;
            }
            if progress == won {
                return won.first().copied();
            }
            won = progress;
        }
    }

    /// The steps of all positions that can be reached from `first`, which gets number 0.
    fn positions(&self, first: Position) -> Option<Vec<Vec<Step>>> {
        let mut numbers: HashMap<Position, u32> = HashMap::from([(first, 0)]);
        let mut list = vec![first];
        let mut all = Vec::new();
        let mut work = 0;
        while let Some(&(state, read, player)) = list.get(all.len()) {
            let mut own = Vec::new();
            for letter in 0..self.own.letters {
                let again = (read == Some(letter)).then_some((state, false));
                for (target, accepted) in self.other.moves[state][letter].iter().copied().chain(again) {
                    let mut answers = Vec::new();
                    for &(place, accepting) in &self.own.moves[player][letter] {
                        // A run that is accepted whatever comes must be recognised at once.
                        if target == self.own.last() && place != target {
                            continue;
                        }
                        let position = (target, Some(letter), place);
                        let next = numbers.len() as u32;
                        let number = *numbers.entry(position).or_insert_with(|| {
                            list.push(position);
                            next
                        });
                        answers.push((number, accepting));
                    }
                    work += answers.len() as u64 + 1;
                    own.push((accepted, answers));
                }
            }
            if list.len() > POSITIONS_MAX || work > WORK_MAX {
                return None;
            }
            all.push(own);
        }
        Some(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::testing::Random;

    fn edge(required: u64, forbidden: u64, marks: u64, target: u16) -> AutomatonEdge {
        AutomatonEdge { required, forbidden, marks, target: Some(target) }
    }

    fn automaton(edges: Vec<Vec<AutomatonEdge>>) -> Automaton {
        Automaton { initial: 0, edges, sets: 1 }
    }

    /// Whether the automaton accepts the word of these letters, of which those from `start` on
    /// repeat: whether an accepting edge of the product lies on a cycle that can be reached.
    fn accepts(automaton: &Automaton, letters: &[u64], start: usize) -> bool {
        let next = |at: usize| if at + 1 < letters.len() { at + 1 } else { start };
        let from = |(at, state): (usize, Option<u16>)| -> Vec<((usize, Option<u16>), bool)> {
            let Some(state) = state else { return vec![((next(at), None), true)] };
            let enabled = automaton.edges[usize::from(state)].iter().filter(|edge| edge.is_enabled(letters[at]));
            enabled.map(|edge| ((next(at), edge.target), edge.marks != 0 || edge.target.is_none())).collect()
        };
        let reach = |begin: Vec<(usize, Option<u16>)>| {
            let (mut seen, mut open) = (std::collections::BTreeSet::new(), begin);
            while let Some(node) = open.pop() {
                if seen.insert(node) {
                    open.extend(from(node).into_iter().map(|(target, _)| target));
                }
            }
            seen
        };
        let all = reach(vec![(0, Some(automaton.initial))]);
        all.iter().any(|&node| from(node).into_iter().any(|(target, accepting)| accepting && reach(vec![target]).contains(&node)))
    }

    #[test]
    fn what_counts_steps_is_recognised() {
        // Infinitely often p, with an accepting state that is left at once.
        let recurrence = automaton(vec![vec![edge(0, 0, 0, 0), edge(1, 0, 0, 1)], vec![edge(0, 0, 1, 0)]]);
        assert!(recurrence.ignores_repetition());
        // From some point on p.
        assert!(automaton(vec![vec![edge(0, 0, 0, 0), edge(1, 0, 0, 1)], vec![edge(1, 0, 1, 1)]]).ignores_repetition());
        // p in the second state; p in every second state; p exactly once.
        assert!(!automaton(vec![vec![edge(0, 0, 0, 1)], vec![edge(1, 0, 1, 2)], vec![edge(0, 0, 1, 2)]]).ignores_repetition());
        assert!(!automaton(vec![vec![edge(0, 0, 1, 1)], vec![edge(1, 0, 1, 0)]]).ignores_repetition());
        assert!(!automaton(vec![vec![edge(0, 1, 0, 0), edge(1, 0, 0, 1)], vec![edge(0, 1, 1, 1)]]).ignores_repetition());
        // p once, whatever comes.
        let settled = AutomatonEdge { required: 1, ..AutomatonEdge::default() };
        assert!(automaton(vec![vec![edge(0, 0, 0, 0), settled]]).ignores_repetition());
    }

    /// Random automata that are said not to count steps accept a word and the same word with other
    /// repetitions alike.
    #[test]
    fn random_automata_keep_the_promise() {
        let mut ignoring = 0;
        for seed in 0..3000 {
            let mut random = Random(seed);
            let states = 1 + random.below(4);
            let any = |random: &mut Random| {
                let literals = [(0, 0), (1, 0), (0, 1), (2, 0), (0, 2), (1, 2), (3, 0)];
                let (required, forbidden) = literals[random.below(7) as usize];
                let target = (random.below(12) != 0).then(|| random.below(states) as u16);
                AutomatonEdge { required, forbidden, marks: random.below(2), target }
            };
            // Many states have an edge to themselves, as in automata of formulas.
            let edges = (0..states).map(|state| {
                let mut own: Vec<AutomatonEdge> = (0..1 + random.below(3)).map(|_| any(&mut random)).collect();
                if random.below(3) != 0 {
                    own.push(AutomatonEdge { target: Some(state as u16), ..own[0] });
                }
                own
            });
            let automaton = automaton(edges.collect());
            if !automaton.ignores_repetition() {
                continue;
            }
            ignoring += 1;
            for _ in 0..20 {
                let letters: Vec<u64> = (0..1 + random.below(5)).map(|_| random.below(4)).collect();
                let start = random.below(letters.len() as u64) as usize;
                let mut other = Vec::new();
                let mut other_start = 0;
                for (index, &letter) in letters.iter().enumerate() {
                    if index == start {
                        other_start = other.len();
                    }
                    other.extend(std::iter::repeat_n(letter, 1 + random.below(3) as usize));
                }
                assert_eq!(accepts(&automaton, &letters, start), accepts(&automaton, &other, other_start), "{seed}: {letters:?} {other:?}");
            }
        }
        assert!(ignoring > 300, "{ignoring}");
    }
}
