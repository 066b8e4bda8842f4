//! The payloads of records that are more than numbers and texts in a row, read. `docs/stream-format.md`, "Records".

use crate::bytes::Cursor;
use crate::error::Reason;
use crate::format::{counter_detail, object_class};
use crate::record::{
	BINS, Counter, CounterData, FileData, Group, Heat, HeatBin, Object, OpenCall, Order,
	PatternCounts, Repeated, SIZES_KNOWN, Samples, Selection, SomeCounts,
};
use crate::{MAX_DEPTH, MOST_CALLS, NO_SEQ};

pub(crate) fn object<'a>(from: &mut Cursor<'a>) -> Result<Object<'a>, Reason> {
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

pub(crate) fn selection(from: &mut Cursor<'_>) -> Result<Selection, Reason> {
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

pub(crate) fn counter(from: &mut Cursor<'_>) -> Result<Counter, Reason> {
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

pub(crate) fn heat(from: &mut Cursor<'_>) -> Result<Heat, Reason> {
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

pub(crate) fn call_number(seq: u64) -> Result<u64, Reason> {
	if seq < MOST_CALLS { Ok(seq) } else { Err(Reason::TooLarge("the number of a call")) }
}

pub(crate) fn open(from: &mut Cursor<'_>) -> Result<Vec<OpenCall>, Reason> {
	let count = from.count("open calls")?;
	if count > MAX_DEPTH + 1 {
		return Err(Reason::TooLarge("open calls"));
	}
	(0..count)
		.map(|_| {
			Ok(OpenCall {
				seq: call_number(from.varint()?)?,
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

pub(crate) fn group(from: &mut Cursor<'_>) -> Result<Group, Reason> {
	let object = from.number("object")?;
	let hash = from.u64()?;
	let (size, ordinal, own) =
		(from.number("size")?, from.number("ordinal")?, from.number("rank")?);
	let count = from.count("members")?;
	let members = (0..count).map(|_| from.number("rank")).collect::<Result<_, _>>()?;
	Ok(Group { object, hash, size, ordinal, own, members })
}

pub(crate) fn samples(from: &mut Cursor<'_>) -> Result<Samples, Reason> {
	let time = from.varint()?;
	let count = from.count("samples")?;
	let mut series = 0u32;
	let values = (0..count).map(|_| {
		series = series.checked_add(from.number("series")?).ok_or(Reason::TooLarge("series"))?;
		Ok((series, from.zigzag()?))
	});
	Ok(Samples { time, values: values.collect::<Result<_, Reason>>()? })
}
