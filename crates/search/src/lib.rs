//! Search orders: how the reachable states of a system are visited.
//!
//! Each order is one file, generic over the [`System`](contract::System) it explores and the [`Store`](contract::Store) it remembers
//! states in, and knows no concrete one of either. What the orders share is here once: the [`Task`] they are given, the monitor of
//! limits and progress, and the reconstruction of traces by re-execution.
//!
//! Nothing recurses, so the depth of a model is limited by memory alone.

#![forbid(unsafe_code)]

mod breadth_first;
mod checkpoint;
mod depth_first;
mod depth_first_shared;
mod estimate;
mod expand;
mod frontier;
mod level;
mod links;
mod monitor;
mod parts;
mod patience;
mod resume;
mod retrace;
mod shorten;
mod soundness;
mod spill;
mod stack;
mod sync;
mod task;
mod team;

pub use breadth_first::breadth_first;
pub use checkpoint::{CheckpointError, Checkpoints};
pub use depth_first::depth_first;
pub use depth_first_shared::depth_first_shared;
pub use resume::{Reopened, reopen, resume};
pub use shorten::shorten;
pub use soundness::{Order, Promise, Soundness, TABLE, soundness};
pub use spill::{Blocks, MemoryBlocks, Spill};
pub use task::Task;
