//! Programs as LF text.

use super::{
    Clause, Condition, ELEMENTS, GLOBALS, Message, Operator, Port, Program, Relation, Set, Statement, TWISTS, Talk, Value, Var, WIDE,
};
use std::fmt::Write;

impl Program {
    /// The modules that the program imports: name and text of their files.
    pub fn imported(&self) -> Vec<(&'static str, String)> {
        let helper = format!(
            "MODULE Helper;\nCONST K* = {};\nTYPE C* = [s, v(INT8), n(BOOLEAN, INT8)];\nVAR h : INT8;\nPORT hc* : C;\n\
             PROCESS Bump*(VAR r : INT8; by : INT8);\nBEGIN h := INT8((h + by) MOD 50); r := h\nEND Bump;\n\
             PROCESS Twist*(by : INT8);\nBEGIN h := INT8((2 * h + by) MOD 50)\nEND Twist;\n\
             BEGIN NEW(hc); h := K\nEND Helper.\n",
            self.constant
        );
        let more = if self.further.chained { ", Second" } else { "" };
        let [second, third] = TWISTS;
        vec![
            ("Helper.lf", helper),
            ("Second.lf", format!("MODULE Second;\nIMPORT Helper;\nBEGIN Helper.Twist({second})\nEND Second.\n")),
            ("Third.lf", format!("MODULE Third;\nIMPORT Helper{more};\nBEGIN Helper.Twist({third})\nEND Third.\n")),
        ]
    }

    /// A loader that knows the imported modules.
    pub fn loader(&self) -> impl FnMut(&str, &str) -> Result<(String, String), String> + use<> {
        let modules = self.imported();
        move |wanted, _| {
            let module = modules.iter().find(|(name, _)| *name == wanted);
            module.map(|(name, text)| ((*name).to_owned(), text.clone())).ok_or_else(|| "there is no such file".to_owned())
        }
    }

    /// What the main module imports.
    fn imports(&self) -> String {
        let mut names: Vec<&str> = self.further.listed.iter().map(|module| ["Second", "Third"][*module]).collect();
        names.insert(if self.further.first { names.len() } else { 0 }, "Helper");
        names.join(", ")
    }

    /// The main module as LF.
    pub fn text(&self) -> String {
        self.text_with("")
    }

    /// The main module with more declarations.
    pub fn text_with(&self, declarations: &str) -> String {
        let mut out = format!("MODULE Random;\nIMPORT {};\n", self.imports());
        out.push_str(
            "TYPE C = Helper.C; T = RECORD f : INT8; h : ARRAY 2 OF INT8 END; D = [give(C), whole(T)];\n\
             PORT c0, c1 : C; d : D; ps : ARRAY 2 OF C;\n\
             VAR g0, g1 : INT8; t : ARRAY 2 OF INT8; a, b : T; e : ARRAY 2 OF T; m : SET; q : BOOLEAN; l : CHAR;\n\
             \x20 p0 AT 16 : INT8; p1 AT 16 : INT8; k : RECORD n : INT8; p : C END;",
        );
        for (number, (name, _, _)) in WIDE.iter().enumerate() {
            let _ = write!(out, " w{number} : {name};");
        }
        out.push('\n');
        if self.is_open {
            out.push_str("TYPE O = [s, v(INT8)];\nPORT o : O;\n");
        }
        out.push_str("PROCESS V(VAR r : INT8; c : C);\nBEGIN\n");
        write_block(&mut out, &self.reader, 1);
        out.push_str("END V;\n");
        for (name, body) in [("Q", &self.called), ("R", &self.recursive)] {
            let _ = writeln!(out, "PROCESS {name}(VAR r : INT8; x : INT8);\nVAR y : INT8; z : UINT8;\nBEGIN");
            write_block(&mut out, body, 1);
            let _ = writeln!(out, "END {name};");
        }
        for (number, (body, inner)) in self.processes.iter().zip(&self.inner).enumerate() {
            let _ = writeln!(
                out,
                "PROCESS P{number}(x : INT8; c : C);\nVAR y : INT8; z : UINT8;\n  PROCESS I(k : INT8);\n  VAR e : INT8;\n  \
                 BEGIN e := INT8(k + x); y := INT8((y + e) MOD 100)\n  END I;\n  PROCESS J;\n  BEGIN"
            );
            write_block(&mut out, inner, 2);
            out.push_str("  END J;\nBEGIN\n");
            write_block(&mut out, body, 1);
            let _ = writeln!(out, "END P{number};");
        }
        out.push_str(declarations);
        out.push_str("BEGIN\n");
        write_block(&mut out, &self.main, 1);
        out.push_str("END Random.\n");
        out
    }
}

