//! The components that workers find together: a forest of states for union and find, in which each
//! component also has a ring of the states that are not yet explored in full.
//!
//! This is the structure of Bloemen, Laarman and van de Pol, "Multi-core on-the-fly SCC
//! decomposition" (2016). Every worker may unite components and take states from the ring of any
//! component it is in, so that workers help each other to complete a large component instead of
//! exploring it twice. A component whose ring is empty is complete, which is what *dead* means.
//!
//! Three rules keep it sound without a lock for all. A root is linked below another only while it
//! is held, and always below one with a larger number. Of two rings that are joined, the one of the
//! smaller root is held first, so nobody waits in a circle. A state that is done stays so, and only
//! done states are taken out of a ring. Marks and workers are added to a root first, and then
//! again if it turns out to be none any more; whoever links a root does so before reading them.

use crate::numbered::{Full, Numbered, Numbers};
use contract::StateId;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering::Relaxed, Ordering::SeqCst};

/// The most workers: a bit each.
pub(crate) const MOST_WORKERS: usize = 32;
/// The most acceptance sets: a bit each.
pub(crate) const MOST_SETS: u32 = 32;

/// What a root is.
const LIVE: u8 = 0;
const HELD: u8 = 1;
const DEAD: u8 = 2;

/// What a state is to its ring; `HELD` while the ring is being joined to another.
const BUSY: u8 = 0;
const DONE: u8 = 2;

#[derive(Default)]
struct Node {
    parent: AtomicU32,
    /// The next state of the ring.
    ring: AtomicU32,
    workers: AtomicU32,
    marks: AtomicU32,
    root: AtomicU8,
    busy: AtomicU8,
}

/// What a worker learns of a state that it comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// Its component is complete.
    Dead,
    /// Its component is one that the worker is in.
    Found,
    /// The worker is in its component from now on.
    New,
}

pub(crate) struct Forest {
    nodes: Numbered<Node>,
}

impl Forest {
    pub fn new() -> Forest {
        Forest { nodes: Numbered::new() }
    }

    /// The memory held.
    pub fn bytes(&self) -> u64 {
        self.nodes.bytes()
    }

    #[inline]
    fn node(&self, number: u32) -> &Node {
        self.nodes.value(number)
    }

    /// Adds a state that is in no component yet, with a component of its own that `worker` is in.
    /// One worker, the one to whom the state was new, does that once.
    pub fn add(&self, numbers: &mut Numbers, name: StateId, worker: u32) -> Result<u32, Full> {
        self.nodes.add(numbers, name, |number, node| {
            node.parent.store(number, Relaxed);
            node.ring.store(number, Relaxed);
            node.workers.store(worker, Relaxed);
        })
    }

    /// The number of a state, if it was added.
    #[inline]
    pub fn number(&self, name: StateId) -> Option<u32> {
        self.nodes.number(name)
    }

    /// The name of a state.
    pub fn name(&self, number: u32) -> StateId {
        self.nodes.name(number).unwrap_or_default()
    }

    /// The root of the component of a state. It may be none any more by the time it is used.
    pub fn root(&self, mut number: u32) -> u32 {
        loop {
            let parent = self.node(number).parent.load(SeqCst);
            if parent == number {
                return number;
            }
            let grandparent = self.node(parent).parent.load(SeqCst);
            if grandparent != parent {
                // Whatever is above stays above.
                self.node(number).parent.store(grandparent, Relaxed);
            }
            number = parent;
        }
    }

    fn is_root(&self, number: u32) -> bool {
        self.node(number).parent.load(SeqCst) == number
    }

    /// Whether two states are in one component.
    pub fn together(&self, a: u32, b: u32) -> bool {
        loop {
            let (a, b) = (self.root(a), self.root(b));
            if a == b {
                return true;
            }
            // What is a root now was one when the other was looked for.
            if self.is_root(a) {
                return false;
            }
        }
    }

    /// What `worker`, a bit, would learn of a state if it came to it.
    pub fn look(&self, number: u32, worker: u32) -> Claim {
        let root = self.node(self.root(number));
        if root.root.load(SeqCst) == DEAD {
            Claim::Dead
        } else if root.workers.load(SeqCst) & worker != 0 {
            Claim::Found
        } else {
            Claim::New
        }
    }

    /// `worker`, a bit, comes to a state.
    pub fn claim(&self, number: u32, worker: u32) -> Claim {
        let mut root = self.root(number);
        if self.node(root).root.load(SeqCst) == DEAD {
            return Claim::Dead;
        }
        if self.node(root).workers.load(SeqCst) & worker != 0 {
            return Claim::Found;
        }
        loop {
            self.node(root).workers.fetch_or(worker, SeqCst);
            if self.is_root(root) {
                return Claim::New;
            }
            root = self.root(root);
        }
    }

