//! Records: what stands between the rows. `docs/stream-format.md`, "Records".

use crate::bytes::Cursor;
use crate::error::Reason;
use crate::{MAX_DEPTH, NO_SEQ};

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
	pub const TRACKED: u64 = 1;
	pub const COLLECTIVE: u64 = 2;
	pub const READS: u64 = 4;
	pub const WRITES: u64 = 8;
	pub const ALIGNMENT: u64 = 16;

	/// The field that says how many pieces of memory a call moves.
	pub fn pieces(&self) -> Option<usize> {
		((self.flags >> 5 & 15) as usize).checked_sub(1)
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
	/// Seq of the call that made it, or [`NO_SEQ`].
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
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Module<'a> {
	pub module: u32,
	pub base: u64,
	pub build_id: &'a [u8],
	pub path: &'a [u8],
}

#[derive(Debug, Clone, PartialEq)]
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
#[derive(Debug, Clone, PartialEq, Eq)]
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

/// What a counter says of calls that move data.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CounterData {
	pub sizes: [u64; BINS],
	/// `None`: counted without regard to files.
	pub file: Option<FileData>,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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

/// How often a value was met.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tally {
	pub op: u32,
	pub object: u32,
	/// Op + 1; 0: none.
	pub enclosing: u32,
	/// 0: values that are not listed; `bound` is the most that one of them may have been met. 1 size, 2 stride,
	/// 3 extent, 4 datatype.
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

/// The name of a datatype that a tally counts.
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
	/// 1 left by longjmp or exception, 2 open at exit or kill (`OPEN_AT_END`), 3 thread ended.
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
	pub const OPEN_AT_END: u32 = 2;

	/// What is left of the calls of a thread whose process was killed, innermost first. They lasted at least to
	/// `last_tick`, the last one known of the thread.
	pub fn at_end(open: &[OpenCall], last_tick: u64) -> impl Iterator<Item = Unfinished> {
		let ended = open.iter().map(|call| call.began).fold(last_tick, u64::max);
		open.iter().enumerate().rev().map(move |(depth, call)| Unfinished {
			reason: Self::OPEN_AT_END,
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

/// The record of type `kind` whose payload is `payload`. Bytes at its end that are not known are left.
pub(crate) fn parse(kind: u8, payload: &[u8]) -> Result<Record<'_>, Reason> {
	let mut at = Cursor::new(payload);
	let from = &mut at;
	Ok(match kind {
		1 => Record::Op(op(from)?),
		2 => Record::Object(object(from)?),
		3 => Record::Site(Site {
			site: from.number("site")?,
			module: from.number("module")?,
			offset: from.varint()?,
			entry: from.text()?,
		}),
		4 => Record::Module(Module {
			module: from.number("module")?,
			base: from.varint()?,
			build_id: from.text()?,
			path: from.text()?,
		}),
		5 => Record::Selection(selection(from)?),
		6 => Record::Link(link(from)?),
		7 => Record::Mark(Mark {
			ticks: from.varint()?,
			kind: from.text()?,
			detail: from.text()?,
			value: from.varint()?,
		}),
		8 => Record::Hint(Hint {
			object: from.number("object")?,
			source: from.number("source")?,
			key: from.text()?,
			value: from.text()?,
		}),
		9 => Record::Counter(counter(from)?),
		10 => Record::Process(process(from)?),
		11 => Record::Open(open(from)?),
		12 => Record::Unfinished(unfinished(from)?),
		13 => Record::Rank(Rank {
			rank: from.number("rank")?,
			ranks: from.number("ranks")?,
			mpi: from.text()?,
		}),
		14 => Record::Text(Text { seq: from.varint()?, name: from.text()?, value: from.text()? }),
		15 => Record::Group(group(from)?),
		20 => Record::Inside(Inside { seq: from.varint()?, op: from.number("op")? }),
		32 => Record::Series(series(from)?),
		33 => Record::Samples(samples(from)?),
		16 => Record::Tally(tally(from)?),
		17 => Record::Heat(heat(from)?),
		18 => Record::Datatype(Datatype { number: from.number("datatype")?, name: from.text()? }),
		other => Record::Unknown(other),
	})
}

fn op<'a>(from: &mut Cursor<'a>) -> Result<OpRecord<'a>, Reason> {
	Ok(OpRecord {
		op: from.number("op")?,
		layer: from.text()?,
		name: from.text()?,
		kind: from.text()?,
		fields: from.text()?,
		flags: from.varint()?,
	})
}

