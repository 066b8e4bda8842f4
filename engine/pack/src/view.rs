//! Which bytes of a file a rank's MPI-IO call moved: its file view as a function from places in the file to
//! numbers of accessible bytes, which ascend together.

use fathom_stream::{Repeated, Selection, selection_form};

/// How sure the answer is: of views whose blocks are known, and of those of which only the box is, whose bytes
/// are taken to lie evenly in it.
pub const SURE: u8 = 100;
pub const SPREAD: u8 = 50;

/// The bytes of one call, by their numbers in its view.
#[derive(Debug, Clone, Copy)]
pub struct Moved<'s> {
	view: Option<&'s Selection>,
	from: u64,
	to: u64,
	pub percent: u8,
}

impl<'s> Moved<'s> {
	/// Of a call of `bytes` that began at byte `offset` of the file, or at the first byte of its view
	/// (`at_start`). `None`: where it moved them is not known.
	pub fn new(
		view: Option<&'s Selection>,
		offset: Option<i64>,
		at_start: bool,
		bytes: u64,
	) -> Option<Moved<'s>> {
		let percent = match view {
			None => SURE,
			Some(view) if view.form != selection_form::BYTES || view.total == 0 => return None,
			Some(view) if is_listed(view) => SURE,
			Some(_) => SPREAD,
		};
		let mut moved = Moved { view, from: 0, to: u64::MAX, percent };
		let offset = offset.filter(|&offset| offset >= 0 && percent == SURE);
		moved.from = match offset {
			Some(offset) => moved.before(offset),
			None if at_start && view.is_some() => 0,
			None => return None,
		};
		moved.to = moved.from.checked_add(bytes)?;
		// Periods that reach into one another: only the first one's bytes are in order.
		let overlap = view.is_some_and(|view| end(view) > view.period && moved.to > view.total);
		(!overlap).then_some(moved)
	}

	/// Its bytes among those of the file from `start` up to `stop`.
	pub fn between(&self, start: i64, stop: i64) -> u64 {
		let clamp = |n: u64| n.clamp(self.from, self.to);
		clamp(self.before(stop)).saturating_sub(clamp(self.before(start)))
	}

	/// First and last byte that it may have moved, plus one.
	pub fn reach(&self) -> (i64, i64) {
		let Some(view) = self.view else { return (self.from as i64, self.to as i64) };
		let tile = |n: u64| (n / view.total).saturating_mul(view.period) as i64;
		let first = view.displacement.saturating_add(tile(self.from));
		let last = view.displacement.saturating_add(tile(self.to.saturating_sub(1)));
		(first, last.saturating_add(end(view) as i64))
	}

	/// Accessible bytes before byte `place` of the file.
	fn before(&self, place: i64) -> u64 {
		let Some(view) = self.view else { return place.max(0) as u64 };
		let Ok(rest) = u64::try_from(place.saturating_sub(view.displacement)) else { return 0 };
		if end(view) > view.period {
			return within(view, rest); // of one period
		}
		(rest / view.period).saturating_mul(view.total) + within(view, rest % view.period)
	}
}

fn is_listed(view: &Selection) -> bool {
	(view.exact && view.blocks > 0) || !view.parts.is_empty()
}

/// Where the bytes of a period end.
fn end(view: &Selection) -> u64 {
	let of_part = |part: &Repeated| {
		let steps =
			part.levels.iter().map(|&(n, stride)| n.saturating_sub(1).saturating_mul(stride));
		steps.fold(part.start.saturating_add(part.bytes), u64::saturating_add)
	};
	let of_block = |block: &[u64]| block[0].saturating_add(block[1]);
	let parts = view.parts.iter().map(of_part);
	parts
		.chain(view.block.chunks_exact(2).map(of_block))
		.max()
		.unwrap_or_else(|| view.bounds.iter().take(2).fold(0, |sum, &n| sum.saturating_add(n)))
}

/// Of one period's bytes, those before byte `place` of it.
fn within(view: &Selection, place: u64) -> u64 {
	if !view.parts.is_empty() {
		return view.parts.iter().map(|part| of_part(part, place)).sum();
	}
	if view.exact && view.blocks > 0 {
		let of_block = |block: &[u64]| place.saturating_sub(block[0]).min(block[1]);
		return view.block.chunks_exact(2).map(of_block).sum();
	}
	let (start, span) = (view.bounds.first().copied(), view.bounds.get(1).copied());
	let span = span.unwrap_or(0).max(1);
	let rest = place.saturating_sub(start.unwrap_or(0)).min(span);
	(u128::from(rest) * u128::from(view.total) / u128::from(span)) as u64
}

