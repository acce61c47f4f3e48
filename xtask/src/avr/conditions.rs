//! Random conditions beside a C compiler of the host.
//!
//! A program for the device has variables of every type, with their values at the beginning. The
//! same variables are part of a program for the host, which prints the values of random expressions
//! over them. The front-end computes conditions with 32 bits, as the host does. Enumerations are
//! short on the host, so that they are smaller than `int`, as they are here.

use super::follow;
use crate::{Failure, root};
use bytecode::verify;
use contract::{Successors, System};
use source::SourceMap;
use std::process::Command;
use std::sync::Arc;
use vm::Interpreter;

/// The variables.
const VARIABLES: &str = "#include <stdbool.h>
#include <stdint.h>
enum color { RED, GREEN = 5, BLUE = 200 };
enum level { LOW = -1, HIGH = 300 };
struct part { int8_t x; uint16_t y; uint32_t z; };
volatile int8_t a = -5, h = 127;
volatile uint8_t b = 200;
volatile int16_t c = -30000;
volatile uint16_t d = 65000;
volatile int32_t e = -2000000000, m = 7;
volatile uint32_t f = 4000000000u, k = 3;
volatile bool g = true;
volatile int8_t A[] = {1, -2, 3};
volatile uint16_t B[] = {9, 65535, 0, 77};
volatile uint32_t C[] = {4294967295u, 1};
volatile int32_t D[] = {-1, 5};
volatile int16_t G[2][3] = {{1, -2, 3}, {-400, 5, 600}};
volatile struct part s = {-9, 60000, 3000000000u};
volatile struct part t[2] = {{1, 2, 3}, {-1, 65535, 4000000000u}};
volatile enum color q = GREEN;
volatile enum level l = LOW;
volatile struct { uint16_t i : 3; int16_t j : 5; uint16_t k : 8; } w = {5, -7, 200};
";

