//! The head of a saved search, written before the search itself: the program, and the choices that
//! decide its result.
//!
//! A checkpoint is complete in itself. To resume it, a user needs neither the model nor the options
//! again, and cannot resume it with others by mistake: the search after these bytes contains their
//! digest. Everything that decides what a verdict means is part of it. Options that may differ from
//! run to run (engine, workers, memory, time) are not. The store, the depth limit and the number of
//! runs over bit arrays are part of it, as defaults. [`Saved::plan`] names every field of a plan,
//! and a test changes them one by one.

use crate::plan::{Fair, Only, Plan, Por};
use crate::subject::{Enclosed, Subject};
use crate::table::{Order, StoreKind};
use contract::Safety;
use optimise::Passes;
use search::CheckpointError;
use std::io::{self, Read};

const MAGIC: &[u8; 16] = b"everypath-saved6";
/// The first bytes of all versions.
const KIND: &[u8] = b"everypath-saved";
/// The greatest length of a name or a program. A greater length is a sign of damage, so nothing is
/// allocated for it.
const BYTES_MAX: u32 = 1 << 28;
/// The number that is written if there is no limit.
const NO_LIMIT: u64 = u64::MAX;

/// The description of a saved search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// The model's name, as the user typed it.
    pub model: String,
    /// The path from the folder of the saved search to the folder that file names are relative to;
    /// empty if there is none.
    pub folder: String,
    /// Warnings about the model, one per line. They cannot be found in the compiled program.
    pub warnings: String,
    /// The file name extension of the program's language.
    pub ending: String,
    /// The program, in binary form, or another model. It is verified like any other before it runs.
    pub program: Vec<u8>,
    /// The violations that the search looks for.
    pub property: Option<Safety>,
    /// The only part of the model's properties that was asked for.
    pub only: Option<Only>,
    /// The infinite runs that count.
    pub fairness: Fair,
    /// Whether every infinite run must pass progress labels again and again.
    pub non_progress: bool,
    /// The order of the search.
    pub order: Order,
    /// Whether it left out orders of independent steps.
    pub por: bool,
    /// The passes that made the program smaller.
    pub passes: Passes,
    /// The store it used.
    pub store: StoreKind,
    /// The depth limit.
    pub depth: Option<u64>,
    /// How many runs over bit arrays were to be made.
    pub bit_runs: u32,
}

impl Saved {
    /// The head of a search of `subject` by `plan`.
    pub fn new(model: &str, warnings: &[String], subject: &dyn Subject, plan: &Plan) -> Saved {
        let Enclosed { ending, contents } = subject.bytes();
        Saved {
            model: model.to_owned(),
            folder: String::new(),
            warnings: warnings.join("\n"),
            ending,
            program: contents,
            property: plan.property,
            only: plan.only,
            fairness: plan.fairness,
            non_progress: plan.non_progress,
            order: plan.order.of_search(),
            por: plan.por != Por::Off,
            passes: plan.passes,
            store: plan.store,
            depth: plan.limits.depth,
            bit_runs: plan.bit_runs,
        }
    }

    /// Whether a file that begins with `bytes` is a saved search, of this version or another.
    pub fn is_one(bytes: &[u8]) -> bool {
        bytes.starts_with(KIND)
    }

    /// `plan` with the choices that must not change when the search is resumed.
    pub fn plan(&self, plan: Plan) -> Plan {
        let por = match (self.por, plan.por) {
            (false, _) => Por::Off,
            (true, Por::Checked) => Por::Checked,
            (true, _) => Por::On,
        };
        Plan {
            property: self.property,
            only: self.only,
            fairness: self.fairness,
            non_progress: self.non_progress,
            order: self.order,
            por,
            passes: self.passes,
            // The rest may differ. It is named here, so that a new field of a plan is not
            // forgotten.
            engine: plan.engine,
            measure: plan.measure,
            store: plan.store,
            cycles: plan.cycles,
            shortest: plan.shortest,
            threads: plan.threads,
            alone: plan.alone,
            limits: plan.limits,
            code_first: plan.code_first,
            coverage: plan.coverage,
            profile: plan.profile,
            guide: plan.guide,
            guide_atom: plan.guide_atom,
            weight: plan.weight,
            width: plan.width,
            explained: plan.explained,
            bit_functions: plan.bit_functions,
            spread: plan.spread,
            bit_runs: plan.bit_runs,
        }
    }

