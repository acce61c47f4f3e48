//! Merging: a step that others can neither observe nor prevent is merged with the step before.
//!
//! A location is *quiet* if neither the effects of its steps nor the conditions under which they
//! can be taken matter to other processes or to the property. Then nothing is lost if such a step
//! is taken at once when the location is reached: the steps of the others can be taken after it
//! with the same result. So every step that leads to a quiet location becomes invisible (`STEP I`),
//! and the process continues within the same transition. If it is blocked there, the machine shows
//! this state.
//!
//! No step is postponed for ever: of each cycle of quiet locations one step stays visible. So a
//! transition is finite, and in the states that are left all processes can be scheduled. This is
//! partial-order reduction with the choices made before the search (Kurshan, Levin, Minea, Peled,
//! Yenigün, "Static partial order reduction", TACAS 1998), and the path compression of Weber's
//! virtual machine; with steps on local variables only it is statement merging as in SPIN
//! (Holzmann, "The engineering of a model checker", SPIN 1999).
//!
//! These are quiet:
//!
//! - steps that use only variables of the process itself, or globals that no other process uses or
//!   that are never written; also `skip`, `goto`, `break` and the like;
//! - a send to a buffered channel, if no other process sends to it or tests it, and a receive, if
//!   no other process receives: others can only take older messages or append newer ones;
//! - a claim (`xr`, `xs`) made before the process does anything else.

use crate::scan::{Mode2, Scan, Use, Value};
use crate::survey::{Edge, Survey, repeated, types};
use crate::watched::Watched;
use bytecode::{Location, Mode, Op, ProcessId, Program};
use std::collections::BTreeSet;

/// Why a location is quiet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Quiet {
    /// Its steps use only what belongs to the process.
    Own,
    /// Its steps send or receive on a channel, and the process alone uses this end of it.
    Message,
    /// Its steps claim channels.
    Claim,
}

/// The steps that become invisible, by their addresses.
pub(crate) fn merged(survey: &Survey<'_>, watched: &Watched) -> Vec<usize> {
    let mut steps = Vec::new();
    for (id, _) in types(survey.program()) {
        let quiet = quiet_locations(survey, watched, id);
        steps.extend(invisible(&survey.edges[id.index()], &quiet, &resting(survey, id, &quiet), survey.entry(id)));
    }
    steps.sort_unstable();
    steps.dedup();
    steps
}

/// The quiet locations on a cycle at which a process receives. If a cycle must have a visible
/// location, such a location is the best one, because the process may have to wait there anyway.
fn resting(survey: &Survey<'_>, id: ProcessId, quiet: &[bool]) -> Vec<usize> {
    let receives = |scan: &Scan| scan.channels.iter().any(|(used, _)| *used == Use::Receive);
    let repeated = repeated(&survey.edges[id.index()]);
    (0..quiet.len()).filter(|&at| quiet[at] && repeated[at] && receives(&survey.scans[id.index()][at])).collect()
}

/// The program with these steps invisible.
pub(crate) fn apply(program: &mut Program, steps: &[usize]) {
    for &step in steps {
        if let Some(Op::Step { mode }) = program.code.get_mut(step) {
            *mode = Mode::Invisible;
        }
    }
}

/// For each location of a type, whether it is quiet.
fn quiet_locations(survey: &Survey<'_>, watched: &Watched, id: ProcessId) -> Vec<bool> {
    let (scans, edges) = (&survey.scans[id.index()], &survey.edges[id.index()]);
    let addresses = survey.verified.locations().addresses(id);
    let claims = claims(survey, id);
    let kinds: Vec<Option<Quiet>> = scans
        .iter()
        .enumerate()
        .map(|(at, scan)| if watched.sees_place(survey, id, addresses[at]) { None } else { kind(survey, watched, id, scan, &claims[at]) })
        .collect();
    let only_at_first = at_first(edges, &kinds, survey.entry(id));
    let mut quiet: Vec<bool> =
        kinds.iter().zip(&only_at_first).map(|(kind, first)| kind.is_some_and(|kind| kind != Quiet::Claim || *first)).collect();
    // The locations with which an invisible or deterministic sequence continues must be quiet too,
    // and the sequence must end.
    let endless = leads_to_cycle(edges, goes_on);
    loop {
        let unquiet: Vec<usize> = (0..quiet.len())
            .filter(|&at| quiet[at])
            .filter(|&at| {
                endless[at] || edges[at].iter().filter(|edge| goes_on(edge)).any(|edge| edge.target.is_none_or(|to| !quiet[to.index()]))
            })
            .collect();
        if unquiet.is_empty() {
            return quiet;
        }
        unquiet.into_iter().for_each(|at| quiet[at] = false);
    }
}

