//! The pieces of which measures can be made, and what the code shows about each.

use bytecode::{GlobalId, LocalId, ProcessId, Type, Verified};
use stepgraph::{Binary, Effect, Expr, Node, StepGraph, Var};

/// A part of a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MeasurePart {
    /// An atom of the program.
    Atom(u32),
    /// A global scalar.
    Global(GlobalId),
    /// The sum of a global array.
    Array(GlobalId),
    /// A scalar of a process that exists from the start: its number, type and variable.
    Local(u32, ProcessId, LocalId),
    /// The rank of such a process in its control flow.
    Order(u32),
}

/// The facts about the value of a piece that follow from the code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Every assignment makes it greater, or gives it the value that is its greatest.
    pub rises: bool,
    /// Every assignment makes it smaller, or gives it the value that is its smallest.
    pub falls: bool,
    /// An assignment adds to it or subtracts from it, so it may leave the range of its type and
    /// begin again at the other end.
    pub wraps: bool,
}

impl Known {
    /// Whether the code shows that it moves in one direction, except where it wraps around.
    pub fn is_monotonic(self) -> bool {
        self.rises || self.falls
    }
}

impl MeasurePart {
    /// The piece as a user would write it.
    pub fn text(&self, program: &Verified) -> String {
        let program = program.program();
        match *self {
            MeasurePart::Atom(number) => program.atoms.get(number as usize).map_or_else(String::new, |atom| atom.name.clone()),
            MeasurePart::Global(var) => program.globals[var.index()].name.clone(),
            MeasurePart::Array(var) => format!("sum({})", program.globals[var.index()].name),
            MeasurePart::Local(pid, ty, var) => {
                let ty = &program.processes[ty.index()];
                format!("{}[{pid}]:{}", ty.name, ty.locals[var.index()].name)
            }
            MeasurePart::Order(pid) => format!("order({pid})"),
        }
    }
}

/// How an assignment changes a variable.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    By(i32),
    To(i32),
    Unknown,
}

/// All pieces of a program except its atoms, with what the code shows about each: at most `most`.
pub fn pieces(program: &Verified, most: usize) -> Vec<(MeasurePart, Known)> {
    let Ok(graph) = StepGraph::of(program) else { return Vec::new() };
    let declared = program.program();
    let mut found = Vec::new();
    for (number, global) in declared.globals.iter().enumerate() {
        let Some(var) = GlobalId::new(number).filter(|_| !global.scratch && global.length != Some(0)) else { continue };
        let changes = changes(&graph, None, Var::Global(var));
        if changes.is_empty() {
            continue;
        }
        let piece = if global.length.is_some() { MeasurePart::Array(var) } else { MeasurePart::Global(var) };
        let initial = if global.length.is_some() { None } else { Some(global.init.first().copied().unwrap_or(0)) };
        found.push((piece, known(&changes, initial)));
    }
    for (pid, &ty) in declared.instances.iter().enumerate() {
        found.push((MeasurePart::Order(pid as u32), Known::default()));
        for (number, local) in declared.processes[ty.index()].locals.iter().enumerate() {
            let Some(var) = LocalId::new(number).filter(|_| local.length.is_none() && local.ty != Type::Bit && !local.scratch) else {
                continue;
            };
            let changes = changes(&graph, Some(ty), Var::Local(var));
            if !changes.is_empty() {
                found.push((MeasurePart::Local(pid as u32, ty, var), known(&changes, Some(local.init.first().copied().unwrap_or(0)))));
            }
        }
    }
    found.truncate(most);
    found
}

fn known(changes: &[Change], initial: Option<i32>) -> Known {
    // If all assignments give the same value, the variable does not change after the first one.
    let given = changes.iter().filter_map(|change| if let Change::To(value) = change { Some(*value) } else { None });
    let last = given.clone().next().filter(|first| given.clone().all(|value| value == *first) && changes.len() == given.clone().count());
    if let (Some(last), Some(initial)) = (last, initial) {
        return Known { rises: last >= initial, falls: last <= initial, wraps: false };
    }
    let all = |good: fn(i32) -> bool| changes.iter().all(|change| matches!(change, Change::By(by) if good(*by)));
    let wraps = changes.iter().any(|change| matches!(change, Change::By(by) if *by != 0));
    Known { rises: all(|by| by >= 0), falls: all(|by| by <= 0), wraps }
}

/// The effects of all assignments to a variable; for a local, only those of its type.
fn changes(graph: &StepGraph, ty: Option<ProcessId>, var: Var) -> Vec<Change> {
    let mut found = Vec::new();
    let mut visit = |node: &Node| {
        let Node::Do(effect, _) = node else { return };
        match *effect {
            Effect::Store(to, value) if to == var => found.push(change(graph, value, &|expr| *expr == Expr::Load(var))),
            Effect::StoreElement(to, index, value, _) if to == var => {
                let same = |expr: &Expr| matches!(expr, Expr::Element(from, at, _) if *from == var && *at == index);
                found.push(match change(graph, value, &same) {
                    // Another element may have been greater.
                    Change::To(_) => Change::Unknown,
                    change => change,
                });
            }
            _ => {}
        }
    };
    match ty {
        None => graph.nodes().iter().for_each(&mut visit),
        Some(ty) => {
            let mut open: Vec<_> = graph.locations().filter(|(of, ..)| *of == ty).map(|(_, _, node)| node).collect();
            let mut seen = std::collections::HashSet::new();
            while let Some(node) = open.pop() {
                if seen.insert(node) {
                    visit(graph.node(node));
                    open.extend(graph.node(node).following());
                }
            }
        }
    }
    found
}

fn change(graph: &StepGraph, value: stepgraph::ExprId, itself: &dyn Fn(&Expr) -> bool) -> Change {
    let pool = graph.pool();
    let is_itself = |id| itself(pool.get(id));
    match pool.get(value) {
        Expr::Const(value) => Change::To(*value),
        Expr::Binary(Binary::Add, a, b) => match (pool.constant(*a), pool.constant(*b)) {
            (None, Some(by)) if is_itself(*a) => Change::By(by),
            (Some(by), None) if is_itself(*b) => Change::By(by),
            _ => Change::Unknown,
        },
        Expr::Binary(Binary::Sub, a, b) => match pool.constant(*b) {
            Some(by) if is_itself(*a) => Change::By(by.wrapping_neg()),
            _ => Change::Unknown,
        },
        _ => Change::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_may_wrap_around_and_a_constant_may_not() {
        let facts = |changes: &[Change], initial| {
            let Known { rises, falls, wraps } = known(changes, initial);
            (rises, falls, wraps)
        };
        assert_eq!(facts(&[Change::By(1), Change::By(3)], Some(0)), (true, false, true));
        assert_eq!(facts(&[Change::By(-1)], None), (false, true, true));
        assert_eq!(facts(&[Change::By(1), Change::By(-1)], Some(0)), (false, false, true));
        assert_eq!(facts(&[Change::To(1), Change::To(1)], Some(0)), (true, false, false));
        assert_eq!(facts(&[Change::To(1), Change::To(0)], Some(0)), (false, false, false));
        assert!(!known(&[Change::Unknown, Change::By(1)], Some(0)).is_monotonic());
    }
}
