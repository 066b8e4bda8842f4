//! Where the contents of a stream go: its process, names and what was missed.

use fathom_stream::Record;

use crate::missed::Missed;
use crate::names::{Book, Names};
use crate::sums::Sums;

/// A process: the image's own, or a vfork child on its memory.
pub struct Process {
	pub pid: u32,
	pub rank: Option<u32>,
	pub sums: Sums,
	/// Ticks of communication whose call has yet to end; at most 0. For `own.rs`.
	pub owed: i64,
}

impl Process {
	pub fn new(pid: u32) -> Process {
		Process { pid, rank: None, sums: Sums::default(), owed: 0 }
	}
}

/// Where the contents of a stream go.
pub struct StreamTarget<'t> {
	pub names: &'t mut Names,
	pub book: &'t mut Book,
	pub process: &'t mut Process,
	pub missed: &'t mut Missed,
}

impl StreamTarget<'_> {
	pub fn record(&mut self, record: &Record<'_>) {
		match record {
			Record::Process(process) => {
				self.process.rank = self.process.rank.or(process.rank.checked_sub(1));
			}
			Record::Rank(rank) => self.process.rank = Some(rank.rank),
			_ => {}
		}
		self.names.take(record, self.book);
	}
}
