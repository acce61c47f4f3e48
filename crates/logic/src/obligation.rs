//! The smallest deterministic weak automaton of an obligation (Dax, Eisinger, Klaedtke 2007).
//!
//! An obligation is a Boolean combination of safety and guarantee formulas; those are exactly the
//! languages of deterministic weak automata, and among these there is one smallest, found like the
//! smallest finite automaton (Löding 2001). Whether a formula is an obligation is not known
//! beforehand: the automaton is made as if it were, and then compared with automata for the formula
//! and for its negation.

use crate::bdd::Bdd;
use crate::graph::{Edge, Graph, Work};
use crate::letters::Letters;
use crate::product::disjoint;
use rustc_hash::FxHashMap;

/// The smallest deterministic weak automaton of an obligation.
pub struct Obligation {
    /// The automaton, with one acceptance set, on states; complete unless trimmed.
    pub graph: Graph,
    /// Whether it is a safety formula: every violation shows after finitely many letters.
    pub safety: bool,
    /// Whether it is a guarantee: every satisfaction shows after finitely many letters.
    pub guarantee: bool,
}

/// The largest number of sets of states.
const SUBSETS: usize = 600;

/// The automaton, if the language of `graph` is that of an obligation. `complement` accepts what
/// `graph` does not.
pub fn obligation(graph: &Graph, complement: &Graph, work: &mut Work) -> Option<Obligation> {
    let letters = Letters::of(&[graph], work)?;
    let (table, subsets) = subsets(graph, &letters, work)?;
    let mut weak = with_guards(&table, &letters, &vec![0; table.len()], work);
    let (of, found) = weak.partition();
    let mut accepts: Vec<Option<bool>> = vec![None; found as usize];
    for state in 0..table.len() {
        let component = of[state] as usize;
        if accepts[component].is_none()
            && let Some(cycle) = cycle_through(&table, &of, state)
        {
            accepts[component] = Some(accepts_for_ever(graph, &letters, &subsets[state], &cycle, work)?);
        }
    }
    let marks = colours(&table, &of, &accepts);
    mark(&mut weak, &marks);
    if !disjoint(&weak, complement, work)? {
        return None;
    }
    let mut flipped = weak.clone();
    mark(&mut flipped, &marks.iter().map(|mark| 1 - mark).collect::<Vec<u64>>());
    if !disjoint(&flipped, graph, work)? {
        return None;
    }
    let class = refine(&table, &marks);
    let count = class.iter().max().map_or(0, |max| *max as usize + 1);
    let mut small: Vec<Vec<u32>> = vec![Vec::new(); count];
    let mut small_marks = vec![0; count];
    for state in 0..table.len() {
        small[class[state] as usize] = table[state].iter().map(|target| class[*target as usize]).collect();
        small_marks[class[state] as usize] = marks[state];
    }
    let mut result = with_guards(&small, &letters, &small_marks, work);
    result.initial = class[0];
    let components = result.components();
    let sink = |state: usize| small[state].iter().all(|target| *target as usize == state);
    let cyclic = |state: usize| components.of[state] != u32::MAX && components.cyclic[components.of[state] as usize];
    let safety = (0..count).filter(|&state| cyclic(state)).all(|state| small_marks[state] == 1 || sink(state));
    let guarantee = (0..count).filter(|&state| cyclic(state)).all(|state| small_marks[state] == 0 || sink(state));
    result.trim(work);
    Some(Obligation { graph: result, safety, guarantee })
}

/// For each state and each class of letters the next state.
type Table = Vec<Vec<u32>>;

/// For each set of states and each class of letters the next set; sets are numbered as they are
/// found, the initial one first.
fn subsets(graph: &Graph, letters: &Letters, work: &mut Work) -> Option<(Table, Vec<Vec<u32>>)> {
    let mut known: FxHashMap<Vec<u32>, u32> = FxHashMap::default();
    let mut order = vec![vec![graph.initial]];
    known.insert(order[0].clone(), 0);
    let mut table = Vec::new();
    while table.len() < order.len() {
        let set = order[table.len()].clone();
        let mut row = Vec::with_capacity(letters.classes.len());
        for class in 0..letters.classes.len() {
            let edges = set.iter().flat_map(|state| &graph.edges[*state as usize]);
            let mut next: Vec<u32> = edges.filter(|edge| letters.mask(edge.guard).has(class)).map(|edge| edge.target).collect();
            next.sort_unstable();
            next.dedup();
            if !work.spend(set.len() as u64 + 1) {
                return None;
            }
            let number = *known.entry(next.clone()).or_insert_with(|| {
                order.push(next);
                order.len() as u32 - 1
            });
            row.push(number);
        }
        if order.len() > SUBSETS {
            return None;
        }
        table.push(row);
    }
    Some((table, order))
}

