//! Verdicts about random firmware and random formulas, with all reductions and without any.
//!
//! `everypath check` as it is by default, with passes, partial-order reduction, native code and the
//! reductions of the front-end, must answer as the plainest search does, in which interrupts are
//! taken before every instruction, and dead registers and the bytes below the stack pointer keep
//! their values. The traces are replayed by `check` itself.

use super::beside;
use super::programs::Firmware;
use crate::{Failure, root};
use bytecode::{Verified, verify};
use check::{Engine, Plan};
use contract::{Cancel, Limits, Quiet, Verdict};
use source::SourceMap;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The options that switch the front-end's reductions off.
const OFF: [(&str, &str); 3] = [("points", "all"), ("dead", "keep"), ("below", "keep")];

/// The formulas for each program.
const FORMULAS: usize = 4;

/// The limits of each search.
const SECONDS: u64 = 20;
const MEMORY: u64 = 1 << 30;

/// A formula over the variables that the program names, by random numbers.
fn formula(firmware: &Firmware, below: &mut dyn FnMut(usize) -> usize) -> String {
    let mut atom = || {
        let mut name = || {
            let words = ["w0", "d0", "aw[1]", "s0.y", "aw[v0 & 1]", "a[v1 & 1]"];
            let number = below(firmware.named.len() + words.len());
            firmware.named.get(number).map_or_else(|| words[number - firmware.named.len()].to_owned(), |named| named.text.clone())
        };
        let (one, two) = (name(), name());
        let number = [0, 1, 1, 2, 3, 257][below(6)];
        let operator = ["==", "!=", "<", ">", "<=", ">="][below(6)];
        match below(6) {
            0 => format!("'{one} {operator} {two}'"),
            1 => format!("'({one} ? {two} : {number}) {operator} {number}'"),
            2 => format!("'{one} {operator} {number} && {two} != {number}'"),
            _ => format!("'{one} {operator} {number}'"),
        }
    };
    let (a, b, c) = (atom(), atom(), atom());
    match below(12) {
        0 => format!("[] ({a} -> <> {b})"),
        1 => format!("<> {a}"),
        2 | 3 => format!("[] {a}"),
        4 => format!("{a} U {b}"),
        5 => format!("[] <> {a}"),
        6 => format!("<> [] {a}"),
        7 => format!("[] ({a} -> ({b} U {c}))"),
        8 => format!("!{a} U {b}"),
        9 => format!("[] <> {a} -> [] <> {b}"),
        10 => format!("<> ({a} && <> ({b} && <> {c}))"),
        _ => format!("[] ({a} || {b}) -> <> {c}"),
    }
}

/// The answers for a program: the name of each property with a letter.
fn answers(bytes: &[u8], defines: &[(&str, &str)], formulas: &[(String, String)], plan: Plan) -> Result<BTreeMap<String, char>, Failure> {
    let defines: Vec<(String, String)> = defines.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let mut map = SourceMap::new();
    let file = map.add("program.elf", "");
    let request = avr::Request { defines: &defines, formulas, expressions: &[], sources: &mut |_| None };
    let compiled = avr::compile(&mut map, file, bytes, request);
    let Some(program) = compiled.program else { return Err(format!("it is not translated: {:?}", compiled.diagnostics)) };
    let program: Arc<Verified> = Arc::new(verify(program).map_err(|error| error.to_string())?);
    let limits = Limits { time: Some(Duration::from_secs(SECONDS)), memory: Some(MEMORY), ..Limits::default() };
    let checked = check::run(&program, &Plan { limits, ..plan }, &Cancel::default(), &Quiet).map_err(|refusal| refusal.to_string())?;
    let letter = |verdict: &Verdict| match verdict {
        Verdict::Holds => 'h',
        Verdict::Violated(_) => 'v',
        Verdict::Unknown(_) => 'u',
    };
    Ok(checked.properties.iter().map(|judged| (judged.property.name.clone(), letter(&judged.verdict))).collect())
}

/// What was found for one program.
enum Examined {
    /// How many properties hold in both ways, and how many are violated; how many are not known.
    Same([usize; 3]),
    Different(String),
}

fn examine(firmware: &Firmware, formulas: &[(String, String)], name: &str, folder: &Path) -> Result<Examined, Failure> {
    let bytes = std::fs::read(beside::build(folder, name, firmware)?).map_err(|error| error.to_string())?;
    let some = [("races", "off"), ("uninitialised", "off")];
    let usual = answers(&bytes, &some, formulas, Plan { threads: 2, ..Plan::usual() })?;
    let plain = answers(&bytes, &[&some[..], &OFF].concat(), formulas, Plan { engine: Engine::Interpreter, ..Plan::check() })?;
    let mut counts = [0; 3];
    for (property, one) in &usual {
        match (one, plain.get(property)) {
            ('h', Some('h')) => counts[0] += 1,
            ('v', Some('v')) => counts[1] += 1,
            ('u', _) | (_, Some('u')) => counts[2] += 1,
            (one, other) => {
                let text = formulas.iter().find(|(name, _)| name == property).map_or("", |(_, text)| text);
                return Ok(Examined::Different(format!("`{property}` {text}: {one} by default, {other:?} without reductions")));
            }
        }
    }
    Ok(Examined::Same(counts))
}

/// Compares this many programs.
pub fn run(count: u64, seed: u64) -> Result<(), Failure> {
    let folder = root().join("target/avr/programs");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let name = format!("verdicts-{}", std::process::id());
    let (mut totals, mut different) = ([0; 3], 0);
    for seed in seed..seed + count {
        let mut firmware = Firmware::random(seed);
        let mut random = seed ^ 0xf0f0_f0f0;
        let mut below = |bound: usize| (splitmix::next(&mut random) >> 24) as usize % bound;
        let formulas: Vec<(String, String)> = (0..FORMULAS).map(|number| (format!("f{number}"), formula(&firmware, &mut below))).collect();
        match examine(&firmware, &formulas, &name, &folder) {
            Ok(Examined::Same(counts)) => totals.iter_mut().zip(counts).for_each(|(total, count)| *total += count),
            Ok(Examined::Different(mut how)) => {
                different += 1;
                println!("seed {seed}: {how}");
                let mut left = 300;
                while let Some((smaller, why)) = firmware.smaller().into_iter().find_map(|smaller| {
                    left -= i32::from(left > 0);
                    match examine(&smaller, &formulas, &name, &folder) {
                        Ok(Examined::Different(how)) if left > 0 => Some((smaller, how)),
                        _ => None,
                    }
                }) {
                    (firmware, how) = (smaller, why);
                }
                let place = folder.join(format!("verdict-{seed}.c"));
                let text =
                    format!("/* {} {} {}\n * {how} */\n{}", firmware.device.name, firmware.level, firmware.more.join(" "), firmware.text());
                std::fs::write(&place, text).map_err(|error| error.to_string())?;
                println!("seed {seed}: {how}, smaller in {}", place.display());
            }
            Err(why) => {
                different += 1;
                println!("seed {seed}: {why}");
            }
        }
    }
    let _ = std::fs::remove_file(folder.join(format!("{name}.c")));
    let _ = std::fs::remove_file(folder.join(format!("{name}.elf")));
    let [holds, violated, unknown] = totals;
    println!(
        "{count} programs: {holds} properties hold and {violated} are violated in both ways, {unknown} not known; {different} different"
    );
    if different > 0 { Err(format!("{different} programs differ")) } else { Ok(()) }
}
