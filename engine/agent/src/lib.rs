//! What runs once per node beside the traced processes: samples of the system, tails of processes that died,
//! the node's streams sent to another host. `docs/commands/agent.md`.

mod agent;
mod error;
mod lustre;
mod process;
mod recorder;
mod rings;
mod system;
mod values;

pub use agent::{Settings, run};
pub use error::AgentError;
