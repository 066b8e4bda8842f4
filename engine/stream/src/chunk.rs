//! Chunks of a file: found by their magic, vouched for by their checksum.

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::bytes::{u16_at, u32_at, u64_at};
use crate::error::Reason;
use crate::format::chunk_flag;
use crate::{MOST_CALLS, NO_SEQ};

pub(crate) const MAGIC: &[u8; 8] = b"FATHOMCK";
/// Bytes of the header that this version knows.
pub const HEADER: usize = 192;
pub(crate) const CRC_AT: usize = 132;
/// A chunk of the runtime has less than 64 KiB; what `recover` adds to one is bounded likewise.
pub(crate) const MAX_ROWS: u32 = 1 << 20;

/// The same moment on three clocks; zeros where a chunk was never sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Clock {
	pub ticks: u64,
	pub monotonic: u64,
	pub realtime: u64,
}

impl Clock {
	/// Of a process that has no ticks of its own: those of CLOCK_MONOTONIC.
	pub fn now() -> Clock {
		let ns = |id| {
			let time = clock_gettime(id);
			time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
		};
		let monotonic = ns(ClockId::Monotonic);
		Clock { ticks: monotonic, monotonic, realtime: ns(ClockId::Realtime) }
	}
}

/// What the kernel gave a thread since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ThreadUse {
	/// ns on a processor.
	pub ran: u64,
	/// ns ready, and waiting for one.
	pub waited: u64,
	/// Bytes from block devices or a remote file system; none: not known.
	pub read: Option<u64>,
}

impl ThreadUse {
	/// What came after `before`.
	pub fn since(self, before: ThreadUse) -> ThreadUse {
		ThreadUse {
			ran: self.ran.saturating_sub(before.ran),
			waited: self.waited.saturating_sub(before.waited),
			read: self.read.zip(before.read).map(|(now, then)| now.saturating_sub(then)),
		}
	}

	pub fn plus(self, other: ThreadUse) -> ThreadUse {
		ThreadUse {
			ran: self.ran.saturating_add(other.ran),
			waited: self.waited.saturating_add(other.waited),
			read: self.read.zip(other.read).map(|(one, other)| one.saturating_add(other)),
		}
	}
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Header {
	pub flags: u32,
	pub stream: u64,
	pub number: u64,
	pub instance: u64,
	pub pid: u32,
	pub tid: u32,
	pub next_seq: u64,
	pub begin: Clock,
	pub seal: Clock,
	pub base_stream: u64,
	pub base_seq: u64,
	pub first_tick: u64,
	pub committed: u32,
	pub crc: u32,
	pub depth: u32,
	/// 0 raw ticks, 1 CLOCK_MONOTONIC, 2 faked.
	pub clock: u8,
	/// Of the stream's thread, at the begin of its first chunk. `None`: not known.
	pub use_begin: Option<ThreadUse>,
	pub use_seal: Option<ThreadUse>,
	/// Bytes before the rows.
	pub length: u16,
}

impl Header {
	/// Of a chunk that this process begins, by `Clock::now`, in the one stream that it writes.
	pub fn of_this_process(instance: u64, number: u64, begin: Clock) -> Header {
		Header {
			stream: instance,
			number,
			instance,
			pid: std::process::id(),
			tid: std::process::id(),
			begin,
			first_tick: begin.ticks,
			clock: 1,
			..Header::default()
		}
	}

	pub fn sealed(&self) -> bool {
		self.flags & chunk_flag::SEALED != 0
	}

	/// Nothing follows: the stream ended, or its process was about to be replaced.
	pub fn last(&self) -> bool {
		self.flags & (chunk_flag::LAST | chunk_flag::BEFORE_EXEC) != 0
	}

	pub fn side(&self) -> bool {
		self.flags & chunk_flag::SIDE != 0
	}

	pub fn ring_copy(&self) -> bool {
		self.flags & chunk_flag::RING_COPY != 0
	}

	/// Other chunks of its process do not count.
	pub fn sums(&self) -> bool {
		self.flags & chunk_flag::SUMS != 0
	}

	/// The call that this side stream interrupted.
	pub fn base(&self) -> Option<(u64, u64)> {
		let known = self.side() && self.base_stream != 0 && self.base_seq != NO_SEQ;
		known.then_some((self.base_stream, self.base_seq))
	}

