//! Searches by several processes and machines, on timely dataflow.
//!
//! A worker owns the states that hash to it, and sends all others to their owners. The work of a
//! worker is an [`Actor`], which works in rounds and knows nothing of processes. A dataflow carries
//! the messages of actors (`flow`): its progress tracking shows when a round is over everywhere,
//! and when the computation has ended. The same actors are tested without processes, with messages
//! in random order ([`rehearse`]).

#![forbid(unsafe_code)]

mod actor;
mod classes;
mod construct;
mod control;
mod cycles;
mod dependencies;
mod explore;
mod flow;
mod gauge;
mod levels;
mod line;
mod links;
mod model;
mod owner;
mod parcel;
mod predecessors;
mod reach;
mod rehearse;
mod report;
mod save;
mod seat;
mod sent;
mod share;
mod shared;
mod team;
mod trust;
mod visited;
mod wire;
mod young;

pub use actor::{Actor, Outbox, Turn};
pub use classes::Start;
pub use construct::{Construction, Describe, Described, construct};
pub use cycles::{Method, Search, cycles};
pub use explore::explore;
pub use flow::Abandoned;
pub use gauge::Resident;
pub use model::{Costs, Predicted, predict};
pub use owner::{Owners, PartOf};
pub use reach::{Counts, Thrift, Work};
pub use rehearse::{Rehearsal, act, rehearse};
pub use report::Part;
pub use save::{OpenPart, Resume, Saving, WritePart, may_be_part};
pub use seat::Seat;
pub use shared::{Published, Shared};
pub use team::{Assembly, Lost, Place, Serve, Team, TeamError, join};
pub use trust::{SECRET_MIN, Secret};
pub use visited::Seen;
