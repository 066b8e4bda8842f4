//! The order of requests on one file: what touches the same bytes is done in the order of arrival, the rest at once.
//! Writes that wait are put together into accesses of the store.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use fathom_record::Caller;
use fathom_wire::Extent;

use crate::Map;
use crate::overlaps::{Number, Overlaps};

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
	ready: VecDeque<Piece>,
	running: bool,
	/// A read that began while earlier writes elsewhere in the file were not done.
	behind: bool,
	/// An earlier one that touches the same bytes; when that is done, the next is looked for.
	waits_for: Option<Number>,
	awaited_by: Vec<Number>,
}

/// What waits and is being done, each by its number. One request on the whole file waits for all before it, and all behind it
/// wait for it; others wait for those whose bytes they touch.
#[derive(Default)]
pub struct Queue {
	waiting: BTreeMap<Number, Waiting>,
	numbers: Map<Key, Number>,
	next: Number,
	overlaps: Overlaps,
	wholes: BTreeSet<Number>,
	writes: BTreeSet<Number>,
	/// Not begun, and waiting for nobody's bytes: reads and whole-file requests, and writes that have data.
	free: BTreeSet<Number>,
	writable: BTreeSet<Number>,
	writing: bool,
}

/// Most bytes of one access.
pub const MOST: usize = 8 << 20;
/// Writes that are looked at for one access, the oldest: as many as are sorted in less time than that access takes.
const LOOK: usize = 16384;

impl Queue {
	pub fn is_empty(&self) -> bool {
		self.waiting.is_empty()
	}

	/// The furthest end of writes that are not done.
	pub fn end(&self) -> u64 {
		let writes = self.writes.iter().filter_map(|number| self.waiting.get(number));
		writes.flat_map(|write| &write.extents).map(Extent::end).max().unwrap_or(0)
	}

	/// A request's place in the order; it is done when `finish` is called.
	pub fn push(&mut self, key: Key, access: Access, extents: Vec<Extent>) {
		let number = self.next;
		self.next += 1;
		self.numbers.insert(key, number);
		let (ready, awaited_by) = (VecDeque::new(), Vec::new());
		let (running, behind, waits_for) = (false, false, None);
		let extents = in_order(extents);
		match access {
			Access::Whole => drop(self.wholes.insert(number)),
			Access::Write => drop(self.writes.insert(number)),
			Access::Read => {}
		}
		self.overlaps.insert(number, &extents, access == Access::Write);
		let waiting =
			Waiting { key, access, extents, ready, running, behind, waits_for, awaited_by };
		self.waiting.insert(number, waiting);
		self.wait(number);
	}

	/// Where a write goes that has its place in the order already.
	pub fn place(&mut self, key: Key, extents: Vec<Extent>) {
		let Some(number) = self.numbers.get(&key).copied() else { return };
		let Some(waiting) = self.waiting.get_mut(&number) else { return };
		waiting.extents = in_order(extents);
		self.overlaps.insert(number, &waiting.extents, true);
		let extents = waiting.extents.clone();
		let behind: Vec<Number> =
			self.overlaps.of(&extents, true).filter(|other| *other > number).collect();
		self.wait(number);
		behind.into_iter().for_each(|later| self.wait(later));
	}

	/// Data of a write that is in the queue.
	pub fn ready(&mut self, piece: Piece) {
		let Some(number) = self.numbers.get(&piece.key).copied() else { return };
		if let Some(waiting) = self.waiting.get_mut(&number) {
			waiting.ready.push_back(piece);
		}
		self.settle(number);
	}

	/// The request is done or given up; what it had ready is returned.
	pub fn finish(&mut self, key: Key) -> Vec<Piece> {
		let Some(number) = self.numbers.remove(&key) else { return Vec::new() };
		let Some(done) = self.waiting.remove(&number) else { return Vec::new() };
		for set in [&mut self.wholes, &mut self.writes, &mut self.free, &mut self.writable] {
			set.remove(&number);
		}
		self.overlaps.remove(number, &done.extents);
		done.awaited_by.into_iter().for_each(|later| self.wait(later));
		done.ready.into()
	}

