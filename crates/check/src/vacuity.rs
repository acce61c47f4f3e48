//! Properties that hold because the events they are about never happen.
//!
//! `[] (request -> <> grant)` holds in a model without any request. The search for a violation sees
//! the letters of all states that it follows: the propositions that are true there. If the left
//! side of an implication is false in all of them, the property never depended on its right side. A
//! left side about whole runs is looked for by a search of its own. If no condition on an edge from
//! the first state of a claim was ever true, the claim never moved (Kupferman, Vardi, "Vacuity
//! detection in temporal model checking", 2003, define it by the parts of a formula that do not
//! matter).

use crate::claim::{Claim, Refuted};
use crate::subject::Subject;
use crate::temporal::by_atom;
use crate::witness::satisfying;
use contract::Proposition;
use logic::{Formulas, Id, Node};
use std::collections::BTreeSet;

/// The left sides of implications in a formula that are about one state each and are not negated.
pub(crate) fn left_sides(formulas: &Formulas, root: Id) -> Vec<Id> {
    let mut found = all_left_sides(formulas, root);
    found.retain(|&left| is_of_one_state(formulas, left));
    found
}

/// The left sides of implications in a formula that are not negated.
fn all_left_sides(formulas: &Formulas, root: Id) -> Vec<Id> {
    let (mut found, mut open) = (Vec::new(), vec![root]);
    let mut seen = BTreeSet::new();
    while let Some(id) = open.pop() {
        if !seen.insert(id.index()) {
            continue;
        }
        match formulas.node(id) {
            Node::Implies(left, right) => {
                found.push(*left);
                open.push(*right);
            }
            // This is an implication in another form: `!p || <> q`.
            Node::Or(parts) if parts.iter().any(|&part| !is_of_one_state(formulas, part)) => {
                let negated = |&part: &Id| if let Node::Not(inside) = formulas.node(part) { Some(*inside) } else { None };
                found.extend(parts.iter().filter_map(negated));
                open.extend(parts.iter().filter(|part| !matches!(formulas.node(**part), Node::Not(_))));
            }
            Node::Not(_) | Node::Equivalent(..) => {}
            node => open.extend(node.operands()),
        }
    }
    found.retain(|&left| !formulas.atoms_of(left).is_empty());
    found.sort_by_key(|left| left.index());
    found.dedup();
    found
}

/// Whether a formula is about one state only.
fn is_of_one_state(formulas: &Formulas, root: Id) -> bool {
    let plain = |node: &Node| {
        let propositional = Node::True == *node || Node::False == *node;
        propositional
            || matches!(node, Node::Atom(_) | Node::Not(_) | Node::And(_) | Node::Or(_) | Node::Implies(..) | Node::Equivalent(..))
    };
    formulas.below(root).iter().all(|&id| plain(formulas.node(id)))
}

/// Whether a formula of one state is true for a letter, whose bits are the numbers of atoms.
fn is_true(formulas: &Formulas, id: Id, letter: u64) -> bool {
    let of = |id: &Id| is_true(formulas, *id, letter);
    match formulas.node(id) {
        Node::False => false,
        Node::Atom(atom) => letter.checked_shr(*atom).unwrap_or(0) & 1 != 0,
        Node::Not(inside) => !of(inside),
        Node::And(parts) => parts.iter().all(of),
        Node::Or(parts) => parts.iter().any(of),
        Node::Implies(left, right) => !of(left) || of(right),
        Node::Equivalent(left, right) => of(left) == of(right),
        _ => true,
    }
}

/// A formula in the user's words: the atoms of a program are numbers there.
pub(crate) fn in_words(subject: &dyn Subject, formulas: &Formulas, root: Id) -> String {
    let text = formulas.text(root);
    let Some(program) = subject.byte_code() else { return text };
    let name = |number: &str| {
        let atom = number.parse::<usize>().ok().and_then(|number| program.program().atoms.get(number));
        atom.map_or_else(|| number.to_owned(), |atom| logic::quoted(&atom.name))
    };
    let mut out = String::new();
    let mut rest = text.as_str();
    // An atom that is a number is written in braces.
    while let Some((before, behind)) = rest.split_once('{') {
        let (number, after) = behind.split_once('}').unwrap_or((behind, ""));
        out.push_str(before);
        out.push_str(&name(number));
        rest = after;
    }
    out.push_str(rest);
    // A single atom needs no parentheses.
    match out.strip_prefix('(').and_then(|inside| inside.strip_suffix(')')) {
        Some(inside) if formulas.below(root).len() == 1 => inside.to_owned(),
        _ => out,
    }
}

