//! Actors without processes: all of them in one thread, their messages delayed and reordered by a
//! generator of random numbers. One seed gives one schedule, always the same.

use crate::actor::{Actor, Outbox, Turn};

/// What a rehearsal has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rehearsal {
    /// Rounds until the end.
    pub rounds: u64,
    /// Parcels sent from one worker to another.
    pub parcels: u64,
    /// Bytes in them.
    pub bytes: u64,
}

/// Lets `actors` act until the computation has ended. `most` is the size at which parcels are
/// closed. `after` hears of each round: its number and the bytes that each worker has sent to each
/// other one in it.
pub fn rehearse(actors: &mut [&mut dyn Actor], seed: u64, most: usize, after: &mut dyn FnMut(u64, &[Vec<u64>])) -> Rehearsal {
    let workers = actors.len();
    let mut random = seed;
    let mut outs: Vec<Outbox> = (0..workers).map(|me| Outbox::new(me, workers, most)).collect();
    let mut seen = Rehearsal::default();
    // Who has something to do in the present round.
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
                // What is for the next round comes when the present one has begun.
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