fn object<'a>(from: &mut Cursor<'a>) -> Result<Object<'a>, Reason> {
	let (object, class) = (from.number("object")?, from.number("class")?);
	let parent = from.number("object")?;
	let created_by = from.varint()?.checked_sub(1).unwrap_or(NO_SEQ);
	let name = from.text()?;
	let numbers = object_numbers(from, class)?;
	Ok(Object { object, class, parent, created_by, name, numbers })
}

fn object_numbers(from: &mut Cursor<'_>, class: u32) -> Result<Vec<u64>, Reason> {
	match class {
		1 | 7 => {
			let mut numbers = from.varints(5)?;
			numbers.push(from.zigzag()? as u64);
			numbers.extend(from.varints(4)?);
			Ok(numbers)
		}
		3 | 6 | 13 | 15 => from.varints(2),
		19 => from.varints(1),
		5 | 11 | 14 | 16 => {
			let mut numbers = vec![from.varint()?];
			let rank = from.count("rank")?;
			numbers.extend(from.varints(rank)?);
			Ok(numbers)
		}
		_ => Ok(Vec::new()),
	}
}

fn selection(from: &mut Cursor<'_>) -> Result<Selection, Reason> {
	let (selection, form) = (from.number("selection")?, from.number("form")?);
	let exact = from.varint()? != 0;
	let rank = from.number("rank")?;
	let displacement = from.zigzag()?;
	let (unit, period, total) = (from.varint()?, from.varint()?, from.varint()?);
	let pairs = |blocks: u64| {
		let numbers = u64::from(rank).checked_mul(2).and_then(|pair| pair.checked_mul(blocks));
		numbers.and_then(|n| usize::try_from(n).ok()).ok_or(Reason::TooLarge("selection"))
	};
	let bounds = from.varints(pairs(1)?)?;
	let hash = from.varint()?;
	let blocks = from.varint()?;
	let block = from.varints(pairs(blocks)?)?;
	let span = if from.is_empty() { 0 } else { from.varint()? };
	let parts = if from.is_empty() { 0 } else { from.count("parts")? };
	let parts = (0..parts).map(|_| repeated(from)).collect::<Result<_, Reason>>()?;
	Ok(Selection {
		selection,
		form,
		exact,
		rank,
		displacement,
		unit,
		period,
		total,
		bounds,
		hash,
		blocks,
		block,
		span,
		parts,
	})
}

fn repeated(from: &mut Cursor<'_>) -> Result<Repeated, Reason> {
	let (start, bytes) = (from.varint()?, from.varint()?);
	let levels = from.count("levels")?;
	let level = |from: &mut Cursor<'_>| Ok((from.varint()?, from.varint()?));
	let levels = (0..levels).map(|_| level(from)).collect::<Result<_, Reason>>()?;
	Ok(Repeated { start, bytes, levels })
}

fn link(from: &mut Cursor<'_>) -> Result<Link, Reason> {
	Ok(Link {
		seq: from.varint()?,
		to_stream: from.u64()?,
		to_seq: from.varint()?,
		kind: from.number("kind")?,
		bytes: from.varint()?,
		percent: from.number("percent")?,
	})
}

fn counter(from: &mut Cursor<'_>) -> Result<Counter, Reason> {
	Ok(Counter {
		op: from.number("op")?,
		object: from.number("object")?,
		enclosing: from.number("op")?,
		calls: from.varint()?,
		errors: from.varint()?,
		bytes: from.varint()?,
		ticks: from.varint()?,
		min: from.varint()?,
		max: from.varint()?,
		first: from.varint()?,
		last: from.varint()?,
		data: if from.is_empty() { None } else { counter_data(from)? },
	})
}

fn counter_data(from: &mut Cursor<'_>) -> Result<Option<Box<CounterData>>, Reason> {
	let detail = from.varint()?;
	if detail == 0 {
		return Ok(None);
	}
	let mut data = CounterData { sizes: histogram(from)?, file: None };
	if detail > 1 {
		data.file = Some(file_data(from)?);
	}
	Ok(Some(Box::new(data)))
}

fn file_data(from: &mut Cursor<'_>) -> Result<FileData, Reason> {
	let extents = histogram(from)?;
	let mut counts = [0; 10];
	for count in &mut counts {
		*count = from.zigzag()?;
	}
	Ok(FileData {
		extents,
		counts: PatternCounts::of(counts),
		order: order(from)?,
		turn: from.number("turn")?,
		size_run: (from.zigzag()?, from.varint()?),
		stride_run: (from.zigzag()?, from.varint()?),
	})
}

