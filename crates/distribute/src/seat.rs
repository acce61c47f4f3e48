//! A worker's place in a run: its number, and its communication with all others.
//!
//! All workers execute the same program. They differ only in the states they own. All of them call
//! [`Seat::drive`] and [`Seat::gather`] in the same order.

use crate::actor::{Actor, Outbox, Turn};
use crate::flow::{self, Abandoned};
use crate::rehearse::Stage;
use crate::shared::Shared;
use std::sync::Arc;
use timely::worker::Worker;

/// A worker's place in a run.
pub struct Seat<'w> {
    carrier: Carrier<'w>,
    shared: Arc<Shared>,
    /// Its number among the workers of its process.
    local: usize,
    /// Parcels and bytes sent so far.
    sent: (u64, u64),
}

enum Carrier<'w> {
    /// The other workers are reached by a dataflow.
    Flow(&'w mut Worker),
    /// There are no other workers.
    Alone,
    /// The others are threads of a rehearsal.
    Stage(Arc<Stage>, usize),
}

impl<'w> Seat<'w> {
    pub(crate) fn new(worker: &'w mut Worker, shared: Arc<Shared>) -> Seat<'w> {
        let local = worker.index() % shared.published.len().max(1);
        Seat { carrier: Carrier::Flow(worker), shared, local, sent: (0, 0) }
    }

    /// A run of one worker, without a dataflow.
    pub fn alone(shared: Arc<Shared>) -> Seat<'static> {
        Seat { carrier: Carrier::Alone, shared, local: 0, sent: (0, 0) }
    }

    pub(crate) fn on_stage(stage: Arc<Stage>, me: usize, shared: Arc<Shared>) -> Seat<'static> {
        Seat { carrier: Carrier::Stage(stage, me), shared, local: me, sent: (0, 0) }
    }

    /// The worker's number, from 0.
    pub fn me(&self) -> usize {
        match &self.carrier {
            Carrier::Flow(worker) => worker.index(),
            Carrier::Alone => 0,
            Carrier::Stage(_, me) => *me,
        }
    }

    /// The number of workers.
    pub fn workers(&self) -> usize {
        match &self.carrier {
            Carrier::Flow(worker) => worker.peers(),
            Carrier::Alone => 1,
            Carrier::Stage(stage, _) => stage.workers(),
        }
    }

    /// The data that the threads of the process share.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Its number among the workers of its process.
    pub fn local(&self) -> usize {
        self.local
    }

    /// Parcels and bytes sent so far.
    pub fn sent(&self) -> (u64, u64) {
        self.sent
    }

    /// Lets an actor work until all workers have finished, or the search was stopped.
    pub fn drive(&mut self, actor: &mut dyn Actor) -> Result<(), Abandoned> {
        self.drive_unless(actor, false)
    }

    /// Like `drive`, for a computation that continues although the search was stopped.
    pub fn drive_to_the_end(&mut self, actor: &mut dyn Actor) -> Result<(), Abandoned> {
        self.drive_unless(actor, true)
    }

    fn drive_unless(&mut self, actor: &mut dyn Actor, short: bool) -> Result<(), Abandoned> {
        let mut out = Outbox::new(self.me(), self.workers(), Outbox::usual(self.workers()));
        let driven = match &mut self.carrier {
            Carrier::Flow(worker) => flow::drive(worker, actor, &mut out, &self.shared, short),
            Carrier::Alone => alone(actor, &mut out, &self.shared, short),
            Carrier::Stage(stage, me) => stage.drive(*me, actor, &mut out, &self.shared, short),
        };
        self.sent = (self.sent.0 + out.parcels, self.sent.1 + out.bytes);
        driven
    }

    /// Distributes the data of each worker to all: entry *n* of the result has the bytes of worker
    /// *n*.
    pub fn gather(&mut self, mine: &[u8]) -> Result<Vec<Vec<u8>>, Abandoned> {
        let mut gather = Gather { mine, all: vec![Vec::new(); self.workers()], sent: false };
        self.drive_to_the_end(&mut gather)?;
        Ok(gather.all)
    }
}

/// Rounds without a dataflow.
fn alone(actor: &mut dyn Actor, out: &mut Outbox, shared: &Shared, short: bool) -> Result<(), Abandoned> {
    loop {
        if shared.is_abandoned() {
            return Err(Abandoned);
        }
        if !short && shared.is_stopped() {
            return Ok(());
        }
        let turn = actor.work(out);
        if turn == Turn::More {
            continue;
        }
        let parcels: Vec<_> = out.take(true).collect();
        if parcels.is_empty() && turn == Turn::Rest {
            return Ok(());
        }
        parcels.iter().for_each(|(_, bytes)| actor.receive(out.round + 1, 0, bytes));
        out.round += 1;
    }
}

struct Gather<'a> {
    mine: &'a [u8],
    all: Vec<Vec<u8>>,
    sent: bool,
}

impl Actor for Gather<'_> {
    fn receive(&mut self, _: u64, from: usize, bytes: &[u8]) {
        self.all[from].extend_from_slice(bytes);
    }

    fn work(&mut self, out: &mut Outbox) -> Turn {
        if !self.sent && !self.mine.is_empty() {
            out.send_to_all(self.mine);
        }
        self.sent = true;
        Turn::Rest
    }
}
