//! Random firmware beside an exploration by simavr.
//!
//! Each program is built, translated, and explored with all reductions; and it is explored
//! instruction by instruction by `xtask/avr/explore.c`, which shares nothing with the front-end.
//! Violations, the values of observed variables in all states, and the values of all variables at
//! marked places must agree.
//!
//! `docs/avr.md` names the places where the front-end allows more than the device: after SEI and
//! RETI an interrupt may come one instruction early. So there are two explorations: one as the
//! device does it, whose results the front-end must have, and one without these delays, which has
//! all results of the front-end. The second one is made only where the first one differs.

use super::follow;
use super::programs::{Firmware, Named};
use crate::{Failure, root};
use bytecode::{Verified, verify};
use contract::{Successors, System};
use source::SourceMap;
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::hash::{Hash, Hasher};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use vm::Interpreter;

/// The most states of a program that are explored.
const OURS: usize = 12_000;
const THEIRS: usize = 200_000;
/// The same if a reduction is switched off.
const WHOLE: usize = 40_000;
/// The smaller programs that are tried when a program shows a difference.
const SHRINKING: usize = 400;

/// The names of violations that the other exploration gives without stopping there.
const DIVIDED: [&str; 2] = ["divided", "neighbours divided"];
const RACE: &str = "interrupt race";
const UNINITIALISED: &str = "uninitialised read";

/// The reductions, each switched off, and all of them.
const OFF: [&[(&str, &str)]; 4] =
    [&[("points", "all")], &[("dead", "keep")], &[("below", "keep")], &[("points", "all"), ("dead", "keep"), ("below", "keep")]];

/// The result for one program.
enum Examined {
    /// How many things were found to be the same, and the states of the front-end and of simavr.
    Same(usize, usize),
    /// It has too many states, or uses something that is not supported.
    Skipped(String),
    Different(String),
}

/// What an exploration finds.
#[derive(Default)]
struct Found {
    violations: BTreeSet<String>,
    seen: BTreeSet<Vec<i64>>,
    /// The values of observed variables before and after steps that change them.
    moved: BTreeSet<(Vec<i64>, Vec<i64>)>,
    marked: BTreeSet<Vec<u8>>,
    states: usize,
    complete: bool,
}