	/// The header that `data` begins with, if it is one of a chunk. Nothing vouches for it yet.
	pub fn read(data: &[u8]) -> Result<Header, Reason> {
		if !data.starts_with(MAGIC) {
			return Err(Reason::NoMagic);
		}
		if data.len() < HEADER {
			return Err(Reason::Truncated { committed: 0, present: data.len() as u64 });
		}
		let version = u16_at(data, 8);
		if version != 1 {
			return Err(Reason::Version(version));
		}
		let header = Header::parse(data);
		if !(HEADER..=4096).contains(&usize::from(header.length)) {
			return Err(Reason::HeaderLength(header.length));
		}
		if header.committed > MAX_ROWS {
			return Err(Reason::TooLong(header.committed));
		}
		if header.next_seq > MOST_CALLS - u64::from(2 * MAX_ROWS) {
			return Err(Reason::TooLarge("the number of a call")); // its rows' would be
		}
		Ok(header)
	}

	/// Are both of the same chunk, perhaps one later than the other? All but what a chunk's growth and its seal
	/// change is equal.
	pub fn same_chunk(&self, other: &Header) -> bool {
		let fixed = |header: &Header| Header {
			flags: header.flags & chunk_flag::SIDE,
			seal: Clock::default(),
			use_seal: None,
			committed: 0,
			crc: 0,
			..header.clone()
		};
		fixed(self) == fixed(other)
	}

	/// Header and rows.
	pub fn chunk_bytes(&self) -> usize {
		usize::from(self.length) + self.committed as usize
	}

	fn parse(data: &[u8]) -> Header {
		let clock = |at| Clock {
			ticks: u64_at(data, at),
			monotonic: u64_at(data, at + 8),
			realtime: u64_at(data, at + 16),
		};
		let thread_use = |at, read_at| {
			let ran = u64_at(data, at).checked_sub(1)?;
			let read = u64_at(data, read_at).checked_sub(1);
			Some(ThreadUse { ran, waited: u64_at(data, at + 8), read })
		};
		Header {
			length: u16_at(data, 10),
			flags: u32_at(data, 12),
			stream: u64_at(data, 16),
			number: u64_at(data, 24),
			instance: u64_at(data, 32),
			pid: u32_at(data, 40),
			tid: u32_at(data, 44),
			next_seq: u64_at(data, 48),
			begin: clock(56),
			seal: clock(80),
			base_stream: u64_at(data, 104),
			base_seq: u64_at(data, 112),
			first_tick: u64_at(data, 120),
			committed: u32_at(data, 128),
			crc: u32_at(data, CRC_AT),
			depth: u32_at(data, 136),
			clock: data.get(140).copied().unwrap_or(0),
			use_begin: thread_use(144, 176),
			use_seal: thread_use(160, 184),
		}
	}
}

impl Header {
	/// As it lies in a file; length and checksum of the rows are put in when the chunk is sealed.
	pub(crate) fn bytes(&self) -> Vec<u8> {
		let mut bytes = vec![0; HEADER];
		let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
		put(0, MAGIC);
		put(8, &1u16.to_le_bytes());
		put(10, &(HEADER as u16).to_le_bytes());
		put(12, &self.flags.to_le_bytes());
		put(16, &self.stream.to_le_bytes());
		put(24, &self.number.to_le_bytes());
		put(32, &self.instance.to_le_bytes());
		put(40, &self.pid.to_le_bytes());
		put(44, &self.tid.to_le_bytes());
		put(48, &self.next_seq.to_le_bytes());
		for (at, clock) in [(56, self.begin), (80, self.seal)] {
			put(at, &clock.ticks.to_le_bytes());
			put(at + 8, &clock.monotonic.to_le_bytes());
			put(at + 16, &clock.realtime.to_le_bytes());
		}
		put(104, &self.base_stream.to_le_bytes());
		put(112, &self.base_seq.to_le_bytes());
		put(120, &self.first_tick.to_le_bytes());
		put(136, &self.depth.to_le_bytes());
		put(140, &[self.clock]);
		for (at, read_at, known) in [(144, 176, self.use_begin), (160, 184, self.use_seal)] {
			let Some(ThreadUse { ran, waited, read }) = known else { continue };
			put(at, &ran.saturating_add(1).to_le_bytes());
			put(at + 8, &waited.to_le_bytes());
			put(read_at, &read.map_or(0, |read| read.saturating_add(1)).to_le_bytes());
		}
		bytes
	}
}

/// A chunk: its header and its committed rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk<'a> {
	pub header: Header,
	pub rows: &'a [u8],
	/// Header and rows as they lie in the file.
	pub bytes: &'a [u8],
	/// Where in the file.
	pub offset: u64,
}

