//! Runs of the examples on simavr are paths of their state graphs.
//!
//! The firmware is translated so that each instruction is a step and nothing is left out. simavr
//! runs it with inputs at random, timers and interrupts. After each instruction some successor must
//! have the same program counter, registers, flags, stack pointer, variables, outputs of ports and
//! EEPROM. Inputs and the
//! times of interrupts are chosen by the environment in the graph, so any choice that agrees will
//! do; those that agree are all kept. A run that comes to a violation is followed to there.

use crate::{Failure, root};
use avr::testing::Firmware;
use bytecode::{LocalId, Verified, verify};
use contract::{Successors, System};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use vm::Interpreter;

/// Bytes of a record before those of SRAM.
const HEAD: usize = 3 + 32 + 3;
/// States that agree with the simulator at the same time. More are not followed.
const MOST: usize = 4096;

/// A line of the comment at the head of a program, such as the one that names the device.
pub fn head<'s>(source: &'s str, key: &str) -> Option<&'s str> {
    let entry = |line: &'s str| line.trim_start_matches([' ', '*']).strip_prefix(key)?.strip_prefix(':');
    source.lines().find_map(entry).map(str::trim)
}

/// Builds a program from its source in a folder.
pub fn compile(folder: &Path, name: &str, device: &str, level: &str, to: &Path) -> Result<(), Failure> {
    compile_with(folder, name, device, &[level], to)
}

/// The same, with several options for the compiler.
pub fn compile_with(folder: &Path, name: &str, device: &str, options: &[&str], to: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(root().join("target/avr")).map_err(|error| error.to_string())?;
    let made = Command::new("avr-gcc")
        .args([&format!("-mmcu={device}"), "-std=gnu11", "-gdwarf-2"])
        .args(options)
        .arg("-o")
        .arg(to)
        .arg(format!("{name}.c"))
        .current_dir(folder)
        .output()
        .map_err(|error| format!("there is no avr-gcc: {error}"))?;
    if made.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&made.stderr).into_owned()) }
}

/// Follows each example, and each small program at several levels of optimisation.
pub fn run(simulator: &Path, instructions: u32, seed: u64) -> Result<(), Failure> {
    let (mut different, mut programs) = (0, 0);
    for (folder, levels) in [("models/avr", &["-Os"][..]), ("models/avr/small", &["-O0", "-Os", "-O2"])] {
        let folder = root().join(folder);
        let mut names: Vec<String> = std::fs::read_dir(&folder)
            .map_err(|error| error.to_string())?
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_suffix(".c").map(str::to_owned))
            .collect();
        names.sort();
        for name in &names {
            let source = std::fs::read_to_string(folder.join(format!("{name}.c"))).map_err(|error| error.to_string())?;
            let only = head(&source, "level");
            for level in levels.iter().filter(|level| only.is_none_or(|only| only == **level)) {
                programs += 1;
                match follow(simulator, &folder, name, level, instructions, seed) {
                    Ok(Followed { instructions, interrupts, failed }) => {
                        let end = if failed { ", up to a violation" } else { "" };
                        println!("{name} {level}: {instructions} instructions, {interrupts} interrupts: the same{end}");
                    }
                    Err(why) => {
                        different += 1;
                        println!("{name} {level}: {why}");
                    }
                }
            }
        }
    }
    println!("{programs} programs: {different} different");
    if different > 0 { Err(format!("{different} programs differ")) } else { Ok(()) }
}

/// How far a run was followed.
struct Followed {
    instructions: usize,
    interrupts: usize,
    /// Whether it ended with a violation.
    failed: bool,
}

