//! The order of requests on one file: what touches the same bytes is done in the order of arrival, the rest at once.
//! Writes that wait are put together into accesses of the store.

use std::collections::VecDeque;

use fathom_record::Caller;
use fathom_wire::Extent;

/// A request: client and seq.
pub type Key = (u64, u64);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
	Read,
	Write,
	/// Touches the whole file: attributes, truncation, sync.
	Whole,
}

/// Data of a write, or a part of it, that has come.
#[derive(Debug)]
pub struct Piece {
	pub key: Key,
	/// Where it goes, in order; the lengths' sum is that of the data.
	pub extents: Vec<Extent>,
	pub data: Vec<u8>,
	/// Where the data begins in `data`.
	pub start: usize,
	/// Bytes of the pool that it holds.
	pub held: usize,
	/// Taken and dropped.
	pub drop: bool,
	/// The client's calls that it is of, in the order of their bytes.
	pub callers: Vec<Caller>,
}

impl Piece {
	pub fn length(&self) -> usize {
		self.data.len() - self.start
	}
}

struct Waiting {
	key: Key,
	access: Access,
	extents: Vec<Extent>,
	/// From the first byte touched to the last.
	span: Extent,
	ready: VecDeque<Piece>,
	running: bool,
	/// A read that began while earlier writes elsewhere in the file were not done.
	behind: bool,
}

#[derive(Default)]
pub struct Queue {
	waiting: VecDeque<Waiting>,
	writing: bool,
}

/// Most bytes of one access, and how far the queue is searched for what fits.
const MOST: usize = 8 << 20;
const FAR: usize = 512;

impl Queue {
	pub fn is_empty(&self) -> bool {
		self.waiting.is_empty()
	}

	/// A request's place in the order; it is done when `finish` is called.
	pub fn push(&mut self, key: Key, access: Access, extents: Vec<Extent>) {
		let (extents, span) = in_order(extents);
		let ready = VecDeque::new();
		self.waiting.push_back(Waiting {
			key,
			access,
			extents,
			span,
			ready,
			running: false,
			behind: false,
		});
	}

	/// Where a write goes that has its place in the order already.
	pub fn place(&mut self, key: Key, extents: Vec<Extent>) {
		if let Some(waiting) = self.waiting.iter_mut().find(|waiting| waiting.key == key) {
			(waiting.extents, waiting.span) = in_order(extents);
		}
	}

	/// Data of a write that is in the queue.
	pub fn ready(&mut self, piece: Piece) {
		if let Some(waiting) =
			self.waiting.iter_mut().rev().find(|waiting| waiting.key == piece.key)
		{
			waiting.ready.push_back(piece);
		}
	}

	/// The request is done or given up; what it had ready is returned.
	pub fn finish(&mut self, key: Key) -> Vec<Piece> {
		let at = self.waiting.iter().position(|waiting| waiting.key == key);
		let done = at.and_then(|at| self.waiting.remove(at));
		done.map_or_else(Vec::new, |done| done.ready.into())
	}

	/// Reads and whole-file requests that may begin now.
	pub fn begin(&mut self) -> Vec<Key> {
		let free: Vec<usize> = (0..self.waiting.len().min(FAR))
			.filter(|&at| !self.waiting[at].running && self.waiting[at].access != Access::Write)
			.filter(|&at| self.is_free(at))
			.collect();
		for at in &free {
			let write = |earlier: &Waiting| earlier.access == Access::Write;
			self.waiting[*at].behind = self.waiting.iter().take(*at).any(write);
			self.waiting[*at].running = true;
		}
		free.iter().map(|at| self.waiting[*at].key).collect()
	}

	/// A read has met the end of the file. If earlier writes may have moved it, the read begins again behind them.
	pub fn again(&mut self, key: Key) -> bool {
		let Some(read) = self.waiting.iter_mut().find(|waiting| waiting.key == key) else {
			return false;
		};
		let again = std::mem::take(&mut read.behind);
		if again {
			(read.access, read.running) = (Access::Whole, false);
		}
		again
	}

