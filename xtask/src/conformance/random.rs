//! Compares a random model with SPIN, and reduces it if it differs.

use super::spin::{self, Compiler};
use super::{Compared, compare as beside};
use crate::Failure;
use bytecode::Verified;
use contract::Limits;
use languages::testing::compile;
use std::sync::Arc;
use std::time::{Duration, Instant};
use testkit::promela_gen;

/// The time limit for SPIN. Random models are small; if one takes long, it has an endless sequence
/// that SPIN cannot detect.
const PATIENCE: Duration = Duration::from_secs(5);

/// The limits for our own search.
const LIMITS: Limits = Limits { time: Some(PATIENCE), memory: Some(1 << 29), depth: None };

/// The time limit for reducing a model that differs.
const SHRINKING: Duration = Duration::from_secs(120);

/// Compares the model of a seed.
pub fn compare(seed: u64, compiler: Compiler) -> Compared {
    let model = promela_gen::model(seed);
    let asked = |text: &str, compiler| ask(text, seed, compiler);
    let first = asked(&model.text(), compiler);
    if !matches!(first, Compared::Different(_)) {
        return first;
    }
    // A reduction that makes the text invalid shows nothing about a valid model.
    let valid = translate(&model.text()).is_ok();
    let began = Instant::now();
    let small = promela_gen::shrink(&model, |candidate| {
        began.elapsed() < SHRINKING
            && (!valid || translate(&candidate.text()).is_ok())
            && matches!(asked(&candidate.text(), compiler), Compared::Different(_))
    });
    match asked(&small.text(), Compiler::Gcc) {
        Compared::Different(how) => Compared::Different(format!("{how}\n{}", small.text())),
        other => other,
    }
}

fn ask(text: &str, seed: u64, compiler: Compiler) -> Compared {
    let spin = spin::ask(text, None, &format!("seed-{seed}"), compiler, PATIENCE);
    match (translate(text), spin) {
        (Ok(program), Ok(spin)) => beside(&program, &spin, LIMITS),
        (Err(why), Ok(_)) => Compared::Different(format!("refused: {why}")),
        (_, Err(why)) => Compared::Skipped(why),
    }
}

fn translate(text: &str) -> Result<Arc<Verified>, Failure> {
    compile("random.pml", text, &[])
}
