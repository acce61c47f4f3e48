//! Random `trace` and `notrace` assertions over random models, compared with SPIN.
//!
//! Cases in which SPIN differs (`docs/properties.md`) are left out: sends on channels without
//! capacity, and values where messages are sorted or taken out of the middle. Every state of the
//! automaton may be the last one, so that only the events that happen count, and not missing ones.

use super::Compared;
use super::spin::{self, Compiler};
use crate::Failure;
use check::{Plan, Selected, StoreKind, run};
use contract::testing::Random;
use contract::{Cancel, Limits, Quiet, Verdict};
use languages::testing::compile;
use std::sync::Arc;
use std::time::Duration;
use testkit::promela_gen;

/// The time limit for SPIN.
const PATIENCE: Duration = Duration::from_secs(10);

/// The limits for our own search.
const LIMITS: Limits = Limits { time: Some(PATIENCE), memory: Some(1 << 29), depth: None };

/// Compares the model and the automaton of a seed.
pub fn compare(seed: u64, compiler: Compiler) -> Compared {
    let text = text(seed);
    let theirs = match spin::ask_for_events(&text, &format!("events-{seed}"), compiler, PATIENCE) {
        Ok(violated) => violated,
        Err(why) => return Compared::Skipped(why),
    };
    match ours(&text, seed) {
        Ok(None) => Compared::Skipped("our search: no answer".to_owned()),
        Ok(Some(ours)) if ours == theirs => Compared::Same,
        Ok(Some(ours)) => {
            let word = |violated: bool| if violated { "violated" } else { "holds" };
            Compared::Different(format!("{}, SPIN {}\n{text}", word(ours), word(theirs)))
        }
        Err(why) => Compared::Different(format!("refused: {why}\n{text}")),
    }
}

/// The model of a seed with its automaton.
pub fn text(seed: u64) -> String {
    let mut model = promela_gen::model(seed);
    model.claim = false;
    let text = model.text();
    let by_value = !text.contains("??") && !text.contains("!!");
    let mut random = Random(seed ^ 0xe7e);
    let channels = model.channels.clone();
    let event = |random: &mut Random| {
        let channel = random.below(channels.len() as u64) as usize;
        let sent = channels[channel] > 0 && random.below(2) == 0;
        let field = |random: &mut Random, values| match random.below(3) {
            0 if by_value => random.below(values).to_string(),
            _ => "_".to_owned(),
        };
        let (first, second) = (field(random, 3), field(random, 2));
        format!("c{channel}{}{first},{second}", if sent { '!' } else { '?' })
    };
    let mut number = 0;
    let mut sequence = |random: &mut Random| {
        let events: Vec<String> = (0..1 + random.below(3)).map(|_| event(random)).collect();
        let mut text = events[0].clone();
        for event in &events[1..] {
            number += 1;
            text.push_str(&format!("; end{number}: {event}"));
        }
        text
    };
    let word = if seed.is_multiple_of(3) { "notrace" } else { "trace" };
    let options: Vec<String> = (0..1 + random.below(4)).map(|_| format!("\t:: {}\n", sequence(&mut random))).collect();
    let (open, close) = if seed.is_multiple_of(3) || random.below(3) == 0 { ("if", "fi") } else { ("do", "od") };
    format!("#define assert(...) skip\n{text}{word} {{\nend0: {open}\n{}\t{close}\n}}\n", options.concat())
}

/// Whether our search finds a violation; `None` if it has no answer.
fn ours(text: &str, seed: u64) -> Result<Option<bool>, Failure> {
    let program = compile("random.pml", text, &[])?;
    let names = program.program().properties.iter().map(|property| property.name.clone()).collect();
    let subject = Selected { subject: Arc::new(program), names, branching: Vec::new(), automata: Vec::new() };
    let store = if seed.is_multiple_of(2) { StoreKind::Plain } else { StoreKind::Compact };
    let plan = Plan { limits: LIMITS, store, por: if seed.is_multiple_of(5) { check::Por::On } else { check::Por::Off }, ..Plan::check() };
    let checked = run(&subject, &plan, &Cancel::default(), &Quiet).map_err(|refusal| refusal.to_string())?;
    Ok(match checked.outcome.verdict {
        Verdict::Holds => Some(false),
        Verdict::Violated(_) => Some(true),
        Verdict::Unknown(_) => None,
    })
}