	/// The next pieces to write, together; none while others are being written.
	pub fn next_writes(&mut self) -> Vec<Piece> {
		if self.writing {
			return Vec::new();
		}
		let far = self.waiting.len().min(FAR);
		let ready = |at: &usize| !self.waiting[*at].ready.is_empty() && self.is_free(*at);
		let free: Vec<usize> = (0..far).filter(ready).collect();
		let (mut pieces, mut bytes) = (Vec::new(), 0);
		for at in self.by_runs(free) {
			if bytes >= MOST {
				break;
			}
			while let Some(piece) = self.waiting[at].ready.pop_front() {
				bytes += piece.length();
				pieces.push(piece);
				if bytes >= MOST {
					break;
				}
			}
		}
		self.writing |= !pieces.is_empty();
		pieces
	}

	/// Which to write first, if not all can be: the one that waits longest, then the longest runs of bytes that lie one after
	/// the other, each from its beginning. None of them touches what another does.
	fn by_runs(&self, free: Vec<usize>) -> Vec<usize> {
		let pieces = |at: usize| self.waiting[at].ready.iter();
		let bytes = free.iter().flat_map(|at| pieces(*at)).map(Piece::length).sum::<usize>();
		let Some(oldest) = free.first().copied().filter(|_| bytes > MOST) else { return free };
		let extents = |at: usize| pieces(at).flat_map(|piece| &piece.extents);
		let mut all: Vec<(u64, u64, usize)> = free
			.iter()
			.flat_map(|at| extents(*at).map(|extent| (extent.offset, extent.end(), *at)))
			.collect();
		all.sort_unstable();
		let mut runs: Vec<&[(u64, u64, usize)]> = all.chunk_by(|a, b| a.1 == b.0).collect();
		let length =
			|run: &[(u64, u64, usize)]| run.iter().map(|(from, to, _)| to - from).sum::<u64>();
		runs.sort_by_key(|run| std::cmp::Reverse(length(run)));
		let in_runs = runs.into_iter().flatten().map(|(_, _, at)| *at);
		std::iter::once(oldest).chain(in_runs).collect()
	}

	pub fn written(&mut self) {
		self.writing = false;
	}

	/// No earlier request touches what this one does.
	fn is_free(&self, at: usize) -> bool {
		let this = &self.waiting[at];
		self.waiting.iter().take(at).all(|earlier| !conflict(earlier, this))
	}
}

/// Extents by offset, and from their first byte to the last.
fn in_order(mut extents: Vec<Extent>) -> (Vec<Extent>, Extent) {
	extents.retain(|extent| extent.length > 0);
	extents.sort_unstable_by_key(|extent| extent.offset);
	let first = extents.first().map_or(0, |extent| extent.offset);
	let last = extents.iter().map(Extent::end).max().unwrap_or(0);
	(extents, Extent { offset: first, length: last - first })
}

fn conflict(a: &Waiting, b: &Waiting) -> bool {
	match (a.access, b.access) {
		(Access::Whole, _) | (_, Access::Whole) => true,
		(Access::Read, Access::Read) => false,
		_ => touch(&a.span, &b.span) && meet(&a.extents, &b.extents),
	}
}

fn touch(a: &Extent, b: &Extent) -> bool {
	a.length > 0 && b.length > 0 && a.offset < b.end() && b.offset < a.end()
}

/// Whether two lists, each in order of offset, have a byte in common. Extents of one list may overlap.
fn meet(a: &[Extent], b: &[Extent]) -> bool {
	let (mut i, mut j) = (0, 0);
	let (mut end_a, mut end_b) = (0, 0); // furthest of those passed
	while i < a.len() || j < b.len() {
		let from_a = j == b.len() || (i < a.len() && a[i].offset <= b[j].offset);
		if from_a {
			if a[i].offset < end_b {
				return true;
			}
			(end_a, i) = (end_a.max(a[i].end()), i + 1);
		} else {
			if b[j].offset < end_a {
				return true;
			}
			(end_b, j) = (end_b.max(b[j].end()), j + 1);
		}
	}
	false
}

