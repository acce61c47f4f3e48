//! The head of a saved search, written before the search itself: the program, and the choices that
//! decide its result.
//!
//! A checkpoint is complete in itself. To resume it, a user needs neither the model nor the options
//! again, and cannot resume it with others by mistake: the search after these bytes contains their
//! digest. Options that may differ from run to run (engine, workers, memory, time) are not part of
//! it. The store, the depth limit and the number of runs over bit arrays are part of it, as
//! defaults.

use crate::plan::{Only, Plan, Por};
use crate::subject::{Enclosed, Subject};
use crate::table::{Order, StoreKind};
use contract::Safety;
use optimise::Passes;
use search::CheckpointError;
use std::io::{self, Read};

const MAGIC: &[u8; 16] = b"everypath-saved5";
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
        Plan { property: self.property, only: self.only, order: self.order, por, passes: self.passes, ..plan }
    }

    /// The bytes that a file begins with; the search follows.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        let choices = choices(self.property, self.only, self.order, self.por, self.passes);
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
        let Choices { property, only, order, por, passes } = read_choices(&choices).ok_or(CheckpointError::NotACheckpoint)?;
        Ok(Saved {
            model,
            folder,
            warnings,
            ending,
            program,
            property,
            only,
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
    bytes.extend(choices(plan.property, plan.only, plan.order, plan.por != Por::Off, plan.passes).as_bytes());
    let mut digest = [0; 16];
    digest[..8].copy_from_slice(&store::hash_seeded(&bytes, 1).to_le_bytes());
    digest[8..].copy_from_slice(&store::hash_seeded(&bytes, 2).to_le_bytes());
    digest
}

/// The choices that decide the result of a search.
struct Choices {
    property: Option<Safety>,
    only: Option<Only>,
    order: Order,
    por: bool,
    passes: Passes,
}

/// The choices in words: the names that users type, and `reduced`, the names of passes, `deadlocks`
/// and `faults`, where they apply.
fn choices(property: Option<Safety>, only: Option<Only>, order: Order, por: bool, passes: Passes) -> String {
    let mut words = vec![order.of_search().name()];
    words.extend(por.then_some("reduced"));
    words.extend(passes.names());
    words.extend(property.map(|_| "check"));
    words.extend(property.filter(|safety| safety.deadlocks).map(|_| "deadlocks"));
    words.extend(property.filter(|safety| safety.faults).map(|_| "faults"));
    words.extend(only.map(Only::name));
    words.join(" ")
}

fn read_choices(text: &str) -> Option<Choices> {
    let mut words = text.split(' ');
    let mut choices = Choices { property: None, only: None, order: words.next()?.parse().ok()?, por: false, passes: Passes::default() };
    for word in words {
        match (word, &mut choices.property) {
            ("reduced", None) if !choices.por => choices.por = true,
            (pass, None) if choices.passes.add(pass) => {}
            ("check", none @ None) => *none = Some(Safety { deadlocks: false, faults: false }),
            ("deadlocks", Some(safety)) => safety.deadlocks = true,
            ("faults", Some(safety)) => safety.faults = true,
            (other, _) => choices.only = Some(other.parse().ok()?),
        }
    }
    Some(choices)
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
    use bytecode::Verified;
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
        for one in all.chain([saved(), Saved { property: None, depth: None, por: false, order: Order::Breadth, ..saved() }]) {
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
        for plan in [
            Plan { property: Some(Safety { deadlocks: false, ..Safety::default() }), ..Plan::check() },
            Plan { property: None, ..Plan::check() },
            Plan { only: Some(Only::Safety), ..Plan::check() },
            Plan { order: Order::Depth, ..Plan::check() },
            Plan { passes: Passes { merge: true, dead: false, ..Passes::default() }, ..Plan::check() },
            Plan { passes: Passes { merge: false, dead: true, ..Passes::default() }, ..Plan::check() },
            Plan { por: if Plan::check().por == Por::Off { Por::On } else { Por::Off }, ..Plan::check() },
        ] {
            assert_ne!(digest(&program("a.epa", 1), &plan), one, "{plan:?}");
        }
    }
}
