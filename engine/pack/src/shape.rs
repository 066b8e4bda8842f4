//! What a call's bytes look like in the file: one piece, or pieces with holes between them.

use fathom_stream::{Selection, selection_form};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
	/// `extent`: from the first byte to the last.
	Known {
		extent: i64,
		holes: bool,
	},
	Unknown,
}

/// Of `amount` bytes that begin at byte `offset` of the file, moved through `selection`.
#[inline]
pub fn shape(selection: Option<&Selection>, offset: Option<i64>, amount: i64) -> Shape {
	match selection {
		Some(selection) if amount > 0 => selected(selection, offset, amount),
		_ => Shape::Known { extent: amount, holes: false },
	}
}

fn selected(selection: &Selection, offset: Option<i64>, amount: i64) -> Shape {
	let extent = if selection.form != selection_form::BYTES {
		of_elements(selection, amount as u64)
	} else if selection.exact && selection.blocks > 0 {
		offset.and_then(|offset| of_blocks(selection, offset, amount as u64))
	} else {
		of_tiles(selection, amount as u64)
	};
	match extent.and_then(|extent| i64::try_from(extent).ok()) {
		Some(extent) => Shape::Known { extent, holes: extent > amount },
		None => Shape::Unknown,
	}
}

/// An array's elements, as they lie in the array.
fn of_elements(selection: &Selection, amount: u64) -> Option<u64> {
	if selection.span == 0 || selection.total == 0 {
		return None;
	}
	selection.span.checked_mul(amount / selection.total)
}

/// A view whose blocks are listed: the first and the last byte are looked up.
fn of_blocks(selection: &Selection, offset: i64, amount: u64) -> Option<u64> {
	let (period, total) = (selection.period.max(1), selection.total);
	let from = u64::try_from(offset.checked_sub(selection.displacement)?).ok()?;
	let (tile, place) = (from / period, from % period);
	let mut before = 0u64;
	let mut nth = None;
	for block in selection.block.chunks_exact(2) {
		if place >= block[0] && place - block[0] < block[1] {
			nth = tile.checked_mul(total)?.checked_add(before)?.checked_add(place - block[0]);
			break;
		}
		before = before.checked_add(block[1])?;
	}
	let last = byte_of(selection, nth?.checked_add(amount - 1)?, period)?;
	last.checked_sub(from)?.checked_add(1)
}

/// The n-th byte of a view, from its displacement.
fn byte_of(selection: &Selection, nth: u64, period: u64) -> Option<u64> {
	let tile = nth.checked_div(selection.total)?;
	let mut rest = nth % selection.total;
	for block in selection.block.chunks_exact(2) {
		if rest < block[1] {
			return tile.checked_mul(period)?.checked_add(block[0])?.checked_add(rest);
		}
		rest -= block[1];
	}
	None
}

/// A view of too many blocks to be listed: as if the call began with a tile.
fn of_tiles(selection: &Selection, amount: u64) -> Option<u64> {
	let tiles = amount.checked_div(selection.total)?;
	if tiles == 0 {
		return None;
	}
	let span = *selection.bounds.get(1)?;
	(amount.div_ceil(selection.total) - 1).checked_mul(selection.period)?.checked_add(span)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
	use super::*;

	/// A view of blocks (start, bytes) in tiles of `period` bytes.
	fn view(period: u64, blocks: &[(u64, u64)]) -> Selection {
		Selection {
			selection: 1,
			form: selection_form::BYTES,
			exact: true,
			rank: 1,
			displacement: 100,
			unit: 1,
			period,
			total: blocks.iter().map(|block| block.1).sum(),
			bounds: vec![0, period],
			hash: 0,
			blocks: blocks.len() as u64,
			block: blocks.iter().flat_map(|&(start, bytes)| [start, bytes]).collect(),
			span: 0,
			parts: Vec::new(),
		}
	}

	/// Byte by byte: which bytes of the file a view shows.
	#[test]
	fn a_views_extent_is_that_of_its_bytes_one_by_one() {
		for (period, blocks) in
			[(16, vec![(0, 4)]), (10, vec![(1, 2), (5, 3)]), (4, vec![(0, 4)]), (7, vec![(3, 1)])]
		{
			let view = view(period, &blocks);
			let shown: Vec<i64> = (0..400u64)
				.filter(|b| blocks.iter().any(|(s, n)| b % period >= *s && b % period < s + n))
				.map(|b| b as i64 + 100)
				.collect();
			for first in 0..20 {
				for amount in 1..20 {
					let extent = shown[first + amount - 1] - shown[first] + 1;
					let holes = extent > amount as i64;
					let computed = shape(Some(&view), Some(shown[first]), amount as i64);
					assert_eq!(computed, Shape::Known { extent, holes });
				}
			}
		}
	}

	#[test]
	fn what_nobody_knows_is_not_guessed() {
		let mut view = view(16, &[(0, 4)]);
		assert_eq!(shape(Some(&view), None, 8), Shape::Unknown);
		assert_eq!(shape(Some(&view), Some(106), 8), Shape::Unknown);
		view.form = selection_form::ELEMENTS;
		assert_eq!(shape(Some(&view), Some(0), 8), Shape::Unknown);
		assert_eq!(shape(None, None, 8), Shape::Known { extent: 8, holes: false });
	}
}
