//! The payload of a record, read. `docs/stream-format.md`, "Records".

use crate::bytes::Cursor;
use crate::error::Reason;
use crate::format::{counter_detail, object_class, record_type};
use crate::record::{
	BINS, Counter, CounterData, Datatype, FileData, Group, Heat, HeatBin, Hint, Inside,
	KernelEvent, Link, Mark, Module, Object, OpRecord, OpenCall, Order, PatternCounts,
	ProcessRecord, Rank, Record, Repeated, SIZES_KNOWN, Samples, Selection, Series, Site,
	SomeCounts, Tally, Text, Unfinished,
};
use crate::{MAX_DEPTH, NO_SEQ};

/// The record of type `kind` whose payload is `payload`. Bytes at its end that are not known are left.
pub(crate) fn parse(kind: u8, payload: &[u8]) -> Result<Record<'_>, Reason> {
	let mut at = Cursor::new(payload);
	let from = &mut at;
	Ok(match kind {
		record_type::OP => Record::Op(op(from)?),
		record_type::OBJECT => Record::Object(object(from)?),
		record_type::SITE => Record::Site(site(from)?),
		record_type::MODULE => Record::Module(Module {
			module: from.number("module")?,
			base: from.varint()?,
			build_id: from.text()?,
			path: from.text()?,
		}),
		record_type::SELECTION => Record::Selection(selection(from)?),
		record_type::LINK => Record::Link(link(from)?),
		record_type::MARK => Record::Mark(Mark {
			ticks: from.varint()?,
			kind: from.text()?,
			detail: from.text()?,
			value: from.varint()?,
		}),
		record_type::HINT => Record::Hint(Hint {
			object: from.number("object")?,
			source: from.number("source")?,
			key: from.text()?,
			value: from.text()?,
		}),
		record_type::COUNTER => Record::Counter(counter(from)?),
		record_type::PROCESS => Record::Process(process(from)?),
		record_type::OPEN => Record::Open(open(from)?),
		record_type::UNFINISHED => Record::Unfinished(unfinished(from)?),
		record_type::RANK => Record::Rank(Rank {
			rank: from.number("rank")?,
			ranks: from.number("ranks")?,
			mpi: from.text()?,
		}),
		record_type::TEXT => {
			Record::Text(Text { seq: from.varint()?, name: from.text()?, value: from.text()? })
		}
		record_type::GROUP => Record::Group(group(from)?),
		record_type::INSIDE => {
			Record::Inside(Inside { seq: from.varint()?, op: from.number("op")? })
		}
		record_type::SERIES => Record::Series(series(from)?),
		record_type::SAMPLES => Record::Samples(samples(from)?),
		record_type::KERNEL => Record::Kernel(kernel(from)?),
		record_type::TALLY => Record::Tally(tally(from)?),
		record_type::HEAT => Record::Heat(heat(from)?),
		record_type::DATATYPE => {
			Record::Datatype(Datatype { number: from.number("datatype")?, name: from.text()? })
		}
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

fn site<'a>(from: &mut Cursor<'a>) -> Result<Site<'a>, Reason> {
	Ok(Site {
		site: from.number("site")?,
		module: from.number("module")?,
		offset: from.varint()?,
		entry: from.text()?,
		source: if from.is_empty() { b"" } else { from.text()? },
		line: if from.is_empty() { 0 } else { from.number("line")? },
		function: if from.is_empty() { b"" } else { from.text()? },
		caller: if from.is_empty() { 0 } else { from.number("caller")? },
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
		_ if object_class::WITH_DESCRIPTOR.contains(&class) => {
			let mut numbers = from.varints(5)?;
			numbers.push(from.zigzag()? as u64);
			numbers.extend(from.varints(4)?);
			Ok(numbers)
		}
		_ if object_class::WITH_OPENED.contains(&class) => from.varints(2),
		_ if object_class::WITH_MAPPING.contains(&class) => from.varints(2),
		_ if object_class::WITH_COMMUNICATOR.contains(&class) => from.varints(1),
		_ if object_class::WITH_ARRAY.contains(&class) => {
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
	if detail == counter_detail::NONE {
		return Ok(None);
	}
	let mut data = CounterData { sizes: histogram(from)?, ..CounterData::default() };
	match detail {
		counter_detail::SIZES => {}
		counter_detail::SOME => data.some = Some(some_counts(from)?),
		_ => data.file = Some(file_data(from)?),
	}
	Ok(Some(Box::new(data)))
}

fn some_counts(from: &mut Cursor<'_>) -> Result<SomeCounts, Reason> {
	let mask = from.varint()?;
	let mut counts = [0; 10];
	for (_, count) in counts.iter_mut().enumerate().filter(|(i, _)| mask >> i & 1 != 0) {
		*count = from.zigzag()?;
	}
	Ok(SomeCounts {
		sizes_known: mask & SIZES_KNOWN != 0,
		known: (mask & (SIZES_KNOWN - 1)) as u16,
		counts: PatternCounts::of(counts),
	})
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
		allowed: if from.is_empty() { b"" } else { from.text()? },
		quota: if from.is_empty() { 0 } else { from.number("quota")? },
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

fn kernel(from: &mut Cursor<'_>) -> Result<KernelEvent, Reason> {
	Ok(KernelEvent {
		kind: from.number("kind")?,
		pid: from.number("pid")?,
		tid: from.number("tid")?,
		device: from.number("device")?,
		began: from.varint()?,
		ended: from.varint()?,
		inode: from.varint()?,
		at: from.varint()?,
		bytes: from.varint()?,
		queued: from.varint()?,
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