/// Bytes of pieces that lie one after the other in the file: one access.
pub struct Run<'a> {
	pub offset: u64,
	pub parts: Vec<Part<'a>>,
}

/// Bytes of a piece.
#[derive(Clone, Copy)]
pub struct Part<'a> {
	pub piece: usize,
	/// Where they begin in it.
	pub at: u64,
	pub bytes: &'a [u8],
}

/// All pieces' bytes in order of offset, put together where they touch. A piece's own extents that overlap keep their
/// order: the later one is written later.
pub fn runs(pieces: &[Piece]) -> Vec<Run<'_>> {
	let mut parts = Vec::new();
	for (number, piece) in pieces.iter().enumerate().filter(|(_, piece)| !piece.drop) {
		let mut at = piece.start;
		for extent in piece.extents.iter().filter(|extent| extent.length > 0) {
			let end = at + extent.length as usize;
			let part =
				Part { piece: number, at: (at - piece.start) as u64, bytes: &piece.data[at..end] };
			parts.push((extent.offset, part));
			at = end;
		}
	}
	let apart = |parts: &[(u64, Part<'_>)]| {
		parts.windows(2).all(|two| two[0].0 + two[0].1.bytes.len() as u64 <= two[1].0)
	};
	let mut sorted = parts.clone();
	sorted.sort_by_key(|part| part.0);
	let parts = if apart(&sorted) { sorted } else { parts };
	let mut runs: Vec<Run<'_>> = Vec::new();
	let mut end = None;
	for (offset, part) in parts {
		match runs.last_mut() {
			Some(run) if end == Some(offset) => run.parts.push(part),
			_ => runs.push(Run { offset, parts: vec![part] }),
		}
		end = Some(offset + part.bytes.len() as u64);
	}
	runs
}

#[cfg(test)]
mod tests {
	use super::*;

	fn extents(all: &[(u64, u64)]) -> Vec<Extent> {
		all.iter().map(|&(offset, length)| Extent { offset, length }).collect()
	}

	fn piece(key: Key, at: &[(u64, u64)]) -> Piece {
		let extents = extents(at);
		let length = extents.iter().map(|e| e.length as usize).sum();
		let data = vec![key.1 as u8; length];
		Piece { key, extents, data, start: 0, held: 0, drop: false, callers: Vec::new() }
	}

	#[test]
	fn strided_writes_of_four_ranks_are_one_access() {
		let mut queue = Queue::default();
		for rank in 0..4 {
			let at: Vec<_> = (0..8).map(|i| ((i * 4 + rank) * 100, 100)).collect();
			queue.push((rank, 1), Access::Write, extents(&at));
			queue.ready(piece((rank, 1), &at));
		}
		let pieces = queue.next_writes();
		assert_eq!(pieces.len(), 4);
		let runs = runs(&pieces);
		assert_eq!(runs.len(), 1);
		assert_eq!((runs[0].offset, runs[0].parts.len()), (0, 32));
		assert!(queue.next_writes().is_empty());
	}

	#[test]
	fn of_more_than_fits_what_lies_together_is_written_together() {
		const KIB: u64 = 1024;
		let mut queue = Queue::default();
		for (rank, step) in (0..4).flat_map(|rank| (0..100).map(move |step| (rank, step))) {
			let (key, at) = ((rank, step + 1), [((step * 4 + rank) * 64 * KIB, 64 * KIB)]);
			queue.push(key, Access::Write, extents(&at));
			queue.ready(piece(key, &at));
		}
		queue.push((9, 1), Access::Write, extents(&[(1 << 40, KIB)]));
		queue.ready(piece((9, 1), &[(1 << 40, KIB)]));
		let (mut accesses, mut written) = (0, 0);
		while !queue.is_empty() {
			let pieces = queue.next_writes();
			let oldest = queue.waiting[0].key;
			assert!(pieces.iter().any(|piece| piece.key == oldest));
			(accesses, written) = (accesses + runs(&pieces).len(), written + pieces.len());
			pieces.iter().for_each(|piece| drop(queue.finish(piece.key)));
			queue.written();
		}
		assert_eq!((accesses, written), (5, 401));
	}

