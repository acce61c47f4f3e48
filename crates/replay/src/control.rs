//! The control-flow automaton of each type of process, in the user's words.

use bytecode::{Addr, Mode, Op, ProcessId, Verified, walk};
use contract::Position;

/// The automaton of a type of process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Control {
    /// The name of the type.
    pub name: String,
    /// Its control locations. The first is where processes begin.
    pub locations: Vec<ControlLocation>,
    /// The steps between them.
    pub steps: Vec<ControlStep>,
}

/// A control location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlLocation {
    /// The position of its first statement.
    pub position: Option<Position>,
    /// Its labels.
    pub labels: Vec<String>,
    /// A process may wait here for ever.
    pub end: bool,
    /// Passing here infinitely often is acceptance.
    pub accept: bool,
    /// Passing here is progress.
    pub progress: bool,
}

/// A step of an automaton.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlStep {
    /// The location it leaves.
    pub source: usize,
    /// The location it enters; `None` if the process ends.
    pub target: Option<usize>,
    /// The statement.
    pub statement: String,
    /// The position of the statement.
    pub position: Option<Position>,
    /// Whether the same process continues without interruption, as in `atomic` or `d_step`.
    pub goes_on: bool,
}

/// The automata of all types of processes of a program.
pub fn control(program: &Verified) -> Vec<Control> {
    let tables = program.program();
    let types = (0..tables.processes.len()).filter_map(ProcessId::new);
    types.map(|ty| of_type(program, ty)).collect()
}

fn of_type(program: &Verified, ty: ProcessId) -> Control {
    let (tables, locations) = (program.program(), program.locations());
    let own = &tables.processes[ty.index()];
    // The entry comes first; the others are in the order of the code.
    let entry = tables.follow_jumps(own.entry);
    let mut addresses: Vec<Addr> = locations.addresses(ty).to_vec();
    addresses.sort_by_key(|&at| (Some(at) != entry, at));
    let place = |at: Addr| {
        let span = tables.span_at(at)?;
        Some(Position { file: tables.files.get(span.file.index())?.clone(), line: span.line, column: span.column })
    };
    let location = |&at: &Addr| {
        let code = tables.code_of(ty);
        let labels = tables.labels.iter().filter(|label| code.contains(&label.addr.0));
        let here: Vec<_> = labels.filter(|label| tables.follow_jumps(label.addr) == Some(at)).collect();
        ControlLocation {
            position: place(at),
            labels: here.iter().map(|label| label.name.clone()).collect(),
            end: here.iter().any(|label| label.kind.end),
            accept: here.iter().any(|label| label.kind.accept),
            progress: here.iter().any(|label| label.kind.progress),
        }
    };
    let mut steps = Vec::new();
    for (source, &at) in addresses.iter().enumerate() {
        for step in walk(program, at).steps {
            let mode = if let Op::Step { mode } = tables.code[step.index()] { mode } else { continue };
            let next = locations.after_step(step).and_then(|location| locations.address(ty, location));
            let target = next.and_then(|next| addresses.iter().position(|&address| address == next));
            let statement = tables.span_at(step).map_or_else(|| step.to_string(), |span| span.text.clone());
            let goes_on = matches!(mode, Mode::Invisible | Mode::Deterministic | Mode::Atomic);
            steps.push(ControlStep { source, target, statement, position: place(step), goes_on });
        }
    }
    Control { name: own.name.clone(), locations: addresses.iter().map(location).collect(), steps }
}
