//! Random firmware in C: handlers, shared variables of every size, blocks without interrupts,
//! pointers to variables and to registers of devices, pins, flags, sleep.
//!
//! Variables take few values and there are no delays, so that the state space is small. A program
//! is a tree of statements, and a smaller program is one without some of them.

use super::parts::{Device, Interrupt, NEW, OLD};
use super::pieces::{self, Piece};

/// A statement, with the statements inside it.
#[derive(Clone, Debug)]
pub struct Statement {
    head: String,
    body: Vec<Statement>,
    tail: &'static str,
}

/// A function or a handler.
#[derive(Clone, Debug)]
struct Part {
    head: String,
    body: Vec<Statement>,
    tail: String,
}

/// A variable that a formula can name.
#[derive(Clone, Debug)]
pub struct Named {
    /// The expression in C.
    pub text: String,
    /// The symbol, and the byte behind its address; a register has its address instead.
    pub symbol: Option<&'static str>,
    pub offset: u16,
    /// The bits of the byte.
    pub shift: u8,
    pub mask: u8,
    pub signed: bool,
}

impl Named {
    /// The value of the expression, if the byte has this value.
    pub fn value(&self, byte: u8) -> i64 {
        if self.signed { i64::from(byte as i8) } else { i64::from(byte >> self.shift & self.mask) }
    }
}

/// A program.
#[derive(Clone)]
pub struct Firmware {
    pub device: &'static Device,
    pub level: &'static str,
    pub more: Vec<&'static str>,
    globals: String,
    pieces: Vec<Piece>,
    parts: Vec<Part>,
    begin: Vec<Statement>,
    body: Vec<Statement>,
    /// The vectors with a handler.
    pub vectors: Vec<u8>,
    /// Whether the program reads flags of interrupts, or stops devices.
    pub flags: bool,
    pub named: Vec<Named>,
    /// Variables of several bytes, by their symbols: the offset and the size of each scalar.
    pub scalars: Vec<(&'static str, u16, u16)>,
}

const HEAD: &str = "#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>

volatile uint8_t failed, mark;

__attribute__((noinline, noreturn, used)) void everypath_fail(void) {
    cli();
    for (;;) {
    }
}

#define check(number, condition) \\
    do { \\
        if (!(condition)) { \\
            failed = number; \\
            everypath_fail(); \\
        } \\
    } while (0)
#define HERE \\
    do { \\
        uint8_t saved = SREG; \\
        cli(); \\
        mark = 1; \\
        mark = 0; \\
        SREG = saved; \\
    } while (0)

struct pair {
    uint8_t x;
    uint16_t y;
    uint8_t b : 1, c : 2;
};
";

/// Options of the compiler that change its code.
const OPTIONS: [&str; 14] = [
    "-mcall-prologues",
    "-fno-jump-tables",
    "-fno-inline",
    "-fshort-enums",
    "-flto",
    "-fwhole-program",
    "-maccumulate-args",
    "-mrelax",
    "-fno-split-wide-types",
    "-funroll-loops",
    "-fno-optimize-sibling-calls",
    "-fno-omit-frame-pointer",
    "-mstrict-X",
    "-finline-functions",
];

/// Handlers in assembly.
const NAKED: [&str; 4] = [
    "\"reti\"",
    "\"sbi %0, 0\\n\\treti\" : : \"I\"(_SFR_IO_ADDR(PORTB))",
    "\"push r24\\n\\tin r24, __SREG__\\n\\tpush r24\\n\\tlds r24, v0\\n\\tinc r24\\n\\tandi r24, 1\\n\\tsts v0, r24\\n\\tpop r24\\n\\tout __SREG__, r24\\n\\tpop r24\\n\\treti\"",
    "\"push r16\\n\\tlds r16, w0\\n\\tcom r16\\n\\tsts w0 + 1, r16\\n\\tpop r16\\n\\treti\"",
];

impl Firmware {
    /// The program with this seed.
    pub fn random(seed: u64) -> Firmware {
        Maker::new(seed).program()
    }

