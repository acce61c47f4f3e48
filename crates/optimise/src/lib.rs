//! Static reductions: passes that transform a verified program to one with fewer states.
//!
//! A pass analyses the whole program and the goal of the search ([`Goal`]), and changes the code
//! where that makes no difference to the answer. States of the smaller program are images of states
//! of the original one ([`Optimised::image`]), and each of its transitions is a sequence of
//! transitions of the original one. So a trace can be translated to the program that the user
//! wrote, and confirmed there. `docs/passes.md` says what each pass preserves and why.
#![forbid(unsafe_code)]

mod cut;
mod dead;
mod merge;
mod rewrite;
mod scan;
mod survey;
mod watched;

use bytecode::{Addr, AtomId, Op, Shape, StateMap, Verified};
use cut::Image;
use dead::Resets;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use survey::Survey;
use watched::Watched;

/// The goal of a search, which decides what passes must preserve.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Goal<'a> {
    /// Faults, and deadlocks.
    Faults,
    /// Faults alone.
    Errors,
    /// Whether every run satisfies a formula without *next* over these atoms.
    Formula(&'a [AtomId]),
    /// The same for a formula of which a finite part of a run shows every violation.
    Prefix(&'a [AtomId]),
    /// Cycles with accept labels or without progress labels.
    Labels,
    /// Anything about these atoms and about single steps.
    Steps(&'a [AtomId]),
}

impl<'a> Goal<'a> {
    /// The atoms that it refers to.
    fn atoms(self) -> &'a [AtomId] {
        match self {
            Goal::Formula(atoms) | Goal::Prefix(atoms) | Goal::Steps(atoms) => atoms,
            Goal::Faults | Goal::Errors | Goal::Labels => &[],
        }
    }
}

/// Which passes are applied.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Passes {
    /// Leave out variables, channels and code that are not needed.
    pub unused: bool,
    /// Leave out everything that the property does not depend on.
    pub slice: bool,
    /// Merge steps that no other process can observe with the step before.
    pub merge: bool,
    /// Reset variables whose values are no longer needed.
    pub dead: bool,
}

impl Passes {
    /// The passes that are applied by default.
    pub const ALL: Passes = Passes { unused: true, slice: false, merge: true, dead: true };

    /// The names of the chosen passes, in the order in which they are applied.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let all = [(self.unused, UNUSED), (self.slice, SLICE), (self.merge, MERGE), (self.dead, DEAD)];
        all.into_iter().filter_map(|(wanted, name)| wanted.then_some(name))
    }

    /// Adds the pass with a name. Returns `false` if there is none, or if it is chosen already.
    pub fn add(&mut self, name: &str) -> bool {
        let wanted = match name {
            UNUSED => &mut self.unused,
            SLICE => &mut self.slice,
            MERGE => &mut self.merge,
            DEAD => &mut self.dead,
            _ => return false,
        };
        !std::mem::replace(wanted, true)
    }
}

/// The name of the pass that leaves out parts that are not needed.
const UNUSED: &str = "unused";
/// The name of the pass that leaves out parts that the property does not depend on.
const SLICE: &str = "slice";
/// The name of the pass that merges steps.
const MERGE: &str = "merge";
/// The name of the pass that resets variables.
const DEAD: &str = "dead";

/// What a pass did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Applied {
    /// Its name.
    pub pass: &'static str,
    /// In how many places it changed something.
    pub changes: usize,
}