/// Why a location may be quiet, judged by its own code.
fn kind(survey: &Survey<'_>, watched: &Watched, id: ProcessId, scan: &Scan, claimed: &BTreeSet<(Use, Value)>) -> Option<Quiet> {
    let process = &survey.program().processes[id.index()];
    let own_global = |global: &bytecode::GlobalId| survey.is_private(id, *global) && !survey.program().globals[global.index()].scratch;
    let own_local = |local: &bytecode::LocalId| !process.locals[local.index()].scratch;
    let is_own = !scan.entangled
        && !scan.looks_at_places
        && !scan.creates
        && scan.remote.is_empty()
        && scan.places.is_empty()
        && !scan.ends.is_empty()
        && scan.global_reads.iter().chain(&scan.global_writes).all(own_global)
        && scan.local_reads.iter().chain(&scan.local_writes).all(own_local)
        && scan.local_writes.iter().all(|local| !survey.remote.contains(&(id, *local)))
        && !watched.sees_writes(id, scan);
    if !is_own {
        return None;
    }
    if scan.channels.is_empty() {
        return Some(Quiet::Own);
    }
    if scan.channels.iter().all(|(used, _)| matches!(used, Use::ClaimReceive | Use::ClaimSend)) {
        return watched.trusts_claims.then_some(Quiet::Claim);
    }
    let mut channels = scan.channels.iter();
    let (Some(&(used, value)), None) = (channels.next(), channels.next()) else { return None };
    let every_path = scan.ends.iter().all(|end| end.mode == Mode2::Normal && end.messages == 1);
    let alone = every_path && !watched.sees_channels && is_alone(survey, watched, id, used, value, claimed);
    alone.then_some(Quiet::Message)
}

/// Whether no other process can interfere with a use of a channel.
fn is_alone(survey: &Survey<'_>, watched: &Watched, id: ProcessId, used: Use, value: Value, claimed: &BTreeSet<(Use, Value)>) -> bool {
    let program = survey.program();
    let (same_end, claim): (&[Use], Use) = match used {
        // A sorted send may insert its message before others.
        Use::Send => (&[Use::Send, Use::SendSorted, Use::Test], Use::ClaimSend),
        Use::Receive => (&[Use::Receive, Use::ReceiveAny, Use::Test, Use::SendSorted], Use::ClaimReceive),
        _ => return false,
    };
    let buffered = |channel: i32| {
        let ty = program.channels.get((channel - 1) as usize).map(|channel| channel.ty);
        ty.is_some_and(|ty| program.channel_types[ty.index()].capacity > 0)
    };
    if let Some(channel) = survey.channels(id, value).one(program) {
        return buffered(channel) && !survey.others_use(id, channel, same_end);
    }
    // A process that has claimed the channel is its only user. Any other use is a fault, and the
    // search finds it, because it is a fault whenever it happens.
    let all_buffered = !survey.creates && program.channel_types.iter().all(|ty| ty.capacity > 0);
    let fixed = matches!(value, Value::Local(local) if survey.is_fixed(id, local));
    watched.trusts_claims
        && all_buffered
        && fixed
        && claimed.contains(&(claim, value))
        && !survey.anybody_uses(&[Use::Test, Use::SendSorted])
}

/// For each location, the claims that were made on every path to it.
fn claims(survey: &Survey<'_>, id: ProcessId) -> Vec<BTreeSet<(Use, Value)>> {
    let (scans, edges) = (&survey.scans[id.index()], &survey.edges[id.index()]);
    let own = |scan: &Scan| -> BTreeSet<(Use, Value)> {
        let claim = |used: &Use| matches!(used, Use::ClaimReceive | Use::ClaimSend);
        // If a location has several paths, not all of them may make the claim.
        if scan.ends.len() == 1 { scan.channels.iter().filter(|(used, _)| claim(used)).copied().collect() } else { BTreeSet::new() }
    };
    let entry = survey.entry(id);
    let mut made: Vec<Option<BTreeSet<(Use, Value)>>> = vec![None; scans.len()];
    // The claims of a prologue hold from the start, if the prologue has a single path.
    let straight = |at: bytecode::Addr| {
        let code = &survey.program().code[at.index()..];
        code.iter().take_while(|op| !matches!(op, Op::Ret {})).all(|op| op.target().is_none())
    };
    let prologue = survey.program().processes[id.index()].prologue.filter(|at| straight(*at)).and(survey.prologues[id.index()].as_ref());
    let claim = |(used, _): &&(Use, Value)| matches!(used, Use::ClaimReceive | Use::ClaimSend);
    made[entry] = Some(prologue.into_iter().flat_map(|scan| &scan.channels).filter(claim).copied().collect());
    let mut open = vec![entry];
    while let Some(at) = open.pop() {
        let mut here = made[at].clone().unwrap_or_default();
        here.extend(own(&scans[at]));
        for to in edges[at].iter().filter_map(|edge| edge.target) {
            let there = &mut made[to.index()];
            let met = match there {
                None => here.clone(),
                Some(before) => before.intersection(&here).copied().collect(),
            };
            if there.as_ref() != Some(&met) {
                *there = Some(met);
                open.push(to.index());
            }
        }
    }
    made.into_iter().map(Option::unwrap_or_default).collect()
}

