//! Records: what stands between the rows. `docs/stream-format.md`, "Records".

use serde::{Deserialize, Serialize};

use crate::bytes::{put_text, put_varint, put_zigzag};

/// A record that is numbers and texts in a row: `plain.rs` is made from the catalog.
pub trait Plain {
	const TYPE: u8;
	const NAME: &'static str;

	/// Its parts in order, with their names.
	fn each_part(&self, see: impl FnMut(&'static str, Part<'_>));

	/// The same, and what the record is called.
	fn named(&self, see: impl FnMut(&'static str, Part<'_>)) -> Option<&'static str> {
		self.each_part(see);
		Some(Self::NAME)
	}
}

/// A part of a plain record, as it is written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Part<'a> {
	Number(u64),
	Signed(i64),
	/// Eight bytes: a hash, or who a process or stream is.
	Bytes(u64),
	Text(&'a [u8]),
}

impl Part<'_> {
	pub fn put(self, out: &mut Vec<u8>) {
		match self {
			Part::Number(value) => put_varint(out, value),
			Part::Signed(value) => put_zigzag(out, value),
			Part::Bytes(value) => out.extend(value.to_le_bytes()),
			Part::Text(value) => put_text(out, value),
		}
	}
}

#[derive(Debug, Clone, PartialEq)]
pub struct Object<'a> {
	pub object: u32,
	pub class: u32,
	pub parent: u32,
	/// Seq of the call that made it, or [`crate::NO_SEQ`].
	pub created_by: u64,
	pub name: &'a [u8],
	/// By class, in the order of the format; signed ones as their 64 bits.
	pub numbers: Vec<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Selection {
	pub selection: u32,
	pub form: u32,
	pub exact: bool,
	pub rank: u32,
	pub displacement: i64,
	pub unit: u64,
	pub period: u64,
	pub total: u64,
	/// rank × (start, count)
	pub bounds: Vec<u64>,
	pub hash: u64,
	pub blocks: u64,
	/// blocks × rank × (start, count)
	pub block: Vec<u64>,
	/// Of elements: from the first to the last in the array they lie in; 0: not known.
	pub span: u64,
	/// Of bytes in too many blocks to be listed: all of them, where they are this regular.
	pub parts: Vec<Repeated>,
}

/// A block of bytes that is repeated, level within level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeated {
	pub start: u64,
	pub bytes: u64,
	/// Count and stride, outermost first.
	pub levels: Vec<(u64, u64)>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Counter {
	pub op: u32,
	pub object: u32,
	/// Op + 1; 0: none.
	pub enclosing: u32,
	pub calls: u64,
	pub errors: u64,
	pub bytes: u64,
	pub ticks: u64,
	pub min: u64,
	pub max: u64,
	pub first: u64,
	pub last: u64,
	/// Of calls that move data.
	pub data: Option<Box<CounterData>>,
}

/// Bins of a histogram by powers of four.
pub const BINS: usize = 17;

/// 0 is size 0, i is [4^(i-1), 4^i), the last is open-ended.
#[inline]
pub fn size_bin(size: i64) -> usize {
	let bits = 64 - size.max(0).leading_zeros() as usize;
	bits.div_ceil(2).min(BINS - 1)
}

/// The bit behind those of the counts that are known.
pub const SIZES_KNOWN: u64 = 1 << 10;

/// What a counter says of calls that move data.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CounterData {
	pub sizes: [u64; BINS],
	/// `None`: counted without regard to files.
	pub file: Option<FileData>,
	/// In place of `file`: what another tool counted of the same.
	pub some: Option<SomeCounts>,
}

/// Counts of which only some are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SomeCounts {
	pub sizes_known: bool,
	/// A bit for each of [`PatternCounts::each`] that is known.
	pub known: u16,
	pub counts: PatternCounts,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FileData {
	pub extents: [u64; BINS],
	pub counts: PatternCounts,
	pub order: Order,
	/// Of the first entry of its object: 1 the thread's last access to it was a read, 2 a write. 0: another entry's.
	pub turn: u32,
	/// The size of the last accesses, and how many of them had it: in no tally.
	pub size_run: (i64, u64),
	/// Likewise the distance between the last accesses.
	pub stride_run: (i64, u64),
}

/// Accesses by what they are like. What is known late may take counts back. The ten are frozen (`enum pattern_count` of
/// `runtime/core/counters.h`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PatternCounts {
	pub sequential: i64,
	pub consecutive: i64,
	pub strided: i64,
	pub unaligned_file: i64,
	pub unaligned_memory: i64,
	pub contiguous: i64,
	pub holes_memory: i64,
	pub holes_file: i64,
	pub holes_both: i64,
	pub switches: i64,
}

impl PatternCounts {
	pub fn each(&self) -> [i64; 10] {
		[
			self.sequential,
			self.consecutive,
			self.strided,
			self.unaligned_file,
			self.unaligned_memory,
			self.contiguous,
			self.holes_memory,
			self.holes_file,
			self.holes_both,
			self.switches,
		]
	}

	pub fn of(n: [i64; 10]) -> PatternCounts {
		PatternCounts {
			sequential: n[0],
			consecutive: n[1],
			strided: n[2],
			unaligned_file: n[3],
			unaligned_memory: n[4],
			contiguous: n[5],
			holes_memory: n[6],
			holes_file: n[7],
			holes_both: n[8],
			switches: n[9],
		}
	}
}

/// Where a row of accesses begins and ends in the file: what is needed to go on with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Order {
	/// Accesses whose offset is known; 0: the rest says nothing.
	pub located: u64,
	pub first_offset: i64,
	pub first_end: i64,
	/// The first one's when there is no other.
	pub second_offset: i64,
	pub last_offset: i64,
	pub last_end: i64,
	/// Between the last two offsets; 0 when there is one.
	pub distance: i64,
}

/// What was counted by time: bins of `1 << shift` ticks.
#[derive(Debug, Clone, PartialEq)]
pub struct Heat {
	/// Any op of the layer and direction.
	pub op: u32,
	pub shift: u32,
	/// Number of the first bin, from tick 0.
	pub first: u64,
	pub bins: Vec<HeatBin>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeatBin {
	pub calls: u64,
	pub bytes: u64,
	pub ticks: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct OpenCall {
	pub seq: u64,
	/// Op + 1; 0: unknown.
	pub op: u32,
	pub object: u32,
	pub began: u64,
	pub site: u32,
	pub size: i64,
	pub offset: i64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Group {
	pub object: u32,
	pub hash: u64,
	pub size: u32,
	pub ordinal: u32,
	pub own: u32,
	pub members: Vec<u32>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Samples {
	/// CLOCK_MONOTONIC, ns.
	pub time: u64,
	/// Value of each series, series ascending.
	pub values: Vec<(u32, i64)>,
}
