//! Logs of strace as a run: what others wrote, into the same streams that Fathom's own recorder writes.
//! Known are system calls, their files by name, sizes, offsets, results and strace's times; not what called them.

mod calls;
mod descriptors;
mod line;
mod live;
mod log;
mod operations;
mod process;
mod rows;
mod run;
mod text;

pub use calls::{About, CALLS, Field, Shape};
pub use live::{Live, Program, quote};
pub use operations::{Action, File, Post};
pub use run::{Imported, import};

/// What a log had that did not become rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
	/// Lines that strace does not write.
	pub refused: u64,
	/// Last lines that were cut off.
	pub torn: u64,
	/// Calls of io_uring and libaio.
	pub unknown: u64,
	/// Calls without `-T`.
	pub untimed: u64,
}

/// Why a log is none.
#[derive(Debug, thiserror::Error)]
pub enum StraceError {
	#[error("{path}: {reason}")]
	File { path: String, reason: String },
	#[error("{path}: {why}; record with strace -f -ttt -T -y -o FILE")]
	NoLog { path: String, why: &'static str },
	#[error("{0}: no file I/O is in it")]
	Empty(String),
	#[error("{0}")]
	Written(String),
}

/// Any bytes as a log: what becomes of them, as streams. For fuzzing and tests.
pub fn streams_of(data: &[u8]) -> Result<Vec<Vec<u8>>, StraceError> {
	let node = fathom_import::Node {
		host: String::new(),
		boot_id: String::new(),
		run: String::new(),
		epoch: 0,
	};
	let logs = [log::Log { path: std::path::Path::new("log"), data }];
	let events = log::events(&logs, &mut Counts::default())?;
	let mut processes = process::Processes::new(&node, None, Vec::new());
	events.iter().for_each(|event| processes.take(event));
	processes.end();
	Ok(processes.images.into_iter().map(|image| image.bytes.clone()).collect())
}
