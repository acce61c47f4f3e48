//! `cargo xtask avr`: compares the translation of AVR instructions with simavr.
//!
//! Random sequences of instructions are executed by simavr, through a small program in C that is
//! built here and is not part of the product, and by the reference interpreter on the byte-code of
//! the front-end. Registers, flags, stack pointer and memory must be the same.

use crate::{Failure, root};
use bytecode::{Verified, verify};
use clap::Args;
mod beside;
mod conditions;
mod figures;
mod follow;
mod parts;
mod pieces;
mod programs;
mod verdicts;

use contract::{Successors, System};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use vm::Interpreter;

/// Options of `cargo xtask avr`.
#[derive(Args)]
pub struct Arguments {
    /// The number of sequences to compare
    #[arg(long, default_value_t = 100_000)]
    sequences: u64,
    /// Print the programs instead of comparing them
    #[arg(long)]
    list: bool,
    /// The first seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Follow runs of the programs in `models/avr` and `models/avr/small` instead, each for so many
    /// instructions
    #[arg(long, value_name = "INSTRUCTIONS")]
    examples: Option<u32>,
    /// Compare so many random programs in C with explorations by simavr instead
    #[arg(long, value_name = "N")]
    programs: Option<u64>,
    /// Compare verdicts about so many random programs in C with those without reductions instead
    #[arg(long, value_name = "N")]
    verdicts: Option<u64>,
    /// Compare the values of so many random conditions with those of C instead
    #[arg(long, value_name = "N")]
    conditions: Option<u64>,
    /// Measure states per second and bytes per state instead, with the command line as it is built
    #[arg(long)]
    figures: bool,
}

const BREAK: u16 = 0x9598;

/// A device, as far as sequences depend on it.
#[derive(Clone, Copy)]
struct Part {
    name: &'static str,
    /// The first address of SRAM, and the variable that is its first bytes.
    ram: u16,
    variable: &'static str,
    /// A register without behaviour that SBI and CBI reach.
    plain: (&'static str, u16),
}

/// The devices. Their sequences alternate.
const PARTS: [Part; 2] = [
    Part { name: "atmega328p", ram: 0x100, variable: "ram_0x100", plain: ("GPIOR0", 0x3e) },
    Part { name: "atmega16", ram: 0x60, variable: "ram_0x060", plain: ("TWBR", 0x20) },
];

/// The device of a sequence.
fn part(seed: u64) -> Part {
    PARTS[(seed % 2) as usize]
}

/// The number of bytes that the simulator reports for each program.
const TOLD: usize = 36 + 256;
/// The number of sequences that are passed on at a time.
const BATCH: u64 = 2000;

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(count) = arguments.programs {
        return beside::run(&build("explore")?, count, arguments.seed);
    }
    if let Some(count) = arguments.conditions {
        return conditions::run(count, arguments.seed);
    }
    if let Some(count) = arguments.verdicts {
        return verdicts::run(count, arguments.seed);
    }
    if arguments.list {
        for seed in arguments.seed..arguments.seed + arguments.sequences {
            let words: Vec<String> = sequence(seed).code.iter().map(|word| format!("{word:04x}")).collect();
            println!("{}", words.join(" "));
        }
        return Ok(());
    }
    if arguments.figures {
        return figures::run();
    }
    if let Some(instructions) = arguments.examples {
        return follow::run(&build("follow")?, instructions, arguments.seed);
    }
    let simulator = build("simulate")?;
    let mut instructions = 0;
    let mut different = 0;
    let mut done = 0;
    while done < arguments.sequences {
        let count = BATCH.min(arguments.sequences - done);
        let programs: Vec<Sequence> = (0..count).map(|i| sequence(arguments.seed + done + i)).collect();
        let told = simulate(&simulator, &programs)?;
        for (number, (Sequence { part, code: program, functions }, expected)) in programs.iter().zip(told.chunks(TOLD)).enumerate() {
            instructions += program.len();
            let seed = arguments.seed + done + number as u64;
            match execute(*part, program, functions) {
                Ok(found) if found == expected => {}
                Ok(found) => {
                    different += 1;
                    let at: Vec<String> = (0..TOLD)
                        .filter(|i| found[*i] != expected[*i])
                        .take(6)
                        .map(|i| format!("{}: {:#04x}, simavr {:#04x}", place(*part, i), found[i], expected[i]))
                        .collect();
                    println!("seed {seed}: {}", at.join("; "));
                }
                Err(why) => {
                    different += 1;
                    println!("seed {seed}: {why}");
                }
            }
            if different > 20 {
                return Err("too many differences".to_owned());
            }
        }
        done += count;
    }
    println!("{done} sequences, {instructions} words: {different} different");
    if different > 0 { Err(format!("{different} sequences differ")) } else { Ok(()) }
}

