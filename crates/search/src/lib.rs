//! Search orders: how the reachable states of a system are visited.
//!
//! Each order is one file. It is generic over the [`System`](contract::System) it explores and the
//! [`Store`](contract::Store) it keeps states in, and knows no concrete system or store. The common
//! parts exist once: the [`Task`], the monitor of limits and progress, and the reconstruction of
//! traces by re-execution.
//!
//! No function is recursive over the states, so the depth of a model is limited by memory alone.

#![forbid(unsafe_code)]
// `loom` is set by the command that checks interleavings. A feature could leak into a build.
#![allow(unexpected_cfgs)]

mod active;
mod beam;
mod best_first;
mod breadth_first;
mod buckets;
mod checkpoint;
mod classes;
mod components;
mod components_shared;
mod depth_first;
mod depth_first_shared;
mod discovery;
mod doors;
mod edges;
mod estimate;
mod expand;
mod fewest_switches;
mod foresighted;
mod forest;
mod fork_join;
mod frontier;
mod gather;
mod guided;
mod ida_star;
mod lasso;
mod layer_groups;
mod layer_queue;
mod layer_walk;
mod level;
mod links;
mod live;
mod monitor;
mod nested;
mod numbered;
mod on_disk;
mod on_disk_cycles;
mod on_disk_moved;
mod on_disk_saved;
mod on_disk_trace;
mod parts;
mod patience;
mod product;
mod quick;
mod reduced;
mod region;
mod resume;
mod retrace;
mod rounds;
mod shorten;
mod shortest;
mod spill;
mod stack;
mod staged;
mod staged_shared;
mod stages;
mod streett;
mod stutter;
mod sweep;
mod sweep_cycles;
mod sweep_layers;
mod sweep_on_disk;
mod sync;
mod task;
mod terminal;
mod toward_cycles;
mod value;
mod visited_runs;
mod watch;
mod young;

pub use active::Active;
pub use beam::beam;
pub use best_first::{Weights, best_first};
pub use breadth_first::breadth_first;
pub use checkpoint::{CheckpointError, Checkpoints};
pub use components::{Fairness, components, components_probed};
pub use components_shared::components_shared;
pub use depth_first::depth_first;
pub use depth_first_shared::depth_first_shared;
pub use fewest_switches::fewest_switches;
pub use foresighted::Foresighted;
pub use ida_star::ida_star;
pub use nested::{Acceptance, nested_depth_first};
pub use on_disk::{on_disk, resume_on_disk};
pub use on_disk_cycles::cycles_on_disk;
pub use on_disk_moved::then_on_disk;
pub use product::{AUTOMATON, Automaton, AutomatonEdge, Product, Refutation, TAIL};
pub use reduced::Reduced;
pub use resume::{Reopened, reopen, resume};
pub use shorten::shorten;
pub use shortest::{LassoLimits, Shortest, shortest_lasso};
pub use spill::{Blocks, Spill};
pub use staged_shared::staged_shared;
pub use sweep::{MEASURE_MAX, sweep};
pub use sweep_cycles::sweep_cycles;
pub use sweep_on_disk::sweep_on_disk;
pub use task::Task;
pub use terminal::{Branching, Terminal, Unanswered, terminal_components};
pub use toward_cycles::{Closing, toward_cycles};
pub use value::Value;
pub use young::catch_them_young;
