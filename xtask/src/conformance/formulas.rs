//! Random formulas over random models, compared with SPIN's search for acceptance cycles, with and
//! without weak fairness.
//!
//! The propositions are those of `atoms`: globals, channels, locals and labels of processes, and
//! the process that moved last. SPIN translates the formula itself, so this compares translation,
//! product, stutter extension, cycles and fairness at once. SPIN's own fairness is known to be
//! wrong where a run ends (issue 38 of its tracker): it ignores such a run. So a difference under
//! fairness is passed over only if our run may end, SPIN finds a violation without fairness, and
//! both agree under fairness once a process is added that loops for ever, so that no run ends.

use super::spin::{self, Compiler, Cycle};
use super::{Compared, atoms};
use crate::Failure;
use check::{Fair, Plan, Selected, run};
use contract::{Cancel, Limits, Quiet, Trace, Verdict};
use languages::testing::compile;
use logic::Formulas;
use logic::random::Random;
use std::sync::Arc;
use std::time::Duration;
use testkit::promela_gen;

/// The time limit for SPIN.
const PATIENCE: Duration = Duration::from_secs(10);

/// The limits for our own search.
const LIMITS: Limits = Limits { time: Some(PATIENCE), memory: Some(1 << 29), depth: None };

/// Compares the model and the formula of a seed.
pub(super) fn compare(seed: u64, compiler: Compiler) -> Compared {
    let fair = if seed % 3 == 2 { Fair::Weak } else { Fair::Any };
    let text = text(seed);
    let theirs = spin::ask_for_cycles(&text, &format!("formula-{seed}"), compiler, Cycle::Accepted, fair == Fair::Weak, PATIENCE);
    let theirs = match theirs {
        Ok(violated) => violated,
        Err(why) => return Compared::Skipped(why),
    };
    match ours(&text, fair) {
        Ok(Ours::Unknown) => Compared::Skipped("our search: no answer".to_owned()),
        Ok(ours) if (ours != Ours::Holds) == theirs => Compared::Same,
        Ok(Ours::Ends) if fair == Fair::Weak && only_ends_differ(&text, seed, compiler) => {
            Compared::Skipped("under fairness, SPIN ignores runs that end".to_owned())
        }
        Ok(ours) => {
            let theirs = if theirs { "violated" } else { "holds" };
            Compared::Different(format!("{ours:?}, SPIN {theirs}, fairness {fair}\n{text}"))
        }
        Err(why) => Compared::Different(format!("refused: {why}\n{text}")),
    }
}

/// A process that never ends, in front of the formula or the claim of a model.
pub(super) const FOR_EVER: &str = "active proctype ForEver() { do :: skip od }\n";

/// Whether SPIN finds a violation without fairness, and the same as we do with fairness if no run
/// ends.
fn only_ends_differ(text: &str, seed: u64, compiler: Compiler) -> bool {
    let spin = |text: &str, fair| spin::ask_for_cycles(text, &format!("formula-{seed}"), compiler, Cycle::Accepted, fair, PATIENCE);
    let endless = text.replace("\nltl f {", &format!("\n{FOR_EVER}ltl f {{"));
    let both = spin(&endless, true).ok().zip(ours(&endless, Fair::Weak).ok());
    spin(text, false) == Ok(true) && both.is_none_or(|(theirs, ours)| ours == Ours::Unknown || (ours != Ours::Holds) == theirs)
}

/// The model of a seed with its formula. The processes of every second model loop for ever.
pub fn text(seed: u64) -> String {
    let mut model = promela_gen::model(seed);
    model.claim = false;
    if seed.is_multiple_of(2) {
        model.loop_for_ever();
    }
    let definitions = atoms::definitions(&model, &mut contract::testing::Random(seed ^ 0xa70));
    let mut random = Random::new(seed);
    // SPIN has no `X` unless it is built for it.
    let mut formula = std::iter::repeat_with(|| {
        let mut formulas = Formulas::new();
        let size = 2 + random.below(7);
        let root = random.formula(&mut formulas, size, 3);
        formulas.text(root)
    });
    let formula = formula.find(|text| !text.contains('X')).unwrap_or_default();
    // With a claim, SPIN counts the claim as a process.
    format!("#define assert(...) skip\n{definitions}{}ltl f {{ {formula} }}\n", model.text().replace("_nr_pr", "3"))
}

/// The answer of our search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ours {
    Holds,
    Violated,
    /// It is violated by a run that ends and stays in its last state for ever, or by every run with
    /// the beginning that is shown, which may all end.
    Ends,
    Unknown,
}

/// Whether a run ends, or is shown only up to the state that decides.
pub(super) fn may_end(trace: &Trace) -> bool {
    trace.loop_start.is_none_or(|start| start == trace.steps.len())
}

fn ours(text: &str, fair: Fair) -> Result<Ours, Failure> {
    let program = compile("random.pml", text, &[])?;
    let subject = Selected { subject: Arc::new(program), names: vec!["f".to_owned()], branching: Vec::new(), automata: Vec::new() };
    let plan = Plan { fairness: fair, limits: LIMITS, ..Plan::check() };
    let checked = run(&subject, &plan, &Cancel::default(), &Quiet).map_err(|refusal| refusal.to_string())?;
    Ok(match checked.outcome.verdict {
        Verdict::Holds => Ours::Holds,
        Verdict::Violated(violation) if may_end(&violation.trace) => Ours::Ends,
        Verdict::Violated(_) => Ours::Violated,
        Verdict::Unknown(_) => Ours::Unknown,
    })
}
