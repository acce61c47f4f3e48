//! Random never claims written by hand, labels `accept` and labels `progress` of random models,
//! compared with SPIN, with and without weak fairness.
//!
//! A claim has choices, loops and single statements, several accept labels, assertions and ends. So
//! it is nothing that a translator of formulas would write.

use super::spin::{self, Compiler, Cycle};
use super::{Compared, atoms, formulas};
use crate::Failure;
use check::{Cycles, Fair, Plan, Por, run};
use contract::testing::Random;
use contract::{Cancel, Limits, PropertyKind, Quiet, Verdict};
use languages::testing::compile;
use std::time::Duration;
use testkit::promela_gen;

/// The time limit for SPIN.
const PATIENCE: Duration = Duration::from_secs(10);

/// The limits for our own search.
const LIMITS: Limits = Limits { time: Some(PATIENCE), memory: Some(1 << 29), depth: None };

/// What a model of a seed is about.
fn kind(seed: u64) -> PropertyKind {
    match seed % 4 {
        0 | 1 => PropertyKind::Never,
        2 => PropertyKind::Progress,
        _ => PropertyKind::Acceptance,
    }
}

/// Compares the model of a seed.
pub(super) fn compare(seed: u64, compiler: Compiler) -> Compared {
    let fair = if seed % 3 == 2 { Fair::Weak } else { Fair::Any };
    let (kind, text) = (kind(seed), text(seed));
    let cycle = if kind == PropertyKind::Progress { Cycle::WithoutProgress } else { Cycle::Accepted };
    let theirs = match spin::ask_for_cycles(&text, &format!("claim-{seed}"), compiler, cycle, fair == Fair::Weak, PATIENCE) {
        Ok(violated) => violated,
        Err(why) => return Compared::Skipped(why),
    };
    match ours(&text, seed, kind, fair) {
        Ok(None) => Compared::Skipped("our search: no answer".to_owned()),
        Ok(Some((ours, _))) if ours == theirs => Compared::Same,
        // With `-l -f` SPIN misses some cycles that it finds for the same claim in a model.
        Ok(Some((true, _))) if kind == PropertyKind::Progress && fair == Fair::Weak && spin_finds(&text, seed, compiler) => Compared::Same,
        Ok(Some((true, true))) if fair == Fair::Weak && only_ends_differ(&text, seed, kind, compiler) => {
            Compared::Skipped("under fairness, SPIN ignores runs that end".to_owned())
        }
        Ok(Some((ours, _))) => {
            let word = |violated: bool| if violated { "violated" } else { "holds" };
            Compared::Different(format!("{} {}, SPIN {}, fairness {fair}\n{text}", kind.name(), word(ours), word(theirs)))
        }
        Err(why) => Compared::Different(format!("refused: {why}\n{text}")),
    }
}

/// Whether SPIN finds a violation without fairness, and the same as we do with fairness if a
/// process is added that loops for ever, so that no run ends (see `formulas`).
fn only_ends_differ(text: &str, seed: u64, kind: PropertyKind, compiler: Compiler) -> bool {
    let cycle = if kind == PropertyKind::Progress { Cycle::WithoutProgress } else { Cycle::Accepted };
    let spin = |text: &str, fair| spin::ask_for_cycles(text, &format!("claim-{seed}"), compiler, cycle, fair, PATIENCE);
    let endless = match text.find("never {") {
        Some(at) => format!("{}{}{}", &text[..at], formulas::FOR_EVER, &text[at..]),
        None => format!("{text}{}", formulas::FOR_EVER),
    };
    let both = spin(&endless, true).ok().zip(ours(&endless, seed, kind, Fair::Weak).ok().flatten());
    spin(text, false) == Ok(true) && both.is_none_or(|(theirs, (ours, _))| ours == theirs)
}

/// The claim of SPIN's `-l`, with its first two options exchanged.
const WITHOUT_PROGRESS: &str = "never {\n\tdo\n\t:: true\n\t:: np_ -> break\n\tod;\naccept:\tdo\n\t:: np_\n\tod\n}\n";

