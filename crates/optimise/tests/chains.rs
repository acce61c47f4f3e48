//! The share of states that is left of models with chains of small steps, compared with the path
//! compression of the machine that the byte-code follows: table 5 of Weber, "An embeddable virtual
//! machine for state space generation" (STTT 2010). The models are of the same protocols.

use bytecode::Verified;
use contract::{NoProperty, Verdict};
use optimise::{Goal, Optimised, Passes};
use search::{Task, breadth_first};
use std::sync::Arc;
use store::Plain;
use vm::Interpreter;

/// The model, its definitions, and the numbers of states in the paper without and with path
/// compression. The larger ones are in the table that `cargo xtask bench --chains` prints.
const TABLE: [(&str, &str, u64, u64); 7] = [
    ("sieve", "MAX=6", 170, 34),
    ("leader", "N=3", 754, 105),
    ("leader", "N=4", 5678, 379),
    ("peterson_n", "N=2", 327, 30),
    ("transfer", "FILES=1", 1_378_184, 301_603),
    ("snoop", "", 124_434, 68_658),
    ("sort", "N=5", 21_245, 572),
];

fn load(name: &str, define: &str) -> Arc<Verified> {
    let name = format!("promela/chains/{name}.pml");
    let defines: Vec<_> = define.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter().collect();
    languages::testing::compile(&name, &testkit::models::read(&name), &defines).unwrap_or_else(|error| panic!("{error}"))
}

fn states(program: &Arc<Verified>) -> (u64, u64) {
    let outcome = breadth_first(&Interpreter::new(Arc::clone(program)), &Plain::new(), &Task::new(&NoProperty));
    assert_eq!(outcome.verdict, Verdict::Holds);
    (outcome.statistics.states, outcome.statistics.transitions)
}

#[test]
fn at_most_the_share_of_the_paper_is_left() {
    println!("| model | | states | left | share | share in the paper |");
    let mut worse = Vec::new();
    for (name, define, paper_full, paper_left) in TABLE {
        let program = load(name, define);
        let smaller = Optimised::of(&program, Goal::Faults, Passes::ALL).expect("a smaller program");
        let ((full, transitions), (left, _)) = (states(&program), states(&smaller.program));
        let percent = |part: u64, whole: u64| 100.0 * part as f64 / whole as f64;
        println!(
            "| {name} | {define} | {full} ({transitions}) | {left} | {:.2} % | {:.2} % |",
            percent(left, full),
            percent(paper_left, paper_full)
        );
        if left * paper_full > paper_left * full {
            worse.push((name, define));
        }
    }
    assert!(worse.is_empty(), "{worse:?}");
}