/// The classes of letters along a cycle through `start`, if there is one.
fn cycle_through(table: &[Vec<u32>], of: &[u32], start: usize) -> Option<Vec<usize>> {
    let mut from: Vec<Option<(usize, usize)>> = vec![None; table.len()];
    let mut queue = vec![start];
    let mut at = 0;
    while at < queue.len() {
        let state = queue[at];
        at += 1;
        for (class, &target) in table[state].iter().enumerate() {
            let target = target as usize;
            if of[target] != of[start] || from[target].is_some() {
                continue;
            }
            from[target] = Some((state, class));
            if target == start {
                let mut cycle = Vec::new();
                let mut place = start;
                while let Some((before, class)) = from[place] {
                    cycle.push(class);
                    place = before;
                    if place == start {
                        break;
                    }
                }
                cycle.reverse();
                return Some(cycle);
            }
            queue.push(target);
        }
    }
    None
}

/// Whether, from one of the states, reading the cycle for ever is accepted.
fn accepts_for_ever(graph: &Graph, letters: &Letters, starts: &[u32], cycle: &[usize], work: &mut Work) -> Option<bool> {
    // An automaton of the word would need several initial states to guess where to begin. So there
    // is one search for each start.
    let length = cycle.len();
    let mut word = Graph { edges: Vec::new(), initial: 0, sets: 0 };
    for (place, &class) in cycle.iter().enumerate() {
        word.edges.push(vec![Edge { guard: letters.classes[class], marks: 0, target: ((place + 1) % length) as u32 }]);
    }
    let mut from = graph.clone();
    for &start in starts {
        from.initial = start;
        if !disjoint(&word, &from, work)? {
            return Some(true);
        }
    }
    Some(false)
}

/// Which states accept, as a mark for each. States on no cycle get the mark that makes most states
/// equivalent (Löding).
fn colours(table: &[Vec<u32>], of: &[u32], accepts: &[Option<bool>]) -> Vec<u64> {
    let top = (accepts.len() as u32 + 1) * 2;
    let mut colour = vec![top; accepts.len()];
    // Components are numbered from the leaves up.
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); accepts.len()];
    of.iter().enumerate().for_each(|(state, component)| members[*component as usize].push(state));
    for component in 0..accepts.len() {
        let successors = members[component].iter().flat_map(|state| &table[*state]).map(|target| of[*target as usize] as usize);
        let least = successors.filter(|other| *other != component).map(|other| colour[other]).min().unwrap_or(top);
        colour[component] = match accepts[component] {
            None => least,
            Some(true) => least & !1,
            Some(false) => (least - 1) | 1,
        };
    }
    of.iter().map(|component| u64::from(colour[*component as usize].is_multiple_of(2))).collect()
}

fn mark(graph: &mut Graph, marks: &[u64]) {
    for (list, mark) in graph.edges.iter_mut().zip(marks) {
        list.iter_mut().for_each(|edge| edge.marks = *mark);
    }
}

fn with_guards(table: &[Vec<u32>], letters: &Letters, marks: &[u64], work: &mut Work) -> Graph {
    let mut edges = Vec::with_capacity(table.len());
    for (row, mark) in table.iter().zip(marks) {
        let mut list: Vec<Edge> = Vec::new();
        for (class, &target) in row.iter().enumerate() {
            let letters: Bdd = letters.classes[class];
            match list.iter_mut().find(|edge| edge.target == target) {
                Some(edge) => edge.guard = work.bdds.or(edge.guard, letters),
                None => list.push(Edge { guard: letters, marks: *mark, target }),
            }
        }
        edges.push(list);
    }
    Graph { edges, initial: 0, sets: 1 }
}

/// Moore's refinement: classes of states that agree on acceptance and on the classes of all
/// successors.
fn refine(table: &[Vec<u32>], marks: &[u64]) -> Vec<u32> {
    let mut class: Vec<u32> = marks.iter().map(|mark| *mark as u32).collect();
    let mut count = 0;
    loop {
        let mut known: FxHashMap<(u32, Vec<u32>), u32> = FxHashMap::default();
        let mut next = Vec::with_capacity(table.len());
        for (state, row) in table.iter().enumerate() {
            let signature = (class[state], row.iter().map(|target| class[*target as usize]).collect());
            let fresh = known.len() as u32;
            next.push(*known.entry(signature).or_insert(fresh));
        }
        class = next;
        if known.len() == count {
            return class;
        }
        count = known.len();
    }
}
