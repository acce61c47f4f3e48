//! The time of translation for every model: from source to verified byte-code, and on to native
//! code.
//!
//! It is measured inside this process by its processor time, so that neither process creation nor
//! other users count. Then follow large programs of several families in several sizes, to see how
//! times grow: for these the wall-clock time is measured too, because a user waits for the first
//! state.

use super::child::process_seconds;
use super::ours;
use crate::Failure;
use crate::models::{self, Corpus};
use contract::{Successors, System};
use jit::Native;
use languages::{Input, NoFiles};
use std::sync::Arc;
use std::time::Instant;
use testkit::large::Family;

/// To verified byte-code: at most this many seconds, for each model.
const BYTECODE_BAR: f64 = 0.050;
/// To native code: at most this many.
const NATIVE_BAR: f64 = 0.100;

/// From a loaded program to the successors of the first state: at most this many, by the clock.
const FIRST_STATE_BAR: f64 = 0.200;
/// The sizes of large programs, in instructions.
const SIZES: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];

/// Translates the models whose names contain one of `only` (or all of them) and prints the times.
pub fn run(corpus: &Corpus, only: &[String]) -> Result<(), Failure> {
    let mut models = models::examples()?;
    models.extend(corpus.models()?);
    models.retain(|model| only.is_empty() || only.iter().any(|pattern| model.name.contains(pattern.as_str())));
    println!("processor time in milliseconds, the smaller of two attempts\n\n{:<28} {:>10} {:>10}", "model", "byte-code", "native");
    let mut results = Vec::new();
    let mut refused = 0;
    for model in models {
        let compiled = match ours::compile(&model) {
            Ok(compiled) => compiled,
            Err(_) => {
                refused += 1;
                println!("{:<28} refused by the front-end", model.name);
                continue;
            }
        };
        let native = compiled.native.map_or_else(|| "–".to_owned(), |seconds| format!("{:.2}", seconds * 1e3));
        println!("{:<28} {:>10.2} {native:>10}", model.name, compiled.bytecode * 1e3);
        results.push((model.name, compiled));
    }
    let count = results.len();
    let tell = |what: &str, bar: f64, seconds: &dyn Fn(&ours::Compiled) -> Option<f64>| {
        let mut times: Vec<(f64, &str)> = results.iter().filter_map(|(name, c)| Some((seconds(c)?, name.as_str()))).collect();
        times.sort_by(|a, b| a.0.total_cmp(&b.0));
        if let (Some(median), Some(worst)) = (times.get(times.len() / 2), times.last()) {
            let over: Vec<&str> = times.iter().filter(|(seconds, _)| *seconds > bar).map(|(_, name)| *name).collect();
            let over = if over.is_empty() { "none".to_owned() } else { over.join(", ") };
            println!(
                "{what}: {} of {count} models, median {:.2} ms, longest {:.2} ms ({}); over {:.0} ms: {over}",
                times.len(),
                median.0 * 1e3,
                worst.0 * 1e3,
                worst.1,
                bar * 1e3
            );
        }
    };
    println!();
    tell("source to byte-code", BYTECODE_BAR, &|compiled| Some(compiled.bytecode));
    tell("source to native code", NATIVE_BAR, &|compiled| compiled.native);
    if refused > 0 {
        println!("{refused} models are refused by the front-end");
    }
    large(only)
}

/// The large programs of the families whose names contain one of `only` (or all of them).
fn large(only: &[String]) -> Result<(), Failure> {
    println!("\nlarge programs: on the wall until the first state has its successors, in processor time until all code is native\n");
    println!(
        "{:<18} {:>12} {:>10} {:>10} {:>10} {:>12} {:>12} {:>10}",
        "family", "instructions", "load ms", "ns/instr", "first ms", "full speed s", "us/instr", "left out"
    );
    let mut late = Vec::new();
    let wanted = |family: &Family| only.is_empty() || only.iter().any(|pattern| family.name().contains(pattern.as_str()));
    for family in Family::ALL.into_iter().filter(wanted) {
        for size in SIZES {
            let text = family.text(size);
            let begun = process_seconds();
            let source = Input { name: family.file_name(), bytes: text.as_bytes(), defines: &[], formulas: &[], files: &mut NoFiles };
            let loaded = languages::load(source)
                .map_err(|rejected| format!("{}: {}", family.name(), source::render_all(&rejected.map, &rejected.diagnostics)))?;
            let load = process_seconds() - begun;
            let program = Arc::new(loaded.model.into_program().ok_or("not a program")?);
            let (begun, on_wall) = (process_seconds(), Instant::now());
            let mut native = Native::new(Arc::clone(&program)).map_err(|error| error.to_string())?;
            expand_first(&mut native);
            let first = on_wall.elapsed().as_secs_f64();
            let progress = native.wait();
            let full = process_seconds() - begun;
            let instructions = program.program().code.len();
            println!(
                "{:<18} {instructions:>12} {:>10.1} {:>10.0} {:>10.1} {full:>12.3} {:>12.2} {:>10}",
                family.name(),
                load * 1e3,
                load * 1e9 / instructions as f64,
                first * 1e3,
                full * 1e6 / instructions as f64,
                progress.left_out
            );
            if first > FIRST_STATE_BAR {
                late.push(format!("{} with {instructions}", family.name()));
            }
        }
    }
    let late = if late.is_empty() { "none".to_owned() } else { late.join(", ") };
    println!("\nfirst state after more than {:.0} ms: {late}", FIRST_STATE_BAR * 1e3);
    Ok(())
}

fn expand_first(native: &mut Native) {
    let (mut initial, mut out) = (Successors::new(), Successors::new());
    native.initial(&mut initial);
    for (_, state) in initial.iter() {
        state.iter().for_each(|state| native.successors(state, &mut out));
    }
}