/// Builds the small programs in `models/avr/small` as seeds for the fuzz target of the front-end,
/// with and without debugging information. Gives their number.
pub fn seeds(to: &Path) -> Result<usize, Failure> {
    let folder = root().join("models/avr/small");
    let mut count = 0;
    for entry in std::fs::read_dir(&folder).map_err(|error| error.to_string())? {
        let Some(name) = entry.ok().and_then(|entry| Some(entry.file_name().to_str()?.strip_suffix(".c")?.to_owned())) else { continue };
        let source = std::fs::read_to_string(folder.join(format!("{name}.c"))).map_err(|error| error.to_string())?;
        let device = follow::head(&source, "device").ok_or_else(|| format!("{name} has no device"))?;
        for (ending, option) in [("", "-g0"), ("-lines", "-gdwarf-2")] {
            let made = to.join(format!("{name}{ending}.elf"));
            if !made.exists() {
                follow::compile_with(&folder, &name, device, &["-Os", option], &made)?;
            }
            count += 1;
        }
    }
    Ok(count)
}

/// Builds a program that uses simavr.
fn build(name: &str) -> Result<PathBuf, Failure> {
    let folder = root().join("target/avr");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let simulator = folder.join(name);
    let source = root().join("xtask/avr").join(format!("{name}.c"));
    let built = Command::new("cc").arg("-O2").arg("-o").arg(&simulator).arg(source).args(["-lsimavr", "-lelf"]).output();
    match built {
        Ok(output) if output.status.success() => Ok(simulator),
        Ok(output) => Err(format!("simavr is missing or cannot be linked: {}", String::from_utf8_lossy(&output.stderr))),
        Err(error) => Err(format!("there is no C compiler: {error}")),
    }
}

/// The name of a byte that is compared.
fn place(part: Part, index: usize) -> String {
    match index {
        0..32 => format!("r{index}"),
        32 => "SREG".to_owned(),
        33 => "SPL".to_owned(),
        34 => "SPH".to_owned(),
        35 => part.plain.0.to_owned(),
        _ => format!("memory {:#x}", usize::from(part.ram) + index - 36),
    }
}

fn simulate(simulator: &std::path::Path, programs: &[Sequence]) -> Result<Vec<u8>, Failure> {
    let mut input = Vec::new();
    for Sequence { part, code: program, .. } in programs {
        let number = PARTS.iter().position(|known| known.name == part.name).unwrap_or(0);
        input.extend([part.plain.1 as u8, number as u8]);
        input.extend((program.len() as u16).to_le_bytes());
        input.extend(program.iter().flat_map(|word| word.to_le_bytes()));
    }
    input.extend([0; 4]);
    let mut child = Command::new(simulator).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(|error| error.to_string())?;
    let mut stdin = child.stdin.take().ok_or("no input")?;
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    let _ = writer.join();
    if !output.status.success() || output.stdout.len() != programs.len() * TOLD {
        return Err(format!("the simulator failed: {}, {} bytes", output.status, output.stdout.len()));
    }
    Ok(output.stdout)
}

/// Executes a program on the reference interpreter.
fn execute(part: Part, code: &[u16], functions: &[u16]) -> Result<Vec<u8>, Failure> {
    let program = avr::testing::program_with_functions(part.name, code, functions).ok_or("it is not translated")?;
    let program = Arc::new(verify(program).map_err(|error| error.to_string())?);
    let mut machine = Interpreter::new(program.clone());
    let mut out = Successors::default();
    machine.initial(&mut out);
    let mut state = out.iter().next().and_then(|(_, state)| state).ok_or("no initial state")?.to_vec();
    for _ in 0..10_000 {
        let mut out = Successors::default();
        machine.successors(&state, &mut out);
        let Some((entry, next)) = out.iter().next() else { return bytes(part, &program, &state).ok_or("a variable is missing".to_owned()) };
        if let Some(fault) = entry.fault() {
            return Err(format!("a fault: {}", machine.describe_fault(fault).message));
        }
        state = next.ok_or("no state")?.to_vec();
    }
    Err("it does not end".to_owned())
}

