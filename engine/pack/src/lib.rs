//! From a run's streams to its tables: `docs/stream-format.md` in, `docs/tables.md` out.

/// A line for who reads standard error. Where it cannot be written, that stops nothing.
macro_rules! warn {
	($($words:tt)*) => {{
		use std::io::Write as _;
		let line = format!($($words)*) + "\n"; // written at once, whoever else writes
		let _ = std::io::stderr().write_all(line.as_bytes());
	}};
}

mod alive;
mod bench;
mod bricks;
mod calls;
mod calls_file;
mod clock;
mod collective_links;
mod collectives;
mod columns;
mod common_values;
mod counters;
mod define;
mod ends;
mod error;
mod extents;
mod files;
mod heat;
mod image;
mod index;
mod join;
mod kernel_events;
mod libraries;
mod marks;
mod merge;
mod missing;
mod network;
mod order;
mod output;
mod own;
mod pack;
mod perf_map;
mod process_facts;
mod progress;
mod recover;
mod rings;
mod run;
mod runs;
mod runtime;
mod samples;
mod schema;
mod server_links;
mod shape;
mod shares;
mod sites;
mod survey;
mod sync;
mod tables;
mod thin;
mod thinned;
mod times;
mod triggers;
mod view;
mod walk;
mod worlds;
mod write;

pub use alive::{may_live, runs};
pub use bench::{Rates, bench};
pub use define::ScriptLine;
pub use error::{PackError, try_lock};
pub use join::{Joined, check_jobs, join};
pub use pack::{Options, Packed, pack, pack_in_shares};
pub use recover::{Recovered, recover, ring_owner, this_node};
pub use rings::Named;
pub use run::{Run, Source, stream_name};
pub use shares::{ShareWorkers, Step, share};
pub use sites::{Frames, Resolved, SiteKey, Sites};
pub use thin::{Decision, Thin, thin};
pub use triggers::Triggers;