/// What can be seen in a state, as expressions of the main module. `State::visible` gives the
/// values.
pub fn visible() -> Vec<String> {
    let mut all: Vec<String> = (0..GLOBALS).map(|number| format!("g{number}")).collect();
    all.extend((0..WIDE.len()).map(|number| format!("w{number}")));
    let records = ["a", "b", "e[0]", "e[1]"];
    all.extend(records.iter().map(|record| format!("{record}.f")));
    let arrays = ["t".to_owned()].into_iter().chain(records.iter().map(|record| format!("{record}.h")));
    all.extend(arrays.flat_map(|array| (0..ELEMENTS).map(move |number| format!("{array}[{number}]"))));
    all.extend(["INTEGER(m)", "q", "ORD(l)", "p0", "p1", "c0", "c1", "d", "ps[0]", "ps[1]", "k.p"].map(str::to_owned));
    all
}

fn variable(var: Var) -> String {
    match var {
        Var::Global(number) => format!("g{number}"),
        Var::Local(number) => ["x", "y", "z"][number].to_owned(),
        Var::Reference => "r".to_owned(),
        Var::Wide(number) => format!("w{number}"),
        Var::Field(number) => format!("{}.f", ["a", "b"][number]),
        Var::Static(number) => format!("p{number}"),
        Var::Slot(number) => format!("e[{number}].f"),
        Var::Chosen => "e[x].f".to_owned(),
        Var::Element(number) => format!("t[{number}]"),
        Var::Pointed => "t[g0]".to_owned(),
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
        Value::Deep(i, j) => format!("e[{}].h[{}]", value(i), value(j)),
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
        Value::Cast(ty, operand) => format!("{}({})", WIDE[*ty].0, value(operand)),
        Value::Imported => "Helper.K".to_owned(),
        Value::Letter => "ORD(l)".to_owned(),
        Value::Bits => "INTEGER(m)".to_owned(),
    }
}

pub(super) fn condition(of: &Condition) -> String {
    match of {
        Condition::Compare(relation, a, b) => {
            let sign = match relation {
                Relation::Less => "<",
                Relation::Equal => "=",
                Relation::Unequal => "#",
                Relation::LessOrEqual => "<=",
                Relation::Greater => ">",
                Relation::GreaterOrEqual => ">=",
            };
            format!("({} {sign} {})", value(a), value(b))
        }
        Condition::Not(inside) => format!("~{}", condition(inside)),
        Condition::And(a, b) => format!("({} & {})", condition(a), condition(b)),
        Condition::Or(a, b) => format!("({} OR {})", condition(a), condition(b)),
        Condition::In(element, of) => format!("({} IN {})", value(element), set(of)),
        Condition::Flag => "q".to_owned(),
        Condition::Odd(of) => format!("ODD({})", value(of)),
        Condition::Before(letter) => format!("(l < '{}')", char::from(*letter)),
        Condition::Same(a, b) => format!("({} = {})", set(a), set(b)),
        Condition::SamePort(a, b) => format!("({} = {})", port(*a), port(*b)),
        Condition::True => "TRUE".to_owned(),
    }
}

fn set(of: &Set) -> String {
    match of {
        Set::Load => "m".to_owned(),
        Set::Of(elements) => {
            let element = |(first, last): &(Value, Option<Value>)| match last {
                Some(last) => format!("{} .. {}", value(first), value(last)),
                None => value(first),
            };
            format!("{{{}}}", elements.iter().map(element).collect::<Vec<_>>().join(", "))
        }
        Set::Join(sign, a, b) => format!("({} {sign} {})", set(a), set(b)),
        Set::Complement(of) => format!("(-{})", set(of)),
        Set::Number(of) => format!("SET({})", value(of)),
    }
}

