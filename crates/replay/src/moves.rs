//! The steps that leave a state, described on demand.
//!
//! Most callers want one step of many: the one that a trace took or that the user chose. A sequence
//! of invisible steps may have thousands of outcomes, each thousands of statements away, so only
//! the wanted step is described.

use crate::blame::blame;
use crate::narrator::ReplayError;
use crate::step::{LeftOut, Statement, Step};
use crate::words::{NotAState, Tell};
use bytecode::{Addr, Fault, Op, ProcessId, Shape, StateMap, format};
use contract::{FaultCode, Position, System, TraceStep};
use std::collections::HashMap;
use std::sync::Arc;
use vm::{Event, Explained, Interpreter};

/// A step of more statements is not executed again to explain its fault.
const STATEMENTS_MAX: usize = 1000;

/// The steps that leave a state.
pub(crate) struct ProgramMoves<'n> {
    interpreter: &'n Interpreter,
    state: Vec<u8>,
    before: StateMap,
    explained: Vec<Explained>,
    /// Statements in words, by process and address, because loops execute the same ones again and
    /// again.
    statements: HashMap<(usize, Addr), Arc<Statement>>,
}

/// A step while it is being described.
#[derive(Default)]
struct Telling {
    statements: Vec<Arc<Statement>>,
    printed: String,
    warnings: Vec<String>,
}

impl<'n> ProgramMoves<'n> {
    pub(crate) fn new(interpreter: &'n Interpreter, state: &[u8]) -> Result<ProgramMoves<'n>, ReplayError> {
        interpreter.check_state(state).map_err(NotAState::from)?;
        let mut before = StateMap::default();
        before.read(interpreter.program().layout(), state).map_err(NotAState::from)?;
        let explained = interpreter.explain(state).map_err(|_| ReplayError::Stopped)?;
        Ok(ProgramMoves { interpreter, state: state.to_vec(), before, explained, statements: HashMap::new() })
    }

    fn step(&mut self, explained: Explained) -> Step {
        let mut telling = Telling::default();
        for event in explained.history.beginning() {
            self.event(event, &mut telling);
        }
        let omitted = explained.history.omitted();
        let gap = LeftOut { after: telling.statements.len(), statements: omitted.steps };
        if omitted.prints > 0 {
            telling.printed.push_str(&format!("\n… the output of {} statements is left out …\n", omitted.prints));
        }
        if omitted.cuts > 0 {
            telling.warnings.push(format!("{} more values did not fit and are left out", omitted.cuts));
        }
        for event in explained.history.ending() {
            self.event(event, &mut telling);
        }
        let initiator = explained.action.process as usize;
        // A statement with a fatal fault never completes, so no event records it.
        if let Some(fault) = explained.fault.filter(|_| explained.state.is_none()) {
            telling.statements.push(self.statement(initiator, explained.repeated.unwrap_or(fault.addr)));
        }
        if telling.statements.is_empty() {
            telling.statements.push(self.statement(initiator, Addr(0)));
        }
        let because = explained.fault.and_then(|fault| self.because(&explained, fault));
        let fault = explained.fault.and_then(|fault| FaultCode::new(fault.code()));
        let mut fault = fault.map(|code| self.interpreter.describe_fault(code));
        // The user has to mend the loop, which may be far from where the transition started.
        if let (Some(fault), Some(step)) = (&mut fault, explained.repeated) {
            fault.position = vm::position_at(self.interpreter.program().program(), step).or(fault.position.take());
        }
        Step {
            action: explained.action,
            statements: telling.statements,
            left_out: Some(gap).filter(|gap| gap.statements > 0),
            printed: telling.printed,
            warnings: telling.warnings,
            state: explained.state,
            fault,
            because,
        }
    }

    /// The values that led to the fault of a step.
    fn because(&self, explained: &Explained, fault: Fault) -> Option<String> {
        let initiator = explained.action.process as usize;
        let mut completed = Vec::new();
        for event in explained.history.beginning().into_iter().chain(explained.history.ending()) {
            match event {
                Event::Step { process, step } if *process == initiator => completed.push(*step),
                Event::Step { .. } => return None,
                Event::Print { .. } | Event::Cut { .. } => {}
            }
        }
        if explained.history.omitted().steps > 0 || completed.len() > STATEMENTS_MAX {
            return None;
        }
        let program = self.interpreter.program();
        // A step that leads to a state has completed the statement with the fault, perhaps more.
        if explained.state.is_some() {
            let rest = program.program().code.get(fault.addr.index()..)?;
            let end = fault.addr.index() + rest.iter().position(|op| matches!(op, Op::Step { .. }))?;
            let mut places = completed.iter().enumerate().filter(|(_, step)| step.index() == end).map(|(place, _)| place);
            let (Some(place), None) = (places.next(), places.next()) else { return None };
            completed.truncate(place);
        }
        blame(program, &self.state, &self.before, initiator, fault, &completed)
    }

    fn event(&mut self, event: &Event, telling: &mut Telling) {
        let tables = self.interpreter.program().program();
        match event {
            Event::Step { process, step } => {
                let statement = self.statement(*process, *step);
                telling.statements.push(statement);
            }
            Event::Print { format, values, .. } => {
                let format = tables.formats.get(format.index()).map_or("", String::as_str);
                // The verifier has checked the format.
                telling.printed.push_str(&format::render(format, values, |value| tables.symbol(value)).unwrap_or_default());
            }
            Event::Cut { at, value, stored } => {
                let text = tables.span_at(*at).map_or_else(|| at.to_string(), |span| span.text.clone());
                telling.warnings.push(format!("{value} does not fit, {stored} is stored: {text}"));
            }
        }
    }

    fn statement(&mut self, pid: usize, address: Addr) -> Arc<Statement> {
        let ProgramMoves { interpreter, before, statements, .. } = self;
        let tables = interpreter.program().program();
        let told = statements.entry((pid, address)).or_insert_with(|| {
            let ty = match before.processes.get(pid).map(|component| component.shape) {
                Some(Shape::Process(ty)) => ty,
                _ => tables.process_at(address).unwrap_or(ProcessId(0)),
            };
            let process = tables.processes.get(ty.index()).map_or_else(String::new, |process| process.name.clone());
            let span = tables.span_at(address);
            let place = |span: &bytecode::Span| Position {
                file: tables.files.get(span.file.index()).cloned().unwrap_or_default(),
                line: span.line,
                column: span.column,
            };
            let (position, origin) = (span.map(place), tables.origin_at(address).map(place));
            // A program without source positions still has instructions.
            let text = match span {
                Some(span) => span.text.clone(),
                None => format!("{address}"),
            };
            Arc::new(Statement { pid, process, position, origin, text })
        });
        Arc::clone(told)
    }
}

impl Tell for ProgramMoves<'_> {
    fn count(&self) -> usize {
        self.explained.len()
    }

    fn tell(&mut self, index: usize) -> Option<Step> {
        let explained = self.explained.get(index)?.clone();
        Some(self.step(explained))
    }

    /// Only the wanted step is described.
    fn find(&mut self, wanted: &TraceStep) -> Option<Step> {
        let index = self.explained.iter().position(|found| found.action == wanted.action && found.state == wanted.state)?;
        self.tell(index)
    }
}
