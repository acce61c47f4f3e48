//! Programs for the tests of reductions.

#![allow(dead_code, reason = "each test uses a part of this")]

use bytecode::Verified;
use contract::{Reduction, Safety, Verdict};
use reduction::{Examiner, Stubborn};
use search::{Task, breadth_first};
use std::sync::Arc;
use store::Plain;
use vm::Interpreter;

/// Whether a search finds a violation.
pub fn violated(program: &Arc<Verified>, property: Safety, reduction: Option<&dyn Reduction>) -> bool {
    let mut task = Task::new(&property);
    if let Some(reduction) = reduction {
        task.reduction = reduction;
    }
    let outcome = breadth_first(&Interpreter::new(Arc::clone(program)), &Plain::new(), &task);
    matches!(outcome.verdict, Verdict::Violated(_))
}

/// Examines the choices in the first states of a program by brute force.
pub fn examine(name: &str, program: &Arc<Verified>, reduction: &Stubborn) {
    let mut system = Interpreter::new(Arc::clone(program));
    for state in testkit::states::first(&mut system, 60) {
        let examined = Examiner::new(&mut system, reduction, program.layout().exclusive, 200).examine(&state);
        assert!(examined.is_ok(), "{name}: {}", examined.expect_err("a flaw"));
    }
}

/// The models of the project, by name.
pub fn models() -> Vec<(String, Arc<Verified>)> {
    let texts = testkit::models::texts("", &["pml", "epa", "lf"]).into_iter();
    texts.filter_map(|(name, text)| languages::testing::compile(&name, &text, &[]).ok().map(|program| (name, program))).collect()
}

/// Random choices for the generators of models.
pub struct Choices(pub u64);

impl Choices {
    pub fn below(&mut self, n: u64) -> u64 {
        splitmix::next(&mut self.0) % n
    }

    pub fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len() as u64) as usize]
    }
}