/// The report of the simulator that corresponds to a state.
fn bytes(part: Part, verified: &Verified, state: &[u8]) -> Option<Vec<u8>> {
    let (program, layout) = (verified.program(), verified.layout());
    let cpu = program.process_named("cpu")?;
    let local = |name: &str| {
        let slot = &layout.processes[cpu.index()].locals[program.local_named(cpu, name)?.index()];
        Some(slot.ty.read(&state[layout.fixed + slot.offset..]))
    };
    let global = |name: &str| program.global_named(name).map(|id| layout.globals[id.index()]);
    let mut all = Vec::new();
    for r in 0..32 {
        all.push(local(&format!("r{r}"))? as u8);
    }
    let mut sreg = 0;
    for (bit, name) in ["C", "Z", "N", "V", "S", "H", "T"].into_iter().enumerate() {
        sreg |= (local(name)? as u8) << bit;
    }
    sreg |= state[global("SREG_I")?.offset] << 7;
    let pointer = local("SP")? as u16;
    all.extend([sreg, pointer as u8, (pointer >> 8) as u8]);
    all.push(global(part.plain.0).map_or(0, |slot| state[slot.offset]));
    let ram = global(part.variable)?;
    all.extend(&state[ram.offset..ram.offset + 256]);
    Some(all)
}

/// A random program that ends with BREAK, and the functions that it calls through pointers.
struct Sequence {
    part: Part,
    code: Vec<u16>,
    functions: Vec<u16>,
}

fn sequence(seed: u64) -> Sequence {
    let part = part(seed);
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d);
    let mut code = Vec::new();
    // Every register gets a value, and so do the flags.
    for r in 0..16 {
        code.push(ldi(16, random.below(256)));
        // MOV from register 16, whose highest bit is bit 9 of the word.
        code.push(0x2c00 | 1 << 9 | r << 4);
    }
    for r in 16..32 {
        code.push(ldi(r, random.below(256)));
    }
    code.push(0xbe0f | random.below(32) << 4);
    // Subroutines are after BREAK; calls are patched when their addresses are known.
    let mut calls = Vec::new();
    let mut items: Vec<Vec<u16>> = Vec::new();
    for _ in 0..2 + random.below(24) {
        let item = item(part, &mut random);
        items.push(item);
    }
    let (mut starts, mut pointers, mut jumps) = (Vec::new(), Vec::new(), Vec::new());
    for item in &items {
        starts.push(code.len());
        match item[..] {
            [CALL | RETURN_ENABLED] => calls.push((code.len(), item[0])),
            [CALL_LONG, _] => calls.push((code.len(), CALL_LONG)),
            [RJMP] | [JMP, _] => jumps.push((code.len(), starts.len())),
            _ => {}
        }
        if item.last() == Some(&ICALL) && item.len() == 3 {
            pointers.push(code.len());
        }
        code.extend(item);
    }
    // Some branches jump over the items that follow.
    for (index, item) in items.iter().enumerate() {
        if let [only] = item[..]
            && only & 0xf800 == 0xf000
            && only != CALL
        {
            let target = starts.get(index + 1 + random.below(4) as usize).copied().unwrap_or(code.len());
            let offset = (target - starts[index] - 1).min(63) as u16;
            // Only to the start of an item.
            if starts.contains(&(starts[index] + 1 + offset as usize)) || starts[index] + 1 + offset as usize == code.len() {
                code[starts[index]] = only & 0xfc07 | offset << 3;
            }
        }
    }
    // Jumps, short and long, lead over up to three items.
    for (at, next) in jumps {
        let target = starts.get(next + random.below(4) as usize).copied().unwrap_or(code.len());
        if code[at] == JMP {
            code[at + 1] = target as u16;
        } else {
            code[at] = 0xc000 | (target - at - 1) as u16 & 0xfff;
        }
    }
    // Sometimes the last of the code is reached by a jump through a pointer only.
    let mut functions = Vec::new();
    if random.below(4) == 0 {
        let end = code.len() as u16 + 4;
        code.extend([ldi(30, end & 0xff), ldi(31, end >> 8), IJMP, BREAK]);
        functions.push(end);
        code.extend(plain(part, &mut random));
    }
    code.push(BREAK);
    let subroutine = code.len();
    if !pointers.is_empty() || !functions.is_empty() {
        functions.push(subroutine as u16);
    }
    for at in pointers {
        code[at] = ldi(30, subroutine as u16 & 0xff);
        code[at + 1] = ldi(31, subroutine as u16 >> 8);
    }
    for _ in 0..1 + random.below(3) {
        let item = plain(part, &mut random);
        code.extend(item);
    }
    code.push(0x9508);
    // A function that ends like a handler.
    let enabling = code.len();
    code.extend(plain(part, &mut random));
    code.push(0x9518);
    for (call, how) in calls {
        let target = if how == RETURN_ENABLED { enabling } else { subroutine };
        if how == CALL_LONG {
            (code[call], code[call + 1]) = (0x940e, target as u16);
        } else {
            code[call] = 0xd000 | ((target - call - 1) as u16 & 0xfff);
        }
    }
    Sequence { part, code, functions }
}