/// Compares this many programs.
pub fn run(simulator: &Path, count: u64, seed: u64) -> Result<(), Failure> {
    let (mut same, mut skipped, mut different) = (0, BTreeMap::<String, u32>::new(), 0);
    let (mut ours, mut theirs, mut violated, mut whole) = (0, 0, 0, 0);
    let folder = root().join("target/avr/programs");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let name = format!("program-{}", std::process::id());
    for seed in seed..seed + count {
        let firmware = Firmware::random(seed);
        let mut bench = Bench { simulator, folder: &folder, name: &name, seed, violated: false, whole: 0 };
        let examined = bench.examine(&firmware);
        whole += bench.whole;
        match examined {
            Ok(Examined::Same(states, more)) => {
                same += 1;
                ours += states;
                theirs += more;
                violated += usize::from(bench.violated);
            }
            Ok(Examined::Skipped(why)) => *skipped.entry(why).or_default() += 1,
            Ok(Examined::Different(how)) => {
                different += 1;
                println!("seed {seed}: {how}");
                let (smaller, how) = bench.smallest(firmware, how);
                let place = folder.join(format!("different-{seed}.c"));
                let text =
                    format!("/* {} {} {}\n * {how} */\n{}", smaller.device.name, smaller.level, smaller.more.join(" "), smaller.text());
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
    let left: Vec<String> = skipped.iter().map(|(why, count)| format!("{count} {why}")).collect();
    println!("{count} programs: {same} the same, {violated} of them with a violation; {different} different; {}", left.join(", "));
    println!("{ours} states of the front-end, {theirs} of simavr; {whole} comparisons with a reduction switched off");
    if different > 0 { Err(format!("{different} programs differ")) } else { Ok(()) }
}

/// Builds a program in this folder, with this name.
pub fn build(folder: &Path, name: &str, firmware: &Firmware) -> Result<PathBuf, Failure> {
    std::fs::write(folder.join(format!("{name}.c")), firmware.text()).map_err(|error| error.to_string())?;
    let program = folder.join(format!("{name}.elf"));
    let mut options = vec![firmware.level, "-w"];
    options.extend(&firmware.more);
    follow::compile_with(folder, name, firmware.device.name, &options, &program)?;
    Ok(program)
}

/// Where programs are built and explored.
struct Bench<'a> {
    simulator: &'a Path,
    folder: &'a Path,
    name: &'a str,
    seed: u64,
    /// Whether the last program has a violation.
    violated: bool,
    /// The comparisons with a reduction switched off.
    whole: usize,
}

impl Bench<'_> {
    /// The smallest program found that still differs, and how.
    fn smallest(&mut self, mut firmware: Firmware, mut how: String) -> (Firmware, String) {
        let mut left = SHRINKING;
        loop {
            let mut found = None;
            for smaller in firmware.smaller() {
                if left == 0 {
                    return (firmware, how);
                }
                left -= 1;
                if let Ok(Examined::Different(how)) = self.examine(&smaller) {
                    found = Some((smaller, how));
                    break;
                }
            }
            match found {
                Some((smaller, why)) => (firmware, how) = (smaller, why),
                None => return (firmware, how),
            }
        }
    }

    fn examine(&mut self, firmware: &Firmware) -> Result<Examined, Failure> {
        let path = build(self.folder, self.name, firmware)?;
        let program = Built { firmware, symbols: symbols(&path)?, bytes: std::fs::read(&path).map_err(|error| error.to_string())?, path };
        let mut random = self.seed ^ 0x5eed;
        let mut chance = |bound: u64| (splitmix::next(&mut random) >> 30) % bound;
        let all: Vec<&Named> = firmware.named.iter().collect();
        let some: Vec<&Named> = all.iter().copied().filter(|_| chance(5) == 0).collect();
        let everything = [chance(3) == 0, chance(3) == 0, chance(3) == 0];
        let (mut states, mut others) = (0, 0);
        self.violated = false;
        // Nothing but the marked places is observed; some variables; all of them.
        for (number, observed) in [Vec::new(), some, all].into_iter().enumerate() {
            if number > 0 && (observed.is_empty() || !everything[number - 1]) {
                continue;
            }
            let defines: Vec<(&str, &str)> = vec![("races", "off"), ("uninitialised", "off")];
            let mut found = match program.ours(&observed, &defines)? {
                Ok(found) if !found.complete => return Ok(Examined::Skipped("too large".to_owned())),
                Ok(found) => found,
                Err(why) => return Ok(Examined::Skipped(why)),
            };
            let mut strict = self.explore(&program, &observed, true, false)?;
            // Without one of the reductions, or without all of them.
            if chance(3) == 0 || !strict.complete {
                let off = OFF[chance(OFF.len() as u64) as usize];
                if let Ok(whole) = program.ours(&observed, &[&defines[..], off].concat())?
                    && whole.complete
                {
                    let names: Vec<&str> = off.iter().map(|(name, _)| *name).collect();
                    let (with, without) = (format!("with {}", names.join(", ")), format!("without {}", names.join(", ")));
                    let how =
                        lacks(&with, &found, &whole, &program, &observed).or_else(|| lacks(&without, &whole, &found, &program, &observed));
                    if let Some(how) = how {
                        return Ok(Examined::Different(how));
                    }
                    self.whole += 1;
                }
            }
            if !strict.complete {
                return Ok(Examined::Skipped("too large for simavr".to_owned()));
            }
            states += found.states;
            others += strict.states;
            self.violated |= !found.violations.is_empty();
            strict.violations.retain(|kind| kind != UNINITIALISED);
            found.violations.retain(|kind| kind != UNINITIALISED);
            if let Some(how) = lacks("the front-end", &found, &strict, &program, &observed) {
                return Ok(Examined::Different(how));
            }
            if lacks("the device", &strict, &found, &program, &observed).is_some() {
                let free = self.explore(&program, &observed, false, false)?;
                if !free.complete {
                    return Ok(Examined::Skipped("too large".to_owned()));
                }
                if let Some(how) = lacks("simavr", &free, &found, &program, &observed) {
                    return Ok(Examined::Different(how));
                }
            }
        }
        if everything[2] {
            return Ok(match self.faults(&program)? {
                Some(how) => Examined::Different(how),
                None => Examined::Same(states, others),
            });
        }
        Ok(Examined::Same(states, others))
    }

    /// Compares divided accesses and reads of bytes without a value. Such a violation ends a path
    /// of the front-end, so each kind is looked for alone.
    fn faults(&mut self, program: &Built) -> Result<Option<String>, Failure> {
        let has = |found: &Found, kind: &str| found.violations.contains(kind);
        let races = program.ours(&[], &[("races", "on"), ("uninitialised", "off")])?;
        if let Ok(races) = races.as_ref().map_err(drop)
            && races.complete
        {
            let strict = self.explore(program, &[], true, true)?;
            if has(&strict, DIVIDED[1]) && !has(races, RACE) {
                return Ok(Some("the front-end lacks an interrupt race".to_owned()));
            }
            if has(races, RACE) && !has(&strict, DIVIDED[0]) && !has(&strict, DIVIDED[1]) {
                let free = self.explore(program, &[], false, true)?;
                if free.complete && !has(&free, DIVIDED[0]) && !has(&free, DIVIDED[1]) {
                    return Ok(Some("simavr lacks an interrupt race".to_owned()));
                }
            }
        }
        let reads = program.ours(&[], &[("races", "off"), ("uninitialised", "on")])?;
        if let Ok(reads) = reads.as_ref().map_err(drop)
            && reads.complete
        {
            let strict = self.explore(program, &[], true, false)?;
            if has(&strict, UNINITIALISED) && !has(reads, UNINITIALISED) {
                return Ok(Some("the front-end lacks an uninitialised read".to_owned()));
            }
            if has(reads, UNINITIALISED) && !has(&strict, UNINITIALISED) {
                let free = self.explore(program, &[], false, false)?;
                if free.complete && !has(&free, UNINITIALISED) {
                    return Ok(Some("simavr lacks an uninitialised read".to_owned()));
                }
            }
        }
        Ok(None)
    }

    /// Explores a program with simavr.
    fn explore(&self, program: &Built, observed: &[&Named], shadow: bool, races: bool) -> Result<Found, Failure> {
        let firmware = program.firmware;
        let place = |name: &str| program.symbols.get(name).copied().ok_or_else(|| format!("there is no symbol `{name}`"));
        let list = |numbers: &mut dyn Iterator<Item = u16>| numbers.map(|number| number.to_string()).collect::<Vec<_>>().join(" ");
        let mut plan = format!(
            "elf {}\ndevice {}\nmain {}\nfail {}\nend {}\nlimit {THEIRS}\nshadow {}\nflags {}\nhandlers {}\n",
            program.path.display(),
            firmware.device.name,
            place("main")?,
            place("everypath_fail")?,
            place("_end")?,
            u8::from(shadow),
            u8::from(firmware.flags),
            list(&mut firmware.vectors.iter().map(|vector| u16::from(*vector))),
        );
        for (addr, mask) in firmware.device.looked_at {
            plan += &format!("input {addr} {mask}\n");
        }
        if !observed.is_empty() {
            plan += &format!("observe {}\n", list(&mut observed.iter().map(|named| program.address(named))));
        }
        plan += &format!("mark {} {}\n", place("mark")?, list(&mut (program.start()..place("_end")?)));
        if races {
            let scalars = firmware.scalars.iter().filter_map(|(name, offset, size)| Some([place(name).ok()? + offset, *size]));
            plan += &format!("scalars {}\n", list(&mut scalars.flatten()));
        }
        let mut child = Command::new(self.simulator)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        let mut stdin = child.stdin.take().ok_or("no input")?;
        stdin.write_all(plan.as_bytes()).map_err(|error| error.to_string())?;
        drop(stdin);
        let output = child.wait_with_output().map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(format!("the simulator failed: {}", output.status));
        }
        let mut found = Found::default();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let (key, rest) = line.split_once(' ').unwrap_or((line, ""));
            let bytes = || rest.split(' ').filter_map(|number| number.parse::<u8>().ok());
            match key {
                "states" => {
                    found.complete = rest.ends_with("complete");
                    found.states = rest.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0);
                }
                "violation" => drop(found.violations.insert(rest.to_owned())),
                "seen" => drop(found.seen.insert(values(observed, bytes()))),
                "moved" => {
                    let moved = (values(observed, bytes()), values(observed, bytes().skip(observed.len())));
                    // Other bits of a byte with bit-fields may have changed.
                    if moved.0 != moved.1 {
                        found.moved.insert(moved);
                    }
                }
                // The first one is the mark itself.
                "marked" => drop(found.marked.insert(bytes().skip(1).collect())),
                _ => {}
            }
        }
        Ok(found)
    }
}

