//! Records: what stands between the rows. `docs/stream-format.md`, "Records".

use serde::{Deserialize, Serialize};

use crate::format::{op_flag, unfinished_reason};

#[derive(Debug, Clone, PartialEq)]
pub enum Record<'a> {
	Op(OpRecord<'a>),
	Object(Object<'a>),
	Site(Site<'a>),
	Module(Module<'a>),
	Selection(Selection),
	Link(Link),
	Mark(Mark<'a>),
	Hint(Hint<'a>),
	Counter(Counter),
	Process(ProcessRecord<'a>),
	Open(Vec<OpenCall>),
	Unfinished(Unfinished),
	Rank(Rank<'a>),
	Text(Text<'a>),
	Group(Group),
	Inside(Inside),
	Series(Series<'a>),
	Samples(Samples),
	Kernel(KernelEvent),
	Tally(Tally),
	Heat(Heat),
	Datatype(Datatype<'a>),
	/// Of a later version.
	Unknown(u8),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OpRecord<'a> {
	pub op: u32,
	pub layer: &'a [u8],
	pub name: &'a [u8],
	pub kind: &'a [u8],
	/// Comma-separated.
	pub fields: &'a [u8],
	pub flags: u64,
}

impl OpRecord<'_> {
	/// The field that says how many pieces of memory a call moves.
	pub fn pieces(&self) -> Option<usize> {
		((self.flags >> op_flag::PIECES_SHIFT & op_flag::PIECES_MASK) as usize).checked_sub(1)
	}

	pub fn field_count(&self) -> usize {
		if self.fields.is_empty() {
			return 0;
		}
		1 + self.fields.iter().filter(|&&byte| byte == b',').count()
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

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Site<'a> {
	pub site: u32,
	pub module: u32,
	pub offset: u64,
	pub entry: &'a [u8],
	/// Of the script that the call was made by; empty: of none.
	pub source: &'a [u8],
	pub line: u32,
	pub function: &'a [u8],
	/// The site that the function around it was called from; 0: unknown.
	pub caller: u32,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Module<'a> {
	pub module: u32,
	pub base: u64,
	pub build_id: &'a [u8],
	pub path: &'a [u8],
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

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
	pub seq: u64,
	pub to_stream: u64,
	pub to_seq: u64,
	pub kind: u32,
	pub bytes: u64,
	pub percent: u32,
}

/// Calls from this one on are directly inside a counted call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Inside {
	pub seq: u64,
	/// Of the counted call, plus 1; 0: of none.
	pub op: u32,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mark<'a> {
	pub ticks: u64,
	pub kind: &'a [u8],
	pub detail: &'a [u8],
	pub value: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hint<'a> {
	pub object: u32,
	pub source: u32,
	pub key: &'a [u8],
	pub value: &'a [u8],
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

/// Accesses by what they are like. What is known late may take counts back.
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

/// How often a value occurred.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tally {
	pub op: u32,
	pub object: u32,
	/// Op + 1; 0: none.
	pub enclosing: u32,
	/// A number of [`crate::tallied`]. Of `DROPPED`, `bound` is the most occurrences that a value may have had.
	pub what: u32,
	pub value: i64,
	pub calls: u64,
	pub bound: u64,
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

/// The name of a datatype, or of a function, that a tally counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Datatype<'a> {
	pub number: u32,
	pub name: &'a [u8],
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProcessRecord<'a> {
	pub parent_pid: u32,
	pub host: &'a [u8],
	pub boot_id: &'a [u8],
	pub executable: &'a [u8],
	/// NUL between the words.
	pub command: &'a [u8],
	pub cwd: &'a [u8],
	pub run: &'a [u8],
	pub ticks_per_second: u64,
	pub start: u64,
	/// Rank + 1; 0: unknown.
	pub rank: u32,
	pub ranks: u32,
	/// A bit for each processor that its main thread may run on, lowest first; empty: unknown.
	pub allowed: &'a [u8],
	/// So many processors its cgroups give it, rounded up; 0: no limit.
	pub quota: u32,
}

impl ProcessRecord<'_> {
	/// Numbers of the processors that it may run on.
	pub fn processors(&self) -> impl Iterator<Item = usize> {
		let bits = (0..).zip(self.allowed);
		bits.flat_map(|(i, byte)| {
			(0..8).filter(move |bit| byte >> bit & 1 != 0).map(move |bit| i * 8 + bit)
		})
	}
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

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Unfinished {
	/// A number of [`crate::unfinished_reason`].
	pub reason: u32,
	pub seq: u64,
	/// Op + 1; 0: unknown.
	pub op: u32,
	pub depth: u32,
	pub object: u32,
	pub site: u32,
	pub began: u64,
	pub ended: u64,
	pub size: i64,
	pub offset: i64,
}

impl Unfinished {
	/// What is left of the calls of a thread whose process was killed, innermost first. They lasted at least to
	/// `last_tick`, the last one known of the thread.
	pub fn at_end(open: &[OpenCall], last_tick: u64) -> impl Iterator<Item = Unfinished> {
		let ended = open.iter().map(|call| call.began).fold(last_tick, u64::max);
		open.iter().enumerate().rev().map(move |(depth, call)| Unfinished {
			reason: unfinished_reason::OPEN_AT_END,
			seq: call.seq,
			op: call.op,
			depth: depth as u32,
			object: call.object,
			site: call.site,
			began: call.began,
			ended,
			size: call.size,
			offset: call.offset,
		})
	}
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rank<'a> {
	pub rank: u32,
	pub ranks: u32,
	pub mpi: &'a [u8],
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Text<'a> {
	pub seq: u64,
	pub name: &'a [u8],
	pub value: &'a [u8],
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

/// What an agent takes samples of: one number of its node, or of a process there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Series<'a> {
	pub series: u32,
	/// The process image; 0: the node.
	pub instance: u64,
	pub pid: u32,
	pub what: &'a [u8],
	/// Empty: there is none.
	pub device: &'a [u8],
	pub unit: &'a [u8],
}

#[derive(Debug, Clone, PartialEq)]
pub struct Samples {
	/// CLOCK_MONOTONIC, ns.
	pub time: u64,
	/// Value of each series, series ascending.
	pub values: Vec<(u32, i64)>,
}

/// What the kernel did for a thread, or by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KernelEvent {
	/// A number of [`crate::kernel_kind`].
	pub kind: u32,
	/// 0: of no process of the run.
	pub pid: u32,
	pub tid: u32,
	/// `major << 20 | minor`; 0: none.
	pub device: u32,
	/// CLOCK_MONOTONIC, ns.
	pub began: u64,
	pub ended: u64,
	pub inode: u64,
	/// Bytes in the file or on the disk; a transaction's number.
	pub at: u64,
	pub bytes: u64,
	/// Of a request, ns before the device had it.
	pub queued: u64,
}