    /// The text in C.
    pub fn text(&self) -> String {
        let mut text = format!("{}{HEAD}#define PLAIN {}\n\n", pieces::HEAD, self.device.plain);
        let declared = self.parts.iter().filter(|part| !part.head.starts_with("ISR"));
        declared.for_each(|part| text += &format!("{};\n", part.head));
        text += &format!("{}\n", self.globals);
        let mut rest = String::new();
        for part in &self.parts {
            rest += &format!("{} {{\n", part.head);
            part.body.iter().for_each(|statement| statement.write(1, &mut rest));
            rest += &format!("{}}}\n\n", part.tail);
        }
        rest += "int main(void) {\n";
        self.begin.iter().for_each(|statement| statement.write(1, &mut rest));
        rest += "    for (;;) {\n";
        self.body.iter().for_each(|statement| statement.write(2, &mut rest));
        rest += "        HERE;\n    }\n}\n";
        let used = self.pieces.iter().filter(|piece| rest.contains(&format!("{}(", piece.name)));
        used.for_each(|piece| text += &piece.text);
        text + &rest
    }

    /// The programs without one statement, or with the statements inside it in its place.
    pub fn smaller(&self) -> Vec<Firmware> {
        let mut all = Vec::new();
        let lists = self.parts.len() + 2;
        for list in 0..lists {
            let count = self.list(list).iter().map(Statement::count).sum::<usize>();
            for number in 0..count {
                for inside in [false, true] {
                    let mut less = self.clone();
                    let mut left = number;
                    if remove(less.list_mut(list), &mut left, inside) {
                        all.push(less);
                    }
                }
            }
        }
        all
    }

    fn list(&self, number: usize) -> &[Statement] {
        match number.checked_sub(2) {
            Some(part) => &self.parts[part].body,
            None if number == 0 => &self.begin,
            None => &self.body,
        }
    }

    fn list_mut(&mut self, number: usize) -> &mut Vec<Statement> {
        match number.checked_sub(2) {
            Some(part) => &mut self.parts[part].body,
            None if number == 0 => &mut self.begin,
            None => &mut self.body,
        }
    }
}

impl Statement {
    fn simple(text: impl Into<String>) -> Statement {
        Statement { head: text.into(), body: Vec::new(), tail: "" }
    }

    fn block(head: impl Into<String>, body: Vec<Statement>, tail: &'static str) -> Statement {
        Statement { head: head.into(), body, tail }
    }

    fn count(&self) -> usize {
        1 + self.body.iter().map(Statement::count).sum::<usize>()
    }

    fn write(&self, depth: usize, text: &mut String) {
        let indent = "    ".repeat(depth);
        *text += &format!("{indent}{}\n", self.head);
        self.body.iter().for_each(|inner| inner.write(depth + 1, text));
        if !self.tail.is_empty() {
            *text += &format!("{indent}{}\n", self.tail);
        }
    }
}

/// Removes the statement with this number, in the order of the text; `inside` keeps those in it.
fn remove(list: &mut Vec<Statement>, number: &mut usize, inside: bool) -> bool {
    for at in 0..list.len() {
        if *number == 0 {
            if inside && list[at].body.is_empty() {
                return false;
            }
            let removed = list.remove(at);
            if inside {
                list.splice(at..at, removed.body);
            }
            return true;
        }
        *number -= 1;
        let size = list[at].count() - 1;
        if *number < size {
            return remove(&mut list[at].body, number, inside);
        }
        *number -= size;
    }
    false
}

/// Where a statement stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Main,
    Handler,
    Function,
}

struct Maker {
    seed: u64,
    device: &'static Device,
    interrupts: Vec<&'static Interrupt>,
    checks: usize,
    flags: bool,
    /// Which variables the program has.
    bytes: usize,
    has_local: bool,
    pieces: Vec<Piece>,
    /// Whether the program switches the watchdog on.
    guarded: bool,
    /// The port and the kind of input that this program mostly uses, so that its parts meet.
    port: &'static str,
    topic: usize,
}