fn values(observed: &[&Named], bytes: impl Iterator<Item = u8>) -> Vec<i64> {
    observed.iter().zip(bytes).map(|(named, byte)| named.value(byte)).collect()
}

/// A program and the file that was built from it.
struct Built<'a> {
    firmware: &'a Firmware,
    path: PathBuf,
    bytes: Vec<u8>,
    symbols: BTreeMap<String, u16>,
}

impl Built<'_> {
    /// The address of a named byte.
    fn address(&self, named: &Named) -> u16 {
        named.symbol.map_or(0, |symbol| self.symbols.get(symbol).copied().unwrap_or(0)) + named.offset
    }

    /// The first address of SRAM.
    fn start(&self) -> u16 {
        if self.firmware.device.name == "atmega16" { 0x60 } else { 0x100 }
    }

    /// Explores a program that the front-end has translated. The inner error is a reason to skip
    /// it.
    fn ours(&self, observed: &[&Named], defines: &[(&str, &str)]) -> Result<Result<Found, String>, Failure> {
        let defines: Vec<(String, String)> = defines.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let mut map = SourceMap::new();
        let file = map.add("program.elf", "");
        let list: Vec<String> =
            ["failed", "mark"].into_iter().chain(observed.iter().map(|named| named.text.as_str())).map(str::to_owned).collect();
        let expressions = [list.join(", ")];
        let mut none = |_: &str| None;
        let request = avr::Request { defines: &defines, formulas: &[], expressions: &expressions, sources: &mut none };
        let compiled = avr::compile(&mut map, file, &self.bytes, request);
        let Some(program) = compiled.program else { return Err(format!("it is not translated: {:?}", compiled.diagnostics)) };
        let atoms: Vec<u32> = compiled.values[0].iter().map(|atom| atom.0.into()).collect();
        let Some(memory) = avr::testing::memory(&self.bytes, self.firmware.device.name, &program) else {
            return Err("its memory is not known".to_owned());
        };
        let program = Arc::new(verify(program).map_err(|error| error.to_string())?);
        let most = if defines.len() > 2 { WHOLE } else { OURS };
        explore(&program, &atoms, &memory, most)
    }
}

