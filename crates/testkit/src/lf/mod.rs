//! Random LF programs, and an evaluator that is independent of the compiler.
//!
//! A program is a tree of its own here: [`Program::text`] writes it as LF, and [`Program::graph`]
//! explores it by the semantics that `docs/lf.md` gives to its statements. The compiled program
//! must have the same graph.

mod evaluate;
mod generate;

pub use evaluate::Graph;

use std::fmt::Write;

/// A variable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Var {
    /// A variable of the module: `g0`, `g1`.
    Global(usize),
    /// A variable of the process: `x`, `y`.
    Local(usize),
    /// The parameter by reference of the called process: `r`.
    Reference,
}

/// A value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Value {
    Constant(i32),
    Load(Var),
    /// An element of the array `t` of the module.
    Element(Box<Value>),
    Add(Box<Value>, Box<Value>),
    Divide(Box<Value>, Box<Value>),
    Modulo(Box<Value>, i32),
}

/// A condition.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Condition {
    Less(Value, Value),
    Equal(Value, Value),
    Not(Box<Condition>),
    And(Box<Condition>, Box<Condition>),
}

/// A communication.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Talk {
    /// The port: `c0`, `c1`.
    pub port: usize,
    /// Whether the message is `v`, which carries a number, and not the signal `s`.
    pub data: bool,
    /// The value that is sent; `None` for a receive.
    pub sends: Option<Value>,
    /// The variable that gets a received value.
    pub into: Var,
}

/// A clause of `SELECT`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub struct Clause {
    pub talk: Talk,
    pub guard: Option<Condition>,
    pub body: Vec<Statement>,
}

/// A statement.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Statement {
    Assign(Var, Value),
    Store(Value, Value),
    If(Condition, Vec<Statement>, Vec<Statement>),
    While(Condition, Vec<Statement>),
    Forever(Vec<Statement>),
    Repeat(Vec<Statement>, Condition),
    Talk(Talk),
    Select(Vec<Clause>),
    Choice(Vec<Vec<Statement>>),
    Call(Var, Value),
    Create(usize, Value),
    Reschedule,
    Assert(Condition),
}

/// A program: processes `P0`, `P1`, …, the called process `Q`, and the processes that the module
/// creates.
#[derive(Clone, Debug)]
pub struct Program {
    processes: Vec<Vec<Statement>>,
    called: Vec<Statement>,
    created: Vec<(usize, i32)>,
}

const GLOBALS: usize = 2;
const PORTS: usize = 2;
const ELEMENTS: i32 = 2;

impl Program {
    /// The program as LF.
    pub fn text(&self) -> String {
        let mut out = String::from(
            "MODULE Random;\nTYPE C = [s, v(INT8)];\nPORT c0, c1 : C;\nVAR g0, g1 : INT8; t : ARRAY 2 OF INT8;\n\
             PROCESS Q(VAR r : INT8; x : INT8);\nVAR y : INT8;\nBEGIN\n",
        );
        write_block(&mut out, &self.called, 1);
        out.push_str("END Q;\n");
        for (number, body) in self.processes.iter().enumerate() {
            let _ = writeln!(out, "PROCESS P{number}(x : INT8);\nVAR y : INT8;\nBEGIN");
            write_block(&mut out, body, 1);
            let _ = writeln!(out, "END P{number};");
        }
        out.push_str("BEGIN\n  NEW(c0); NEW(c1)");
        for (process, value) in &self.created {
            let _ = write!(out, ";\n  CREATE P{process}({value})");
        }
        out.push_str("\nEND Random.\n");
        out
    }
}

fn variable(var: Var) -> String {
    match var {
        Var::Global(number) => format!("g{number}"),
        Var::Local(0) => "x".to_owned(),
        Var::Local(_) => "y".to_owned(),
        Var::Reference => "r".to_owned(),
    }
}