/// What expressions are made of.
const NAMES: [&str; 38] = [
    "a",
    "b",
    "c",
    "d",
    "e",
    "f",
    "g",
    "h",
    "k",
    "m",
    "A[1]",
    "B[1]",
    "C[0]",
    "D[0]",
    "A[k - 1]",
    "B[k]",
    "G[1][2]",
    "G[k & 1][m & 1]",
    "s.x",
    "s.y",
    "s.z",
    "t[1].x",
    "t[1].z",
    "t[0].y",
    "q",
    "l",
    "GREEN",
    "BLUE",
    "LOW",
    "HIGH",
    "w.i",
    "w.j",
    "w.k",
    "0",
    "1",
    "32768",
    "0x7fffffff",
    "4000000000ul",
];
const CASTS: [&str; 10] =
    ["int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "bool", "unsigned char", "signed char", "const volatile uint16_t"];
const OPERATORS: [&str; 14] = ["+", "-", "*", "&", "|", "^", "==", "!=", "<", ">", "<=", ">=", "&&", "||"];

/// The expressions of one program.
const AT_ONCE: u64 = 200;

fn expression(below: &mut dyn FnMut(usize) -> usize, depth: usize) -> String {
    if depth == 0 || below(8) == 0 {
        return NAMES[below(NAMES.len())].to_owned();
    }
    let mut one = || expression(&mut *below, depth - 1);
    let (x, y, z) = (one(), one(), one());
    match below(12) {
        0..=4 => format!("({x} {} {y})", OPERATORS[below(OPERATORS.len())]),
        // The same rules of binding as in C.
        5 | 6 => format!("{x} {} {y}", OPERATORS[below(OPERATORS.len())]),
        7 => format!("({x} {} ({y} & 15))", ["<<", ">>"][below(2)]),
        8 => format!("({x} {} (({y}) & 255 | 1))", ["/", "%"][below(2)]),
        9 => format!("({x} ? {y} : {z})"),
        10 => format!("({})({x})", CASTS[below(CASTS.len())]),
        _ => format!("{}({x})", ["!", "~", "-", "+"][below(4)]),
    }
}

/// Compares so many expressions.
pub fn run(count: u64, seed: u64) -> Result<(), Failure> {
    let folder = root().join("target/avr/conditions");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let name = format!("conditions-{}", std::process::id());
    let (device, host) = (folder.join(format!("{name}.elf")), folder.join(format!("{name}-host")));
    let write = |file: &str, text: &str| std::fs::write(folder.join(file), text).map_err(|error| error.to_string());
    write(&format!("{name}.c"), &format!("{VARIABLES}int main(void) {{\n    for (;;) {{\n    }}\n}}\n"))?;
    follow::compile_with(&folder, &name, "atmega328p", &["-Os"], &device)?;
    let bytes = std::fs::read(&device).map_err(|error| error.to_string())?;
    let mut random = seed ^ 0xc0de;
    let mut below = |bound: usize| (splitmix::next(&mut random) >> 24) as usize % bound;
    let (mut done, mut different) = (0, 0);
    while done < count {
        let texts: Vec<String> = (0..AT_ONCE.min(count - done))
            .map(|_| {
                let depth = 1 + below(4);
                expression(&mut below, depth)
            })
            .collect();
        let mut program = format!("#include <stdio.h>\n{VARIABLES}int main(void) {{\n");
        for text in &texts {
            program += &format!("    printf(\"%ld\\n\", (long)(int32_t)({}));\n", text.replace("ul", "u"));
        }
        write(&format!("{name}-host.c"), &(program + "}\n"))?;
        let made = Command::new("cc")
            .args(["-w", "-fwrapv", "-fshort-enums", "-o"])
            .arg(&host)
            .arg(folder.join(format!("{name}-host.c")))
            .output();
        let made = made.map_err(|error| format!("there is no C compiler: {error}"))?;
        if !made.status.success() {
            return Err(String::from_utf8_lossy(&made.stderr).into_owned());
        }
        let told = Command::new(&host).output().map_err(|error| error.to_string())?;
        let expected: Vec<i64> = String::from_utf8_lossy(&told.stdout).lines().filter_map(|line| line.parse().ok()).collect();
        let found = values(&bytes, &texts)?;
        for ((text, expected), found) in texts.iter().zip(&expected).zip(&found) {
            if expected != found {
                different += 1;
                println!("{text}: {found}, C has {expected}");
            }
        }
        if expected.len() != texts.len() || found.len() != texts.len() {
            return Err(format!("the host stopped at {}", texts[expected.len().min(texts.len() - 1)]));
        }
        done += texts.len() as u64;
    }
    let _ = std::fs::remove_dir_all(&folder);
    println!("{done} conditions: {different} different");
    if different > 0 { Err(format!("{different} conditions differ")) } else { Ok(()) }
}

/// The values of expressions at the beginning of a program.
fn values(bytes: &[u8], texts: &[String]) -> Result<Vec<i64>, Failure> {
    let mut map = SourceMap::new();
    let file = map.add("conditions.elf", "");
    let request = avr::Request { defines: &[], formulas: &[], expressions: texts, sources: &mut |_| None };
    let compiled = avr::compile(&mut map, file, bytes, request);
    let Some(program) = compiled.program else { return Err(format!("{:?}", compiled.diagnostics)) };
    let atoms: Vec<u32> = compiled.values.iter().flatten().map(|atom| atom.0.into()).collect();
    let mut machine = Interpreter::new(Arc::new(verify(program).map_err(|error| error.to_string())?));
    let mut out = Successors::default();
    machine.initial(&mut out);
    let state = out.iter().next().and_then(|(_, state)| state).ok_or("no initial state")?.to_vec();
    let mut values = Vec::new();
    machine.values(&state, &atoms, &mut values).map_err(|_| "a value cannot be computed")?;
    Ok(values)
}