/// Everything that a translated program can do.
fn explore(program: &Arc<Verified>, atoms: &[u32], memory: &avr::testing::Memory, most: usize) -> Result<Result<Found, String>, Failure> {
    let mut machine = Interpreter::new(program.clone());
    let mut found = Found { complete: true, ..Found::default() };
    let mut out = Successors::default();
    machine.initial(&mut out);
    let first = out.iter().next().and_then(|(_, state)| state).ok_or("no initial state")?.to_vec();
    let name = |state: &[u8]| {
        let mut hasher = DefaultHasher::new();
        state.hash(&mut hasher);
        hasher.finish()
    };
    let mut known = HashSet::from([name(&first)]);
    let mut open = VecDeque::from([first]);
    while let Some(state) = open.pop_front() {
        if known.len() > most {
            found.complete = false;
            break;
        }
        let values_of = |machine: &mut Interpreter, state: &[u8]| {
            let mut values = Vec::new();
            machine.values(state, atoms, &mut values).map_err(|_| "a value cannot be computed").map(|()| values)
        };
        let mut values = values_of(&mut machine, &state)?;
        if values[1] == 1 {
            found.marked.insert(memory.bytes(program, &state));
        }
        let values = values.split_off(2);
        if !values.is_empty() {
            found.seen.insert(values.clone());
        }
        let mut out = Successors::default();
        machine.successors(&state, &mut out);
        if out.is_empty() && !machine.is_valid_end(&state) {
            found.violations.insert("invalid end state".to_owned());
        }
        for (entry, next) in out.iter() {
            if let Some(fault) = entry.fault() {
                let fault = machine.describe_fault(fault);
                let kind = fault.kind.name();
                // The processor computes for ever there, and the path ends.
                if matches!(kind, "unsupported operation" | "endless sequence") {
                    return Ok(Err(fault.message));
                }
                found.violations.insert(kind.to_owned());
            }
            if let Some(next) = next.filter(|_| !values.is_empty() && entry.fault().is_none()) {
                let after = values_of(&mut machine, next)?.split_off(2);
                if after != values {
                    found.moved.insert((values.clone(), after));
                }
            }
            if let Some(next) = next.filter(|next| known.insert(name(next))) {
                open.push_back(next.to_vec());
            }
        }
    }
    found.states = known.len();
    Ok(Ok(found))
}

