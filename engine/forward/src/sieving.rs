//! Data sieving of writes: small gaps between them, on a store that takes long for each access: what lies between is read,
//! and written back with them. Only where nobody else writes the file, and among writes that are done while no others are.

use fathom_record::Purpose;
use fathom_wire::SetAttr;
use fathom_wire::number::set;

use crate::queue::Run;
use crate::store::{Object, Result, Store};

/// Longest gap that is filled: moving it twice takes less than an access.
const GAP: u64 = 16 << 10;
/// Most bytes that are written together.
const SPAN: u64 = 1 << 20;
/// Fewer runs than these take no more accesses by themselves.
const LEAST: usize = 3;

/// Runs that are to be written together, those that are not one by one, in their order.
pub fn groups<'a, 'b>(runs: &'b [Run<'a>], fills: bool) -> Vec<&'b [Run<'a>]> {
	let mut all = Vec::new();
	let mut rest = runs;
	while !rest.is_empty() {
		let length = if fills { group_length(rest) } else { 1 };
		let length = if length < LEAST { 1 } else { length };
		let (group, behind) = rest.split_at(length);
		all.push(group);
		rest = behind;
	}
	all
}

/// How many runs from the first on are written together.
fn group_length(runs: &[Run<'_>]) -> usize {
	let begin = runs[0].offset;
	let joins = |two: &[Run<'_>]| {
		let (end, next) = (two[0].extent().end(), two[1].extent());
		let gap = next.offset.checked_sub(end); // overlapping ones keep their order
		gap.is_some_and(|gap| gap <= GAP) && next.end() - begin <= SPAN
	};
	1 + runs.windows(2).take_while(|two| joins(two)).count()
}

/// One read and one write, recorded for this purpose and by `begins`.
pub fn write(
	store: &Store,
	object: &Object,
	(group, purpose): (&[Run<'_>], Purpose),
	begins: impl FnOnce(),
) -> Result<()> {
	let (Some(first), Some(last)) = (group.first(), group.last()) else { return Ok(()) };
	let begin = first.offset;
	let mut span = vec![0; (last.extent().end() - begin) as usize];
	fathom_record::works_for(purpose);
	let bytes_read = store.read(object, &mut span, begin)?; // behind the end of the file are zeros
	for run in group {
		let mut at = (run.offset - begin) as usize;
		for part in &run.parts {
			span[at..at + part.bytes.len()].copy_from_slice(part.bytes);
			at += part.bytes.len();
		}
	}
	begins();
	let done = store.write(object, &[&span], begin);
	if done.is_err() && bytes_read < span.len() {
		cut_back(store, object, begin + bytes_read as u64);
	}
	done
}

/// Zeros in gaps behind the end of the file are not to stay there when what lies behind them could not be written.
fn cut_back(store: &Store, object: &Object, end: u64) {
	if store.attr(object).is_ok_and(|attr| attr.size > end) {
		let wanted = SetAttr { which: set::SIZE, size: end, ..SetAttr::default() };
		let _ = store.set_attr(object, &wanted, false);
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::queue::Part;

	fn runs(at: &[(u64, usize)]) -> Vec<Run<'static>> {
		static BYTES: [u8; 4096] = [7; 4096];
		let part = |length| Part { piece: 0, at: 0, bytes: &BYTES[..length] };
		at.iter().map(|&(offset, length)| Run { offset, parts: vec![part(length)] }).collect()
	}

	fn lengths(at: &[(u64, usize)], fills: bool) -> Vec<usize> {
		groups(&runs(at), fills).into_iter().map(<[_]>::len).collect()
	}

	#[test]
	fn what_lies_near_is_together_if_it_is_worth_it() {
		let at = [(0, 100), (200, 100), (300 + GAP, 100), (401 + 2 * GAP, 100), (9 << 20, 100)];
		assert_eq!(lengths(&at, true), [3, 1, 1]);
		assert_eq!(lengths(&at, false), [1; 5]);
		assert_eq!(lengths(&at[3..], true), [1, 1]);
		assert!(lengths(&[], true).is_empty());
	}

	#[test]
	fn what_overlaps_or_goes_back_keeps_its_order() {
		assert_eq!(lengths(&[(0, 10), (20, 10), (5, 10), (40, 10), (60, 10)], true), [1, 1, 3]);
	}

	#[test]
	fn no_more_than_a_span_is_together() {
		let every = GAP + 4096;
		let at: Vec<_> = (0..200).map(|i| (i * every, 4096)).collect();
		let most = 1 + ((SPAN - 4096) / every) as usize;
		assert_eq!(lengths(&at, true)[..2], [most, most]);
	}
}