    /// The choices that decide what the verdict means.
    fn choices(&self) -> Choices {
        let Saved { property, only, fairness, non_progress, order, por, passes, .. } = *self;
        Choices { property, only, fairness, non_progress, order, por, passes }
    }

    /// The bytes that a file begins with; the search follows.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        let choices = self.choices().to_text();
        // Choices are written by their names: their order in the code may change.
        for part in [
            self.model.as_bytes(),
            self.folder.as_bytes(),
            self.warnings.as_bytes(),
            self.ending.as_bytes(),
            &self.program,
            choices.as_bytes(),
            self.store.name().as_bytes(),
        ] {
            bytes.extend((part.len() as u32).to_le_bytes());
            bytes.extend(part);
        }
        bytes.extend(self.depth.unwrap_or(NO_LIMIT).to_le_bytes());
        bytes.extend(self.bit_runs.to_le_bytes());
        bytes.extend(store::hash_bytes(&bytes).to_le_bytes());
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote, and no more.
    pub fn read(from: &mut dyn Read) -> Result<Saved, CheckpointError> {
        let mut reader = Reader { from, read: Vec::new() };
        if &reader.array()? != MAGIC {
            return Err(CheckpointError::NotACheckpoint);
        }
        let (model, folder, warnings) = (reader.text()?, reader.text()?, reader.text()?);
        let (ending, program) = (reader.text()?, reader.part()?);
        let (choices, store) = (reader.text()?, reader.text()?);
        let depth = u64::from_le_bytes(reader.array()?);
        let bit_runs = u32::from_le_bytes(reader.array()?);
        let sum = store::hash_bytes(&reader.read);
        if u64::from_le_bytes(reader.array()?) != sum {
            return Err(CheckpointError::Damaged);
        }
        let choices = Choices::read(&choices).ok_or(CheckpointError::NotACheckpoint)?;
        let Choices { property, only, fairness, non_progress, order, por, passes } = choices;
        Ok(Saved {
            model,
            folder,
            warnings,
            ending,
            program,
            property,
            only,
            fairness,
            non_progress,
            order,
            por,
            passes,
            store: store.parse().map_err(|_| CheckpointError::NotACheckpoint)?,
            depth: (depth != NO_LIMIT).then_some(depth),
            bit_runs,
        })
    }
}

/// The digest of a search. It is equal for programs that behave the same and plans that ask the
/// same, wherever the model was read from.
pub(crate) fn digest(subject: &dyn Subject, plan: &Plan) -> [u8; 16] {
    let mut bytes = subject.behaviour();
    bytes.extend(Choices::of(plan).to_text().as_bytes());
    let mut digest = [0; 16];
    digest[..8].copy_from_slice(&store::hash_seeded(&bytes, 1).to_le_bytes());
    digest[8..].copy_from_slice(&store::hash_seeded(&bytes, 2).to_le_bytes());
    digest
}

/// The choices that decide the result of a search and what it means.
struct Choices {
    property: Option<Safety>,
    only: Option<Only>,
    fairness: Fair,
    non_progress: bool,
    order: Order,
    por: bool,
    passes: Passes,
}

impl Choices {
    /// The choices of a plan.
    fn of(plan: &Plan) -> Choices {
        let Plan { property, only, fairness, non_progress, order, por, passes, .. } = *plan;
        Choices { property, only, fairness, non_progress, order, por: por != Por::Off, passes }
    }