fn port(of: Port) -> String {
    match of {
        Port::Global(number) => format!("c{number}"),
        Port::Own => "c".to_owned(),
        Port::Open => "o".to_owned(),
        Port::Slot(number) => format!("ps[{number}]"),
        Port::Chosen => "ps[x]".to_owned(),
        Port::Kept => "k.p".to_owned(),
        Port::Imported => "Helper.hc".to_owned(),
        Port::Device => "d".to_owned(),
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
        (Message::Pair, Some(sent)) => format!("{at}!n({}, INT8({}))", condition(&of.flag), value(sent)),
        (Message::Pair, None) => format!("{at}?n(q, {target})"),
        (Message::Record, Some(_)) => "d!whole(a)".to_owned(),
        (Message::Record, None) => "d?whole(b)".to_owned(),
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

fn write_clause(out: &mut String, clause: &Clause, depth: usize) {
    let guard = clause.guard.as_ref().map_or(String::new(), |guard| format!(" & {}", condition(guard)));
    let _ = writeln!(out, "{}WHEN {}{guard} THEN", "  ".repeat(depth), talk(&clause.talk));
    write_block(out, &clause.body, depth + 1);
}

fn write_statement(out: &mut String, statement: &Statement, depth: usize) {
    let pad = "  ".repeat(depth);
    let _ = match statement {
        Statement::Assign(var, of) => write!(out, "{} := {}({})", variable(*var), var.ty().0, value(of)),
        Statement::Change(more, var, of) => write!(out, "{}({}, {})", if *more { "INC" } else { "DEC" }, variable(*var), value(of)),
        Statement::Store(number, index, of) => write!(out, "{}[{}] := INT8({})", array(*number), value(index), value(of)),
        Statement::StoreDeep(i, j, of) => write!(out, "e[{}].h[{}] := INT8({})", value(i), value(j), value(of)),
        Statement::Copy => write!(out, "b := a"),
        Statement::Pick(true, index) => write!(out, "a := e[{}]", value(index)),
        Statement::Pick(false, index) => write!(out, "e[{}] := a", value(index)),
        Statement::Member(more, of) => write!(out, "{}(m, {})", if *more { "INCL" } else { "EXCL" }, value(of)),
        Statement::Flag(test) => write!(out, "q := {}", condition(test)),
        Statement::Letter(of) => write!(out, "l := CHR({})", value(of)),
        Statement::Set(of) => write!(out, "m := {}", set(of)),
        Statement::If(branches, last) => {
            for (number, (test, body)) in branches.iter().enumerate() {
                let word = if number == 0 { "IF".to_owned() } else { format!("{pad}ELSIF") };
                let _ = writeln!(out, "{word} {} THEN", condition(test));
                write_block(out, body, depth + 1);
            }
            let _ = writeln!(out, "{pad}ELSE");
            write_block(out, last, depth + 1);
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
        Statement::Expect(clause) => write!(out, "{}", talk(&clause.talk)),
        Statement::Select(clauses) => {
            out.push_str("SELECT\n");
            clauses.iter().for_each(|clause| write_clause(out, clause, depth));
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
        Statement::Bump(var, of) => write!(out, "Helper.Bump({}, INT8({}))", variable(*var), value(of)),
        Statement::Inner(of) => write!(out, "I(INT8({}))", value(of)),
        Statement::Create(process, of, with) => write!(out, "CREATE P{process}(INT8({}), {})", value(of), port(*with)),
        Statement::CreateInner => write!(out, "CREATE J"),
        Statement::CreateReader(var, with) => write!(out, "CREATE V({}, {})", variable(*var), port(*with)),
        Statement::New(of) => write!(out, "NEW({})", port(*of)),
        Statement::Port(to, from) => write!(out, "{} := {}", port(*to), port(*from)),
        Statement::Reschedule => write!(out, "RESCHEDULE"),
        Statement::Assert(test) => write!(out, "ASSERT {}", condition(test)),
    };
}