impl Maker {
    fn new(seed: u64) -> Maker {
        let mut seed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def0;
        let device = if splitmix::next(&mut seed) >> 40 & 3 == 0 { &OLD } else { &NEW };
        Maker {
            seed,
            device,
            interrupts: Vec::new(),
            checks: 0,
            flags: false,
            bytes: 2,
            has_local: false,
            pieces: Vec::new(),
            guarded: false,
            port: "B",
            topic: 0,
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        (splitmix::next(&mut self.seed) >> 20) as usize % bound
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    fn program(mut self) -> Firmware {
        let level = self.one(&["-O0", "-O1", "-Os", "-Os", "-O2", "-O3"]);
        let mut more = Vec::new();
        for flag in OPTIONS {
            if self.chance(8) {
                more.push(flag);
            }
        }
        let count = 1 + self.below(3) / 2 + self.below(4) / 3;
        for _ in 0..count {
            let candidate = &self.device.interrupts[self.below(self.device.interrupts.len())];
            if self.interrupts.iter().all(|known| known.vector != candidate.vector) {
                self.interrupts.push(candidate);
            }
        }
        self.bytes = 2 + self.below(2);
        self.has_local = self.chance(4);
        self.port = self.one(&["B", "D"]);
        self.topic = self.below(4);
        self.guarded = self.chance(8);
        for number in 0..self.below(4) {
            let kind = self.below(pieces::KINDS);
            let piece = pieces::piece(&format!("h{number}"), kind, &mut |bound| self.below(bound));
            self.pieces.push(piece);
        }
        let (globals, named) = self.globals();
        let scalars = vec![
            ("w0", 0, 2),
            ("w1", 0, 2),
            ("d0", 0, 4),
            ("aw", 0, 2),
            ("aw", 2, 2),
            ("s0", 1, 2),
            ("p", 0, 2),
            ("sp", 0, 2),
            ("fp", 0, 2),
        ];
        let mut parts = Vec::new();
        for number in 0..2 {
            let attribute = self.one(&["__attribute__((noinline)) ", "static ", "static __attribute__((noinline)) ", ""]);
            let body = vec![self.statement(Place::Function, 1)];
            let tail = format!("    return {};\n", self.value(Place::Function));
            parts.push(Part { head: format!("{attribute}uint8_t f{number}(uint8_t n)"), body, tail });
        }
        let mut body = vec![self.through("s")];
        body.push(self.through("s"));
        parts.push(Part { head: "static __attribute__((noinline)) void by(struct pair *s)".into(), body, tail: String::new() });
        for interrupt in self.interrupts.clone() {
            if self.chance(12) {
                let code = self.one(&NAKED);
                let body = vec![Statement::simple(format!("__asm__ volatile({code});"))];
                parts.push(Part { head: format!("ISR({}, ISR_NAKED)", interrupt.handler), body, tail: String::new() });
                continue;
            }
            let size = 1 + self.below(3) / 2;
            let mut body: Vec<Statement> = (0..size).map(|_| self.statement(Place::Handler, 1)).collect();
            if !interrupt.reads.is_empty() && !self.chance(5) {
                body.insert(0, Statement::simple(interrupt.reads));
            }
            if self.chance(6) {
                // The handler can be interrupted by others, but not by itself.
                body.insert(0, Statement::simple(format!("{} sei();", interrupt.off)));
                body.push(Statement::simple(format!("cli(); {}", interrupt.on)));
            }
            parts.push(Part { head: format!("ISR({})", interrupt.handler), body, tail: String::new() });
        }
        // A pointer leads only to registers that the program uses by their addresses too.
        let mut begin = vec![Statement::simple("PORTB = 0; PORTD = 0; PLAIN = 0;")];
        if self.has_local {
            begin.push(Statement::simple("volatile uint8_t local = 0;"));
            if self.chance(2) {
                begin.push(Statement::simple("p = &local;"));
            }
        }
        if self.chance(2) {
            let (port, value) = (self.port(), 1 + self.below(3));
            begin.push(Statement::simple(format!("DDR{port} = {value};")));
        }
        if self.guarded {
            begin.push(Statement::simple(self.device.watchdog.0));
        }
        for interrupt in self.interrupts.clone() {
            begin.push(Statement::simple(interrupt.setup));
            if !self.chance(6) {
                begin.push(Statement::simple(interrupt.on));
            }
        }
        if !self.chance(8) {
            begin.push(Statement::simple("sei();"));
        }
        let size = 1 + self.below(3);
        let body = (0..size).map(|_| self.statement(Place::Main, 2)).collect();
        let vectors = self.interrupts.iter().map(|interrupt| interrupt.vector).collect();
        // Reading this register and writing it back clears the flag of the converter.
        self.flags |= self.interrupts.iter().any(|interrupt| interrupt.handler == "ADC_vect");
        let pieces = self.pieces;
        Firmware { device: self.device, level, more, globals, pieces, parts, begin, body, vectors, flags: self.flags, named, scalars }
    }

    fn globals(&mut self) -> (String, Vec<Named>) {
        let mut text = String::new();
        let mut named = Vec::new();
        let name = |text: &str, symbol: &'static str, offset| Named {
            text: text.to_owned(),
            symbol: Some(symbol),
            offset,
            shift: 0,
            mask: 0xff,
            signed: false,
        };
        for symbol in ["v0", "v1", "v2", "v3"].into_iter().take(self.bytes) {
            let volatile = if self.chance(4) { "" } else { "volatile " };
            let signed = self.chance(6);
            text += &format!("{volatile}{}int8_t {symbol};\n", if signed { "" } else { "u" });
            named.push(Named { signed, ..name(symbol, symbol, 0) });
        }
        let mut volatile = || if self.chance(4) { "" } else { "volatile " };
        text += &format!("{}uint16_t w0;\n", volatile());
        text += &format!("{}uint16_t w1;\n", volatile());
        text += &format!("{}uint32_t d0;\n", volatile());
        text += &format!("{}uint8_t a[2];\n", volatile());
        text += &format!("{}uint16_t aw[2];\n", volatile());
        text += &format!("{}struct pair s0;\n", volatile());
        named.extend([name("a[0]", "a", 0), name("a[1]", "a", 1), name("s0.x", "s0", 0)]);
        named.push(Named { mask: 1, ..name("s0.b", "s0", 3) });
        named.push(Named { shift: 1, mask: 3, ..name("s0.c", "s0", 3) });
        let target = self.one(&["&v0", "&v1", "&a[1]", "&PORTB", "&PLAIN", "&PORTD"]);
        let constant = self.one(&["volatile ", "", "const "]);
        text += &format!("volatile uint8_t *{constant}p = (volatile uint8_t *){target};\n");
        text += &format!("struct pair *{}sp = (struct pair *)&s0;\n", self.one(&["volatile ", "", "const "]));
        text += &format!("uint8_t (*{}fp)(uint8_t) = f1;\n", self.one(&["volatile ", ""]));
        for register in ["PORTB", "PORTD", "SREG_I"] {
            named.push(Named { text: register.to_owned(), symbol: None, ..name("", "", self.device.address(register)) });
        }
        if constant == "const " {
            text = text.replace("*const p", "*p");
        }
        // Optimisation of the whole program would remove variables that nothing uses.
        let text = text.lines().map(|line| format!("__attribute__((used)) {line}\n")).collect();
        (text, named)
    }

    fn port(&mut self) -> &'static str {
        if self.chance(8) { self.one(&["B", "D"]) } else { self.port }
    }