	/// It waits for an earlier one that touches its bytes, or for none.
	fn wait(&mut self, number: Number) {
		let Some(this) = self.waiting.get_mut(&number) else { return };
		let writes = this.access == Access::Write;
		let earlier = self.overlaps.of(&this.extents, writes).find(|other| *other < number);
		this.waits_for = earlier;
		if let Some(earlier) = earlier.and_then(|earlier| self.waiting.get_mut(&earlier)) {
			earlier.awaited_by.push(number);
		}
		self.settle(number);
	}

	/// Is it one of those that may be next?
	fn settle(&mut self, number: Number) {
		let Some(this) = self.waiting.get(&number) else { return };
		let (set, able) = match this.access {
			Access::Write => (&mut self.writable, !this.ready.is_empty()),
			_ => (&mut self.free, !this.running),
		};
		match able && this.waits_for.is_none() {
			true => set.insert(number),
			false => set.remove(&number),
		};
	}

	/// Reads and whole-file requests that may begin now.
	pub fn begin(&mut self) -> Vec<Key> {
		let whole = self.wholes.first().copied();
		let first = self.waiting.first_key_value().map(|(number, _)| *number);
		let last = whole.map_or(Number::MAX, |whole| whole + u64::from(first == Some(whole)));
		let begun: Vec<Number> = self.free.range(..last).copied().collect();
		let begin = |number| {
			let this = self.waiting.get_mut(&number)?;
			this.behind = self.writes.first().is_some_and(|write| *write < number);
			this.running = true;
			self.free.remove(&number);
			Some(this.key)
		};
		begun.into_iter().filter_map(begin).collect()
	}

	/// Requests on the whole file behind one that has begun, up to one that is not `same` or writes: they are done with it.
	pub fn join(&mut self, key: Key, same: impl Fn(Key) -> bool) -> Vec<Key> {
		let Some(number) = self.numbers.get(&key).copied() else { return Vec::new() };
		let mut joined = Vec::new();
		for (number, behind) in self.waiting.range_mut(number + 1..) {
			match behind.access {
				Access::Read => {}
				Access::Whole if same(behind.key) => {
					behind.running = true;
					self.free.remove(number);
					joined.push(behind.key);
				}
				_ => break,
			}
		}
		joined
	}

	/// A read has met the end of the file. If earlier writes may have moved it, the read begins again behind them.
	pub fn again(&mut self, key: Key) -> bool {
		let Some(number) = self.numbers.get(&key).copied() else { return false };
		let Some(read) = self.waiting.get_mut(&number) else { return false };
		let again = std::mem::take(&mut read.behind);
		if again {
			(read.access, read.running) = (Access::Whole, false);
			self.wholes.insert(number);
			self.settle(number);
		}
		again
	}

	/// The next pieces to write, together; none while others are being written. Of many, the last ends where a unit does, if
	/// one of the next does: then what follows begins there.
	pub fn next_writes(&mut self, unit: u64) -> Vec<Piece> {
		if self.writing {
			return Vec::new();
		}
		let last = self.wholes.first().copied().unwrap_or(Number::MAX);
		let free: Vec<Number> = self.writable.range(..last).take(LOOK).copied().collect();
		let (mut pieces, mut bytes): (Vec<Piece>, _) = (Vec::new(), 0);
		let full = |pieces: &[Piece], bytes| {
			let last = pieces.last().and_then(|piece| piece.extents.last());
			let ends = last.is_none_or(|extent| extent.end() % unit == 0);
			bytes >= MOST && (ends || bytes >= 2 * MOST)
		};
		for number in self.by_runs(free) {
			if full(&pieces, bytes) {
				break;
			}
			let Some(waiting) = self.waiting.get_mut(&number) else { continue };
			while !full(&pieces, bytes)
				&& let Some(piece) = waiting.ready.pop_front()
			{
				bytes += piece.length();
				pieces.push(piece);
			}
			self.settle(number);
		}
		self.writing |= !pieces.is_empty();
		pieces
	}

