//! Measures how long models take to compile: `compile_time MODEL…`, the median of ten runs each,
//! slowest first.

use source::SourceMap;
use std::time::{Duration, Instant};

fn main() {
    let mut times: Vec<(Duration, String)> = Vec::new();
    for path in std::env::args().skip(1) {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let mut runs: Vec<Duration> = (0..10).map(|_| once(&path, &text)).collect();
        runs.sort();
        times.push((runs[runs.len() / 2], path));
    }
    times.sort();
    for (time, path) in times.iter().rev() {
        println!("{:8.2} ms  {path}", time.as_secs_f64() * 1000.0);
    }
}

fn once(path: &str, text: &str) -> Duration {
    let mut map = SourceMap::new();
    let file = map.add(path, text);
    let start = Instant::now();
    let compiled = promela::compile(&mut map, file, &mut promela::NoFiles, &[]);
    let time = start.elapsed();
    assert!(compiled.program.is_some(), "{path}");
    time
}
