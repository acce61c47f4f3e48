//! What a property looks at, beside faults and deadlocks.

use crate::scan::{Budget, Scan, scan};
use crate::survey::Survey;
use bytecode::{Addr, AtomId, GlobalId, LocalId, ProcessId, Verified};
use std::collections::BTreeSet;

/// What a property looks at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watched {
    globals: BTreeSet<GlobalId>,
    locals: BTreeSet<(ProcessId, LocalId)>,
    places: BTreeSet<(ProcessId, Addr)>,
    /// It asks about the lengths or messages of channels.
    pub sees_channels: bool,
    /// It asks for more than variables, places and channels.
    pub sees_more: bool,
    /// It looks at labels that say something about acceptance or progress.
    labels: bool,
    /// Whoever uses a channel that another process has claimed commits a fault, which is looked
    /// for.
    pub trusts_claims: bool,
}

impl Watched {
    /// What a search for deadlocks and faults looks at: nothing but these.
    pub fn faults() -> Watched {
        Watched { trusts_claims: true, ..Watched::default() }
    }

    /// What there is to say about labels.
    pub fn labels() -> Watched {
        Watched { labels: true, ..Watched::default() }
    }

    /// What atoms look at; nothing if that takes too long to see.
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

    /// Whether a step changes what is looked at.
    pub fn sees_writes(&self, id: ProcessId, scan: &Scan) -> bool {
        scan.global_writes.iter().any(|global| self.globals.contains(global))
            || scan.local_writes.iter().any(|local| self.locals.contains(&(id, *local)))
    }

    /// Whether it asks for a local of processes of a type.
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