    /// Adds acceptance marks to the component of a state, and gives all that it has.
    pub fn mark(&self, number: u32, marks: u32) -> u32 {
        let (mut root, mut marks) = (self.root(number), marks);
        loop {
            let node = self.node(root);
            // Most edges add nothing.
            let before = node.marks.load(SeqCst);
            marks |= if before & marks == marks { before } else { node.marks.fetch_or(marks, SeqCst) };
            if self.is_root(root) {
                return marks;
            }
            root = self.root(root);
        }
    }

    /// Makes the components of two states one.
    pub fn unite(&self, a: u32, b: u32) {
        let (small, large, small_state, large_state) = loop {
            let (root_a, root_b) = (self.root(a), self.root(b));
            if root_a == root_b {
                return;
            }
            let (small, large, small_state, large_state) = if root_a < root_b { (root_a, root_b, a, b) } else { (root_b, root_a, b, a) };
            let held = self.node(small).root.compare_exchange(LIVE, HELD, SeqCst, SeqCst);
            match held {
                Ok(_) if self.is_root(small) => break (small, large, small_state, large_state),
                Ok(_) => self.node(small).root.store(LIVE, SeqCst),
                // Then it is complete, and there is nothing to unite.
                Err(DEAD) => return,
                Err(_) => {}
            }
            std::hint::spin_loop();
        };
        if let Some(first) = self.hold(small_state) {
            if let Some(second) = self.hold(large_state) {
                let (first, second) = (self.node(first), self.node(second));
                let next = first.ring.load(SeqCst);
                first.ring.store(second.ring.load(SeqCst), SeqCst);
                second.ring.store(next, SeqCst);
                self.node(small).parent.store(large, SeqCst);
                second.busy.store(BUSY, SeqCst);
            }
            self.node(first).busy.store(BUSY, SeqCst);
        }
        // Linked first, so that who is added to the smaller one from now on is added to the larger.
        if !self.is_root(small) {
            self.admit(large, self.node(small).workers.load(SeqCst));
            self.mark(large, self.node(small).marks.load(SeqCst));
        }
        self.node(small).root.store(LIVE, SeqCst);
    }

    /// Adds workers to the component of a state.
    fn admit(&self, number: u32, workers: u32) {
        let mut root = self.root(number);
        loop {
            self.node(root).workers.fetch_or(workers, SeqCst);
            if self.is_root(root) {
                return;
            }
            root = self.root(root);
        }
    }

    /// Holds a state of the ring of `number` that is busy; nothing if there is none.
    fn hold(&self, number: u32) -> Option<u32> {
        loop {
            let busy = self.busy(number)?;
            if self.node(busy).busy.compare_exchange(BUSY, HELD, SeqCst, SeqCst).is_ok() {
                return Some(busy);
            }
            std::hint::spin_loop();
        }
    }

    /// A state of the ring of `number` that is busy, or held by someone; nothing if all are done.
    fn busy(&self, number: u32) -> Option<u32> {
        let mut at = number;
        loop {
            if self.node(at).busy.load(SeqCst) != DONE {
                return Some(at);
            }
            let next = self.node(at).ring.load(SeqCst);
            if next == at {
                return None;
            }
            if self.node(next).busy.load(SeqCst) != DONE {
                return Some(next);
            }
            // Both are done, so the second can go.
            let after = self.node(next).ring.load(SeqCst);
            self.node(at).ring.store(after, SeqCst);
            at = after;
        }
    }

    /// A state of the component of `number` that is not explored in full. Nothing if there is none:
    /// then the component is dead.
    pub fn pick(&self, number: u32) -> Option<u32> {
        let busy = self.busy(number);
        if busy.is_none() {
            loop {
                let root = self.root(number);
                match self.node(root).root.compare_exchange(LIVE, DEAD, SeqCst, SeqCst) {
                    Ok(_) | Err(DEAD) => break,
                    Err(_) => std::hint::spin_loop(),
                }
            }
        }
        busy
    }

    /// A state was explored in full. Whether it was not known before.
    pub fn done(&self, number: u32) -> bool {
        let node = self.node(number);
        loop {
            match node.busy.compare_exchange(BUSY, DONE, SeqCst, SeqCst) {
                Ok(_) => return true,
                Err(DONE) => return false,
                Err(_) => std::hint::spin_loop(),
            }
        }
    }
}
