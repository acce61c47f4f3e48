//! Subjects of a check: systems that can describe their steps and have properties.
//!
//! Byte-code programs and explicit graphs are subjects. An embedder's own system becomes one with a
//! few lines. The rest of this crate does not depend on the kind of subject.

use crate::claim::{Claim, NotChecked};
use crate::ctl::Ctl;
use crate::measure::Measure;
use crate::plan::Engine;
use crate::property;
use bytecode::{LabelKind, Program, PropertyBody, Verified};
use contract::{CloneSystem, Observer, PropertyKind, Proposition, Reduction, Stated};
use lts::{Lts, Walker};
use reduction::{Examiner, Stubborn};
use replay::Narrator;
use std::sync::Arc;
use vm::Interpreter;

/// How many states are explored to examine one choice of a reduction.
const EXAMINED: usize = 200;

/// A model as a file that is stored with a trace or a saved search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enclosed {
    /// The file name extension of its language.
    pub ending: String,
    /// The contents of the file.
    pub contents: Vec<u8>,
}

/// A model to be checked, replayed and reported.
pub trait Subject: Send + Sync {
    /// The system that a search explores, which evaluates these propositions. `observer` gets a
    /// notice if another engine than the requested one is used.
    fn system(&self, engine: Engine, propositions: Arc<[Proposition]>, observer: &dyn Observer) -> Box<dyn CloneSystem>;

    /// Describes its steps and confirms its traces.
    fn narrator(&self) -> Narrator;

    /// The properties that it states.
    fn stated(&self) -> Vec<Stated>;

    /// The properties that the model states and that the user did not select.
    fn unselected(&self) -> Vec<Stated> {
        Vec::new()
    }

    /// The claim that a search must refute to decide a stated property; `None` if a plain
    /// exploration decides the property.
    fn claim(&self, stated: &Stated) -> Option<Result<Claim, NotChecked>>;

    /// Bytes that are equal for two subjects if they have the same states, steps and properties,
    /// whatever they are called.
    fn behaviour(&self) -> Vec<u8>;

    /// The subject as text, for a trace file.
    fn text(&self) -> Enclosed;

    /// The subject as bytes, for a saved search.
    fn bytes(&self) -> Enclosed {
        self.text()
    }

    /// The reduction of a search for deadlocks and faults, or why there is none.
    fn reduction(&self) -> Result<Box<dyn Reduction>, String> {
        Err("the model is not made of processes".to_owned())
    }

    /// The reduction of a search for runs that violate a property over these propositions, or why
    /// there is none. The property must not count steps.
    fn reduction_for(&self, propositions: &[Proposition]) -> Result<Box<dyn Reduction>, String> {
        let _ = propositions;
        Err("the model is not made of processes".to_owned())
    }

    /// The propositions that are written with a graph of its states, with the names of the atoms
    /// there.
    fn propositions(&self) -> Vec<(String, Proposition)> {
        Vec::new()
    }

    /// Examines a choice of its [`reduction`](Self::reduction) in a state by brute force. Describes
    /// the error if the choice is wrong.
    fn examine(&self, reduction: &dyn Reduction, state: &[u8]) -> Option<String> {
        let _ = (reduction, state);
        None
    }

    /// The byte-code, if it is a program.
    fn byte_code(&self) -> Option<&Arc<Verified>> {
        None
    }

    /// The measure of progress that the model states, and its name.
    fn own_measure(&self) -> Option<(Measure, String)> {
        None
    }

    /// The formula of branching time of a property, if the property is one.
    fn branching(&self, stated: &Stated) -> Option<Ctl> {
        let _ = stated;
        None
    }
}

/// Whether two subjects have the same states and steps, whatever their names and source positions.
pub fn same_behaviour(a: &dyn Subject, b: &dyn Subject) -> bool {
    a.behaviour() == b.behaviour()
}

impl Subject for Arc<Verified> {
    fn system(&self, engine: Engine, propositions: Arc<[Proposition]>, observer: &dyn Observer) -> Box<dyn CloneSystem> {
        match native(self, engine, &propositions, observer) {
            Some(native) => native,
            None => Box::new(Interpreter::new(Arc::clone(self)).watching(propositions)),
        }
    }

    fn claim(&self, stated: &Stated) -> Option<Result<Claim, NotChecked>> {
        match stated.kind {
            PropertyKind::Acceptance => return Some(Ok(Claim::acceptance())),
            PropertyKind::Progress => return Some(Ok(Claim::progress())),
            kind if kind.is_safety() => return None,
            _ => {}
        }
        let property = self.program().properties.iter().find(|property| property.name == stated.name)?;
        Some(match &property.kind {
            PropertyBody::Ltl(formula) => Claim::of_formula(formula),
            PropertyBody::Never(never) => Claim::of_never(never),
            PropertyBody::Trace(_) | PropertyBody::Notrace(_) => return None,
        })
    }

