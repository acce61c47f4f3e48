//! The text form of a step graph, for golden tests and for people.

use crate::StepGraph;
use crate::expr::{ChannelQuery, Expr, ExprId, Unary, Var};
use crate::footprint::{Channels, Footprint, Place};
use crate::node::{Effect, Node, NodeId};
use bytecode::{Location, ProcessId, Verified};
use std::fmt::Write;

impl StepGraph {
    /// All locations with their alternatives, and their footprints on request.
    pub fn to_text(&self, program: &Verified, footprints: bool) -> String {
        let mut out = String::new();
        for (i, process) in program.program().processes.iter().enumerate() {
            let id = ProcessId(i as u8);
            let w = Writer { graph: self, program, process: id };
            let _ = writeln!(out, "process {}", process.name);
            if let Some(node) = self.prologue(id) {
                let _ = writeln!(out, "  prologue");
                w.node(&mut out, node, 4);
            }
            for l in 0..program.locations().count(id) {
                let location = Location(l as u16);
                let _ = writeln!(out, "  location {l}");
                w.node(&mut out, self.location(id, location), 4);
                if footprints {
                    for alternative in self.alternatives(id, location) {
                        let step = alternative.end.map_or("no step".to_owned(), |(_, step)| step.to_string());
                        let _ = writeln!(out, "    # {step}: {}", w.footprint(&alternative.footprint));
                    }
                }
            }
        }
        out
    }
}

struct Writer<'g> {
    graph: &'g StepGraph,
    program: &'g Verified,
    process: ProcessId,
}

