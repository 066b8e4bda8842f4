//! What runs once per node beside the traced processes: samples of the system, tails of processes that died,
//! the node's streams sent to another host. `docs/agent.md`.

#[macro_use(say, warn)]
extern crate fathom_stream;

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
mod strangers;
mod system;
mod values;

pub use agent::{Settings, run};
pub use collect::{Collector, claim, collect};
pub use error::AgentError;
pub use send::Target;
pub use ship::{Flush, Plan};