    fn narrator(&self) -> Narrator {
        Narrator::new(Arc::clone(self))
    }

    fn stated(&self) -> Vec<Stated> {
        property::of_program(self)
    }

    fn behaviour(&self) -> Vec<u8> {
        let mut nameless = Program { name: String::new(), files: Vec::new(), spans: Vec::new(), ..self.program().clone() };
        for property in &mut nameless.properties {
            property.without_origins();
        }
        bytecode::binary::encode(&nameless)
    }

    fn text(&self) -> Enclosed {
        Enclosed { ending: "epa".to_owned(), contents: bytecode::asm::disassemble(self.program()).into_bytes() }
    }

    fn bytes(&self) -> Enclosed {
        Enclosed { ending: "epb".to_owned(), contents: bytecode::binary::encode(self.program()) }
    }

    fn reduction(&self) -> Result<Box<dyn Reduction>, String> {
        match Stubborn::of(self) {
            Ok(reduction) => Ok(Box::new(reduction)),
            Err(off) => Err(off.to_string()),
        }
    }

    fn reduction_for(&self, propositions: &[Proposition]) -> Result<Box<dyn Reduction>, String> {
        match Stubborn::invisible(self, propositions) {
            Ok(reduction) => Ok(Box::new(reduction)),
            Err(off) => Err(off.to_string()),
        }
    }

    fn examine(&self, reduction: &dyn Reduction, state: &[u8]) -> Option<String> {
        let mut system = Interpreter::new(Arc::clone(self));
        let examined = Examiner::new(&mut system, reduction, self.layout().exclusive, EXAMINED).examine(state);
        examined.err().map(|flaw| flaw.to_string())
    }

    fn byte_code(&self) -> Option<&Arc<Verified>> {
        Some(self)
    }

    fn propositions(&self) -> Vec<(String, Proposition)> {
        let program = self.program();
        let labels = |is: fn(&LabelKind) -> bool| program.labels.iter().any(|label| is(&label.kind));
        let accept = labels(|kind| kind.accept).then(|| (lts::ACCEPT.to_owned(), Proposition::Accepting));
        let progress = labels(|kind| kind.progress).then(|| (lts::PROGRESS.to_owned(), Proposition::NonProgress));
        let atoms = program.atoms.iter().enumerate().map(|(number, atom)| {
            // These names have a meaning in a graph, and an expression does not have it.
            let taken = [lts::ACCEPT, lts::PROGRESS, lts::END].contains(&atom.name.as_str());
            let name = if taken { format!("({})", atom.name) } else { atom.name.clone() };
            (name, Proposition::Atom(number as u32))
        });
        accept.into_iter().chain(progress).chain(atoms).collect()
    }
}

/// The program in native code, if that is asked for and there is any.
#[cfg(feature = "native")]
fn native(
    program: &Arc<Verified>,
    engine: Engine,
    propositions: &Arc<[Proposition]>,
    observer: &dyn Observer,
) -> Option<Box<dyn CloneSystem>> {
    match engine {
        Engine::Interpreter => None,
        Engine::Native => match jit::Native::new(Arc::clone(program)) {
            Ok(native) => Some(Box::new(native.watching(Arc::clone(propositions)))),
            Err(error) => {
                observer.notice(&format!("{error}; the interpreter is used instead"));
                None
            }
        },
    }
}

/// This build makes no native code.
#[cfg(not(feature = "native"))]
fn native(_: &Arc<Verified>, engine: Engine, _: &Arc<[Proposition]>, observer: &dyn Observer) -> Option<Box<dyn CloneSystem>> {
    if engine == Engine::Native {
        observer.notice("this build makes no native code; the interpreter is used instead");
    }
    None
}

impl Subject for Arc<Lts> {
    fn system(&self, _: Engine, propositions: Arc<[Proposition]>, _: &dyn Observer) -> Box<dyn CloneSystem> {
        Box::new(Walker::new(Arc::clone(self), propositions))
    }

    fn claim(&self, stated: &Stated) -> Option<Result<Claim, NotChecked>> {
        match stated.kind {
            PropertyKind::Acceptance => return Some(Ok(Claim::acceptance())),
            PropertyKind::Progress => return Some(Ok(Claim::progress())),
            _ => {}
        }
        let (_, text) = self.formulas().iter().find(|(name, _)| *name == stated.name)?;
        let number = |name: &str| self.atoms().iter().position(|atom| atom == name).map(|number| number as u32);
        Some(Claim::of_text(text, &number))
    }