	/// Which to write first, if not all can be: the one that waits longest, then the longest runs of bytes that lie one after
	/// the other, each from its beginning. None of them touches what another does.
	fn by_runs(&self, free: Vec<Number>) -> Vec<Number> {
		let pieces = |number: &Number| self.waiting.get(number).into_iter().flat_map(|w| &w.ready);
		let bytes = free.iter().flat_map(pieces).map(Piece::length).sum::<usize>();
		let Some(oldest) = free.first().copied().filter(|_| bytes > MOST) else { return free };
		let extents = |number| pieces(number).flat_map(|piece| &piece.extents);
		let mut all: Vec<(u64, u64, Number)> = free
			.iter()
			.flat_map(|number| extents(number).map(|e| (e.offset, e.end(), *number)))
			.collect();
		all.sort_unstable();
		let mut runs: Vec<&[(u64, u64, Number)]> = all.chunk_by(|a, b| a.1 == b.0).collect();
		let length =
			|run: &[(u64, u64, Number)]| run.iter().map(|(from, to, _)| to - from).sum::<u64>();
		runs.sort_by_key(|run| std::cmp::Reverse(length(run)));
		let in_runs = runs.into_iter().flatten().map(|(_, _, number)| *number);
		std::iter::once(oldest).chain(in_runs).collect()
	}

	pub fn written(&mut self) {
		self.writing = false;
	}
}

/// Extents by offset.
fn in_order(mut extents: Vec<Extent>) -> Vec<Extent> {
	extents.retain(|extent| extent.length > 0);
	extents.sort_unstable_by_key(|extent| extent.offset);
	extents
}

/// Bytes of pieces that lie one after the other in the file: one access.
pub struct Run<'a> {
	pub offset: u64,
	pub parts: Vec<Part<'a>>,
}

