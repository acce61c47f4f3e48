//! The parts of a state that a property depends on, besides faults and deadlocks.

use crate::scan::{Budget, Scan, scan};
use crate::survey::Survey;
use bytecode::{Addr, AtomId, GlobalId, LocalId, ProcessId, Verified};
use std::collections::BTreeSet;

/// The parts of a state that a property depends on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watched {
    globals: BTreeSet<GlobalId>,
    locals: BTreeSet<(ProcessId, LocalId)>,
    places: BTreeSet<(ProcessId, Addr)>,
    /// Whether it depends on the lengths or messages of channels.
    pub sees_channels: bool,
    /// Whether it depends on more than variables, control locations and channels.
    pub sees_more: bool,
    /// Whether it depends on accept or progress labels.
    labels: bool,
    /// Whether claims can be trusted: the use of a channel that another process has claimed is a
    /// fault, and the search looks for faults.
    pub trusts_claims: bool,
}

impl Watched {
    /// For a search for deadlocks and faults: the property depends on nothing else.
    pub fn faults() -> Watched {
        Watched { trusts_claims: true, ..Watched::default() }
    }

    /// For properties about labels.
    pub fn labels() -> Watched {
        Watched { labels: true, ..Watched::default() }
    }

    /// For a property over atoms; nothing if the analysis takes too long.
    pub fn atoms(verified: &Verified, atoms: &[AtomId]) -> Option<Watched> {
        let program = verified.program();
        let mut watched = Watched::default();
        let mut budget = Budget(program.code.len().saturating_mul(8));
        for atom in atoms {
            let Scan { global_reads, remote, places, channels, entangled, looks_at_places, .. } =
                scan(program, program.atoms.get(atom.index())?.start, &mut budget)?;
            watched.sees_more |= entangled || looks_at_places;
            watched.globals.extend(global_reads);
            watched.locals.extend(remote);
            watched.places.extend(places);
            watched.sees_channels |= !channels.is_empty();
        }
        Some(watched)
    }

    /// Whether a step changes what the property depends on.
    pub fn sees_writes(&self, id: ProcessId, scan: &Scan) -> bool {
        scan.global_writes.iter().any(|global| self.globals.contains(global))
            || scan.local_writes.iter().any(|local| self.locals.contains(&(id, *local)))
    }

    /// Whether it reads a local of processes of a type.
    pub fn sees_local(&self, id: ProcessId, local: LocalId) -> bool {
        self.locals.contains(&(id, local))
    }

    /// Whether it matters that a process is at an address, to the property or to other processes.
    pub fn sees_place(&self, survey: &Survey<'_>, id: ProcessId, at: Addr) -> bool {
        let program = survey.program();
        let here = |place: &&(ProcessId, Addr)| place.0 == id && program.follow_jumps(place.1) == Some(at);
        let kind = program.label_kind_at(at);
        (self.labels && (kind.accept || kind.progress))
            || self.places.iter().chain(&survey.places).filter(|place| place.0 == id).any(|place| here(&place))
    }
}