const IJMP: u16 = 0x9409;
const ICALL: u16 = 0x9509;

/// Placeholders for calls and jumps in a sequence, which are no instructions: a short call, a short
/// call of a function that ends with RETI, a long call and a short jump.
const CALL: u16 = 0xffff;
const RETURN_ENABLED: u16 = 0xfffe;
const CALL_LONG: u16 = 0xfffd;
const RJMP: u16 = 0xfffc;
/// The first word of a long jump.
const JMP: u16 = 0x940c;

const fn ldi(d: u16, k: u16) -> u16 {
    0xe000 | (k & 0xf0) << 4 | (d - 16) << 4 | k & 0xf
}

/// One or more instructions that belong together.
fn item(part: Part, random: &mut Random) -> Vec<u16> {
    match random.below(25) {
        0..=7 => plain(part, random),
        19 => vec![RJMP],
        20 => vec![JMP, 0],
        21 => vec![CALL_LONG, 0],
        22 => vec![RETURN_ENABLED],
        // WDR, and SLEEP, which does nothing while it is not enabled.
        23 => vec![0x95a8],
        24 => vec![0x9588],
        16 => vec![ldi(30, 0), ldi(31, 0), ICALL],
        17 => counted(random),
        18 => frame(random),
        8 => vec![0xf000 | random.below(2) << 10 | random.below(8)],
        // Skips: on registers, and on a register of a device.
        9 => {
            let skip = match random.below(3) {
                0 => 0x1000 | random.below(0x400),
                1 => 0xfc00 | random.below(0x20) << 4 | random.below(8) | random.below(2) << 9,
                _ => 0x9900 | random.below(2) << 9 | (part.plain.1 - 0x20) << 3 | random.below(8),
            };
            let mut all = vec![skip];
            let skipped = plain(part, random);
            // A group of several instructions would be divided. simavr 1.7 treats some ADIW and
            // SBIW as jumps of two words when it skips them.
            let mistaken = skipped[0] & 0xfe0c == 0x960c;
            if skipped.len() == 1 && !mistaken || matches!(skipped[0] & 0xfe0f, 0x9000 | 0x9200) {
                all.extend(skipped)
            } else {
                all.push(0)
            }
            all
        }
        10 | 11 => pointer(part, random),
        12 => {
            let (push, pop) = (random.below(32), random.below(32));
            let mut all = vec![0x920f | push << 4];
            if random.below(2) == 0 {
                all.extend(plain(part, random));
            }
            all.push(0x900f | pop << 4);
            all
        }
        13 => vec![CALL],
        14 => {
            // LPM in its three forms.
            let z = random.below(64);
            let d = random.below(26);
            let form = [0x95c8, 0x9004 | d << 4, 0x9005 | d << 4][random.below(3) as usize];
            vec![ldi(30, z), ldi(31, 0), form]
        }
        _ => vec![0x9408 | random.below(16) << 4],
    }
}

/// A loop that counts down a register which its body leaves alone.
fn counted(random: &mut Random) -> Vec<u16> {
    let mut body = Vec::new();
    for _ in 0..1 + random.below(2) {
        // Additions, exclusive ors and rotations of the lower half.
        let (d, r) = (random.below(16) << 4, random.below(16));
        body.push([0x0c00 | d | r, 0x2400 | d | r, 0x9407 | d, 0x1c00 | d | r][random.below(4) as usize]);
    }
    let back = (127 - body.len() as u16 - 1) & 0x7f;
    // DEC r20, BRNE back
    [vec![ldi(20, 1 + random.below(9))], body, vec![0x954a, 0xf401 | back << 3]].concat()
}

