//! A storage daemon (OSD) of Ceph, untouched: what it did while a run lasted, asked of its admin socket, as rows of a
//! server. Its operations, each with its object, its bytes, its wait and its store's time; and its own counters, which
//! say whether these were all.

mod ask;
mod files;
mod history;
mod lanes;
mod layout;
mod operation;
mod watch;

pub use operation::{Kind, Operation, operations};
pub use watch::{Settings, run};

/// What can stop the watching of an OSD.
#[derive(Debug, thiserror::Error)]
pub enum OsdError {
	#[error("{socket}: {reason}; is it an admin socket of a daemon that runs, and may you use it?")]
	Socket { socket: String, reason: String },
	#[error("{0}")]
	Record(String),
}