/// Sentences about a property that holds, after a search that followed these letters.
pub(crate) fn sentences(subject: &dyn Subject, name: &str, claim: &Claim, letters: &BTreeSet<u64>) -> Vec<String> {
    if letters.is_empty() {
        return Vec::new();
    }
    match &claim.formula {
        Some(Refuted { formulas, root, .. }) => {
            let numbers = formulas.atoms_of(*root);
            let letters: Vec<u64> = letters.iter().map(|&letter| by_atom(letter, &numbers)).collect();
            let never = |left: &Id| letters.iter().all(|&letter| !is_true(formulas, *left, letter));
            let tell = |left: Id| {
                let left = in_words(subject, formulas, left);
                format!("`{name}` holds, but the left side of its implication never became true: `{left}`")
            };
            left_sides(formulas, *root).into_iter().filter(never).map(tell).collect()
        }
        None if claim.propositions.iter().all(|proposition| matches!(proposition, Proposition::Atom(_))) => {
            let automaton = &claim.automaton;
            let initial = usize::from(automaton.initial);
            let out = automaton.edges.get(initial).into_iter().flatten().filter(|edge| edge.target != Some(automaton.initial));
            let out: Vec<_> = out.collect();
            let moves = out.iter().any(|edge| letters.iter().any(|&letter| edge.is_enabled(letter)));
            let stuck = !out.is_empty() && !moves;
            stuck
                .then(|| format!("the claim `{name}` never moved: no condition on the way out of its first state became true"))
                .into_iter()
                .collect()
        }
        None => Vec::new(),
    }
}

/// Sentences about the left sides of a property that holds which are about more than one state, as
/// in `([] <> p) -> ([] <> q)`. For each of them, `refutes` gets the claim that no run makes it
/// true at any time, and says whether the claim holds.
pub(crate) fn whole_runs(subject: &dyn Subject, name: &str, claim: &Claim, mut refutes: impl FnMut(&Claim) -> bool) -> Vec<String> {
    let Some(refuted) = &claim.formula else { return Vec::new() };
    let formulas = &refuted.formulas;
    let mut lefts = all_left_sides(formulas, refuted.root);
    lefts.retain(|&left| !is_of_one_state(formulas, left));
    lefts.retain(|&left| satisfying(claim, refuted, &[left]).is_ok_and(|none| refutes(&none)));
    let tell = |left: Id| {
        let left = in_words(subject, formulas, left);
        format!("`{name}` holds, but no run ever satisfies the left side of its implication: `{left}`")
    };
    lefts.into_iter().map(tell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use source::FileId;

    fn left(text: &str) -> Vec<String> {
        let mut formulas = Formulas::new();
        let parsed = logic::parse(&mut formulas, text, FileId::default(), 0).expect("a formula");
        left_sides(&formulas, parsed.root).into_iter().map(|id| formulas.text(id)).collect()
    }

    #[test]
    fn left_sides_are_found_where_they_matter() {
        assert_eq!(left("[] (p -> <> q)"), ["p"]);
        assert_eq!(left("[] ((p && !r) -> (q U r))"), ["p && !r"]);
        assert_eq!(left("[] (!p || <> q)"), ["p"]);
        assert_eq!(left("[] (p -> (q -> <> r))"), ["p", "q"]);
        // The first left side is about more than one state, the second implication is negated, and
        // the third formula is no implication.
        assert_eq!(left("(<> p) -> (<> q)"), Vec::<String>::new());
        assert_eq!(left("!(p -> q)"), Vec::<String>::new());
        assert_eq!(left("[] (!p || !q)"), Vec::<String>::new());
    }

    #[test]
    fn left_sides_about_runs_are_found_too() {
        let mut formulas = Formulas::new();
        let parsed = logic::parse(&mut formulas, "(([] <> p) -> ([] <> q)) && (r -> <> p)", FileId::default(), 0).expect("a formula");
        let all: Vec<String> = all_left_sides(&formulas, parsed.root).into_iter().map(|id| formulas.text(id)).collect();
        assert_eq!(all.len(), 2, "{all:?}");
        assert_eq!(left_sides(&formulas, parsed.root).into_iter().map(|id| formulas.text(id)).collect::<Vec<_>>(), ["r"]);
    }

    #[test]
    fn letters_decide() {
        let mut formulas = Formulas::new();
        let parsed = logic::parse(&mut formulas, "p && !q || (q -> p) && !p", FileId::default(), 0).expect("a formula");
        // The letters are the values of `p` and, twice as heavy, `q`.
        for (letter, expected) in [true, true, false, false].into_iter().enumerate() {
            assert_eq!(is_true(&formulas, parsed.root, letter as u64), expected, "{letter}");
        }
    }
}
