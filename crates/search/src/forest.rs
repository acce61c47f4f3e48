//! The components that workers find together: a union-find forest of states, in which each
//! component also has a ring of the states that are not yet fully explored.
//!
//! This is the structure of Bloemen, Laarman and van de Pol, "Multi-core on-the-fly SCC
//! decomposition" (2016). Every worker may unite components and take states from the ring of any
//! component it is in, so workers help each other to complete a large component instead of
//! exploring it twice. A component with an empty ring is complete; it is called *dead*.
//!
//! Three rules keep it correct without a global lock. A root is linked below another root only
//! while it is held, and always below one with a larger number. Of two rings that are joined, the
//! ring of the smaller root is held first, so there is no deadlock. A state that is done stays
//! done, and only done states are removed from a ring. Marks and workers are added to a root first,
//! and added again if it is no longer a root; the worker that links a root does so before it reads
//! them.

use crate::numbered::{Full, Numbered, Numbers};
use contract::StateId;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering::Relaxed, Ordering::SeqCst};

/// The most workers: each has one bit.
pub(crate) const MOST_WORKERS: usize = 32;
/// The most acceptance sets: each has one bit.
pub(crate) const MOST_SETS: u32 = 32;

/// The states of a root.
const LIVE: u8 = 0;
const HELD: u8 = 1;
const DEAD: u8 = 2;

/// The states of a node in its ring; `HELD` while the ring is being joined to another.
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

/// The relation of a worker to a state that it reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// The component of the state is complete.
    Dead,
    /// The worker is already in the component of the state.
    Found,
    /// The worker has just entered the component of the state.
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

    /// Adds a state with a component of its own, which `worker` is in. Only the worker that found
    /// the state new calls this, once.
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

    /// The root of the component of a state. It may no longer be a root when it is used.
    pub fn root(&self, mut number: u32) -> u32 {
        loop {
            let parent = self.node(number).parent.load(SeqCst);
            if parent == number {
                return number;
            }
            let grandparent = self.node(parent).parent.load(SeqCst);
            if grandparent != parent {
                // An ancestor always stays an ancestor.
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
            // `a` is still a root, so it was one when the root of `b` was found.
            if self.is_root(a) {
                return false;
            }
        }
    }

    /// What `claim` would return for `worker` (a bit), without entering the component.
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

    /// Enters the component of a state for `worker` (a bit).
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

    /// Adds acceptance marks to the component of a state, and returns all its marks.
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

    /// Unites the components of two states.
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
                // The component is complete, so there is nothing to unite.
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
        // The root is linked first, so that workers added to the smaller one from now on are added
        // to the larger one.
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

    /// Holds a busy state of the ring of `number`; returns `None` if there is none.
    fn hold(&self, number: u32) -> Option<u32> {
        loop {
            let busy = self.busy(number)?;
            if self.node(busy).busy.compare_exchange(BUSY, HELD, SeqCst, SeqCst).is_ok() {
                return Some(busy);
            }
            std::hint::spin_loop();
        }
    }

    /// A busy or held state of the ring of `number`; `None` if all are done.
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
            // Both are done, so the second one is removed.
            let after = self.node(next).ring.load(SeqCst);
            self.node(at).ring.store(after, SeqCst);
            at = after;
        }
    }

    /// A state of the component of `number` that is not fully explored. If there is none, the
    /// component is dead.
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

    /// Marks a state as fully explored; returns whether it was not marked before.
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