    /// The choices in words: the names that users type, and `reduced`, the names of passes,
    /// `deadlocks`, `faults` and `progress`, where they apply.
    fn to_text(&self) -> String {
        let mut words = vec![self.order.of_search().name()];
        words.extend(self.por.then_some("reduced"));
        words.extend(self.passes.names());
        words.extend(self.property.map(|_| "check"));
        words.extend(self.property.filter(|safety| safety.deadlocks).map(|_| "deadlocks"));
        words.extend(self.property.filter(|safety| safety.faults).map(|_| "faults"));
        words.extend(self.non_progress.then_some("progress"));
        words.extend((self.fairness != Fair::default()).then_some(self.fairness.name()));
        words.extend(self.only.map(Only::name));
        words.join(" ")
    }

    /// Reads what [`to_text`](Self::to_text) wrote. An unknown word is an error, because it may
    /// have a meaning that this version does not know.
    fn read(text: &str) -> Option<Choices> {
        let mut words = text.split(' ');
        let order = words.next()?.parse().ok()?;
        let (fairness, passes) = (Fair::default(), Passes::default());
        let mut choices = Choices { property: None, only: None, fairness, non_progress: false, order, por: false, passes };
        for word in words {
            match (word, &mut choices.property) {
                ("reduced", None) if !choices.por => choices.por = true,
                (pass, None) if choices.passes.add(pass) => {}
                ("check", none @ None) => *none = Some(Safety { deadlocks: false, faults: false }),
                ("deadlocks", Some(safety)) => safety.deadlocks = true,
                ("faults", Some(safety)) => safety.faults = true,
                ("progress", _) if !choices.non_progress => choices.non_progress = true,
                (other, _) => match other.parse() {
                    Ok(fairness) => choices.fairness = fairness,
                    Err(_) => choices.only = Some(other.parse().ok()?),
                },
            }
        }
        Some(choices)
    }
}

struct Reader<'r> {
    from: &'r mut dyn Read,
    /// Everything so far, for the check sum.
    read: Vec<u8>,
}

