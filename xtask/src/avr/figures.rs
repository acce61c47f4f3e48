//! `cargo xtask avr --figures`: the speed of searches in firmware, and the bytes of a state.
//!
//! The programs are built and checked by the command line, with two threads and the compact store.
//! The largest has more than ten million states. The rows are those of a file in `bench/runs`.

use super::follow::{compile, head};
use crate::processes::{answer, find};
use crate::{Failure, root};

/// The programs. Their heads name the device and what the environment may do.
const PROGRAMS: [&str; 5] = ["counter", "traffic_light", "thermometer", "window_lift", "uart_ring"];

/// The states that the largest program must have, and the most bytes that each may take.
const LEAST: u64 = 10_000_000;
const MOST: f64 = 64.0;

/// Measures each program and prints a row for it.
pub fn run() -> Result<(), Failure> {
    let everypath = find(None)?;
    let build = if everypath.components().any(|part| part.as_os_str() == "release") { "release build" } else { "development build" };
    println!("program\tbuild\tverdict\tstates\ttransitions\tdepth\tseconds\tstates_per_second\tbytes_per_state\tpeak_memory_mib");
    let mut largest = (0, 0.0);
    let folder = root().join("models/avr");
    for name in PROGRAMS {
        let source = std::fs::read_to_string(folder.join(format!("{name}.c"))).map_err(|error| error.to_string())?;
        let program = root().join("target/avr").join(format!("{name}.elf"));
        compile(&folder, name, head(&source, "device").ok_or("no device")?, "-Os", &program)?;
        let path = program.to_string_lossy().into_owned();
        let mut call = vec!["check", path.as_str(), "--threads", "2", "--store", "compact", "--only", "safety"];
        call.extend(head(&source, "options").unwrap_or_default().split_whitespace());
        let told = answer(&everypath, &call).ok_or_else(|| format!("{name}: no answer"))?;
        let number = |key: &str| told[key].as_f64().unwrap_or(0.0);
        let (states, bytes) = (number("states"), number("store_bytes") / number("states").max(1.0));
        println!(
            "{name}\t{build}\t{}\t{states}\t{}\t{}\t{:.2}\t{:.0}\t{bytes:.1}\t{:.1}",
            told["verdict"].as_str().unwrap_or("?"),
            number("transitions"),
            number("depth"),
            number("seconds"),
            states / number("seconds").max(1e-9),
            number("peak_memory_bytes") / f64::from(1 << 20),
        );
        if told["verdict"] == "holds" && states as u64 > largest.0 {
            largest = (states as u64, bytes);
        }
    }
    if largest.0 < LEAST || largest.1 > MOST {
        return Err(format!("the largest program that was searched to its end has {} states of {:.1} bytes", largest.0, largest.1));
    }
    Ok(())
}
