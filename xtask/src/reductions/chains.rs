//! The number of states that passes leave of models that are chains of small steps, compared with
//! the shares in the paper whose machine the byte-code follows: table 5 of Weber, "An embeddable
//! virtual machine for state space generation" (STTT 2010). The models are of the same protocols.

use crate::{Failure, root};
use bytecode::Verified;
use check::{Order, Passes, Plan, StoreKind};
use contract::{Cancel, Quiet, Verdict};
use std::fs;
use std::sync::Arc;

/// The model, its definitions, and the states that the paper counts without and with path
/// compression.
const TABLE: [(&str, &str, u64, u64); 13] = [
    ("sieve", "MAX=6", 170, 34),
    ("sieve", "MAX=10", 764, 74),
    ("sieve", "MAX=14", 2744, 190),
    ("sieve", "MAX=18", 7766, 342),
    ("leader", "N=3", 754, 105),
    ("leader", "N=4", 5678, 379),
    ("leader", "N=5", 46_091, 1509),
    ("peterson_n", "N=2", 327, 30),
    ("peterson_n", "N=3", 51_118, 853),
    ("transfer", "FILES=1", 1_378_184, 301_603),
    ("snoop", "", 124_434, 68_658),
    ("sort", "N=5", 21_245, 572),
    ("sort", "N=6", 152_628, 2019),
];

/// Prints the table.
pub fn print() -> Result<(), Failure> {
    println!("| model | | states | `merge` | `merge` and `dead` | left | left in the paper |");
    println!("|---|---|---|---|---|---|---|");
    for (name, define, paper_full, paper_left) in TABLE {
        let program = load(name, define)?;
        let count = |passes: Passes| -> Result<u64, Failure> {
            let plan = Plan { passes, order: Order::Breadth, store: StoreKind::Plain, ..Plan::space() };
            let outcome = check::run(&program, &plan, &Cancel::default(), &Quiet).map_err(|refusal| refusal.to_string())?.outcome;
            if outcome.verdict == Verdict::Holds { Ok(outcome.statistics.states) } else { Err(format!("{name}: not all states")) }
        };
        let (full, merged, all) =
            (count(Passes::default())?, count(Passes { merge: true, dead: false, ..Passes::default() })?, count(Passes::ALL)?);
        let percent = |part: u64, whole: u64| 100.0 * part as f64 / whole as f64;
        println!(
            "| {name} | {define} | {full} | {merged} | {all} | {:.2} % | {:.2} % |",
            percent(all, full),
            percent(paper_left, paper_full)
        );
    }
    Ok(())
}

fn load(name: &str, define: &str) -> Result<Arc<Verified>, Failure> {
    let path = root().join("models/promela/chains").join(format!("{name}.pml"));
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let defines: Vec<_> = define.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter().collect();
    languages::testing::compile(&format!("{name}.pml"), &text, &defines)
}