    /// A place of one byte that can be read and written.
    fn byte(&mut self, place: Place) -> String {
        match self.below(14) {
            0..=5 => format!("v{}", self.below(self.bytes)),
            6 => format!("a[{}]", self.below(2)),
            7 => format!("a[v{} & 1]", self.below(self.bytes)),
            8 => "*p".to_owned(),
            9 => self.one(&["s0.x", "s0.b", "s0.c"]).to_owned(),
            10 => self.one(&["sp->x", "sp->b", "sp->c"]).to_owned(),
            11 if self.chance(3) => "PLAIN".to_owned(),
            11 => format!("PORT{}", self.port()),
            12 if place == Place::Main && self.has_local => "local".to_owned(),
            _ => "PLAIN".to_owned(),
        }
    }

    /// A place of several bytes.
    fn word(&mut self) -> String {
        match self.below(7) {
            0 | 1 => "w0".to_owned(),
            2 => "w1".to_owned(),
            3 => format!("aw[{}]", self.below(2)),
            4 => format!("aw[v{} & 1]", self.below(self.bytes)),
            5 => "s0.y".to_owned(),
            _ => "sp->y".to_owned(),
        }
    }

    /// An expression with small values.
    fn value(&mut self, place: Place) -> String {
        match self.below(16) {
            0 => self.below(4).to_string(),
            1..=4 => self.byte(place),
            5 => format!("({} + 1)", self.byte(place)),
            6 => format!("({} ^ 1)", self.byte(place)),
            7 => format!("({} + {})", self.byte(place), self.byte(place)),
            8 => format!("(PIN{} & {})", self.port(), self.one(&[1, 1, 2])),
            9 => format!("({} >> {})", self.word(), self.one(&[0, 8])),
            10 if place == Place::Function => "n".to_owned(),
            10 => {
                let (name, argument) = (self.one(&["f0", "f1", "fp"]), self.byte(place));
                if place == Place::Handler { format!("f1({argument})") } else { format!("{name}({argument})") }
            }
            11 => format!("({} == {})", self.byte(place), self.below(3)),
            12 => {
                let input = if self.chance(4) { self.one(&self.device.inputs) } else { self.device.inputs[self.topic] };
                format!("({input} & {})", self.one(&[1, 1, 4]))
            }
            13 => "(uint8_t)(d0 >> 24)".to_owned(),
            14 => format!("!{}", self.byte(place)),
            _ => self.call(place),
        }
    }

