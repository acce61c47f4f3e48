//! One search for several formulas.
//!
//! A run violates one of several formulas if it violates their conjunction. If the automaton of the
//! conjunction is no larger than the automata of the formulas with a common first state, then one
//! search of its product visits no more states than the searches for the single formulas: while the
//! automata wait for a violation to begin, they wait together. Usually no run is found, and then
//! all formulas hold. If a run is found, it is compared with each formula. The formulas that it
//! does not violate are searched again, without those that it violates.
//!
//! Formulas with *next* are searched one by one, because reductions are off for them.

use crate::claim::Claim;
use crate::plan::Plan;
use crate::run::Question;
use crate::subject::Subject;
use crate::table::Order;
use bytecode::{BinaryOp, Formula, FormulaNode, PropertyBody, UnaryOp};
use contract::Stated;

/// Most formulas that are searched together.
const MOST: usize = 16;

/// The formulas, among those that are asked, that one search decides, and their conjunction.
pub(crate) struct Joint {
    /// Their numbers among the questions.
    pub members: Vec<usize>,
    /// The claim that refutes the conjunction.
    pub claim: Claim,
}

/// Finds formulas that are searched together: the first ones, as many as fit.
pub(crate) fn find(subject: &dyn Subject, plan: &Plan, asked: &[Stated], questions: &[Question], among: &[usize]) -> Option<Joint> {
    // The shortest run, the estimates of a search and the vacuity of a formula belong to a single
    // formula.
    if plan.order.is_directed() || matches!(plan.order, Order::Sweep | Order::Race) || plan.shortest || plan.coverage {
        return None;
    }
    let mut joint: Option<(Vec<usize>, Formula, Claim)> = None;
    for &number in among {
        let Some((formula, own)) = formula(subject, &asked[number]).zip(questions[number].claim()) else { continue };
        let Some((members, so_far, claim)) = &joint else {
            joint = Some((vec![number], formula, own.clone()));
            continue;
        };
        if members.len() == MOST {
            break;
        }
        let mut nodes = so_far.0.clone();
        nodes.extend(formula.0);
        nodes.push(FormulaNode::Binary(BinaryOp::And));
        let formula = Formula(nodes);
        if let Ok(together) = Claim::of_formula(&formula)
            && together.automaton.edges.len() < claim.automaton.edges.len() + own.automaton.edges.len()
            && together.buchi.edges.len() < claim.buchi.edges.len() + own.buchi.edges.len()
            && [claim, own].iter().all(|one| one.automaton.is_terminal() == together.automaton.is_terminal())
        {
            let members = members.iter().copied().chain([number]).collect();
            joint = Some((members, formula, together));
        }
    }
    joint.filter(|(members, ..)| members.len() > 1).map(|(members, _, claim)| Joint { members, claim })
}

/// The formula of a property, unless it has *next*.
fn formula(subject: &dyn Subject, stated: &Stated) -> Option<Formula> {
    let property = subject.byte_code()?.program().properties.iter().find(|property| property.name == stated.name)?;
    let PropertyBody::Ltl(formula) = &property.kind else { return None };
    let next = |node: &FormulaNode| matches!(node, FormulaNode::Unary(UnaryOp::Next));
    (!formula.0.iter().any(next)).then(|| formula.clone())
}
