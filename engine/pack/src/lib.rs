//! From a run's streams to its tables: `docs/stream-format.md` in, `docs/tables.md` out.

mod bench;
mod calls;
mod calls_file;
mod clock;
mod collectives;
mod columns;
mod counters;
mod define;
mod error;
mod files;
mod heat;
mod image;
mod index;
mod merge;
mod order;
mod output;
mod pack;
mod progress;
mod recover;
mod run;
mod runs;
mod samples;
mod shape;
mod sites;
mod survey;
mod sync;
mod tables;
mod times;
mod tops;
mod walk;
mod write;

pub use bench::{Rates, bench};
pub use error::PackError;
pub use pack::{Options, Packed, pack};
pub use recover::{Recovered, is_alive, recover, this_node, whose};
pub use run::Run;