    fn condition(&mut self, place: Place) -> String {
        match self.below(6) {
            0 => format!("PIN{} & {}", self.port(), self.one(&[1, 1, 2])),
            1 => format!("{} == {}", self.byte(place), self.below(3)),
            2 => format!("{} != {}", self.byte(place), self.byte(place)),
            3 => {
                self.flags = true;
                self.one(&self.device.flags).to_owned()
            }
            4 => format!("{} == 0", self.word()),
            _ if self.guarded && self.chance(2) => format!("{} & 8", self.device.watchdog.2),
            _ => self.value(place),
        }
    }

    /// A call of one of the functions with special code.
    fn call(&mut self, place: Place) -> String {
        if self.pieces.is_empty() {
            return self.byte(place);
        }
        let number = self.below(self.pieces.len());
        let argument = self.byte(place);
        let piece = &self.pieces[number];
        if piece.alone && place != Place::Main { argument } else { format!("{}({argument})", piece.name) }
    }

    fn several(&mut self, place: Place, depth: usize) -> Vec<Statement> {
        let count = 1 + self.below(2);
        (0..count).map(|_| self.statement(place, depth - 1)).collect()
    }

    /// A statement that uses a pointer to a structure.
    fn through(&mut self, pointer: &str) -> Statement {
        let value = self.byte(Place::Handler);
        Statement::simple(match self.below(4) {
            0 => format!("{pointer}->x = {value} & 3;"),
            1 => format!("{pointer}->y = {pointer}->y ? 0 : 0x101;"),
            2 => format!("{pointer}->b = {value};"),
            _ => format!("v0 = {pointer}->x & 3;"),
        })
    }

