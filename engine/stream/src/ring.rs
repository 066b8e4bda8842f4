//! Rings: what a process keeps in shared memory, and leaves there when it is killed.

use crate::bytes::{u32_at, u64_at};
use crate::chunk::{self, Chunk, Unsealed};
use crate::error::Reason;
use crate::record::{Counter, OpenCall};
use crate::{MAX_DEPTH, NO_SEQ, Skip};

/// Thread pages, and the header.
pub const PAGE: usize = 4096;
/// Chunks and counter tables.
pub const BLOCK: usize = 65536;
const ENTRY: usize = 80;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingHeader {
	pub instance: u64,
	pub pid: u32,
	/// Field 22 of /proc/PID/stat.
	pub pid_start: u64,
}

/// What begins at a multiple of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
	Chunk,
	Thread,
	Counters,
	/// Never used, or given back.
	Free,
}

impl Slot {
	pub fn of(magic: &[u8]) -> Slot {
		match magic.get(..8) {
			Some(b"FATHOMCK") => Slot::Chunk,
			Some(b"FATHOMTH") => Slot::Thread,
			Some(b"FATHOMCT") => Slot::Counters,
			_ => Slot::Free,
		}
	}
}

/// The calls that a thread had open.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadPage {
	pub stream: u64,
	pub tid: u32,
	/// Outermost first; `op` is op + 1 as in the `open` record.
	pub open: Vec<OpenCall>,
}

/// Counters that were not yet in a chunk.
#[derive(Debug, Clone, PartialEq)]
pub struct CounterTable {
	pub stream: u64,
	pub counters: Vec<Counter>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Ring<'a> {
	pub header: RingHeader,
	/// Sealed ones fit their checksum; of the others the committed rows are valid.
	pub chunks: Vec<Chunk<'a>>,
	pub threads: Vec<ThreadPage>,
	pub counters: Vec<CounterTable>,
	pub skipped: Vec<Skip>,
}

/// Bytes that [`ring_header`] looks at.
pub const RING_HEADER_BYTES: usize = 40;

/// Whose ring it is; `data` may be its beginning only.
pub fn ring_header(data: &[u8]) -> Result<RingHeader, Reason> {
	if data.get(..8) != Some(b"FATHOMRG") {
		return Err(Reason::NoRing);
	}
	let version = u32_at(data, 8);
	if version != 1 || u32_at(data, 12) as usize != PAGE {
		return Err(Reason::Version(version as u16));
	}
	Ok(RingHeader {
		instance: u64_at(data, 16),
		pid: u32_at(data, 24),
		pid_start: u64_at(data, 32),
	})
}

/// All of a ring, of a process that is dead: of one that lives, chunks may be half overwritten.
pub fn read_ring(data: &[u8]) -> Result<Ring<'_>, Reason> {
	let mut ring = Ring {
		header: ring_header(data)?,
		chunks: Vec::new(),
		threads: Vec::new(),
		counters: Vec::new(),
		skipped: Vec::new(),
	};
	let mut at = PAGE;
	while let Some(page) = data.get(at..).filter(|rest| rest.len() >= 8) {
		at += ring.take(data, at, page);
	}
	Ok(ring)
}

impl<'a> Ring<'a> {
	/// Takes what begins at `at`; returns how far the next thing is.
	fn take(&mut self, data: &'a [u8], at: usize, page: &[u8]) -> usize {
		match Slot::of(page) {
			Slot::Chunk => match chunk::read(data, at, Unsealed::Take) {
				Ok(chunk) if chunk.header.instance == self.header.instance => {
					self.chunks.push(chunk);
					BLOCK
				}
				Ok(_) => self.skip(at, Reason::Foreign),
				Err(reason) => self.skip(at, reason),
			},
			Slot::Thread => {
				self.threads.push(thread_page(page));
				PAGE
			}
			Slot::Counters if u64_at(page, 24) == self.header.instance => {
				self.counters.push(counter_table(page));
				BLOCK
			}
			_ => PAGE,
		}
	}

	fn skip(&mut self, at: usize, reason: Reason) -> usize {
		self.skipped.push(Skip { offset: at as u64, bytes: BLOCK as u64, reason });
		PAGE
	}
}

/// The calls that were open when `page` was copied from its ring.
pub fn thread_page(page: &[u8]) -> ThreadPage {
	let depth = (u32_at(page, 20) as usize).min(MAX_DEPTH);
	let open = (0..depth)
		.map(|i| 64 + 64 * i)
		.filter(|&at| at + 64 <= page.len())
		.map(|at| OpenCall {
			seq: u64_at(page, at),
			began: u64_at(page, at + 8),
			op: u32_at(page, at + 24).saturating_add(1),
			object: u32_at(page, at + 28),
			size: u64_at(page, at + 32) as i64,
			offset: u64_at(page, at + 40) as i64,
			site: u32_at(page, at + 48),
		})
		.take_while(|call| call.seq != NO_SEQ)
		.collect();
	ThreadPage { stream: u64_at(page, 8), tid: u32_at(page, 16), open }
}

/// The counters of a table; `page` is all of it.
pub fn counter_table(page: &[u8]) -> CounterTable {
	let used = (u32_at(page, 16) as usize).min((BLOCK - 64) / ENTRY);
	let counters = (0..used)
		.map(|i| 64 + ENTRY * i)
		.filter(|&at| at + ENTRY <= page.len())
		.map(|at| Counter {
			op: u32_at(page, at),
			object: u32_at(page, at + 4),
			enclosing: u32_at(page, at + 8),
			calls: u64_at(page, at + 16),
			errors: u64_at(page, at + 24),
			bytes: u64_at(page, at + 32),
			ticks: u64_at(page, at + 40),
			min: u64_at(page, at + 48),
			max: u64_at(page, at + 56),
			first: u64_at(page, at + 64),
			last: u64_at(page, at + 72),
			data: None,
		})
		.filter(|counter| counter.calls > 0)
		.collect();
	CounterTable { stream: u64_at(page, 8), counters }
}