/// Bytes that were left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Skip {
	pub offset: u64,
	pub bytes: u64,
	pub reason: Reason,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment<'a> {
	Chunk(Chunk<'a>),
	Skipped(Skip),
}

/// All chunks of a stream file. What is between them and no good comes as [`Segment::Skipped`]; chunks and
/// skips together cover every byte once, in order.
pub fn chunks(data: &[u8]) -> Chunks<'_> {
	Chunks { data, at: 0 }
}

#[derive(Debug, Clone)]
pub struct Chunks<'a> {
	data: &'a [u8],
	at: usize,
}

impl<'a> Iterator for Chunks<'a> {
	type Item = Segment<'a>;

	fn next(&mut self) -> Option<Segment<'a>> {
		if self.at >= self.data.len() {
			return None;
		}
		let reason = match read(self.data, self.at, Unsealed::Refuse) {
			Ok(chunk) => {
				self.at += chunk.bytes.len();
				return Some(Segment::Chunk(chunk));
			}
			Err(reason) => reason,
		};
		let begin = self.at;
		self.at = self.next_good(begin + 1);
		Some(Segment::Skipped(Skip {
			offset: begin as u64,
			bytes: (self.at - begin) as u64,
			reason,
		}))
	}
}

impl Chunks<'_> {
	/// Where the next chunk that can be trusted begins; the end when there is none.
	fn next_good(&self, from: usize) -> usize {
		let mut at = from;
		while let Some(begin) = find_magic(self.data, at) {
			if read(self.data, begin, Unsealed::Refuse).is_ok() {
				return begin;
			}
			at = begin + 1;
		}
		self.data.len()
	}
}

fn find_magic(data: &[u8], from: usize) -> Option<usize> {
	let rest = data.get(from..)?;
	rest.windows(MAGIC.len()).position(|window| window == MAGIC).map(|at| from + at)
}

/// Are chunks without a checksum taken? Only in a ring, where they are what a dead process left.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unsealed {
	Refuse,
	Take,
}

/// The chunk that `data` is, if its checksum says so.
pub fn sealed_chunk(data: &[u8]) -> Result<Chunk<'_>, Reason> {
	read(data, 0, Unsealed::Refuse)
}

/// Where the next chunk may begin, from `from` on.
pub fn find_chunk(data: &[u8], from: usize) -> Option<usize> {
	find_magic(data, from)
}

/// The chunk at `at`, if it is one.
pub(crate) fn read(data: &[u8], at: usize, unsealed: Unsealed) -> Result<Chunk<'_>, Reason> {
	let rest = data.get(at..).unwrap_or_default();
	let header = Header::read(rest)?;
	let length = usize::from(header.length);
	let end = header.chunk_bytes();
	let Some(bytes) = rest.get(..end) else {
		let present = rest.len().saturating_sub(length) as u64;
		return Err(Reason::Truncated { committed: header.committed, present });
	};
	if header.sealed() {
		let computed = checksum(bytes);
		if computed != header.crc {
			return Err(Reason::Checksum { stored: header.crc, computed });
		}
	} else if unsealed == Unsealed::Refuse {
		return Err(Reason::NotSealed);
	}
	Ok(Chunk { rows: &bytes[length..], header, bytes, offset: at as u64 })
}

/// CRC-32C of header and rows, the checksum's own bytes taken as zeros.
pub(crate) fn checksum(bytes: &[u8]) -> u32 {
	let (before, rest) = bytes.split_at(CRC_AT.min(bytes.len()));
	let after = rest.get(4..).unwrap_or_default();
	crc32c::crc32c_append(crc32c::crc32c_append(crc32c::crc32c(before), &[0; 4]), after)
}