/// Room for variables on the stack, as a compiler makes it: the stack pointer is read, lowered,
/// written, used and put back.
fn frame(random: &mut Random) -> Vec<u16> {
    let room = 1 + random.below(7);
    let (low, high) = (room & 0xf, (room & 0x30) << 2);
    let slot = 1 + random.below(room);
    let (store, load) = (random.below(28) << 4, random.below(28) << 4);
    let pointer = |out: bool, low: bool| 0xb600 | u16::from(out) << 11 | if low { 0x1cd } else { 0x1de };
    vec![
        pointer(false, true),
        pointer(false, false),
        0x9720 | high | low,
        pointer(true, false),
        pointer(true, true),
        // STD Y+slot, LDD Y+slot
        0x8208 | store | slot,
        0x8008 | load | slot,
        0x9620 | high | low,
        pointer(true, false),
        pointer(true, true),
    ]
}

/// Accesses through a pointer, whose value is a constant or not.
fn pointer(part: Part, random: &mut Random) -> Vec<u16> {
    let low = [26, 28, 30][random.below(3) as usize];
    let to = part.ram + 0x40 + random.below(0x80);
    let mut all = vec![ldi(low, to & 0xff), ldi(low + 1, to >> 8)];
    if random.below(2) == 0 {
        // A branch to the next instruction: after it nothing is known.
        all.push(0xf000 | random.below(8));
    }
    let mut d = random.below(32);
    if d & !1 == low {
        d = 5;
    }
    let store = random.below(2) << 9;
    let q = random.below(64);
    all.push(match (low, random.below(3)) {
        (26, form) => 0x900c | form | d << 4 | store,
        (_, 0) => 0x8000 | (q & 0x20) << 8 | (q & 0x18) << 7 | q & 7 | d << 4 | store | if low == 28 { 8 } else { 0 },
        (28, form) => 0x9008 | form | d << 4 | store,
        (_, form) => 0x9000 | form | d << 4 | store,
    });
    all
}

/// An instruction on registers, flags, or a constant address.
fn plain(part: Part, random: &mut Random) -> Vec<u16> {
    let any = random.below(0x400);
    let d = random.below(32) << 4;
    match random.below(22) {
        0 => vec![0x0c00 | any],
        1 => vec![0x1c00 | any],
        2 => vec![0x1800 | any],
        3 => vec![0x0800 | any],
        4 => vec![0x1400 | any],
        5 => vec![0x0400 | any],
        6 => vec![[0x2000, 0x2400, 0x2800, 0x2c00][random.below(4) as usize] | any],
        7 => vec![0x0100 | random.below(256)],
        8 => vec![0x9c00 | any],
        9 => vec![0x0200 | random.below(0x200)],
        10 => vec![[0x3000, 0x4000, 0x5000, 0x6000, 0x7000, 0xe000][random.below(6) as usize] | random.below(0x1000)],
        11 => vec![0x9600 | random.below(0x200)],
        12 | 13 => vec![0x9400 | d | [0, 1, 2, 3, 5, 6, 7, 10][random.below(8) as usize]],
        14 => vec![0xf800 | d | random.below(8) | random.below(2) << 9],
        15 => vec![0x9000 | d, part.ram + random.below(0x100)],
        16 => vec![0x9200 | d, part.ram + random.below(0x100)],
        17 => vec![[0x9000, 0x9200][random.below(2) as usize] | d, random.below(32)],
        // A register without behaviour: IN, OUT, SBI, CBI.
        18 => {
            let io = part.plain.1 - 0x20;
            vec![[0xb000, 0xb800][random.below(2) as usize] | (io & 0x10) << 5 | io & 0xf | d]
        }
        19 => vec![0x9800 | random.below(2) << 9 | (part.plain.1 - 0x20) << 3 | random.below(8)],
        // SREG and the stack pointer.
        20 => vec![[0xb60f, 0xbe0f, 0xb60d, 0xb60e][random.below(4) as usize] | d],
        _ => vec![0x0000],
    }
}

/// Pseudo-random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u16) -> u16 {
        (splitmix::next(&mut self.0) >> 16) as u16 % bound
    }
}