fn follow(simulator: &Path, folder: &Path, name: &str, level: &str, instructions: u32, seed: u64) -> Result<Followed, Failure> {
    let source = std::fs::read_to_string(folder.join(format!("{name}.c"))).map_err(|error| error.to_string())?;
    let device = head(&source, "device").ok_or("no device")?;
    let program = root().join("target/avr").join(format!("{name}{level}.elf"));
    compile(folder, name, device, level, &program)?;
    let bytes = std::fs::read(&program).map_err(|error| error.to_string())?;
    let firmware = avr::testing::firmware(&bytes, device).ok_or("it is not translated")?;
    let size = HEAD + firmware.memory.len() + firmware.outputs.len() + 4;
    let eeprom = firmware.program.global_named("eeprom").map_or(0, |id| firmware.program.globals[id.index()].elements());
    let told = Command::new(simulator)
        .arg(&program)
        .arg(device)
        .args([firmware.main.to_string(), firmware.memory.len().to_string(), instructions.to_string(), seed.to_string()])
        .arg(eeprom.to_string())
        .args(firmware.outputs.iter().map(|(_, addr)| addr.to_string()))
        .output()
        .map_err(|error| error.to_string())?;
    if !told.status.success() || told.stdout.is_empty() || told.stdout.len() % size != 0 {
        return Err(format!("the simulator failed: {}, {} bytes", told.status, told.stdout.len()));
    }
    Follower::new(firmware)?.all(told.stdout.chunks(size))
}

/// What is followed, and the states that agree.
struct Follower {
    firmware: Firmware,
    program: Arc<Verified>,
    machine: Interpreter,
    states: BTreeSet<Vec<u8>>,
    /// Whether one of the latest steps is a violation. The device would go on; the graph does not.
    failed: bool,
}

impl Follower {
    fn new(firmware: Firmware) -> Result<Follower, Failure> {
        let program = Arc::new(verify(firmware.program.clone()).map_err(|error| error.to_string())?);
        let mut machine = Interpreter::new(program.clone());
        let mut out = Successors::default();
        machine.initial(&mut out);
        let state = out.iter().next().and_then(|(_, state)| state).ok_or("no initial state")?.to_vec();
        let mut follower = Follower { firmware, program, machine, states: BTreeSet::from([state]), failed: false };
        // Up to the first instruction of main nothing can happen but the start-up code.
        for _ in 0..1000 {
            if follower.states.iter().any(|state| follower.counter(state) == Some(follower.firmware.main)) {
                return Ok(follower);
            }
            follower.states = follower.after(&follower.states.clone());
        }
        Err("main is not reached".to_owned())
    }

    fn after(&mut self, states: &BTreeSet<Vec<u8>>) -> BTreeSet<Vec<u8>> {
        let mut next = BTreeSet::new();
        for state in states {
            let mut out = Successors::default();
            self.machine.successors(state, &mut out);
            self.failed |= out.iter().any(|(entry, _)| entry.fault().is_some());
            next.extend(out.iter().filter_map(|(_, state)| state).map(<[u8]>::to_vec));
        }
        next
    }

    fn all<'r>(mut self, records: impl Iterator<Item = &'r [u8]>) -> Result<Followed, Failure> {
        let (mut followed, mut interrupts) = (0, 0);
        let (mut last, mut interrupted): (Option<&[u8]>, bool) = (None, false);
        for record in records {
            let pc = u16::from_le_bytes([record[0], record[1]]);
            // A processor that sleeps is at its SLEEP in the graph, which knows no vectors.
            let vector = pc < self.firmware.vectors;
            interrupts += usize::from(vector);
            interrupted |= vector;
            if record[2] != 0 || vector || last == Some(record) {
                continue;
            }
            if last.is_none() {
                // What the start-up code leaves in registers is not what the simulator leaves.
                self.states = self.states.iter().map(|state| self.poked(state, record)).collect();
                self.states.retain(|state| agrees(&self.firmware, &self.program, state, record));
            } else {
                // Where the simulator takes an interrupt, the instruction before it is not told.
                self.failed = false;
                let near = self.after(&self.states.clone());
                let agreeing = |this: &Self, states: &BTreeSet<Vec<u8>>| -> BTreeSet<Vec<u8>> {
                    states.iter().filter(|state| agrees(&this.firmware, &this.program, state, record)).take(MOST).cloned().collect()
                };
                let mut next = agreeing(&self, &near);
                if next.is_empty() || interrupted {
                    let far = self.after(&near);
                    next.extend(agreeing(&self, &far));
                    if next.is_empty() && self.failed {
                        return Ok(Followed { instructions: followed, interrupts, failed: true });
                    }
                    if next.is_empty() {
                        let all = near.into_iter().chain(far).collect();
                        let how = difference(&self.firmware, &self.program, &all, record);
                        return Err(format!("after {followed} instructions, before {:#06x}: {how}", u32::from(pc) * 2));
                    }
                }
                self.states = next;
            }
            if self.states.is_empty() {
                return Err("no state agrees with the simulator at the beginning of main".to_owned());
            }
            (last, interrupted) = (Some(record), false);
            followed += 1;
        }
        Ok(Followed { instructions: followed, interrupts, failed: false })
    }

    fn counter(&self, state: &[u8]) -> Option<u16> {
        let id = self.program.program().global_named("PC")?;
        let slot = self.program.layout().globals[id.index()];
        Some(slot.ty.read(&state[slot.offset..]) as u16)
    }

    /// A state with the registers and flags of a record.
    fn poked(&self, state: &[u8], record: &[u8]) -> Vec<u8> {
        let layout = self.program.layout();
        let cpu = &layout.processes[0];
        let mut state = state.to_vec();
        for r in 0..32 {
            let slot = &cpu.locals[r];
            slot.ty.write(record[3 + r].into(), &mut state[layout.fixed + slot.offset..]);
        }
        for bit in 0..7 {
            let slot = &cpu.locals[32 + bit];
            slot.ty.write((record[35] >> bit & 1).into(), &mut state[layout.fixed + slot.offset..]);
        }
        state
    }
}

