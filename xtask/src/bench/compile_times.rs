//! How long translation takes, for every model there is: from source to verified byte-code, and on to native code.
//!
//! Measured inside this process by the processor time of its thread, so that neither the start of a process nor the neighbours count.

use super::ours;
use crate::Failure;
use crate::models::{self, Corpus};

/// To verified byte-code: at most this many seconds, for each model.
const BYTECODE_BAR: f64 = 0.050;
/// To native code: at most this many.
const NATIVE_BAR: f64 = 0.100;

/// Translates the models whose names contain one of `only` (or all of them) and prints what it took.
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
    Ok(())
}