impl Reader<'_> {
    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.from.read_exact(&mut bytes)?;
        self.read.extend(bytes);
        Ok(bytes)
    }

    fn text(&mut self) -> Result<String, CheckpointError> {
        String::from_utf8(self.part()?).map_err(|_| CheckpointError::Damaged)
    }

    fn part(&mut self) -> Result<Vec<u8>, CheckpointError> {
        let len = u32::from_le_bytes(self.array()?);
        if len > BYTES_MAX {
            return Err(CheckpointError::Damaged);
        }
        let mut part = Vec::new();
        // The memory grows with the bytes that were read, whatever the length says.
        if self.from.take(len.into()).read_to_end(&mut part)? != len as usize {
            return Err(CheckpointError::Read(io::ErrorKind::UnexpectedEof.into()));
        }
        self.read.extend(&part);
        Ok(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::same_behaviour;
    use crate::{Cycles, Engine, Guide, Measure, Spread};
    use bytecode::Verified;
    use contract::Limits;
    use std::sync::Arc;

    fn saved() -> Saved {
        Saved {
            model: "pöint.pml".to_owned(),
            folder: "../models".to_owned(),
            warnings: "one\ntwo".to_owned(),
            ending: "epb".to_owned(),
            program: vec![1, 2, 3, 4, 5],
            property: Some(Safety { deadlocks: true, faults: false }),
            only: Some(Only::Safety),
            fairness: Fair::Strong,
            non_progress: true,
            order: Order::Depth,
            por: true,
            passes: Passes { merge: true, dead: false, ..Passes::default() },
            store: StoreKind::Compact,
            depth: Some(17),
            bit_runs: 5,
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let all = StoreKind::ALL.iter().map(|&store| Saved { store, only: None, ..saved() });
        let space = Saved { property: None, depth: None, por: false, order: Order::Breadth, ..saved() };
        for one in all.chain([saved(), space, Saved { fairness: Fair::Any, non_progress: false, ..saved() }]) {
            let bytes = [&one.to_bytes()[..], b"the search"].concat();
            assert!(Saved::is_one(&bytes));
            let mut from = &bytes[..];
            assert_eq!(Saved::read(&mut from).unwrap(), one);
            assert_eq!(from, b"the search");
        }
    }

    #[test]
    fn any_damage_is_noticed() {
        let bytes = saved().to_bytes();
        for position in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[position] ^= 1;
            assert!(Saved::read(&mut &damaged[..]).is_err(), "byte {position}");
            assert!(Saved::read(&mut &bytes[..position]).is_err(), "cut at {position}");
        }
    }

    fn program(name: &str, constant: u32) -> Arc<Verified> {
        let mut map = source::SourceMap::new();
        let text = format!("global byte x\nprocess P() {{\n;: x\n LDC {constant}\n STG x\n STEP T\n}}\nstart P\n");
        let file = map.add(name, &text);
        Arc::new(bytecode::verify(bytecode::asm::assemble(&map, file).expect("a good program")).expect("a good program"))
    }

    #[test]
    fn the_digest_tells_what_matters() {
        let one = digest(&program("a.epa", 1), &Plan::check());
        let free = Plan { store: StoreKind::Plain, threads: 7, ..Plan::check() };
        assert_eq!(digest(&program("b.epa", 1), &free), one);
        assert!(same_behaviour(&program("a.epa", 1), &program("b.epa", 1)));
        assert!(!same_behaviour(&program("a.epa", 1), &program("a.epa", 2)));
        assert_ne!(digest(&program("a.epa", 2), &Plan::check()), one);
    }

    /// What becomes of a field of a plan when the search is saved and resumed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Fate {
        /// It decides what the verdict means: it is saved, and no resumed search can have another.
        Kept,
        /// It is saved as a default, and may be changed.
        Default,
        /// It changes no verdict: it is taken from the plan that resumes.
        Free,
        /// A search with it is not saved.
        Refused,
        /// It has an effect only in this order, which is not saved.
        Of(Order),
    }

    /// Another value for each field of a plan, and the fate of the field.
    fn fields() -> Vec<(&'static str, Fate, Plan)> {
        let base = Plan::check();
        let spread = Spread { lookahead: true, ..Spread::default() };
        let engine = if base.engine == Engine::Native { Engine::Interpreter } else { Engine::Native };
        vec![
            ("engine", Fate::Free, Plan { engine, ..base }),
            ("order", Fate::Kept, Plan { order: Order::Depth, ..base }),
            ("measure", Fate::Of(Order::Sweep), Plan { measure: Measure::new(&[1]).unwrap(), ..base }),
            ("store", Fate::Default, Plan { store: StoreKind::Plain, ..base }),
            ("property", Fate::Kept, Plan { property: Some(Safety { deadlocks: false, ..Safety::default() }), ..base }),
            ("property", Fate::Kept, Plan { property: Some(Safety { faults: false, ..Safety::default() }), ..base }),
            ("property", Fate::Kept, Plan { property: None, ..base }),
            ("only", Fate::Kept, Plan { only: Some(Only::Safety), ..base }),
            ("cycles", Fate::Free, Plan { cycles: Cycles::Nested, ..base }),
            ("fairness", Fate::Kept, Plan { fairness: Fair::Weak, ..base }),
            ("fairness", Fate::Kept, Plan { fairness: Fair::Strong, ..base }),
            ("non_progress", Fate::Kept, Plan { non_progress: true, ..base }),
            ("shortest", Fate::Free, Plan { shortest: true, ..base }),
            ("por", Fate::Kept, Plan { por: Por::On, ..base }),
            ("passes", Fate::Kept, Plan { passes: Passes { merge: true, ..Passes::default() }, ..base }),
            ("passes", Fate::Kept, Plan { passes: Passes { dead: true, ..Passes::default() }, ..base }),
            ("passes", Fate::Kept, Plan { passes: Passes { unused: true, ..Passes::default() }, ..base }),
            ("passes", Fate::Kept, Plan { passes: Passes { slice: true, ..Passes::default() }, ..base }),
            ("threads", Fate::Free, Plan { threads: 7, ..base }),
            ("alone", Fate::Free, Plan { alone: 7, ..base }),
            ("limits", Fate::Free, Plan { limits: Limits { memory: Some(1), ..base.limits }, ..base }),
            ("limits", Fate::Default, Plan { limits: Limits { depth: Some(1), ..base.limits }, ..base }),
            ("code_first", Fate::Free, Plan { code_first: true, ..base }),
            ("coverage", Fate::Refused, Plan { coverage: true, ..base }),
            ("profile", Fate::Free, Plan { profile: true, ..base }),
            ("guide", Fate::Of(Order::AStar), Plan { guide: Guide::Blind, ..base }),
            ("guide_atom", Fate::Of(Order::BestFirst), Plan { guide_atom: Some(0), ..base }),
            ("weight", Fate::Of(Order::AStar), Plan { weight: Some(7), ..base }),
            ("width", Fate::Of(Order::Beam), Plan { width: 7, ..base }),
            ("explained", Fate::Of(Order::AStar), Plan { explained: true, ..base }),
            // The store of bits saves its functions itself.
            ("bit_functions", Fate::Free, Plan { bit_functions: 5, ..base }),
            ("spread", Fate::Free, Plan { spread, ..base }),
            ("bit_runs", Fate::Default, Plan { bit_runs: 5, ..base }),
        ]
    }

    /// The names of all fields of a plan, in their order.
    fn names() -> Vec<String> {
        let shown = format!("{:#?}", Plan::check());
        let inner = shown.lines().filter_map(|line| line.strip_prefix("    "));
        let fields = inner.filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()));
        fields.filter_map(|line| line.split_once(':')).map(|(name, _)| name.to_owned()).collect()
    }

    #[test]
    fn every_field_of_a_plan_is_kept_or_changes_no_verdict_or_is_not_saved() {
        let program = program("a.epa", 1);
        let mut walked: Vec<&str> = fields().iter().map(|(name, ..)| *name).collect();
        walked.dedup();
        assert_eq!(walked, names(), "every field has a row");
        let reread = |plan: &Plan| {
            let bytes = Saved::new("a.epa", &[], &program, plan).to_bytes();
            Saved::read(&mut &bytes[..]).expect("it was written just now")
        };
        let base = Plan::check();
        for (name, fate, changed) in fields() {
            assert_ne!(changed, base, "{name}");
            let (one, other) = (digest(&program, &base), digest(&program, &changed));
            // A search that begins with this field and is resumed without it, and the other way
            // round.
            let (resumed, free) = (reread(&changed).plan(base), reread(&base).plan(changed));
            match fate {
                Fate::Kept => {
                    assert_eq!(Plan { order: resumed.order, ..changed }, resumed, "{name}");
                    assert_eq!(resumed.order, changed.order.of_search(), "{name}");
                    assert_eq!(Plan { order: base.order, ..free }, base, "{name}");
                    assert_ne!(one, other, "{name}");
                    assert!(changed.refuse(true).is_ok(), "{name}");
                }
                Fate::Default => {
                    let Saved { store, depth, bit_runs, .. } = reread(&changed);
                    assert_eq!((store, depth, bit_runs), (changed.store, changed.limits.depth, changed.bit_runs), "{name}");
                    assert_eq!(one, other, "{name}");
                }
                Fate::Free => {
                    assert_eq!(free, Plan { order: free.order, ..changed }, "{name}");
                    assert_eq!(one, other, "{name}");
                }
                Fate::Refused => assert!(changed.refuse(true).is_err() && changed.refuse(false).is_ok(), "{name}"),
                Fate::Of(order) => assert!(Plan { order, store: StoreKind::Plain, ..changed }.refuse(true).is_err(), "{name}"),
            }
        }
    }
}
