//! A bounded run of every fuzz target.
//!
//! The targets in `fuzz/` are ordinary libFuzzer programs. `cargo fuzz` is the convenient way to
//! work with one of them. This command needs only the stable toolchain and a C++ compiler (for
//! libFuzzer itself), because `cargo fuzz` only adds the coverage flags below to a build. The
//! address sanitizer, which needs a nightly compiler, is left out: the code under test is safe
//! Rust.

use crate::{Failure, root};
use std::fs;
use std::path::Path;
use std::process::Command;

/// LLVM's coverage instrumentation, as libFuzzer expects it; and all assertions enabled, because a
/// failed assertion is a finding.
const COVERAGE: [&str; 7] = [
    "--cfg=fuzzing",
    "-Cdebug-assertions",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
];

/// Models that are inputs of a target as they stand, beside its folder of seeds.
const MODELS: &[(&str, &str)] = &[("lf", "models/lf"), ("lf_run", "models/lf")];

/// The words of the language of a target, which libFuzzer inserts; the file is in the folder of
/// dictionaries.
const DICTIONARIES: &[(&str, &str)] = &[("lf", "lf.dict"), ("lf_run", "lf.dict")];

/// `cargo xtask fuzz`
#[derive(clap::Args)]
pub struct Arguments {
    /// Seconds for each target.
    #[arg(long, default_value_t = 10)]
    seconds: u32,
    /// Targets; all if none is named.
    targets: Vec<String>,
}

/// Builds the targets and runs each one. The first finding ends the run; libFuzzer has written the
/// input by then.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let folder = root().join("fuzz");
    let manifest = folder.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).map_err(|error| format!("fuzz/Cargo.toml: {error}"))?;
    let known = targets(&text);
    if let Some(unknown) = arguments.targets.iter().find(|name| !known.contains(name)) {
        return Err(format!("no fuzz target `{unknown}`; there are {}", known.join(", ")));
    }
    let chosen = if arguments.targets.is_empty() { &known } else { &arguments.targets };

    let host = host()?;
    let built = Command::new(env!("CARGO"))
        .args(["build", "--release", "--bins", "--target", &host, "--manifest-path"])
        .arg(&manifest)
        // A folder of its own, wherever the environment puts other builds.
        .arg("--target-dir")
        .arg(folder.join("target"))
        .env("CARGO_ENCODED_RUSTFLAGS", COVERAGE.join("\u{1f}"))
        .status()
        .map_err(|error| format!("cargo: {error}"))?;
    if !built.success() {
        return Err("the fuzz targets do not build".to_owned());
    }
    for target in chosen {
        let program = folder.join("target").join(&host).join("release").join(target);
        run_target(&folder, &program, target, arguments.seconds)?;
    }
    Ok(())
}

fn run_target(folder: &Path, program: &Path, target: &str, seconds: u32) -> Result<(), Failure> {
    let corpus = folder.join("corpus").join(target);
    let artifacts = folder.join("artifacts").join(target);
    for made in [&corpus, &artifacts] {
        fs::create_dir_all(made).map_err(|error| format!("{}: {error}", made.display()))?;
    }
    // The seeds of this target are binaries, which are built and not kept in the project.
    let is_firmware = target == "avr";
    if is_firmware {
        match crate::avr::seeds(&corpus) {
            Ok(count) => println!("fuzz target `{target}`: {count} programs are seeds"),
            Err(why) => println!("fuzz target `{target}`: there are no programs as seeds: {why}"),
        }
    }
    let longest = if is_firmware { 1 << 16 } else { 4096 };
    let of = |table: &[(&str, &'static str)]| table.iter().find(|(name, _)| *name == target).map(|(_, path)| *path);
    let models = of(MODELS).map(|path| root().join(path));
    let words = of(DICTIONARIES).map(|name| format!("-dict={}", folder.join("dictionaries").join(name).display()));
    // Hangs and unbounded allocation are findings too, hence the limits for one input.
    let output = Command::new(program)
        .args(["-timeout=10", "-rss_limit_mb=1024", "-malloc_limit_mb=256"])
        .arg(format!("-max_len={longest}"))
        .args(["-verbosity=0", "-print_final_stats=1"])
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .args(words)
        .arg(&corpus)
        .args(Some(folder.join("seeds").join(target)).filter(|seeds| seeds.is_dir()))
        .args(models)
        .output()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    let told = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        eprintln!("{told}");
        return Err(format!("fuzz target `{target}` found something: see fuzz/artifacts/{target}"));
    }
    let inputs = told.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    println!("fuzz target `{target}`: nothing found in {seconds} s, {} inputs", inputs.unwrap_or("?").trim());
    Ok(())
}

/// The names of the programs in a manifest.
fn targets(manifest: &str) -> Vec<String> {
    let bins = manifest.split("[[bin]]").skip(1);
    bins.filter_map(|bin| {
        let line = bin.lines().find(|line| line.trim_start().starts_with("name"))?;
        line.split('"').nth(1).map(str::to_owned)
    })
    .collect()
}

/// The target triple of this machine. With an explicit target, the coverage flags do not apply to
/// build scripts.
fn host() -> Result<String, Failure> {
    let output = Command::new("rustc").arg("-vV").output().map_err(|error| format!("rustc: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("host: "));
    line.map(str::to_owned).ok_or_else(|| "rustc does not tell its host".to_owned())
}

#[cfg(test)]
mod tests {
    #[test]
    fn targets_are_the_programs_of_the_manifest() {
        let manifest = "[package]\nname = \"fuzz\"\n[[bin]]\nname = \"a\"\npath = \"a.rs\"\n\n[[bin]]\nname = \"b\"\n";
        assert_eq!(super::targets(manifest), ["a", "b"]);
    }

    /// The tables name targets and files that are there.
    #[test]
    fn seeds_and_dictionaries_are_there() {
        let folder = super::root().join("fuzz");
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).expect("the manifest");
        let known = super::targets(&manifest);
        for (target, path) in super::MODELS {
            assert!(known.iter().any(|name| name == target) && super::root().join(path).is_dir(), "{target}");
        }
        for (target, name) in super::DICTIONARIES {
            let text = std::fs::read_to_string(folder.join("dictionaries").join(name)).expect("a dictionary");
            assert!(known.iter().any(|name| name == target));
            let is_word = |line: &str| line.starts_with('#') || (line.len() > 2 && line.starts_with('"') && line.ends_with('"'));
            assert!(text.lines().all(is_word), "{name}");
        }
    }
}