	#[test]
	fn what_touches_the_same_bytes_keeps_its_order() {
		let mut queue = Queue::default();
		queue.push((1, 1), Access::Write, extents(&[(0, 10)]));
		queue.push((2, 1), Access::Write, extents(&[(9, 2)]));
		queue.push((3, 1), Access::Read, extents(&[(10, 1)]));
		queue.push((4, 1), Access::Read, extents(&[(20, 1)]));
		queue.push((5, 1), Access::Whole, vec![]);
		queue.ready(piece((2, 1), &[(9, 2)]));
		assert_eq!(queue.begin(), [(4, 1)]);
		assert!(queue.next_writes().is_empty()); // the first has no data yet
		queue.ready(piece((1, 1), &[(0, 10)]));
		assert_eq!(queue.next_writes()[0].key, (1, 1));
		queue.written();
		assert!(queue.next_writes().is_empty());
		queue.finish((1, 1));
		assert_eq!(queue.next_writes()[0].key, (2, 1));
		queue.written();
		queue.finish((2, 1));
		assert_eq!(queue.begin(), [(3, 1)]);
		queue.finish((3, 1));
		assert!(queue.begin().is_empty());
		queue.finish((4, 1));
		assert_eq!(queue.begin(), [(5, 1)]);
	}

	#[test]
	fn a_read_at_the_end_of_file_waits_for_writes_that_move_it() {
		let mut queue = Queue::default();
		queue.push((1, 1), Access::Write, extents(&[(100, 10)]));
		queue.push((1, 2), Access::Read, extents(&[(50, 10)]));
		assert_eq!(queue.begin(), [(1, 2)]);
		assert!(queue.again((1, 2)));
		assert!(queue.begin().is_empty());
		queue.finish((1, 1));
		assert_eq!(queue.begin(), [(1, 2)]);
		assert!(!queue.again((1, 2)));
	}

	#[test]
	fn an_append_is_in_the_order_before_it_is_known_where_it_goes() {
		let mut queue = Queue::default();
		queue.push((1, 1), Access::Write, vec![]);
		queue.push((1, 2), Access::Whole, vec![]);
		queue.push((1, 3), Access::Read, extents(&[(5, 1)]));
		assert!(queue.begin().is_empty());
		queue.finish((1, 2));
		assert_eq!(queue.begin(), [(1, 3)]);
		queue.push((1, 4), Access::Read, extents(&[(9, 1)]));
		queue.place((1, 1), extents(&[(9, 3)]));
		assert!(queue.begin().is_empty());
		queue.finish((1, 1));
		assert_eq!(queue.begin(), [(1, 4)]);
	}

	#[test]
	fn interleaved_lists_do_not_meet() {
		let a = extents(&[(0, 10), (20, 10), (40, 10)]);
		assert!(!meet(&a, &extents(&[(10, 10), (30, 10)])));
		assert!(meet(&a, &extents(&[(10, 10), (30, 11)])));
		assert!(meet(&extents(&[(0, 100), (10, 1)]), &extents(&[(50, 1)])));
	}

	#[test]
	fn extents_of_a_request_that_overlap_are_written_in_its_order() {
		let pieces = [piece((1, 1), &[(5, 10), (0, 10)])];
		let runs = runs(&pieces);
		assert_eq!(runs.iter().map(|run| run.offset).collect::<Vec<_>>(), [5, 0]);
	}
}