fn value(value_: &Value) -> String {
    match value_ {
        Value::Constant(number) => number.to_string(),
        Value::Load(var) => variable(*var),
        Value::Element(index) => format!("t[{}]", value(index)),
        Value::Add(a, b) => format!("({} + {})", value(a), value(b)),
        Value::Divide(a, b) => format!("({} DIV {})", value(a), value(b)),
        Value::Modulo(a, by) => format!("({} MOD {by})", value(a)),
    }
}

fn condition(of: &Condition) -> String {
    match of {
        Condition::Less(a, b) => format!("({} < {})", value(a), value(b)),
        Condition::Equal(a, b) => format!("({} = {})", value(a), value(b)),
        Condition::Not(inside) => format!("~{}", condition(inside)),
        Condition::And(a, b) => format!("({} & {})", condition(a), condition(b)),
    }
}

fn talk(of: &Talk) -> String {
    match (&of.sends, of.data) {
        (Some(sent), true) => format!("c{}!v(INT8({}))", of.port, value(sent)),
        (Some(_), false) => format!("c{}!s", of.port),
        (None, true) => format!("c{}?v({})", of.port, variable(of.into)),
        (None, false) => format!("c{}?s", of.port),
    }
}

fn write_block(out: &mut String, statements: &[Statement], depth: usize) {
    let pad = "  ".repeat(depth);
    for (number, statement) in statements.iter().enumerate() {
        out.push_str(&pad);
        write_statement(out, statement, depth);
        out.push_str(if number + 1 < statements.len() { ";\n" } else { "\n" });
    }
}

fn write_statement(out: &mut String, statement: &Statement, depth: usize) {
    let pad = "  ".repeat(depth);
    let _ = match statement {
        Statement::Assign(var, of) => write!(out, "{} := INT8({})", variable(*var), value(of)),
        Statement::Store(index, of) => write!(out, "t[{}] := INT8({})", value(index), value(of)),
        Statement::If(test, yes, no) => {
            let _ = writeln!(out, "IF {} THEN", condition(test));
            write_block(out, yes, depth + 1);
            let _ = writeln!(out, "{pad}ELSE");
            write_block(out, no, depth + 1);
            write!(out, "{pad}END")
        }
        Statement::While(test, body) => {
            let _ = writeln!(out, "WHILE {} DO", condition(test));
            write_block(out, body, depth + 1);
            write!(out, "{pad}END")
        }
        Statement::Forever(body) => {
            out.push_str("WHILE TRUE DO\n");
            write_block(out, body, depth + 1);
            write!(out, "{pad}END")
        }
        Statement::Repeat(body, test) => {
            out.push_str("REPEAT\n");
            write_block(out, body, depth + 1);
            write!(out, "{pad}UNTIL {}", condition(test))
        }
        Statement::Talk(of) => write!(out, "{}", talk(of)),
        Statement::Select(clauses) => {
            out.push_str("SELECT\n");
            for clause in clauses {
                let guard = clause.guard.as_ref().map_or(String::new(), |guard| format!(" & {}", condition(guard)));
                let _ = writeln!(out, "{pad}WHEN {}{guard} THEN", talk(&clause.talk));
                write_block(out, &clause.body, depth + 1);
            }
            write!(out, "{pad}END")
        }
        Statement::Choice(blocks) => {
            out.push_str("CHOICE\n");
            for (number, block) in blocks.iter().enumerate() {
                if number > 0 {
                    let _ = writeln!(out, "{pad}OR");
                }
                write_block(out, block, depth + 1);
            }
            write!(out, "{pad}END")
        }
        Statement::Call(var, of) => write!(out, "Q({}, INT8({}))", variable(*var), value(of)),
        Statement::Create(process, of) => write!(out, "CREATE P{process}(INT8({}))", value(of)),
        Statement::Reschedule => write!(out, "RESCHEDULE"),
        Statement::Assert(test) => write!(out, "ASSERT {}", condition(test)),
    };
}