fn of_part(part: &Repeated, place: u64) -> u64 {
	let Some(mut rest) = place.checked_sub(part.start) else { return 0 };
	let mut whole = part.levels.iter().fold(part.bytes, |all, level| all.saturating_mul(level.0));
	let mut before = 0;
	for &(count, stride) in &part.levels {
		let copies = rest / stride.max(1);
		if copies >= count {
			return before + whole;
		}
		whole /= count;
		before += copies * whole;
		rest -= copies * stride;
	}
	before + rest.min(whole)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
	use super::*;
	use proptest::prelude::*;

	/// Blocks of one period, from gaps and lengths, as a list or as the same block repeated in two levels.
	fn views() -> impl Strategy<Value = (Selection, Vec<u64>)> {
		let listed = prop::collection::vec((0u64..5, 1u64..6), 1..8).prop_map(|gaps| {
			let mut at = 0;
			let mut block = Vec::new();
			for (gap, length) in gaps {
				block.extend([at + gap, length]);
				at += gap + length;
			}
			(block, Vec::new())
		});
		let repeated = (0u64..9, 1u64..5, 1u64..4, 0u64..4, 1u64..4, 0u64..9).prop_map(
			|(at, n, a, x, b, y)| {
				let inner = n + x;
				let outer = a * inner + y;
				let levels = vec![(b, outer), (a, inner)];
				(Vec::new(), vec![Repeated { start: at, bytes: n, levels }])
			},
		);
		(prop_oneof![listed, repeated], 0u64..7, 0i64..50).prop_map(|((block, parts), rest, at)| {
			let bytes = one_by_one(&block, &parts);
			let (first, last) = (*bytes.first().unwrap(), *bytes.last().unwrap());
			let view = Selection {
				selection: 1,
				form: selection_form::BYTES,
				exact: parts.is_empty(),
				rank: 1,
				displacement: at,
				unit: 1,
				period: last + 1 + rest,
				total: bytes.len() as u64,
				bounds: vec![first, last + 1 - first],
				hash: 0,
				blocks: block.len() as u64 / 2,
				block,
				span: 0,
				parts,
			};
			(view, bytes)
		})
	}

	fn one_by_one(block: &[u64], parts: &[Repeated]) -> Vec<u64> {
		let listed = block.chunks_exact(2).flat_map(|b| b[0]..b[0] + b[1]);
		let repeated = parts.iter().flat_map(|part| {
			let (b, outer) = part.levels[0];
			let (a, inner) = part.levels[1];
			let start = |i: u64, j: u64| part.start + i * outer + j * inner;
			let copies = (0..b).flat_map(move |i| (0..a).map(move |j| start(i, j)));
			copies.flat_map(|at| at..at + part.bytes).collect::<Vec<_>>()
		});
		listed.chain(repeated).collect()
	}

	proptest! {
		#[test]
		fn bytes_in_a_range_are_those_counted_one_by_one(
			(view, bytes) in views(), skip in 0usize..60, n in 1usize..60,
			start in 0i64..300, length in 0i64..200,
		) {
			let places: Vec<i64> = (0..8u64)
				.flat_map(|tile| bytes.iter().map(move |b| (tile, b)))
				.map(|(tile, b)| view.displacement + (tile * view.period + b) as i64)
				.skip(skip % (bytes.len() * 4))
				.take(n)
				.collect();
			prop_assume!(places.len() == n);
			let moved = Moved::new(Some(&view), Some(places[0]), false, n as u64).unwrap();
			let inside = places.iter().filter(|&&p| p >= start && p < start + length).count();
			prop_assert_eq!(moved.between(start, start + length), inside as u64);
			let (first, stop) = moved.reach();
			prop_assert!(first <= places[0] && places[n - 1] < stop);
			prop_assert_eq!(moved.percent, SURE);
		}

		#[test]
		fn a_box_gives_all_its_bytes_away_once(
			(mut view, bytes) in views(), cuts in prop::collection::btree_set(0i64..400, 0..6),
		) {
			view.exact = false;
			view.parts.clear();
			view.blocks = 0;
			let n = bytes.len() as u64;
			let moved = Moved::new(Some(&view), None, true, n).unwrap();
			let mut edges = vec![0];
			edges.extend(cuts);
			edges.push(10_000);
			let sum: u64 = edges.windows(2).map(|edge| moved.between(edge[0], edge[1])).sum();
			prop_assert_eq!((sum, moved.percent), (n, SPREAD));
		}
	}

	#[test]
	fn what_nobody_knows_is_not_guessed() {
		assert!(Moved::new(None, None, true, 8).is_none());
		let plain = Moved::new(None, Some(100), false, 8).unwrap();
		assert_eq!((plain.between(0, 104), plain.between(104, 200)), (4, 4));
	}
}