/// A bit for each bin that has something, then how much.
fn histogram(from: &mut Cursor<'_>) -> Result<[u64; BINS], Reason> {
	let mask = from.varint()?;
	if mask >> BINS != 0 {
		return Err(Reason::TooLarge("histogram"));
	}
	let mut bins = [0; BINS];
	for (_, bin) in bins.iter_mut().enumerate().filter(|(i, _)| mask >> i & 1 != 0) {
		*bin = from.varint()?;
	}
	Ok(bins)
}

fn order(from: &mut Cursor<'_>) -> Result<Order, Reason> {
	let located = from.varint()?;
	if located == 0 {
		return Ok(Order::default());
	}
	let first_offset = from.zigzag()?;
	let first_end = first_offset.wrapping_add(from.zigzag()?);
	let second_offset = first_offset.wrapping_add(from.zigzag()?);
	let last_offset = from.zigzag()?;
	let last_end = last_offset.wrapping_add(from.zigzag()?);
	let distance = from.zigzag()?;
	Ok(Order { located, first_offset, first_end, second_offset, last_offset, last_end, distance })
}

fn tally(from: &mut Cursor<'_>) -> Result<Tally, Reason> {
	Ok(Tally {
		op: from.number("op")?,
		object: from.number("object")?,
		enclosing: from.number("op")?,
		what: from.number("what")?,
		value: from.zigzag()?,
		calls: from.varint()?,
		bound: from.varint()?,
	})
}

fn heat(from: &mut Cursor<'_>) -> Result<Heat, Reason> {
	let (op, shift, first) = (from.number("op")?, from.number("shift")?, from.varint()?);
	if shift > 63 {
		return Err(Reason::TooLarge("shift"));
	}
	let count = from.count("bins")?;
	let bin = |from: &mut Cursor<'_>| {
		Ok(HeatBin { calls: from.varint()?, bytes: from.varint()?, ticks: from.varint()? })
	};
	let bins = (0..count).map(|_| bin(from)).collect::<Result<_, _>>()?;
	Ok(Heat { op, shift, first, bins })
}

fn process<'a>(from: &mut Cursor<'a>) -> Result<ProcessRecord<'a>, Reason> {
	Ok(ProcessRecord {
		parent_pid: from.number("pid")?,
		host: from.text()?,
		boot_id: from.text()?,
		executable: from.text()?,
		command: from.text()?,
		cwd: from.text()?,
		run: from.text()?,
		ticks_per_second: from.varint()?,
		start: from.varint()?,
		rank: from.number("rank")?,
		ranks: from.number("ranks")?,
	})
}

fn open(from: &mut Cursor<'_>) -> Result<Vec<OpenCall>, Reason> {
	let count = from.count("open calls")?;
	if count > MAX_DEPTH + 1 {
		return Err(Reason::TooLarge("open calls"));
	}
	(0..count)
		.map(|_| {
			Ok(OpenCall {
				seq: from.varint()?,
				op: from.number("op")?,
				object: from.number("object")?,
				began: from.varint()?,
				site: from.number("site")?,
				size: from.zigzag()?,
				offset: from.zigzag()?,
			})
		})
		.collect()
}

fn unfinished(from: &mut Cursor<'_>) -> Result<Unfinished, Reason> {
	Ok(Unfinished {
		reason: from.number("reason")?,
		seq: from.varint()?,
		op: from.number("op")?,
		depth: from.number("depth")?,
		object: from.number("object")?,
		site: from.number("site")?,
		began: from.varint()?,
		ended: from.varint()?,
		size: from.zigzag()?,
		offset: from.zigzag()?,
	})
}

fn group(from: &mut Cursor<'_>) -> Result<Group, Reason> {
	let object = from.number("object")?;
	let hash = from.u64()?;
	let (size, ordinal, own) =
		(from.number("size")?, from.number("ordinal")?, from.number("rank")?);
	let count = from.count("members")?;
	let members = (0..count).map(|_| from.number("rank")).collect::<Result<_, _>>()?;
	Ok(Group { object, hash, size, ordinal, own, members })
}

fn series<'a>(from: &mut Cursor<'a>) -> Result<Series<'a>, Reason> {
	Ok(Series {
		series: from.number("series")?,
		instance: from.u64()?,
		pid: from.number("pid")?,
		what: from.text()?,
		device: from.text()?,
		unit: from.text()?,
	})
}

fn samples(from: &mut Cursor<'_>) -> Result<Samples, Reason> {
	let time = from.varint()?;
	let count = from.count("samples")?;
	let mut series = 0u32;
	let values = (0..count).map(|_| {
		series = series.checked_add(from.number("series")?).ok_or(Reason::TooLarge("series"))?;
		Ok((series, from.zigzag()?))
	});
	Ok(Samples { time, values: values.collect::<Result<_, Reason>>()? })
}
