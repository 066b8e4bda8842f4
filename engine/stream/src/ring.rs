//! Rings: what a process keeps in shared memory, and leaves there when it is killed.

use crate::bytes::{u32_at, u64_at};
use crate::chunk::{self, Chunk, Unsealed};
use crate::error::Reason;
use crate::format::tallied;
use crate::plain::Tally;
use crate::record::{
	BINS, Counter, CounterData, FileData, Heat, HeatBin, OpenCall, Order, PatternCounts,
};
use crate::{MAX_DEPTH, MOST_CALLS, Skip};

/// Thread pages, and the header.
pub const PAGE: usize = 4096;
/// Chunks and counter tables.
pub const BLOCK: usize = 65536;
const ENTRY: usize = 80;
const DATA_ENTRY: usize = 544;
const TALLY_ENTRY: usize = 40;
const HEAT_BINS: usize = 128;
const HEAT_ROW: usize = 8 + HEAT_BINS * 24;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingHeader {
	pub instance: u64,
	pub pid: u32,
	/// Its process ended in order, but could not write it out.
	pub ended: bool,
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
			Some(b"FATHOMCT" | b"FATHOMCD" | b"FATHOMTL" | b"FATHOMHT") => Slot::Counters,
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
	pub tallies: Vec<Tally>,
	pub heat: Vec<Heat>,
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
		ended: u32_at(data, 28) != 0,
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
		.take_while(|call| call.seq < MOST_CALLS)
		.collect();
	ThreadPage { stream: u64_at(page, 8), tid: u32_at(page, 16), open }
}

fn table_of(page: &[u8]) -> CounterTable {
	CounterTable {
		stream: u64_at(page, 8),
		counters: Vec::new(),
		tallies: Vec::new(),
		heat: Vec::new(),
	}
}

/// Where the first `used` entries of a table begin, as far as they are there.
fn entries(page: &[u8], used: usize, bytes: usize) -> impl Iterator<Item = usize> {
	let most = page.len().saturating_sub(64) / bytes;
	(0..used.min(most)).map(move |i| 64 + bytes * i)
}

fn used(page: &[u8]) -> usize {
	u32_at(page, 16) as usize
}

/// What a table of counters has, of whichever kind; `page` is all of it.
pub fn counter_table(page: &[u8]) -> CounterTable {
	let page = &page[..page.len().min(BLOCK)];
	match page.get(..8) {
		Some(b"FATHOMCD") => CounterTable { counters: data_counters(page), ..table_of(page) },
		Some(b"FATHOMTL") => CounterTable { tallies: tallies(page), ..table_of(page) },
		Some(b"FATHOMHT") => CounterTable { heat: heat(page), ..table_of(page) },
		_ => CounterTable { counters: sums(page), ..table_of(page) },
	}
}

fn sums(page: &[u8]) -> Vec<Counter> {
	let counters = entries(page, used(page), ENTRY).map(|at| counter(page, at));
	counters.filter(|counter| counter.calls > 0).collect()
}

fn counter(page: &[u8], at: usize) -> Counter {
	Counter {
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
	}
}

fn data_counters(page: &[u8]) -> Vec<Counter> {
	let data = |at| Counter { data: Some(Box::new(counter_data(page, at))), ..counter(page, at) };
	entries(page, used(page), DATA_ENTRY).map(data).collect()
}

/// Entries keep the run of the last size and extent out of their histograms.
fn counter_data(page: &[u8], at: usize) -> CounterData {
	const ALL: u32 = 2;
	let signed = |place: usize| u64_at(page, at + place) as i64;
	let run = |place: usize| (signed(place), u64_at(page, at + place + 8));
	let (size_run, extent_run, stride_run) = (run(80), run(96), run(112));
	let mut counts = [0; 10];
	counts.iter_mut().enumerate().for_each(|(i, count)| *count = signed(184 + 8 * i));
	let file = FileData {
		extents: histogram(page, at + 408, extent_run),
		counts: PatternCounts::of(counts),
		order: Order {
			located: u64_at(page, at + 128),
			first_offset: signed(136),
			first_end: signed(144),
			second_offset: signed(152),
			last_offset: signed(160),
			last_end: signed(168),
			distance: signed(176),
		},
		turn: u32_at(page, at + 268),
		size_run,
		stride_run,
	};
	let whole = u32_at(page, at + 12) == ALL;
	CounterData {
		sizes: histogram(page, at + 272, size_run),
		file: whole.then_some(file),
		some: None,
	}
}

fn histogram(page: &[u8], at: usize, run: (i64, u64)) -> [u64; BINS] {
	let mut bins = [0; BINS];
	bins.iter_mut().enumerate().for_each(|(i, bin)| *bin = u64_at(page, at + 8 * i));
	let bits = 64 - run.0.max(0).leading_zeros() as usize;
	let last = &mut bins[bits.div_ceil(2).min(BINS - 1)];
	*last = last.saturating_add(run.1);
	bins
}

/// What was dropped comes first: it says what the others are worth.
fn tallies(page: &[u8]) -> Vec<Tally> {
	let dropped = u64_at(page, 32);
	let first =
		(dropped > 0).then(|| Tally { what: tallied::DROPPED, bound: dropped, ..Tally::default() });
	let entry = |at: usize| Tally {
		op: u32_at(page, at),
		object: u32_at(page, at + 4),
		enclosing: u32_at(page, at + 8),
		what: u32_at(page, at + 12),
		value: u64_at(page, at + 16) as i64,
		calls: u64_at(page, at + 24),
		bound: u64_at(page, at + 32),
	};
	let all = entries(page, usize::MAX, TALLY_ENTRY).map(entry);
	first
		.into_iter()
		.chain(all.filter(|tally| tally.calls > 0 && tally.what != tallied::DROPPED))
		.collect()
}

fn heat(page: &[u8]) -> Vec<Heat> {
	let shift = u32_at(page, 20).min(63);
	let bin = |at: usize| HeatBin {
		calls: u64_at(page, at),
		bytes: u64_at(page, at + 8),
		ticks: u64_at(page, at + 16),
	};
	entries(page, used(page), HEAT_ROW)
		.map(|at| Heat {
			op: u32_at(page, at),
			shift,
			first: u64_at(page, 32),
			bins: (0..HEAT_BINS).map(|i| bin(at + 8 + 24 * i)).collect(),
		})
		.collect()
}
