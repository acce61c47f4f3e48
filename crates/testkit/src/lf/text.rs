//! Programs as LF text.

use super::{Condition, Message, Operator, Port, Program, Statement, Talk, Value, Var, WIDE};
use std::fmt::Write;

impl Program {
    /// The program as LF.
    pub fn text(&self) -> String {
        let mut out = String::from(
            "MODULE Random;\nTYPE C = [s, v(INT8)]; D = [give(C)]; T = RECORD f : INT8; h : ARRAY 2 OF INT8 END;\nPORT c0, c1 : C; d : D;\n\
             VAR g0, g1 : INT8; t : ARRAY 2 OF INT8; a, b : T; m : SET;",
        );
        for (number, (name, _, _)) in WIDE.iter().enumerate() {
            let _ = write!(out, " w{number} : {name};");
        }
        out.push('\n');
        if self.is_open {
            out.push_str("TYPE O = [s, v(INT8)];\nPORT o : O;\n");
        }
        for (name, body) in [("Q", &self.called), ("R", &self.recursive)] {
            let _ = writeln!(out, "PROCESS {name}(VAR r : INT8; x : INT8);\nVAR y : INT8; z : UINT8;\nBEGIN");
            write_block(&mut out, body, 1);
            let _ = writeln!(out, "END {name};");
        }
        for (number, body) in self.processes.iter().enumerate() {
            let _ = writeln!(
                out,
                "PROCESS P{number}(x : INT8; c : C);\nVAR y : INT8; z : UINT8;\n  PROCESS I(k : INT8);\n  VAR e : INT8;\n  \
                 BEGIN e := INT8(k + x); y := INT8((y + e) MOD 100)\n  END I;\nBEGIN"
            );
            write_block(&mut out, body, 1);
            let _ = writeln!(out, "END P{number};");
        }
        out.push_str("BEGIN\n  NEW(c0); NEW(c1); NEW(d)");
        if self.is_open {
            out.push_str("; NEW(o)");
        }
        for (process, value, port) in &self.created {
            let _ = write!(out, ";\n  CREATE P{process}({value}, c{port})");
        }
        out.push_str("\nEND Random.\n");
        out
    }
}

fn variable(var: Var) -> String {
    match var {
        Var::Global(number) => format!("g{number}"),
        Var::Local(number) => ["x", "y", "z"][number].to_owned(),
        Var::Reference => "r".to_owned(),
        Var::Wide(number) => format!("w{number}"),
        Var::Field(number) => format!("{}.f", ["a", "b"][number]),
    }
}

fn array(number: usize) -> &'static str {
    ["t", "a.h"][number]
}

fn value(of: &Value) -> String {
    match of {
        Value::Constant(number) => number.to_string(),
        Value::Load(var) => variable(*var),
        Value::Element(number, index) => format!("{}[{}]", array(*number), value(index)),
        Value::Binary(operator, a, b) => {
            let sign = match operator {
                Operator::Add => "+",
                Operator::Subtract => "-",
                Operator::Multiply => "*",
                Operator::Divide => "DIV",
                Operator::Modulo => "MOD",
            };
            format!("({} {sign} {})", value(a), value(b))
        }
        Value::Absolute(operand) => format!("ABS({})", value(operand)),
        Value::Negate(operand) => format!("(-{})", value(operand)),
    }
}

fn condition(of: &Condition) -> String {
    match of {
        Condition::Less(a, b) => format!("({} < {})", value(a), value(b)),
        Condition::Equal(a, b) => format!("({} = {})", value(a), value(b)),
        Condition::Not(inside) => format!("~{}", condition(inside)),
        Condition::And(a, b) => format!("({} & {})", condition(a), condition(b)),
        Condition::Or(a, b) => format!("({} OR {})", condition(a), condition(b)),
        Condition::In(element) => format!("({} IN m)", value(element)),
    }
}

fn port(of: Port) -> String {
    match of {
        Port::Global(number) => format!("c{number}"),
        Port::Own => "c".to_owned(),
        Port::Open => "o".to_owned(),
    }
}

fn talk(of: &Talk) -> String {
    let target = of.only.map_or_else(|| variable(of.into), |number| number.to_string());
    let at = port(of.port);
    match (of.message, &of.sends) {
        (Message::Number, Some(sent)) => format!("{at}!v(INT8({}))", value(sent)),
        (Message::Number, None) => format!("{at}?v({target})"),
        (Message::Signal, Some(_)) => format!("{at}!s"),
        (Message::Signal, None) => format!("{at}?s"),
        (Message::Port, Some(_)) => format!("d!give({})", port(of.gives)),
        (Message::Port, None) => "d?give(c)".to_owned(),
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
        Statement::Assign(var, of) => write!(out, "{} := {}({})", variable(*var), var.ty().0, value(of)),
        Statement::Change(more, var, of) => write!(out, "{}({}, {})", if *more { "INC" } else { "DEC" }, variable(*var), value(of)),
        Statement::Store(number, index, of) => write!(out, "{}[{}] := INT8({})", array(*number), value(index), value(of)),
        Statement::Copy => write!(out, "b := a"),
        Statement::Member(more, of) => write!(out, "{}(m, {})", if *more { "INCL" } else { "EXCL" }, value(of)),
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
        Statement::For(var, from, to, by, body) => {
            let _ = writeln!(out, "FOR {} := {}({}) TO {} BY {by} DO", variable(*var), var.ty().0, value(from), value(to));
            write_block(out, body, depth + 1);
            write!(out, "{pad}END")
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
        Statement::Call(recursive, var, of) => {
            write!(out, "{}({}, INT8({}))", if *recursive { "R" } else { "Q" }, variable(*var), value(of))
        }
        Statement::Inner(of) => write!(out, "I(INT8({}))", value(of)),
        Statement::Create(process, of, with) => write!(out, "CREATE P{process}(INT8({}), {})", value(of), port(*with)),
        Statement::Port(of) => write!(out, "c := {}", port(*of)),
        Statement::Reschedule => write!(out, "RESCHEDULE"),
        Statement::Assert(test) => write!(out, "ASSERT {}", condition(test)),
    };
}