    fn narrator(&self) -> Narrator {
        Narrator::of_graph(Arc::clone(self))
    }

    fn stated(&self) -> Vec<Stated> {
        let violates = |kind: PropertyKind| self.faults().iter().any(|fault| PropertyKind::violated_by(fault.kind) == kind);
        let faults = [PropertyKind::Assertions, PropertyKind::Errors].into_iter().filter(|kind| violates(*kind));
        let accept = self.atoms().iter().any(|atom| atom == lts::ACCEPT).then_some(PropertyKind::Acceptance);
        let kinds = std::iter::once(PropertyKind::EndStates).chain(faults).chain(accept);
        let formulas = self.formulas().iter().map(|(name, text)| Stated {
            name: name.clone(),
            formula: Some(text.clone()),
            ..Stated::of_kind(PropertyKind::Ltl)
        });
        kinds.map(Stated::of_kind).chain(formulas).collect()
    }

    fn behaviour(&self) -> Vec<u8> {
        self.to_text().into_bytes()
    }

    fn text(&self) -> Enclosed {
        Enclosed { ending: "aut".to_owned(), contents: self.to_text().into_bytes() }
    }

    fn propositions(&self) -> Vec<(String, Proposition)> {
        self.atoms().iter().enumerate().map(|(number, name)| (name.clone(), Proposition::Atom(number as u32))).collect()
    }

    fn own_measure(&self) -> Option<(Measure, String)> {
        let atom = self.atoms().iter().position(|atom| atom == lts::PROGRESS)?;
        Some((Measure::new(&[atom as u32]).ok()?, lts::PROGRESS.to_owned()))
    }
}

/// A subject with a selection of its properties, by name, and with further properties that it does
/// not state itself.
pub struct Selected {
    /// The subject.
    pub subject: Arc<dyn Subject>,
    /// The names.
    pub names: Vec<String>,
    /// Formulas of branching time, by their names.
    pub branching: Vec<(String, Ctl)>,
    /// Automata that accept violations, by their names.
    pub automata: Vec<(String, Claim)>,
}

impl Subject for Selected {
    fn system(&self, engine: Engine, propositions: Arc<[Proposition]>, observer: &dyn Observer) -> Box<dyn CloneSystem> {
        self.subject.system(engine, propositions, observer)
    }

    fn narrator(&self) -> Narrator {
        self.subject.narrator()
    }

    fn stated(&self) -> Vec<Stated> {
        let mut stated = self.subject.stated();
        stated.retain(|property| self.names.contains(&property.name));
        let named = |name: &String, kind| Stated { name: name.clone(), ..Stated::of_kind(kind) };
        stated.extend(self.branching.iter().map(|(name, _)| named(name, PropertyKind::Ctl)));
        stated.extend(self.automata.iter().map(|(name, _)| named(name, PropertyKind::Never)));
        stated
    }

    fn unselected(&self) -> Vec<Stated> {
        let mut stated = self.subject.stated();
        stated.retain(|property| !self.names.contains(&property.name));
        stated
    }

    fn claim(&self, stated: &Stated) -> Option<Result<Claim, NotChecked>> {
        if stated.kind == PropertyKind::Ctl {
            return None;
        }
        let own = self.automata.iter().find(|(name, _)| *name == stated.name && stated.kind == PropertyKind::Never);
        own.map(|(_, claim)| Ok(claim.clone())).or_else(|| self.subject.claim(stated))
    }

    fn branching(&self, stated: &Stated) -> Option<Ctl> {
        let own = self.branching.iter().find(|(name, _)| *name == stated.name && stated.kind == PropertyKind::Ctl);
        own.map(|(_, ctl)| *ctl).or_else(|| self.subject.branching(stated))
    }

    fn behaviour(&self) -> Vec<u8> {
        self.subject.behaviour()
    }

    fn text(&self) -> Enclosed {
        self.subject.text()
    }

    fn bytes(&self) -> Enclosed {
        self.subject.bytes()
    }

    fn reduction(&self) -> Result<Box<dyn Reduction>, String> {
        self.subject.reduction()
    }

    fn reduction_for(&self, propositions: &[Proposition]) -> Result<Box<dyn Reduction>, String> {
        self.subject.reduction_for(propositions)
    }

    fn propositions(&self) -> Vec<(String, Proposition)> {
        self.subject.propositions()
    }

    fn examine(&self, reduction: &dyn Reduction, state: &[u8]) -> Option<String> {
        self.subject.examine(reduction, state)
    }

    fn byte_code(&self) -> Option<&Arc<Verified>> {
        self.subject.byte_code()
    }

    fn own_measure(&self) -> Option<(Measure, String)> {
        self.subject.own_measure()
    }
}
