//! The set of models that are measured.
//!
//! The set contains one model of each family of the public benchmark set that has a model with 0.3
//! to 7 million states: small enough for a short run, large enough that the search and not the
//! start of a process is measured. The counts are SPIN's, and they are compared even if SPIN is not
//! installed. Smaller models, one of each family, measure the time from source to verdict.

use crate::Failure;
use crate::models::{self, Corpus, Model};

/// The purpose of measuring a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// The speed of search, and all other numbers.
    Search,
    /// The time from source to verdict.
    Small,
    /// One of the project's examples.
    Own,
}

impl Group {
    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Group::Search => "search",
            Group::Small => "small",
            Group::Own => "own",
        }
    }
}

/// A model to be measured.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The model.
    pub model: Model,
    /// Its group.
    pub group: Group,
    /// The number of its states, if that is known.
    pub states: Option<u64>,
}

const SEARCH: [(&str, u64); 26] = [
    ("gear.2", 324_971),
    ("rushhour.4", 327_677),
    ("mcs.6", 332_546),
    ("phils.4", 340_789),
    ("lamport_nonatomic.3", 344_676),
    ("anderson.1", 352_666),
    ("loyd.2", 362_882),
    ("mcs.3", 571_461),
    ("extinction.1", 680_956),
    ("blocks.3", 695_420),
    ("frogs.3", 760_791),
    ("sokoban.2", 761_635),
    ("adding.2", 836_838),
    ("peg_solitaire.4", 873_328),
    ("bopdp.3", 1_058_442),
    ("lamport.5", 1_066_800),
    ("peterson.4", 1_119_560),
    ("fischer.4", 1_272_256),
    ("sorter.3", 1_288_478),
    ("schedule_world.2", 1_570_342),
    ("at.3", 1_711_622),
    ("fischer.3", 2_896_707),
    ("iprotocol.3", 3_188_426),
    ("adding.4", 3_370_680),
    ("protocols.4", 3_708_573),
    ("at.4", 6_597_247),
];

const SMALL: [(&str, u64); 29] = [
    ("adding.1", 7_372),
    ("anderson.4", 29_643),
    ("at.2", 49_445),
    ("blocks.2", 7_059),
    ("bopdp.2", 26_107),
    ("bridge.1", 168_452),
    ("driving_phils.2", 33_173),
    ("elevator.1", 87_461),
    ("elevator_planning.3", 52_498),
    ("fischer.2", 21_735),
    ("frogs.2", 18_209),
    ("gear.1", 53_171),
    ("iprotocol.2", 88_779),
    ("lamport.2", 110_920),
    ("lamport_nonatomic.1", 185_198),
    ("lann.2", 125_544),
    ("loyd.1", 722),
    ("mcs.4", 16_386),
    ("msmie.3", 134_846),
    ("peg_solitaire.5", 84_193),
    ("peterson.3", 170_156),
    ("phils.3", 729),
    ("protocols.3", 18_207),
    ("public_subscribe.1", 1_447),
    ("reader_writer.2", 8_211),
    ("rushhour.3", 156_725),
    ("schedule_world.1", 23_063),
    ("sokoban.1", 91_455),
    ("sorter.1", 20_544),
];

/// The models of a run of two minutes.
const QUICK: [&str; 10] = [
    "gear.2",
    "mcs.6",
    "lamport_nonatomic.3",
    "anderson.1",
    "loyd.2",
    "extinction.1",
    "at.2",
    "iprotocol.2",
    "peterson.3",
    "schedule_world.1",
];

/// The models for a simulator, in which everything takes fifty times as long. They have shared
/// variables, a protocol with rendezvous, and a puzzle with large steps.
const PROFILED: [&str; 3] = ["lamport.2", "iprotocol.2", "peg_solitaire.5"];

/// The part of the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    Full,
    /// The models of a run of two minutes.
    Quick,
    /// The models for a simulator.
    Profiled,
    /// The project's own models only.
    Own,
}

/// The models to be measured: those of the set, and the project's own.
pub fn entries(extent: Extent, corpus: &Corpus) -> Result<Vec<Entry>, Failure> {
    let mut entries = Vec::new();
    if extent != Extent::Own {
        let there = corpus.models()?;
        for (group, list) in [(Group::Search, &SEARCH[..]), (Group::Small, &SMALL[..])] {
            for &(name, states) in list {
                let wanted = match extent {
                    Extent::Full => true,
                    Extent::Quick => QUICK.contains(&name),
                    Extent::Profiled => PROFILED.contains(&name),
                    Extent::Own => false,
                };
                let model = there.iter().find(|model| model.name.rsplit('/').next() == Some(name));
                match model {
                    Some(model) if wanted => entries.push(Entry { model: model.clone(), group, states: Some(states) }),
                    None if wanted && !there.is_empty() => return Err(format!("the benchmark set has no model `{name}`")),
                    _ => {}
                }
            }
        }
    }
    // Under a simulator the project's own models are used if there are no others.
    if extent != Extent::Profiled || entries.is_empty() {
        entries.extend(models::examples()?.into_iter().map(|model| Entry { model, group: Group::Own, states: None }));
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_set_is_what_it_says() {
        assert!(SEARCH.len() >= 20);
        assert!(SEARCH.iter().all(|&(_, states)| (300_000..=7_000_000).contains(&states)));
        assert!(SMALL.iter().all(|&(_, states)| states < 300_000));
        let known = |name: &str| SEARCH.iter().chain(&SMALL).filter(|(known, _)| *known == name).count();
        assert!(QUICK.iter().chain(&PROFILED).all(|name| known(name) == 1));
    }
}