    fn check(&mut self, place: Place) -> Statement {
        self.checks += 1;
        let number = self.checks;
        let (one, two) = (self.byte(place), self.byte(place));
        match self.below(7) {
            0 => Statement::simple(format!("check({number}, !({one} == 1 && {two} == 2));")),
            1 => {
                let word = self.word();
                Statement::simple(format!("{{ uint16_t t = {word}; check({number}, t == 0 || t == 0x101); }}"))
            }
            2 => Statement::simple(format!("check({number}, d0 == 0 || d0 == 0x1000001);")),
            3 => {
                let inner = if self.chance(2) { vec![self.statement(place, 0)] } else { Vec::new() };
                let mut block = Statement::block(format!("{{ uint8_t t = {one};"), inner, "}");
                block.body.push(Statement::simple(format!("check({number}, t == (uint8_t){one});")));
                block
            }
            4 => Statement::simple(format!("check({number}, {one} < 4);")),
            5 => Statement::simple(format!("check({number}, {one} <= {two});")),
            _ => {
                let word = self.device.wide;
                Statement::simple(format!("check({number}, {word} == 0 || {word} == 0x101);"))
            }
        }
    }

    fn statement(&mut self, place: Place, depth: usize) -> Statement {
        let choice = self.below(if depth == 0 { 24 } else { 38 });
        // Ports more often than other statements.
        let choice = if choice < 2 { 13 } else { choice - 2 };
        match choice {
            0..=5 => {
                let (to, value) = (self.byte(place), self.value(place));
                Statement::simple(format!("{to} = {value} & {};", self.one(&[1, 1, 1, 3])))
            }
            6 => {
                let to = self.byte(place);
                Statement::simple(format!("{to} = ({to} + 1) & {};", self.one(&[1, 1, 3])))
            }
            7 => {
                let to = self.byte(place);
                let operator = self.one(&["^=", "|=", "&="]);
                let value = if operator == "&=" { "2" } else { "1" };
                Statement::simple(format!("{to} {operator} {value};"))
            }
            8 | 9 => {
                let word = self.word();
                Statement::simple(match self.below(4) {
                    0 => format!("{word} = {word} ? 0 : 0x101;"),
                    1 => format!("{word} = ({word} + 0xff) & 0x1ff;"),
                    2 => format!("{word} ^= 0x101;"),
                    _ => format!("{word} = {};", self.word()),
                })
            }
            10 => Statement::simple(self.one(&["d0 ^= 0x1000001;", "d0 = d0 ? 0 : 0x1000001;", "d0 = 0;"])),
            11 | 12 => self.check(place),
            13 => {
                let (port, bit) = (self.port(), self.below(2) + self.below(3) / 2);
                let change = self.one(&["PORT|=", "PORT&=~", "PORT^=", "PIN=", "DDR^="]);
                self.flags |= change == "DDR^=";
                let (register, operator) = change.split_at(change.len() - change.trim_start_matches(char::is_alphabetic).len());
                Statement::simple(format!("{register}{port} {operator} {};", 1 << bit))
            }
            14 => {
                let target =
                    if place == Place::Main && self.has_local { "&local" } else { self.one(&["&v0", "&v1", "&a[0]", "&PORTB", "&PLAIN"]) };
                Statement::simple(format!("p = (volatile uint8_t *){target};"))
            }
            15 => {
                let other = self.device.second_wide;
                let (word, value) = (self.device.wide, self.byte(place));
                Statement::simple(if self.chance(2) { format!("{word} = {value} ? 0x101 : 0;") } else { format!("{other} = 0x202;") })
            }
            16 => Statement::simple(self.one(&["by((struct pair *)&s0);", "by(sp);", "fp = f1;", "fp = f0;"])),
            17 => {
                let interrupt = self.any_interrupt();
                Statement::simple(if self.chance(2) { interrupt.on } else { interrupt.off })
            }
            18 => {
                self.flags = true;
                Statement::simple(self.one(&self.device.clears))
            }
            19 if self.chance(3) => {
                self.flags = true;
                let interrupt = self.any_interrupt();
                Statement::simple(if self.chance(2) { interrupt.setup } else { interrupt.stop })
            }
            19 | 20 => {
                let topic = [1, 0, 2, 0][self.topic];
                let adjusts = if self.chance(4) { self.one(&self.device.adjusts) } else { self.device.adjusts[topic] };
                self.flags |= adjusts.starts_with("ADCSRA");
                Statement::simple(adjusts)
            }
            21 => {
                let (to, from) = (self.byte(place), self.below(2));
                Statement::simple(if self.chance(2) {
                    format!("EEARL = {from}; EECR |= 1; {to} = EEDR & 1;")
                } else {
                    let value = self.byte(place);
                    format!(
                        "{{ uint8_t status = SREG; cli(); if (!(EECR & 2)) {{ EEARL = {from}; EEDR = {value}; EECR |= 4; EECR |= 2; }} SREG = status; }}"
                    )
                })
            }
            22 | 23 => Statement::block(format!("if ({}) {{", self.condition(place)), self.several(place, depth), "}"),
            24 => {
                let mut block = Statement::block(format!("if ({}) {{", self.condition(place)), self.several(place, depth), "}");
                block.body.push(Statement::block("} else {", Vec::new(), ""));
                block.body.extend(self.several(place, depth));
                Statement::block("{", vec![block], "}")
            }
            25 => {
                let mut block = Statement::block(format!("switch ({} & 3) {{", self.value(place)), Vec::new(), "}");
                for case in 0..1 + self.below(4) {
                    let inner = self.several(place, depth);
                    block.body.push(Statement::block(format!("case {case}: {{"), inner, "} break;"));
                }
                block
            }
            26 => {
                let bound = 2 + self.below(2);
                let index = ["i", "j", "k"][depth.min(2)];
                let mut body = self.several(place, depth);
                if self.chance(2) {
                    let value = self.value(place);
                    body.push(Statement::simple(format!("a[{index} & 1] = {value} & 1;")));
                }
                Statement::block(format!("for (uint8_t {index} = 0; {index} < {bound}; {index}++) {{"), body, "}")
            }
            27 if self.chance(2) => {
                let body = self.several(place, depth);
                let kind = if place == Place::Main { self.one(&["ATOMIC_RESTORESTATE", "ATOMIC_FORCEON"]) } else { "ATOMIC_RESTORESTATE" };
                Statement::block(format!("ATOMIC_BLOCK({kind}) {{"), body, "}")
            }
            27 | 28 => {
                let body = self.several(place, depth);
                Statement::block("{ uint8_t status = SREG; cli();", body, "SREG = status; }")
            }
            29 if place == Place::Main => Statement::block("cli();", self.several(place, depth), "sei();"),
            30 if place == Place::Main => {
                let sleep = format!("{} |= {}; __asm__ volatile(\"sleep\");", self.device.sleep.0, self.device.sleep.1);
                Statement::simple(if self.chance(2) { format!("cli(); if (v0 == 0) {{ sei(); {sleep} }} sei();") } else { sleep })
            }
            31 if place == Place::Main => Statement::simple(format!("while ({}) {{ }}", self.condition(place))),
            32 if self.guarded && self.chance(2) => {
                let (on, off, reason) = self.device.watchdog;
                Statement::simple(match self.below(3) {
                    0 => on.to_owned(),
                    1 => off.to_owned(),
                    _ => format!("{reason} = 0;"),
                })
            }
            32 => Statement::simple("__asm__ volatile(\"wdr\");"),
            33 if place == Place::Main => Statement::simple(self.one(&["sei();", "cli();", "sei(); __asm__ volatile(\"nop\"); cli();"])),
            34 | 35 => {
                let (to, value) = (self.byte(place), self.call(place));
                Statement::simple(format!("{to} = {value} & {};", self.one(&[1, 3])))
            }
            _ => {
                let (to, value) = (self.byte(place), self.value(place));
                Statement::simple(format!("{to} = {value} & 1;"))
            }
        }
    }

    fn any_interrupt(&mut self) -> &'static Interrupt {
        let number = self.below(self.interrupts.len());
        self.interrupts[number]
    }
}
