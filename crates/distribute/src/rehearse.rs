//! Runs actors without processes: all of them in one thread, with messages delayed and reordered by
//! a random number generator. One seed always gives the same schedule.

use crate::actor::{Actor, Outbox, Turn};
use crate::flow::Abandoned;
use crate::seat::Seat;
use crate::shared::Shared;
use std::sync::{Arc, Barrier, Mutex, PoisonError};
use std::thread;

/// The numbers of a rehearsal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rehearsal {
    /// The number of rounds.
    pub rounds: u64,
    /// The number of parcels sent from one worker to another.
    pub parcels: u64,
    /// The number of bytes in them.
    pub bytes: u64,
}

/// Runs `actors` until the computation has ended. `most` is the size at which parcels are closed.
/// `after` is called after each round with its number and the bytes that each worker has sent to
/// each other one in it.
pub fn rehearse(actors: &mut [&mut dyn Actor], seed: u64, most: usize, after: &mut dyn FnMut(u64, &[Vec<u64>])) -> Rehearsal {
    let workers = actors.len();
    let mut random = seed;
    let mut outs: Vec<Outbox> = (0..workers).map(|me| Outbox::new(me, workers, most)).collect();
    let mut seen = Rehearsal::default();
    // The workers that have work in the current round.
    let mut awake = vec![true; workers];
    while awake.iter().any(|&awake| awake) {
        let mut next = vec![false; workers];
        let mut under_way: Vec<(usize, usize, Vec<u8>)> = Vec::new();
        let mut volumes = vec![vec![0; workers]; workers];
        let mut begun: Vec<bool> = awake.iter().map(|awake| !awake).collect();
        let mut working: Vec<usize> = (0..workers).filter(|&me| awake[me]).collect();
        while !working.is_empty() || !under_way.is_empty() {
            let choice = splitmix::next(&mut random) as usize % (working.len() + under_way.len());
            if let Some(&me) = working.get(choice) {
                begun[me] = true;
                outs[me].round = seen.rounds;
                let turn = actors[me].work(&mut outs[me]);
                for (to, bytes) in outs[me].take(turn != Turn::More) {
                    next[to] = true;
                    if to != me {
                        volumes[me][to] += bytes.len() as u64;
                        seen.parcels += 1;
                        seen.bytes += bytes.len() as u64;
                    }
                    under_way.push((me, to, bytes));
                }
                if turn != Turn::More {
                    working.swap_remove(choice);
                    next[me] |= turn == Turn::Again;
                }
            } else {
                // Messages for the next round arrive when the current one has begun.
                if !begun[under_way[choice - working.len()].1] {
                    continue;
                }
                let (from, to, bytes) = under_way.swap_remove(choice - working.len());
                actors[to].receive(seen.rounds + 1, from, &bytes);
            }
        }
        after(seen.rounds, &volumes);
        seen.rounds += 1;
        awake = next;
    }
    seen
}

/// Workers of a rehearsal that execute a whole program, each in a thread of its own. Messages of a
/// round are delivered at its end, in an order that depends only on the seed.
pub(crate) struct Stage {
    barrier: Barrier,
    seed: u64,
    /// The messages for each worker.
    mail: Vec<Mutex<Mail>>,
    /// The workers that want another round.
    awake: Mutex<Vec<bool>>,
}

/// The sender, the number of the message among those of the sender, and the bytes.
type Mail = Vec<(usize, usize, Vec<u8>)>;

impl Stage {
    pub fn workers(&self) -> usize {
        self.mail.len()
    }

    pub fn drive(&self, me: usize, actor: &mut dyn Actor, out: &mut Outbox, shared: &Shared, short: bool) -> Result<(), Abandoned> {
        let lock = |mail: usize| self.mail[mail].lock().unwrap_or_else(PoisonError::into_inner);
        let flags = || self.awake.lock().unwrap_or_else(PoisonError::into_inner);
        let mut awake = true;
        let mut number = 0;
        loop {
            let mut again = false;
            if awake && (short || !shared.is_stopped()) {
                let mut turn = Turn::More;
                while turn == Turn::More {
                    turn = actor.work(out);
                    for (to, bytes) in out.take(turn != Turn::More) {
                        lock(to).push((me, number, bytes));
                        number += 1;
                    }
                }
                again = turn == Turn::Again;
            }
            self.barrier.wait();
            let mut mail = std::mem::take(&mut *lock(me));
            mail.sort();
            let mut random = self.seed ^ (me as u64) << 32 ^ out.round;
            for last in (1..mail.len()).rev() {
                mail.swap(last, splitmix::next(&mut random) as usize % (last + 1));
            }
            awake = again || !mail.is_empty();
            for (from, _, bytes) in &mail {
                actor.receive(out.round + 1, *from, bytes);
            }
            flags()[me] = awake;
            self.barrier.wait();
            let goes_on = flags().iter().any(|&awake| awake);
            self.barrier.wait();
            if !goes_on {
                return Ok(());
            }
            out.round += 1;
        }
    }
}

/// Lets `workers` workers execute a program, without processes and without a dataflow; returns
/// their results. The order in which messages arrive depends only on the seed.
pub fn act<R: Send>(workers: usize, seed: u64, program: impl Fn(&mut Seat<'_>) -> R + Sync) -> Vec<R> {
    let stage = Arc::new(Stage {
        barrier: Barrier::new(workers),
        seed,
        mail: (0..workers).map(|_| Mutex::default()).collect(),
        awake: Mutex::new(vec![false; workers]),
    });
    let shared = Shared::new(workers);
    let program = &program;
    thread::scope(|scope| {
        let threads: Vec<_> = (0..workers)
            .map(|me| {
                let (stage, shared) = (Arc::clone(&stage), Arc::clone(&shared));
                scope.spawn(move || program(&mut Seat::on_stage(stage, me, shared)))
            })
            .collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    })
}
