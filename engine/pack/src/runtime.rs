//! What belongs to a run-time, not to the program.

use crate::counters::{Key, NO_FILE};

/// Which files, ops and processes of a run.
#[derive(Debug, Default)]
pub struct Runtime {
	/// By file.
	pub files: Vec<bool>,
	/// By op.
	pub ops: Vec<bool>,
	/// By process: it starts others, and these did something.
	pub processes: Vec<bool>,
}

impl Runtime {
	/// Are calls of this key the run-time's?
	#[inline]
	pub fn has(&self, key: &Key) -> bool {
		let op = |number: u16| self.ops.get(usize::from(number)).copied().unwrap_or(false);
		let file = key.file != NO_FILE && self.files.get(key.file as usize).is_some_and(|&is| is);
		let launcher = self.processes.get(key.process as usize).copied().unwrap_or(false);
		file || launcher || op(key.op) || op(key.enclosing)
	}
}
