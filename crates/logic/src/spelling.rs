//! Other spellings of a formula, with the same meaning.
//!
//! A translation is judged by the automata that it makes of other spellings of the same formula: if
//! one of them is smaller, the translation has missed something. So random spellings show what can
//! be improved where no other translator is at hand.

use crate::formula::{Formulas, Id, Node};
use crate::random::Random;
use rustc_hash::FxHashMap;

/// The formula, spelt otherwise: operators are replaced by others that mean the same, operands
/// change places, and an operator may be unfolded by one position.
pub fn respell(formulas: &mut Formulas, root: Id, random: &mut Random) -> Id {
    let mut made: FxHashMap<Id, Id> = FxHashMap::default();
    for id in formulas.below(root) {
        let node = formulas.node(id).clone();
        let of = |child: &Id| made[child];
        let respelt = match &node {
            Node::True | Node::False | Node::Atom(_) => id,
            Node::Not(a) => formulas.not(of(a)),
            Node::And(list) => chain(formulas, list.iter().map(of).collect(), true, random),
            Node::Or(list) => chain(formulas, list.iter().map(of).collect(), false, random),
            Node::Implies(a, b) => {
                let (a, b) = (of(a), of(b));
                let not_a = formulas.not(a);
                match random.below(3) {
                    0 => formulas.intern(Node::Implies(a, b)),
                    1 => formulas.intern(Node::Or([b, not_a].into())),
                    _ => {
                        let not_b = formulas.not(b);
                        formulas.intern(Node::Implies(not_b, not_a))
                    }
                }
            }
            Node::Equivalent(a, b) => {
                let (a, b) = (of(a), of(b));
                match random.below(3) {
                    0 => formulas.intern(Node::Equivalent(b, a)),
                    1 => {
                        let (there, back) = (formulas.intern(Node::Implies(a, b)), formulas.intern(Node::Implies(b, a)));
                        formulas.intern(Node::And([back, there].into()))
                    }
                    _ => {
                        let (not_a, not_b) = (formulas.not(a), formulas.not(b));
                        let (both, neither) =
                            (formulas.intern(Node::And([a, b].into())), formulas.intern(Node::And([not_b, not_a].into())));
                        formulas.intern(Node::Or([neither, both].into()))
                    }
                }
            }
            Node::Next(a) => formulas.intern(Node::Next(of(a))),
            Node::Eventually(a) => temporal(formulas, (Formulas::TRUE, of(a)), Kind::Until, random),
            Node::Always(a) => temporal(formulas, (Formulas::FALSE, of(a)), Kind::Release, random),
            Node::Until(a, b) => temporal(formulas, (of(a), of(b)), Kind::Until, random),
            Node::WeakUntil(a, b) => temporal(formulas, (of(a), of(b)), Kind::Weak, random),
            Node::Release(a, b) => temporal(formulas, (of(a), of(b)), Kind::Release, random),
            Node::StrongRelease(a, b) => {
                let both = formulas.intern(Node::And([of(a), of(b)].into()));
                temporal(formulas, (of(b), both), Kind::Until, random)
            }
        };
        made.insert(id, respelt);
    }
    made[&root]
}

#[derive(Clone, Copy)]
enum Kind {
    Until,
    Weak,
    Release,
}

/// `and` or `or` with its operands in another order, perhaps by the law of De Morgan.
fn chain(formulas: &mut Formulas, mut list: Vec<Id>, and: bool, random: &mut Random) -> Id {
    let at = random.below(list.len());
    list.rotate_left(at);
    if random.below(3) > 0 {
        return formulas.intern(if and { Node::And(list.into()) } else { Node::Or(list.into()) });
    }
    let negated: Vec<Id> = list.into_iter().map(|part| formulas.not(part)).collect();
    let inner = formulas.intern(if and { Node::Or(negated.into()) } else { Node::And(negated.into()) });
    formulas.not(inner)
}

/// A temporal operator with two operands; one of them may be a constant.
fn temporal(formulas: &mut Formulas, (a, b): (Id, Id), kind: Kind, random: &mut Random) -> Id {
    let plain = |formulas: &mut Formulas| {
        formulas.intern(match kind {
            Kind::Until if a == Formulas::TRUE => Node::Eventually(b),
            Kind::Release if a == Formulas::FALSE => Node::Always(b),
            Kind::Until => Node::Until(a, b),
            Kind::Weak => Node::WeakUntil(a, b),
            Kind::Release => Node::Release(a, b),
        })
    };
    let whole = plain(formulas);
    match random.below(6) {
        0 | 1 => whole,
        2 => {
            // Unfolded by one position.
            let later = formulas.intern(Node::Next(whole));
            match kind {
                Kind::Until | Kind::Weak => {
                    let waiting = formulas.intern(Node::And([later, a].into()));
                    formulas.intern(Node::Or([waiting, b].into()))
                }
                Kind::Release => {
                    let released = formulas.intern(Node::Or([a, later].into()));
                    formulas.intern(Node::And([released, b].into()))
                }
            }
        }
        3 => {
            // The dual operator.
            let (not_a, not_b) = (formulas.not(a), formulas.not(b));
            let dual = match kind {
                Kind::Until => formulas.intern(Node::Release(not_a, not_b)),
                Kind::Release => formulas.intern(Node::Until(not_a, not_b)),
                Kind::Weak => {
                    let neither = formulas.intern(Node::And([not_a, not_b].into()));
                    formulas.intern(Node::Until(not_b, neither))
                }
            };
            formulas.not(dual)
        }
        4 => match kind {
            Kind::Until => {
                let (weak, some) = (formulas.intern(Node::WeakUntil(a, b)), formulas.intern(Node::Eventually(b)));
                formulas.intern(Node::And([weak, some].into()))
            }
            Kind::Weak => {
                let (strong, all) = (formulas.intern(Node::Until(a, b)), formulas.intern(Node::Always(a)));
                formulas.intern(Node::Or([strong, all].into()))
            }
            Kind::Release => {
                let both = formulas.intern(Node::And([a, b].into()));
                formulas.intern(Node::WeakUntil(b, both))
            }
        },
        _ => match kind {
            // Once more around what is already said.
            Kind::Until => formulas.intern(Node::Until(a, whole)),
            Kind::Weak => {
                let either = formulas.intern(Node::Or([a, b].into()));
                formulas.intern(Node::Release(b, either))
            }
            Kind::Release => formulas.intern(Node::Release(a, whole)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spelling_has_the_same_meaning() {
        let mut random = Random::new(11);
        for _ in 0..2000 {
            let mut formulas = Formulas::new();
            let size = 2 + random.below(10);
            let formula = random.formula(&mut formulas, size, 3);
            let other = respell(&mut formulas, formula, &mut random);
            for _ in 0..8 {
                let word = random.lasso(3);
                let texts = (formulas.text(formula), formulas.text(other));
                assert_eq!(word.satisfies(&formulas, formula), word.satisfies(&formulas, other), "{texts:?} on {word:?}");
            }
        }
    }
}