/// For each location, whether a process reaches it only through steps on its own variables and
/// claims. Then it claims before it does anything that others can observe.
fn at_first(edges: &[Vec<Edge>], kinds: &[Option<Quiet>], entry: usize) -> Vec<bool> {
    let silent = |at: usize| matches!(kinds[at], Some(Quiet::Own | Quiet::Claim));
    let mut reached = vec![false; edges.len()];
    // A location that can be reached after another kind of step is not among the first.
    let mut open: Vec<usize> = (0..edges.len()).filter(|&at| !silent(at)).collect();
    let mut late = vec![false; edges.len()];
    while let Some(at) = open.pop() {
        for to in edges[at].iter().filter_map(|edge| edge.target) {
            if !std::mem::replace(&mut late[to.index()], true) {
                open.push(to.index());
            }
        }
    }
    open.push(entry);
    while let Some(at) = open.pop() {
        if late[at] || std::mem::replace(&mut reached[at], true) {
            continue;
        }
        open.extend(edges[at].iter().filter_map(|edge| Some(edge.target?.index())));
    }
    reached
}

/// From which locations a cycle of edges of a kind can be reached by such edges.
fn leads_to_cycle(edges: &[Vec<Edge>], of_kind: impl Fn(&Edge) -> bool) -> Vec<bool> {
    let mut back = vec![Vec::new(); edges.len()];
    let mut ways = vec![0_usize; edges.len()];
    for (from, edges) in edges.iter().enumerate() {
        for to in edges.iter().filter(|edge| of_kind(edge)).filter_map(|edge| edge.target) {
            back[to.index()].push(from);
            ways[from] += 1;
        }
    }
    let mut left = vec![true; edges.len()];
    let mut ready: Vec<usize> = (0..edges.len()).filter(|&at| ways[at] == 0).collect();
    while let Some(at) = ready.pop() {
        left[at] = false;
        for &before in &back[at] {
            ways[before] -= 1;
            if ways[before] == 0 {
                ready.push(before);
            }
        }
    }
    left
}

/// The steps to quiet locations, except for one on each cycle of quiet locations: the back edges of
/// a depth-first walk. The walk begins at the locations in `first`, so that back edges lead to
/// these if possible. A back edge that is invisible in the program is preceded by visible ones.
fn invisible(edges: &[Vec<Edge>], quiet: &[bool], first: &[usize], entry: usize) -> Vec<usize> {
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Seen {
        No,
        Open,
        Done,
    }
    let mut seen = vec![Seen::No; edges.len()];
    let mut steps = Vec::new();
    let (mut back, mut unseen) = (BTreeSet::new(), Vec::new());
    let order = first.iter().copied().chain([entry]).chain(0..edges.len());
    for root in order {
        if seen[root] != Seen::No {
            continue;
        }
        seen[root] = Seen::Open;
        let mut path = vec![(root, 0)];
        while let Some((at, next)) = path.last_mut() {
            let Some(edge) = edges[*at].get(*next) else {
                seen[*at] = Seen::Done;
                path.pop();
                continue;
            };
            *next += 1;
            let Some(to) = edge.target.map(Location::index).filter(|&to| quiet[to]) else { continue };
            if edge.end.mode == Mode2::Normal {
                steps.push(edge.end.step.index());
            }
            match seen[to] {
                Seen::No => {
                    seen[to] = Seen::Open;
                    path.push((to, 0));
                }
                Seen::Open if edge.end.mode == Mode2::Normal => _ = back.insert(edge.end.step.index()),
                Seen::Open if goes_on(edge) => unseen.push(*at),
                Seen::Open | Seen::Done => {}
            }
        }
    }
    back.extend(before_invisible(edges, quiet, unseen));
    steps.retain(|step| !back.contains(step));
    steps
}

/// The visible steps after which only invisible ones lead to some locations. A cycle through such a
/// location contains one of them, because no cycle of quiet locations is invisible throughout.
fn before_invisible(edges: &[Vec<Edge>], quiet: &[bool], mut open: Vec<usize>) -> Vec<usize> {
    if open.is_empty() {
        return Vec::new();
    }
    let mut before = vec![Vec::new(); edges.len()];
    for (from, edge) in edges.iter().enumerate().flat_map(|(from, edges)| edges.iter().map(move |edge| (from, edge))) {
        if let Some(to) = edge.target {
            before[to.index()].push((from, edge));
        }
    }
    let mut steps = Vec::new();
    let mut reached = vec![false; edges.len()];
    while let Some(at) = open.pop() {
        if std::mem::replace(&mut reached[at], true) {
            continue;
        }
        for (from, edge) in &before[at] {
            if edge.end.mode == Mode2::Normal {
                steps.push(edge.end.step.index());
            } else if goes_on(edge) && quiet[*from] {
                open.push(*from);
            }
        }
    }
    steps
}

/// Whether a sequence continues after a step.
fn goes_on(edge: &Edge) -> bool {
    matches!(edge.end.mode, Mode2::Invisible | Mode2::Deterministic)
}