impl Run<'_> {
	pub fn extent(&self) -> Extent {
		let length = self.parts.iter().map(|part| part.bytes.len() as u64).sum();
		Extent { offset: self.offset, length }
	}
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
		let pieces = queue.next_writes(1);
		assert_eq!(pieces.len(), 4);
		let runs = runs(&pieces);
		assert_eq!(runs.len(), 1);
		assert_eq!((runs[0].offset, runs[0].parts.len()), (0, 32));
		assert!(queue.next_writes(1).is_empty());
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
			let pieces = queue.next_writes(1);
			let oldest = queue.waiting.first_key_value().map(|(_, oldest)| oldest.key).unwrap();
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
		assert!(queue.next_writes(1).is_empty()); // the first has no data yet
		queue.ready(piece((1, 1), &[(0, 10)]));
		assert_eq!(queue.next_writes(1)[0].key, (1, 1));
		queue.written();
		assert!(queue.next_writes(1).is_empty());
		queue.finish((1, 1));
		assert_eq!(queue.next_writes(1)[0].key, (2, 1));
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
	fn what_asks_the_same_of_a_whole_file_is_done_together_up_to_the_next_write() {
		let mut queue = Queue::default();
		for seq in [1, 2, 4, 6] {
			queue.push((1, seq), Access::Whole, vec![]);
			if seq == 2 {
				queue.push((1, 3), Access::Read, extents(&[(0, 10)]));
			} else if seq == 4 {
				queue.push((1, 5), Access::Write, extents(&[(0, 10)]));
			}
		}
		assert_eq!(queue.begin(), [(1, 1)]);
		assert_eq!(queue.join((1, 1), |_| true), [(1, 2), (1, 4)]);
		assert!(queue.begin().is_empty());
		for seq in [1, 2] {
			queue.finish((1, seq));
			assert_eq!(queue.begin(), if seq == 1 { vec![] } else { vec![(1, 3)] });
		}
		queue.finish((1, 4));
		queue.finish((1, 3));
		assert!(queue.begin().is_empty());
		queue.finish((1, 5));
		assert_eq!(queue.begin(), [(1, 6)]);
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
	fn writes_are_put_together_however_many_wait_before_them() {
		let mut queue = Queue::default();
		for seq in 1..=5000 {
			queue.push((1, seq), Access::Write, extents(&[((1 << 30) + seq * 100, 50)])); // without data yet
		}
		for rank in 2..6 {
			queue.push((rank, 1), Access::Write, extents(&[(rank * 100, 100)]));
			queue.ready(piece((rank, 1), &[(rank * 100, 100)]));
		}
		assert_eq!(runs(&queue.next_writes(1)).len(), 1);
		queue.push((9, 1), Access::Read, extents(&[(0, 10)]));
		assert_eq!(queue.begin(), [(9, 1)]);
	}

	/// Requests as they came, and who is being done: what the order allows, by asking all.
	#[derive(Default)]
	struct Plain(Vec<(Key, Access, (u64, u64), bool)>);

	impl Plain {
		fn may_begin(&self, at: usize) -> bool {
			let (_, access, (from, to), _) = self.0[at];
			self.0[..at].iter().all(|(_, other, (begin, end), _)| match (access, *other) {
				(Access::Whole, _) | (_, Access::Whole) => false,
				(Access::Read, Access::Read) => true,
				_ => to <= *begin || *end <= from,
			})
		}

		fn begin(&mut self, kind: impl Fn(Access) -> bool) -> Vec<Key> {
			let able = |at: &usize| !self.0[*at].3 && kind(self.0[*at].1) && self.may_begin(*at);
			let begun: Vec<usize> = (0..self.0.len()).filter(able).collect();
			begun.iter().for_each(|at| self.0[*at].3 = true);
			begun.iter().map(|at| self.0[*at].0).collect()
		}
	}

	#[test]
	fn the_order_is_that_of_a_list_in_which_all_are_asked() {
		let (mut queue, mut plain) = (Queue::default(), Plain::default());
		let mut random = fastrand::Rng::with_seed(12345);
		let mut next = |below: u64| random.u64(..below);
		for seq in 0..20000 {
			if next(10) < 5 {
				let (from, length) = (next(200), 1 + next(8));
				let access = match next(20) {
					0 => Access::Whole,
					1..8 => Access::Read,
					_ => Access::Write,
				};
				let at = if access == Access::Whole { vec![] } else { vec![(from, length)] };
				queue.push((1, seq), access, extents(&at));
				plain.0.push(((1, seq), access, (from, from + length), false));
				if access == Access::Write {
					queue.ready(piece((1, seq), &at));
				}
			} else if let running @ 1.. = plain.0.iter().filter(|one| one.3).count() as u64 {
				let nth = next(running) as usize;
				let at = plain.0.iter().enumerate().filter(|(_, one)| one.3).nth(nth).unwrap().0;
				queue.finish(plain.0.remove(at).0);
			}
			assert_eq!(queue.begin(), plain.begin(|access| access != Access::Write));
			let written: Vec<Key> = queue.next_writes(1).iter().map(|piece| piece.key).collect();
			assert_eq!(written, plain.begin(|access| access == Access::Write));
			queue.written();
		}
		assert!(!plain.0.is_empty());
	}

	#[test]
	fn extents_of_a_request_that_overlap_are_written_in_its_order() {
		let pieces = [piece((1, 1), &[(5, 10), (0, 10)])];
		let runs = runs(&pieces);
		assert_eq!(runs.iter().map(|run| run.offset).collect::<Vec<_>>(), [5, 0]);
	}
}