/// What `less` should have found and has not, as a sentence.
fn lacks(who: &str, less: &Found, more: &Found, program: &Built, observed: &[&Named]) -> Option<String> {
    if let Some(kind) = more.violations.difference(&less.violations).next() {
        return Some(format!("{who} lacks a violation: {kind}"));
    }
    if let Some(values) = more.seen.difference(&less.seen).next() {
        let named: Vec<String> = observed.iter().zip(values).map(|(named, value)| format!("{} = {value}", named.text)).collect();
        return Some(format!("{who} lacks a state: {}", named.join(", ")));
    }
    if let Some((before, after)) = more.moved.difference(&less.moved).next() {
        let changed = observed.iter().zip(before.iter().zip(after)).filter(|(_, (before, after))| before != after);
        let named: Vec<String> = changed.map(|(named, (before, after))| format!("{} from {before} to {after}", named.text)).collect();
        return Some(format!("{who} lacks a step: {}, from {before:?}", named.join(", ")));
    }
    let bytes = more.marked.difference(&less.marked).next()?;
    let mut symbols: Vec<(&str, usize)> = program
        .symbols
        .iter()
        .filter_map(|(name, addr)| Some((name.as_str(), usize::from(addr.checked_sub(program.start())?))))
        .filter(|(name, at)| *at < bytes.len() && !name.starts_with('_'))
        .collect();
    symbols.sort_unstable_by_key(|(_, at)| *at);
    let ends = symbols.iter().skip(1).map(|(_, at)| *at).chain([bytes.len()]);
    let named: Vec<String> =
        symbols.iter().zip(ends).map(|((name, at), end)| format!("{name} = {:?}", &bytes[*at..end.max(*at)])).collect();
    Some(format!("{who} lacks values at a mark: {}", named.join(", ")))
}

/// The symbols of a program, with addresses as the processor uses them.
fn symbols(path: &Path) -> Result<BTreeMap<String, u16>, Failure> {
    let told = Command::new("avr-nm").arg(path).output().map_err(|error| format!("there is no avr-nm: {error}"))?;
    let text = String::from_utf8_lossy(&told.stdout).into_owned();
    let symbol = |line: &str| {
        let mut words = line.split_whitespace();
        let (address, kind, name) = (u32::from_str_radix(words.next()?, 16).ok()?, words.next()?, words.next()?);
        let wanted = matches!(kind, "B" | "b" | "D" | "d") || matches!(name, "main" | "everypath_fail" | "_end");
        wanted.then(|| (name.to_owned(), address as u16))
    };
    Ok(text.lines().filter_map(symbol).collect())
}
