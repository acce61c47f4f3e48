//! The dataflow that carries the messages of an [`Actor`].
//!
//! There is one operator, whose output returns to its input: messages sent at time *n* arrive at
//! time *n*+1, and times are the rounds. The frontier of the input shows when a round is complete
//! everywhere. A worker that has work in a round holds a capability for it. When no capability is
//! held and no message is under way, the frontier is empty and the computation has ended.
//!
//! The operator only moves parcels. The actor works outside it, because it borrows a store, and a
//! dataflow must own everything it uses.

use crate::actor::{Actor, Outbox, Turn};
use crate::parcel::{Addressed, Parcel};
use crate::shared::Shared;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;
use timely::container::NoopBuilder;
use timely::dataflow::channels::pact::DistributorPact;
use timely::dataflow::operators::generic::{OutputBuilder, builder_rc::OperatorBuilder};
use timely::dataflow::operators::{Capability, ConnectLoop, Feedback};
use timely::worker::Worker;

/// The time that an idle worker sleeps before it checks whether it was told to stop.
const NAP: Duration = Duration::from_millis(20);

/// What the operator and the worker's loop share.
#[derive(Default)]
struct Ports {
    arrived: BTreeMap<u64, VecDeque<Parcel>>,
    leaving: VecDeque<(u64, Parcel)>,
    /// The capabilities held, by round.
    held: BTreeMap<u64, Capability<u64>>,
    /// A round that is done: its capability is dropped when everything has been sent.
    done: Option<u64>,
    /// The earliest round in which a message may still arrive; `None` if no message will.
    frontier: Option<u64>,
}

/// The worker was told to give up, because another one is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abandoned;

/// Carries the messages of `actor` until the computation has ended everywhere. If the search is to
/// stop, no more work is done and the computation ends early, unless it is `short`.
pub(crate) fn drive(worker: &mut Worker, actor: &mut dyn Actor, out: &mut Outbox, shared: &Shared, short: bool) -> Result<(), Abandoned> {
    let ports = Rc::new(RefCell::new(Ports { frontier: Some(0), ..Ports::default() }));
    let me = worker.index();
    let inside = Rc::clone(&ports);
    let number = worker.next_dataflow_index();
    let activator = worker.dataflow::<u64, _, _>(|scope| {
        let (handle, stream) = scope.feedback::<Parcel>(1);
        let mut builder = OperatorBuilder::new("everypath".to_owned(), scope);
        let mut input = builder.new_input(stream, DistributorPact(|_| Addressed));
        let (output, back) = builder.new_output();
        let mut output = OutputBuilder::<u64, NoopBuilder<Parcel>>::from(output);
        let address = builder.operator_info().address;
        builder.build(move |mut capabilities| {
            if let Some(first) = capabilities.pop() {
                inside.borrow_mut().held.insert(0, first);
            }
            move |frontiers| {
                let ports = &mut *inside.borrow_mut();
                input.for_each(|time, parcel| {
                    ports.held.entry(*time.time()).or_insert_with(|| time.retain(0));
                    ports.arrived.entry(*time.time()).or_default().push_back(std::mem::take(parcel));
                });
                let mut output = output.activate();
                while let Some((round, mut parcel)) = ports.leaving.pop_front() {
                    if let Some(capability) = ports.held.get(&round) {
                        output.session_with_builder(capability).give_container(&mut parcel);
                    }
                }
                if let Some(round) = ports.done.take() {
                    ports.held.remove(&round);
                }
                ports.frontier = frontiers[0].frontier().iter().min().copied();
            }
        });
        back.connect_loop(handle);
        scope.activator_for(address)
    });
    // The current round, and the last one that was begun.
    let (mut round, mut begun): (Option<u64>, Option<u64>) = (None, None);
    loop {
        if shared.is_abandoned() {
            worker.drop_dataflow(number);
            return Err(Abandoned);
        }
        let stopped = !short && shared.is_stopped();
        if round.is_none() {
            let ports = ports.borrow();
            let first = ports.held.keys().next().copied().filter(|_| ports.done.is_none());
            round = first.filter(|&first| ports.frontier.is_none_or(|frontier| frontier > first));
        }
        // Messages for a round can be received when the round before it has begun here.
        let until = round.max(begun.map(|begun| begun + 1));
        while let Some((time, parcel)) = until.and_then(|until| ports.borrow_mut().arrived(until)) {
            if !stopped {
                actor.receive(time, parcel.from as usize, parcel.bytes());
            }
        }
        let Some(now) = round else {
            worker.step_or_park(Some(NAP));
            if ports.borrow().held.is_empty() && !worker.installed_dataflows().contains(&number) {
                return Ok(());
            }
            continue;
        };
        begun = Some(now);
        out.round = now;
        let turn = if stopped { Turn::Rest } else { actor.work(out) };
        {
            let ports = &mut *ports.borrow_mut();
            let parcels = out.take(turn != Turn::More);
            if !stopped {
                ports.leaving.extend(parcels.map(|(to, bytes)| (now, Parcel::new(me, to, bytes))));
            }
            if turn != Turn::More {
                round = None;
                if turn == Turn::Again
                    && let Some(capability) = ports.held.get(&now)
                {
                    let next = capability.delayed(&(now + 1));
                    ports.held.entry(now + 1).or_insert(next);
                }
                ports.done = Some(now);
            }
        }
        activator.activate();
        worker.step();
    }
}

impl Ports {
    /// The next parcel for the rounds up to `until`.
    fn arrived(&mut self, until: u64) -> Option<(u64, Parcel)> {
        let mut first = self.arrived.first_entry().filter(|entry| *entry.key() <= until)?;
        let (time, parcel) = (*first.key(), first.get_mut().pop_front());
        if first.get().is_empty() {
            first.remove();
        }
        parcel.map(|parcel| (time, parcel))
    }
}