/// Whether SPIN finds a fair cycle without progress by a claim in the model.
fn spin_finds(text: &str, seed: u64, compiler: Compiler) -> bool {
    let text = format!("{text}{WITHOUT_PROGRESS}");
    spin::ask_for_cycles(&text, &format!("claim-{seed}"), compiler, Cycle::Accepted, true, PATIENCE) == Ok(true)
}

/// The model of a seed with its claim, if it has one. The processes of every second model loop for
/// ever.
pub fn text(seed: u64) -> String {
    let mut model = promela_gen::model(seed);
    model.claim = false;
    if (seed / 4).is_multiple_of(2) {
        model.loop_for_ever();
    }
    let mut random = Random(seed ^ 0xc1a1);
    let definitions = atoms::definitions(&model, &mut random);
    // The assertions of the model belong to another property, and SPIN counts a claim as a process.
    let text = model.text().replace("assert(", "masked(").replace("_nr_pr", "3");
    let (text, claim) = match kind(seed) {
        PropertyKind::Never => (text, claim(&mut random)),
        PropertyKind::Acceptance => (text.replace("progress_L", "accept_L"), String::new()),
        _ => (text, String::new()),
    };
    format!("#define masked(...) skip\n{definitions}{text}{claim}")
}

/// A claim over `p0`, `p1` and `p2`.
fn claim(random: &mut Random) -> String {
    let pick = |random: &mut Random, words: &[&str]| words[random.below(words.len() as u64) as usize].to_owned();
    let count = 1 + random.below(4);
    let labels: Vec<String> = (0..count).map(|number| format!("{}{number}", pick(random, &["S", "S", "accept_S"]))).collect();
    let label = |random: &mut Random| labels[random.below(count) as usize].clone();
    let guard = |random: &mut Random| pick(random, &["p0", "p1", "p2", "!p0", "!p1", "!p2", "true", "(p0 && p1)", "(p0 || !p2)"]);
    let mut text = "never {\n".to_owned();
    for own in &labels {
        let form = random.below(6);
        if form == 0 {
            text += &format!("{own}:\t{};\n", guard(random));
            continue;
        }
        let (open, close) = if form == 1 { ("do", "od") } else { ("if", "fi") };
        text += &format!("{own}:\t{open}\n");
        for _ in 0..1 + random.below(3) {
            let guard = guard(random);
            text += &match random.below(8) {
                0 => format!("\t:: {guard} -> skip\n"),
                1 if form == 1 => format!("\t:: {guard} -> break\n"),
                1 => format!("\t:: {guard} -> assert({})\n", pick(random, &["p0", "!p1", "p2"])),
                2 => format!("\t:: atomic {{ {guard} -> assert(!({guard})) }}\n"),
                _ => format!("\t:: {guard} -> goto {}\n", label(random)),
            };
        }
        if random.below(4) == 0 {
            text += &format!("\t:: else -> goto {}\n", label(random));
        }
        text += &format!("\t{close};\n");
    }
    // A claim that comes to its end has matched.
    if random.below(2) == 0 {
        text += &format!("\tgoto {}\n", label(random));
    }
    text + "}\n"
}

/// Whether our search finds a violation, and whether by a run that may end; `None` if it has no
/// answer.
fn ours(text: &str, seed: u64, kind: PropertyKind, fair: Fair) -> Result<Option<(bool, bool)>, Failure> {
    let program = compile("random.pml", text, &[])?;
    let ways = if fair == Fair::Any { Cycles::ALL } else { &[Cycles::default()] };
    let cycles = ways[(seed / 12) as usize % ways.len()];
    let por = if (seed / 36).is_multiple_of(2) { Por::Off } else { Por::On };
    let plan = Plan { fairness: fair, limits: LIMITS, cycles, por, non_progress: kind == PropertyKind::Progress, ..Plan::check() };
    let checked = run(&program, &plan, &Cancel::default(), &Quiet).map_err(|refusal| refusal.to_string())?;
    let judged = checked.properties.iter().find(|judged| judged.property.kind == kind);
    Ok(match judged.map(|judged| &judged.verdict) {
        // Without accept labels there is nothing to violate.
        None | Some(Verdict::Holds) => Some((false, false)),
        Some(Verdict::Violated(violation)) => Some((true, formulas::may_end(&violation.trace))),
        Some(Verdict::Unknown(_)) => None,
    })
}