/// Something that was left out of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cut {
    /// What it was.
    pub kind: CutKind,
    /// Its name, or the text of the statement.
    pub name: String,
    /// The file and the line, if it is a statement.
    pub place: Option<(String, u32)>,
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}`", self.kind.words(), self.name)?;
        match &self.place {
            Some((file, line)) => write!(f, " ({file}:{line})"),
            None => Ok(()),
        }
    }
}

/// What can be left out of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CutKind {
    /// A process type whose processes the property does not depend on.
    Process,
    /// A process type that is never started.
    NeverStarted,
    /// A variable whose values make no difference.
    Variable,
    /// A variable that never changes.
    Constant,
    /// A field of the messages of a channel, whose values make no difference.
    Field,
    /// A channel that is not used.
    Channel,
    /// An assignment to something that was left out.
    Statement,
    /// An assertion, in a search for a run that violates a formula.
    Assertion,
    /// Code that is never executed.
    Code,
}

impl CutKind {
    /// Its name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            CutKind::Process => "process",
            CutKind::NeverStarted => "never-started",
            CutKind::Variable => "variable",
            CutKind::Constant => "constant",
            CutKind::Field => "field",
            CutKind::Channel => "channel",
            CutKind::Statement => "statement",
            CutKind::Assertion => "assertion",
            CutKind::Code => "code",
        }
    }

    const fn words(self) -> &'static str {
        match self {
            CutKind::Process => "the processes",
            CutKind::NeverStarted => "the process type that is never started",
            CutKind::Variable => "the variable",
            CutKind::Constant => "the variable that never changes",
            CutKind::Field => "the field",
            CutKind::Channel => "the channel",
            CutKind::Statement => "the effect of",
            CutKind::Assertion => "the assertion",
            CutKind::Code => "the statement that is never executed",
        }
    }
}

/// Why a pass cannot be applied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Off {
    /// The program asks which process moved last.
    Last,
    /// The program uses priorities.
    Priorities,
    /// The program asks whether a process can move, or where in its code it is.
    Enabled,
    /// The program keeps the privilege from one transition to the next.
    Privilege,
    /// The program has subroutines, or its locations share too much code.
    Code,
    /// The property depends on single steps, or on which processes can move.
    Property,
}

impl fmt::Display for Off {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Off::Last => "the model uses `_last`",
            Off::Priorities => "the model uses priorities",
            Off::Enabled => "the model uses `enabled` or `pc_value`",
            Off::Privilege => "the model keeps the privilege to run from one transition to the next",
            Off::Code => "the model has subroutines, or its locations share too much code",
            Off::Property => "the property depends on single steps, or on more than variables, channels and locations",
        })
    }
}

/// A smaller program, and its relation to the original one.
#[derive(Clone, Debug)]
pub struct Optimised {
    /// The smaller program.
    pub program: Arc<Verified>,
    /// What was done.
    pub applied: Vec<Applied>,
    /// What was left out.
    pub cuts: Vec<Cut>,
    /// Why no processes were left out, if slicing was asked for.
    pub slice_off: Option<String>,
    /// Why steps were not merged, if merging was asked for.
    pub merge_off: Option<Off>,
    original: Arc<Verified>,
    /// The relation of the original program to the cut one.
    left: Option<Left>,
    /// The cut program, before steps are merged and variables reset.
    base: Arc<Verified>,
    /// The steps of the cut program that do not end a transition of the smaller program.
    merged: BTreeSet<Addr>,
    /// For each type and location, the locals that have their initial value in the smaller program.
    resets: Resets,
}

/// The relation of a program to the cut one.
#[derive(Clone, Debug)]
struct Left {
    image: Image,
    /// The new address of each step.
    steps: BTreeMap<Addr, Addr>,
}

impl Optimised {
    /// Applies the chosen passes, as far as they preserve what the goal needs.
    pub fn of(original: &Arc<Verified>, goal: Goal<'_>, passes: Passes) -> Result<Optimised, Off> {
        let mut survey = Survey::of(original).map_err(|_| Off::Code)?;
        let (mut base, mut left, mut applied, mut cuts) = (Arc::clone(original), None, Vec::new(), Vec::new());
        let mut slice_off = None;
        if passes.unused || passes.slice {
            if let Some(cutting) = cut::cut(&survey, goal, passes.slice) {
                base = Arc::new(bytecode::verify(cutting.program).map_err(|_| Off::Code)?);
                left = Some(Left { image: Image::new(original, &base, cutting.kept), steps: cutting.steps });
                cuts = cutting.cuts;
                slice_off = cutting.whole.map(|whole| whole.to_string());
            }
            applied.push(Applied { pass: if passes.slice { SLICE } else { UNUSED }, changes: cuts.len() });
        }
        if left.is_some() {
            survey = Survey::of(&base).map_err(|_| Off::Code)?;
        }
        let watched = match goal {
            Goal::Faults | Goal::Errors => Watched::faults(),
            Goal::Formula(atoms) | Goal::Prefix(atoms) | Goal::Steps(atoms) => Watched::atoms(&base, atoms).ok_or(Off::Code)?,
            Goal::Labels => Watched::labels(),
        };
        let mut program = base.program().clone();
        let (mut merged, mut resets) = (BTreeSet::new(), Resets::new());
        let merge_off = if passes.merge { unmergeable(&base, goal, &watched) } else { None };
        if passes.merge && merge_off.is_none() {
            let steps = merge::merged(&survey, &watched);
            merge::apply(&mut program, &steps);
            applied.push(Applied { pass: MERGE, changes: steps.len() });
            merged = steps.into_iter().map(|step| Addr(step as u32)).collect();
        }
        if passes.dead {
            let rewriting;
            (resets, rewriting) = dead::resets(&survey, &watched);
            applied.push(Applied { pass: DEAD, changes: rewriting.before.len() });
            rewriting.apply(&mut program);
        }
        drop(survey);
        let program = Arc::new(bytecode::verify(program).map_err(|_| Off::Code)?);
        let original = Arc::clone(original);
        Ok(Optimised { program, applied, cuts, slice_off, merge_off, original, left, base, merged, resets })
    }

    /// The original program.
    pub fn original(&self) -> &Arc<Verified> {
        &self.original
    }

    /// Whether the smaller program continues where the original one ends a transition with the step
    /// at this address.
    pub fn goes_on(&self, step: Addr) -> bool {
        match &self.left {
            None => self.merged.contains(&step),
            Some(left) => left.steps.get(&step).is_some_and(|step| self.merged.contains(step)),
        }
    }

    /// The image of a state of the original program in the smaller one.
    pub fn image(&self, state: &[u8]) -> Vec<u8> {
        let mut image = match &self.left {
            None => state.to_vec(),
            Some(left) => match left.image.of(state) {
                Some(image) => image,
                // An empty state equals no state of the smaller program.
                None => return Vec::new(),
            },
        };
        let layout = self.base.layout();
        let mut map = StateMap::default();
        if self.resets.is_empty() || map.read(layout, &image).is_err() {
            return image;
        }
        for component in &map.processes {
            let Shape::Process(id) = component.shape else { continue };
            let process = &layout.processes[id.index()];
            let location = process.location(&image[component.offset..]);
            for local in self.resets[id.index()].get(location.index()).into_iter().flatten() {
                let (slot, variable) = (&process.locals[local.index()], &self.base.program().processes[id.index()].locals[local.index()]);
                for element in 0..slot.elements {
                    let at = component.offset + slot.offset + element * slot.ty.width();
                    slot.ty.write(variable.initial(element), &mut image[at..]);
                }
            }
        }
        image
    }
}

/// Says why steps of a program cannot be merged.
fn unmergeable(program: &Verified, goal: Goal<'_>, watched: &Watched) -> Option<Off> {
    let layout = program.layout();
    let own = &program.program().code[..program.program().atoms_start().index()];
    if matches!(goal, Goal::Steps(_)) || watched.sees_more {
        Some(Off::Property)
    } else if layout.last.is_some() {
        Some(Off::Last)
    } else if layout.processes.iter().any(|process| process.priority.is_some()) {
        Some(Off::Priorities)
    } else if own.iter().any(|op| matches!(op, Op::Enabled {} | Op::Pcval {} | Op::Np {})) {
        Some(Off::Enabled)
    } else if layout.exclusive.is_some() {
        Some(Off::Privilege)
    } else {
        None
    }
}