/// Whether a state has what the simulator has.
fn agrees(firmware: &Firmware, program: &Verified, state: &[u8], record: &[u8]) -> bool {
    told(firmware, program, state) == [&record[..2], &record[3..]].concat()
}

/// What the simulator would tell of a state, apart from sleep.
fn told(firmware: &Firmware, program: &Verified, state: &[u8]) -> Vec<u8> {
    let layout = program.layout();
    let (cpu, code) = (&layout.processes[0], program.program());
    let local = |id: LocalId| {
        let slot = &cpu.locals[id.index()];
        slot.ty.read(&state[layout.fixed + slot.offset..])
    };
    let global = |name: &str| {
        let slot = code.global_named(name).map(|id| layout.globals[id.index()]);
        slot.map_or(0, |slot| slot.ty.read(&state[slot.offset..]))
    };
    let process = code.process_named("cpu").unwrap_or_default();
    let pointer = code.local_named(process, "SP").map_or(0, local) as u16;
    let flags = (0..7).map(|bit| (local(LocalId(32 + bit)) as u8) << bit).sum::<u8>() | (global("SREG_I") as u8) << 7;
    let mut all = (global("PC") as u16).to_le_bytes().to_vec();
    all.extend((0..32).map(|r| local(LocalId(r)) as u8));
    all.push(flags);
    all.extend(pointer.to_le_bytes());
    all.extend(firmware.memory.bytes(program, state));
    all.extend(firmware.outputs.iter().map(|(name, _)| global(name) as u8));
    let mut sum = 2_166_136_261_u32;
    if let Some(id) = code.global_named("eeprom") {
        let slot = layout.globals[id.index()];
        for byte in &state[slot.offset..slot.offset + code.globals[id.index()].elements()] {
            sum = (sum ^ u32::from(*byte)).wrapping_mul(16_777_619);
        }
    }
    all.extend(sum.to_le_bytes());
    all
}

/// How the state that is most like a record differs from it.
fn difference(firmware: &Firmware, program: &Verified, states: &BTreeSet<Vec<u8>>, record: &[u8]) -> String {
    let expected = [&record[..2], &record[3..]].concat();
    let differences = states.iter().map(|state| {
        let found = told(firmware, program, state);
        let places = (0..found.len()).filter(|at| found[*at] != expected[*at]);
        places.map(|at| format!("{}: {:#04x}, simavr {:#04x}", place(firmware, at), found[at], expected[at])).collect::<Vec<_>>()
    });
    differences.min_by_key(Vec::len).unwrap_or_default().join("; ")
}

/// The name of a byte that is compared.
fn place(firmware: &Firmware, at: usize) -> String {
    let memory = firmware.memory.len();
    match at {
        0 | 1 => "PC".to_owned(),
        2..34 => format!("r{}", at - 2),
        34 => "SREG".to_owned(),
        35 | 36 => "SP".to_owned(),
        _ if at - 37 < memory => format!("byte {} of SRAM", at - 37),
        _ => firmware.outputs.get(at - 37 - memory).map_or_else(|| "EEPROM".to_owned(), |(name, _)| name.clone()),
    }
}
