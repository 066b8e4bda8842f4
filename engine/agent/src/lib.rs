//! What runs once per node beside the traced processes: samples of the system, tails of processes that died,
//! the node's streams sent to another host. `docs/agent.md`.

/// A line for who reads standard error. Where it cannot be written, that stops nothing.
macro_rules! warn {
	($($words:tt)*) => {{
		use std::io::Write as _;
		let line = format!($($words)*) + "\n"; // written at once, whoever else writes
		let _ = std::io::stderr().write_all(line.as_bytes());
	}};
}

/// The same on standard output, for who started us.
macro_rules! say {
	($($words:tt)*) => {{
		use std::io::Write as _;
		let line = format!($($words)*) + "\n"; // written at once, whoever else writes
		let _ = std::io::stdout().write_all(line.as_bytes());
	}};
}

mod agent;
mod collect;
mod coordinator;
mod critical;
mod critical_path;
mod critical_rank;
mod error;
mod frame;
mod lustre;
mod node_files;
mod osds;
mod process;
mod recorder;
mod rings;
mod send;
mod ship;
mod system;
mod values;

pub use agent::{Settings, run};
pub use collect::{Collector, claim, collect};
pub use error::AgentError;
pub use send::Target;
pub use ship::{Flush, Plan};
