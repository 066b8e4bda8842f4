//! Writes at another server: as few requests as may be, and what one of them refuses is tried apart, so that the ranges that
//! failed are exact.

use fathom_record::Caller;
use fathom_wire::Extent;
use fathom_wire::number::limit;

use crate::callers::MOST_CALLERS;
use crate::layout::{Share, cut};
use crate::trouble::Trouble;

/// Ranges that were not written, each with why.
pub type FailedRanges = Vec<(Extent, Trouble)>;

/// Bytes that lie one after the other, to be written.
pub struct Stretch<'a> {
	pub offset: u64,
	pub parts: Vec<&'a [u8]>,
	/// The calls whose bytes these are, in their order.
	pub callers: Vec<Caller>,
}

impl Stretch<'_> {
	pub fn length(&self) -> usize {
		self.parts.iter().map(|part| part.len()).sum()
	}
}

/// What one server has of a stretch.
pub struct Portion<'a> {
	/// The stretch's number.
	stretch: usize,
	/// Its bytes in the server's file.
	target: Extent,
	/// In the file as programs know it.
	ranges: Vec<Extent>,
	data: Vec<&'a [u8]>,
	callers: Vec<Caller>,
}

impl<'a> Portion<'a> {
	/// All of it, in a file that the server has whole.
	pub fn whole(number: usize, stretch: &Stretch<'a>) -> Portion<'a> {
		let target = Extent { offset: stretch.offset, length: stretch.length() as u64 };
		Portion {
			stretch: number,
			target,
			ranges: vec![target],
			data: stretch.parts.clone(),
			callers: stretch.callers.clone(),
		}
	}

	pub fn of(number: usize, stretch: &Stretch<'a>, share: Share) -> Portion<'a> {
		let range = |(from, to): &(usize, usize)| Extent {
			offset: stretch.offset + *from as u64,
			length: (to - from) as u64,
		};
		let callers = |(from, to): &(usize, usize)| {
			fathom_record::cut(&stretch.callers, *from as u64..*to as u64)
		};
		Portion {
			stretch: number,
			target: share.extent(),
			ranges: share.parts.iter().map(range).collect(),
			data: share.parts.iter().flat_map(|part| cut(&stretch.parts, *part)).collect(),
			callers: share.parts.iter().flat_map(callers).collect(),
		}
	}
}

/// Portions cut into as few requests as may be: so many extents, bytes, and calls whose bytes they have.
fn requests<'a, 'b>(portions: &'b [Portion<'a>]) -> Vec<&'b [Portion<'a>]> {
	let (mut cuts, mut begin, mut bytes, mut callers) = (Vec::new(), 0, 0, 0);
	for (at, portion) in portions.iter().enumerate() {
		let (more, by) = (portion.target.length, portion.callers.len());
		let is_full = at - begin == limit::EXTENTS as usize
			|| bytes + more > u64::from(limit::DATA)
			|| callers + by > MOST_CALLERS;
		if is_full && at > begin {
			cuts.push(&portions[begin..at]);
			(begin, bytes, callers) = (at, 0, 0);
		}
		(bytes, callers) = (bytes + more, callers + by);
	}
	cuts.push(&portions[begin..]);
	cuts
}

/// In their order: what is written later may lie over what was before. `write` asks the server, `is_away` says that it did not
/// answer; what failed, with the stretch's number.
pub fn write_portions(
	portions: &[Portion<'_>],
	write: &impl Fn(&[Extent], &[&[u8]]) -> Result<(), Trouble>,
	is_away: &impl Fn() -> bool,
) -> Vec<(usize, Extent, Trouble)> {
	let mut failed = Vec::new();
	for batch in requests(portions) {
		let callers = batch.iter().flat_map(|portion| portion.callers.iter().copied()).collect();
		fathom_record::puts_together(|| fathom_record::joined(callers));
		let data: Vec<&[u8]> = batch.iter().flat_map(|portion| portion.data.clone()).collect();
		let extents: Vec<Extent> = batch.iter().map(|portion| portion.target).collect();
		let Err(trouble) = write(&extents, &data) else { continue };
		// what a server that answers has refused is some of it
		if batch.len() > 1 && !is_away() {
			for portion in batch {
				failed.extend(write_portions(std::slice::from_ref(portion), write, is_away));
			}
			continue;
		}
		let ranges = batch.iter().flat_map(|p| p.ranges.iter().map(|range| (p.stretch, *range)));
		failed.extend(ranges.map(|(stretch, range)| (stretch, range, trouble.clone())));
	}
	failed
}

/// What failed of each stretch, in the order of offsets.
pub fn by_stretch(stretches: usize, lost: Vec<(usize, Extent, Trouble)>) -> Vec<FailedRanges> {
	let mut failed = vec![Vec::new(); stretches];
	for (number, range, trouble) in lost {
		failed[number].push((range, trouble));
	}
	for lost in &mut failed {
		lost.sort_by_key(|(range, _)| range.offset);
	}
	failed
}