impl Writer<'_> {
    fn node(&self, out: &mut String, start: NodeId, indent: usize) {
        let mut id = start;
        let mut line = |depth: usize, text: String| _ = writeln!(out, "{:depth$}{text}", "");
        // The stack is explicit, because a graph may be as long as its program.
        let mut open: Vec<(NodeId, usize, Option<&str>)> = Vec::new();
        let mut depth = indent;
        loop {
            let next = match self.graph.node(id) {
                Node::Choice(first, second) => {
                    line(depth, "choice".into());
                    open.push((*second, depth, Some("or")));
                    depth += 2;
                    Some(*first)
                }
                Node::Else(main, other) => {
                    line(depth, "first".into());
                    open.push((*other, depth, Some("else")));
                    depth += 2;
                    Some(*main)
                }
                Node::Unless(escape, main) => {
                    line(depth, "escape".into());
                    open.push((*main, depth, Some("otherwise")));
                    depth += 2;
                    Some(*escape)
                }
                Node::Test(condition, then, other) => {
                    line(depth, format!("if {}", self.expr(*condition)));
                    open.push((*other, depth, Some("else if not")));
                    depth += 2;
                    Some(*then)
                }
                Node::Guard(condition, next) => {
                    line(depth, format!("when {}", self.expr(*condition)));
                    Some(*next)
                }
                Node::Do(effect, next) => {
                    line(depth, self.effect(effect));
                    Some(*next)
                }
                Node::Step(mode, addr) => {
                    let to = self.program.locations().after_step(*addr).map_or("end".to_string(), |l| l.0.to_string());
                    line(depth, format!("step {} -> {to}", mode.word()));
                    None
                }
                Node::Return => {
                    line(depth, "return".into());
                    None
                }
                Node::Value(_) => {
                    line(depth, "value".into());
                    None
                }
                Node::Blocked => {
                    line(depth, "blocked".into());
                    None
                }
            };
            match next {
                Some(next) => id = next,
                None => match open.pop() {
                    Some((next, at, word)) => {
                        if let Some(word) = word {
                            line(at, word.into());
                        }
                        depth = at + 2;
                        id = next;
                    }
                    None => return,
                },
            }
        }
    }

    fn var(&self, var: Var) -> String {
        let program = self.program.program();
        match var {
            Var::Global(id) => program.globals[id.index()].name.clone(),
            Var::Local(id) => program.processes[self.process.index()].locals[id.index()].name.clone(),
        }
    }

    fn list(&self, exprs: &[ExprId]) -> String {
        exprs.iter().map(|e| self.expr(*e)).collect::<Vec<_>>().join(", ")
    }

    fn effect(&self, effect: &Effect) -> String {
        match effect {
            Effect::Let(temp, e) => format!("let t{} = {}", temp.0, self.expr(*e)),
            Effect::Evaluate(e) => format!("evaluate {}", self.expr(*e)),
            Effect::Store(var, e) => format!("{} = {}", self.var(*var), self.expr(*e)),
            Effect::StoreElement(var, index, e, _) => format!("{}[{}] = {}", self.var(*var), self.expr(*index), self.expr(*e)),
            Effect::Send { channel, message, sorted, .. } => {
                format!("{} {} {}", self.expr(*channel), if *sorted { "!!" } else { "!" }, self.list(message))
            }
            Effect::Receive { channel, fields, mask, wanted, how, into, .. } => format!(
                "{} ? {} {fields} fields into t{}, matching {:b} [{}]",
                self.expr(*channel),
                how.word(),
                into.0,
                mask.0,
                self.list(wanted)
            ),
            Effect::Run { process, args, into, .. } => {
                format!("let t{} = run {}({})", into.0, self.program.program().processes[process.index()].name, self.list(args))
            }
            Effect::NewChannel { ty, into, .. } => {
                format!("let t{} = new {}", into.0, self.program.program().channel_types[ty.index()].name)
            }
            Effect::SetPriority { process, priority, .. } => {
                format!("priority of {} = {}", self.expr(*process), self.expr(*priority))
            }
            Effect::Claim { channel, sender, .. } => {
                format!("claim {} as {}", self.expr(*channel), if *sender { "sender" } else { "receiver" })
            }
            Effect::Assert(e, _) => format!("assert {}", self.expr(*e)),
        }
    }

    fn expr(&self, id: ExprId) -> String {
        let mut out = String::new();
        self.write_expr(&mut out, id, 0);
        out
    }

    fn write_expr(&self, out: &mut String, id: ExprId, nesting: usize) {
        if nesting > 60 {
            out.push('…');
            return;
        }
        let sub = |e: ExprId| {
            let mut inner = String::new();
            self.write_expr(&mut inner, e, nesting + 1);
            inner
        };
        let text = match self.graph.pool().get(id) {
            Expr::Const(v) => v.to_string(),
            Expr::Temp(t) => format!("t{}", t.0),
            Expr::Load(var) => self.var(*var),
            Expr::Element(var, index, _) => format!("{}[{}]", self.var(*var), sub(*index)),
            Expr::Remote(p, ty, var) => {
                let process = &self.program.program().processes[ty.index()];
                format!("{}[{}]:{}", process.name, sub(*p), process.locals[var.index()].name)
            }
            Expr::RemoteElement(p, ty, var, index, _) => {
                let process = &self.program.program().processes[ty.index()];
                format!("{}[{}]:{}[{}]", process.name, sub(*p), process.locals[var.index()].name, sub(*index))
            }
            Expr::Checked(e, length, _) => format!("{} below {length}", sub(*e)),
            Expr::Unary(op, e) => {
                let sign = match op {
                    Unary::Neg => "-",
                    Unary::Not => "~",
                    Unary::Lnot => "!",
                };
                format!("{sign}{}", sub(*e))
            }
            Expr::Binary(op, a, b) => format!("({} {} {})", sub(*a), op.symbol(), sub(*b)),
            Expr::Ranged(e, least, greatest, _) => format!("{} within {least}..{greatest}", sub(*e)),
            Expr::Fitting(op, a, b, _) => format!("fitting({} {} {})", sub(*a), op.symbol(), sub(*b)),
            Expr::Div(a, b, _) => format!("({} / {})", sub(*a), sub(*b)),
            Expr::Mod(a, b, _) => format!("({} % {})", sub(*a), sub(*b)),
            Expr::Choose(c, a, b) => format!("({} ? {} : {})", sub(*c), sub(*a), sub(*b)),
            Expr::Pid => "pid".into(),
            Expr::ProcessCount => "processes".into(),
            Expr::Last => "last".into(),
            Expr::Timeout => "timeout".into(),
            Expr::NoProgress => "no-progress".into(),
            Expr::Enabled(p) => format!("enabled({})", sub(*p)),
            Expr::LocationOf(p) => format!("location({})", sub(*p)),
            Expr::IsAt(p, ty, l) => {
                format!("{}[{}]@{}", self.program.program().processes[ty.index()].name, sub(*p), l.map_or(-1, |l| l.0 as i32))
            }
            Expr::Priority(p) => format!("priority({})", sub(*p)),
            Expr::Channel(query, c, _) => {
                let word = match query {
                    ChannelQuery::Length => "len",
                    ChannelQuery::Empty => "empty",
                    ChannelQuery::Full => "full",
                };
                format!("{word}({})", sub(*c))
            }
            Expr::Poll { channel, mask, wanted, how, .. } => {
                let wanted = wanted.iter().map(|e| sub(*e)).collect::<Vec<_>>().join(", ");
                format!("poll({} {} {:b} [{wanted}])", sub(*channel), how.word(), mask.0)
            }
        };
        out.push_str(&text);
    }

    fn footprint(&self, f: &Footprint) -> String {
        let mut parts = Vec::new();
        let places = |set: &std::collections::BTreeSet<Place>| set.iter().map(|p| self.place(p)).collect::<Vec<_>>().join(" ");
        let channels = |set: &std::collections::BTreeSet<Channels>| {
            let name = |c: &Channels| match c {
                Channels::One(n) => format!("#{n}"),
                Channels::Any => "any".into(),
            };
            set.iter().map(name).collect::<Vec<_>>().join(" ")
        };
        let mut add = |word: &str, text: String| {
            if !text.is_empty() {
                parts.push(format!("{word} {text}"));
            }
        };
        add("reads", places(&f.reads));
        add("writes", places(&f.writes));
        add("sends", channels(&f.sends));
        add("receives", channels(&f.receives));
        add("tests", channels(&f.tests));
        add("creates", if f.creates_channel { "channels".into() } else { String::new() });
        add("depends on", if f.entangled { "what others can do".into() } else { String::new() });
        parts.join("; ")
    }

    fn place(&self, place: &Place) -> String {
        let element = |e: &Option<u32>, length: Option<u32>| match (e, length) {
            (_, None) => String::new(),
            (Some(i), _) => format!("[{i}]"),
            (None, _) => "[*]".into(),
        };
        let program = self.program.program();
        match place {
            Place::Global(id, e) => {
                let v = &program.globals[id.index()];
                format!("{}{}", v.name, element(e, v.length))
            }
            Place::Local(id, e) => {
                let v = &program.processes[self.process.index()].locals[id.index()];
                format!("{}{}", v.name, element(e, v.length))
            }
            Place::Location => "@".into(),
            Place::Others => "others".into(),
            Place::Processes => "processes".into(),
            Place::Last => "last".into(),
            Place::Privilege => "privilege".into(),
            Place::Scratch => "scratch".into(),
        }
    }
}
