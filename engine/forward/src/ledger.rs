//! Which extents at a file's end were handed out, and what became of them. Every change is a line, of which the file's
//! journal is made; so the ledger that is read back after a kill is the one that was.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use fathom_wire::number::limit;
use fathom_wire::{Extent, Gap, Wanted};
use rustix::io::Errno;

use crate::queue::Key;

/// A change of a ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
	/// The file is at least so long.
	Size(u64),
	/// It is about to be truncated: whether it was, its size says, until one of the other lines does.
	Cutting(u64),
	/// It was truncated: what was beyond is no more.
	Cut(u64),
	/// True: another server writes it.
	Taken(Key, Extent, bool),
	/// A range that is not written; errno 0: left for alignment.
	Gap(Gap),
	/// All of an extent is written, or named as a gap.
	Done(Key),
}

#[derive(Clone)]
struct Taken {
	extent: Extent,
	done: bool,
	/// Another server writes it.
	is_remote: bool,
	/// Which server that is; unknown where the journal says no more.
	asker: Option<u64>,
}

#[derive(Default, Clone)]
pub struct Ledger {
	end: u64,
	/// Somebody was about to truncate it, and nothing was handed out since.
	is_unsure: bool,
	taken: BTreeMap<Key, Taken>,
	gaps: Vec<Gap>,
}

impl Ledger {
	/// What a journal says of a file; lines that a kill cut off are passed over.
	pub fn read(journal: &str) -> Ledger {
		let mut ledger = Ledger::default();
		journal.lines().filter_map(|line| line.parse().ok()).for_each(|line| ledger.apply(&line));
		ledger
	}

	/// The fewest lines that make this ledger.
	pub fn lines(&self) -> Vec<Line> {
		let mut lines = vec![Line::Size(self.end)];
		for (key, taken) in &self.taken {
			lines.push(Line::Taken(*key, taken.extent, taken.is_remote));
			lines.extend(taken.done.then_some(Line::Done(*key)));
		}
		lines.extend(self.gaps.iter().cloned().map(Line::Gap));
		lines.extend(self.is_unsure.then_some(Line::Cutting(self.end)));
		lines
	}

	pub fn apply(&mut self, line: &Line) {
		match line {
			Line::Size(size) => {
				self.end = self.end.max(*size);
				self.is_unsure = false;
			}
			Line::Cutting(_) => self.is_unsure = true,
			Line::Cut(size) => {
				self.end = *size;
				self.is_unsure = false;
				self.gaps.retain(|gap| gap.offset < *size);
				for gap in &mut self.gaps {
					gap.length = gap.length.min(size - gap.offset);
				}
				self.taken.retain(|_, taken| taken.extent.end() <= *size);
			}
			Line::Taken(key, extent, is_remote) => {
				self.end = self.end.max(extent.end());
				// taken again: it is being repeated, and what it had not written may be now
				self.gaps.retain(|gap| (gap.client, gap.seq) != *key);
				let (extent, is_remote) = (*extent, *is_remote);
				self.taken.insert(*key, Taken { extent, done: false, is_remote, asker: None });
				self.forget(*key);
			}
			Line::Gap(gap) => {
				self.end = self.end.max(gap.offset.saturating_add(gap.length));
				self.gaps.push(gap.clone());
			}
			Line::Done(key) => {
				if let Some(taken) = self.taken.get_mut(key) {
					taken.done = true;
				}
			}
		}
	}

	/// That it has ended was not journaled: until its server says so again a new journal does not say it either.
	pub fn reopen(&mut self, key: Key) {
		if let Some(taken) = self.taken.get_mut(&key) {
			taken.done = false;
		}
	}

	/// A client repeats nothing that is older than its window.
	fn forget(&mut self, (client, seq): Key) {
		let oldest = seq.saturating_sub(u64::from(limit::WINDOW));
		let old = self.taken.range((client, 0)..(client, oldest));
		let old: Vec<Key> = old.filter(|(_, taken)| taken.done).map(|(key, _)| *key).collect();
		for key in old {
			self.taken.remove(&key);
		}
	}

	/// An extent at the end; who asks again gets the one it had. The lines say what changed.
	pub fn take(&mut self, wanted: &Wanted, asker: u64, lines: &mut Vec<Line>) -> Option<u64> {
		let key = (wanted.client, wanted.seq);
		let had = self.taken.get(&key).filter(|taken| taken.extent.length == wanted.length);
		let from = lines.len();
		let offset = if let Some(had) = had {
			had.extent.offset
		} else {
			let offset = self.end.checked_next_multiple_of(u64::from(wanted.align.max(1)))?;
			let end = offset.checked_add(wanted.length)?;
			i64::try_from(end).ok()?;
			if offset > self.end {
				let (offset, length) = (self.end, offset - self.end);
				lines.push(Line::Gap(Gap { offset, length, ..Gap::default() }));
			}
			offset
		};
		lines.push(Line::Taken(key, Extent { offset, length: wanted.length }, asker != 0));
		lines[from..].iter().for_each(|line| self.apply(line));
		if let Some(taken) = self.taken.get_mut(&key) {
			taken.asker = Some(asker);
		}
		Some(offset)
	}

	/// Where an append is that is done; None: it is not, as far as is known.
	pub fn done_at(&self, wanted: &Wanted) -> Option<u64> {
		let taken = self.taken.get(&(wanted.client, wanted.seq))?;
		let whole = taken.done && taken.extent.length == wanted.length;
		let key = (wanted.client, wanted.seq);
		let lost = self.gaps.iter().any(|gap| (gap.client, gap.seq) == key);
		(whole && !lost).then_some(taken.extent.offset)
	}

	/// What became of an extent: a range of it that is not written, or (errno 0) that it is done.
	pub fn note_outcome(&mut self, outcome: &Gap, lines: &mut Vec<Line>) {
		if outcome.errno != 0 && !self.is_of_taken(outcome) {
			return; // it was cut off meanwhile
		}
		let line = match outcome.errno {
			0 => Line::Done((outcome.client, outcome.seq)),
			_ => Line::Gap(outcome.clone()),
		};
		self.note(line, lines);
	}

	fn is_of_taken(&self, gap: &Gap) -> bool {
		let end = gap.offset.checked_add(gap.length);
		let extent = self.taken.get(&(gap.client, gap.seq)).map(|taken| taken.extent);
		extent.is_some_and(|e| e.offset <= gap.offset && end.is_some_and(|end| end <= e.end()))
	}

	/// The server that was to write these extents is gone.
	pub fn abandon(&mut self, asker: u64, lines: &mut Vec<Line>) {
		let lost = self.taken.iter().filter(|(_, t)| !t.done && t.asker == Some(asker));
		let lost: Vec<(Key, Extent)> = lost.map(|(key, taken)| (*key, taken.extent)).collect();
		for (key, extent) in lost {
			self.lose(key, extent, Errno::CONNRESET, lines);
		}
	}

	/// A server does not write this append: it was not told whether it got an extent, or where.
	pub fn give_up(&mut self, key: Key, asker: u64, lines: &mut Vec<Line>) {
		let is_its = |t: &&Taken| !t.done && t.asker.is_none_or(|other| other == asker);
		if let Some(extent) = self.taken.get(&key).filter(is_its).map(|taken| taken.extent) {
			self.lose(key, extent, Errno::TIMEDOUT, lines);
		}
	}

	/// An extent of which nothing is written, as far as is known.
	pub fn lose(&mut self, key: Key, extent: Extent, errno: Errno, lines: &mut Vec<Line>) {
		let (client, seq) = key;
		let errno = errno.raw_os_error() as u32;
		let gap = Gap { offset: extent.offset, length: extent.length, client, seq, errno };
		self.note_outcome(&gap, lines);
		self.note_outcome(&Gap { errno: 0, ..gap }, lines);
	}

	/// A size that somebody saw. After a truncation that may not have been done it is what the file has.
	pub fn size(&mut self, size: u64, lines: &mut Vec<Line>) {
		if self.is_unsure && size < self.end {
			self.note(Line::Cut(size), lines);
		} else if self.is_unsure || size > self.end {
			self.note(Line::Size(size), lines);
		}
	}

	/// It is about to be truncated.
	pub fn begin_cut(&mut self, size: u64, lines: &mut Vec<Line>) {
		if self.end > 0 && !self.is_unsure {
			self.note(Line::Cutting(size), lines);
		}
	}

	/// It was truncated.
	pub fn cut(&mut self, size: u64, lines: &mut Vec<Line>) {
		if self.end > 0 {
			self.note(Line::Cut(size), lines);
		}
	}

	fn note(&mut self, line: Line, lines: &mut Vec<Line>) {
		self.apply(&line);
		lines.push(line);
	}

	/// Whether somebody writes what it was given.
	pub fn is_busy(&self) -> bool {
		self.taken.values().any(|taken| !taken.done && taken.asker.is_some())
	}

	/// The same, or other servers may that have not said so to this one since it was started.
	pub fn may_be_busy(&self) -> bool {
		let is_lost = |taken: &Taken| taken.asker.is_none() && !taken.is_remote;
		self.taken.values().any(|taken| !taken.done && !is_lost(taken))
	}

	/// It has an extent, done or not.
	pub fn has(&self, wanted: &Wanted) -> bool {
		let taken = self.taken.get(&(wanted.client, wanted.seq));
		taken.is_some_and(|taken| taken.extent.length == wanted.length)
	}

	/// Nobody is left who could repeat: only gaps are worth keeping. Whether there are any.
	pub fn settle(&mut self) -> bool {
		self.gaps = self.all_gaps();
		self.taken.clear();
		!self.gaps.is_empty()
	}

	/// Ranges that are named, and extents that the journal does not say are done and whose writer is not known any more.
	fn all_gaps(&self) -> Vec<Gap> {
		let is_lost = |taken: &Taken| !taken.done && taken.asker.is_none();
		let lost = self.taken.iter().filter(|(_, taken)| is_lost(taken));
		let gap = |((client, seq), taken): (&Key, &Taken)| Gap {
			offset: taken.extent.offset,
			length: taken.extent.length,
			client: *client,
			seq: *seq,
			errno: Errno::IO.raw_os_error() as u32,
		};
		let lost_whole = |gap: &&Gap| self.taken.get(&(gap.client, gap.seq)).is_some_and(is_lost);
		let named = self.gaps.iter().filter(|gap| !lost_whole(gap)).cloned();
		named.chain(lost.map(gap)).collect()
	}

	/// Gaps that end behind an offset, in order of offset; at most so many, and whether there are more.
	pub fn gaps(&self, from: u64, most: usize) -> (Vec<Gap>, bool) {
		let all = self.all_gaps().into_iter();
		let mut behind: Vec<Gap> = all.filter(|gap| gap.offset + gap.length > from).collect();
		behind.sort_by_key(|gap| gap.offset);
		let more = behind.len() > most;
		behind.truncate(most);
		(behind, more)
	}
}

/// A line, and behind it a checksum of it: what a kill cut off is no line.
impl fmt::Display for Line {
	fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
		let text = match self {
			Line::Size(size) => format!("size {size}"),
			Line::Cutting(size) => format!("cutting {size}"),
			Line::Cut(size) => format!("cut {size}"),
			Line::Taken((client, seq), Extent { offset, length }, is_remote) => {
				format!("taken {client} {seq} {offset} {length} {}", u8::from(*is_remote))
			}
			Line::Gap(Gap { offset, length, client, seq, errno }) => {
				format!("gap {client} {seq} {offset} {length} {errno}")
			}
			Line::Done((client, seq)) => format!("done {client} {seq}"),
		};
		write!(f, "{text} {}", crc32c::crc32c(text.as_bytes()))
	}
}

impl FromStr for Line {
	type Err = ();

	fn from_str(line: &str) -> Result<Line, ()> {
		let (text, crc) = line.rsplit_once(' ').ok_or(())?;
		if crc.parse() != Ok(crc32c::crc32c(text.as_bytes())) {
			return Err(());
		}
		let (name, numbers) = text.split_once(' ').ok_or(())?;
		let numbers: Result<Vec<u64>, _> = numbers.split(' ').map(str::parse).collect();
		Ok(match (name, numbers.map_err(drop)?.as_slice()) {
			("size", &[size]) => Line::Size(size),
			("cutting", &[size]) => Line::Cutting(size),
			("cut", &[size]) => Line::Cut(size),
			("taken", &[client, seq, offset, length, is_remote]) => {
				Line::Taken((client, seq), Extent { offset, length }, is_remote != 0)
			}
			("gap", &[client, seq, offset, length, errno]) => {
				Line::Gap(Gap { offset, length, client, seq, errno: errno as u32 })
			}
			("done", &[client, seq]) => Line::Done((client, seq)),
			_ => return Err(()),
		})
	}
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
	use super::*;

	fn wanted(client: u64, seq: u64, length: u64, align: u32) -> Wanted {
		Wanted { client, seq, length, align }
	}

	fn text(lines: &[Line]) -> String {
		lines.iter().map(|line| format!("{line}\n")).collect()
	}

	fn ranges(ledger: &Ledger) -> Vec<(u64, u64, u64)> {
		ledger.gaps(0, 100).0.iter().map(|gap| (gap.offset, gap.length, gap.seq)).collect()
	}

	#[test]
	fn extents_follow_each_other_and_alignment_leaves_a_gap() {
		let (mut ledger, mut lines) = (Ledger::default(), Vec::new());
		ledger.size(10, &mut lines);
		assert_eq!(ledger.take(&wanted(1, 1, 5, 0), 0, &mut lines), Some(10));
		assert_eq!(ledger.take(&wanted(1, 2, 5, 16), 0, &mut lines), Some(16));
		assert_eq!(ledger.take(&wanted(1, 3, 1, 1), 0, &mut lines), Some(21));
		assert_eq!(ledger.take(&wanted(1, 4, u64::MAX, 1), 0, &mut lines), None);
		assert_eq!(ranges(&ledger), [(15, 1, 0)]);
		assert_eq!(Ledger::read(&text(&lines)).end, 22);
	}

	#[test]
	fn whether_a_truncation_was_done_the_size_says() {
		let (mut ledger, mut lines) = (Ledger::default(), Vec::new());
		ledger.take(&wanted(1, 1, 5, 1), 0, &mut lines);
		ledger.lose((1, 1), Extent { offset: 0, length: 5 }, Errno::IO, &mut lines);
		ledger.begin_cut(0, &mut lines);
		for (size, gaps) in [(5, vec![(0, 5, 1)]), (0, vec![])] {
			let mut next = Ledger::read(&text(&lines));
			assert_eq!(ranges(&next), [(0, 5, 1)]);
			next.size(size, &mut Vec::new());
			assert_eq!(ranges(&next), gaps);
			assert_eq!(next.take(&wanted(1, 2, 1, 1), 0, &mut Vec::new()), Some(size));
			next.size(0, &mut Vec::new()); // what is late cuts nothing
			assert_eq!(next.take(&wanted(1, 3, 1, 1), 0, &mut Vec::new()), Some(size + 1));
		}
	}

	#[test]
	fn a_truncation_cuts_gaps_and_what_is_said_late_of_cut_extents_is_nothing() {
		let (mut ledger, mut lines) = (Ledger::default(), Vec::new());
		ledger.take(&wanted(1, 1, 10, 1), 5, &mut lines);
		ledger.take(&wanted(1, 2, 10, 1), 5, &mut lines);
		ledger.lose((1, 1), Extent { offset: 0, length: 10 }, Errno::IO, &mut lines);
		ledger.cut(4, &mut lines);
		ledger.lose((1, 2), Extent { offset: 10, length: 10 }, Errno::IO, &mut lines);
		assert_eq!(ranges(&ledger), [(0, 4, 1)]);
		assert_eq!(ledger.take(&wanted(1, 3, 1, 1), 5, &mut lines), Some(4));
	}

	#[test]
	fn what_this_server_was_to_write_before_it_was_started_nobody_does() {
		let (mut ledger, mut lines) = (Ledger::default(), Vec::new());
		ledger.take(&wanted(1, 1, 5, 1), 0, &mut lines);
		assert!(!Ledger::read(&text(&lines)).may_be_busy());
		ledger.take(&wanted(1, 2, 5, 1), 9, &mut lines);
		let mut next = Ledger::read(&text(&lines));
		assert!(next.may_be_busy() && !next.is_busy());
		next.note_outcome(&Gap { client: 1, seq: 2, ..Gap::default() }, &mut lines);
		assert!(!next.may_be_busy());
	}

	#[test]
	fn a_ledger_cut_at_any_byte_knows_what_its_whole_lines_say() {
		let (mut ledger, mut lines) = (Ledger::default(), Vec::new());
		for seq in 1..=5 {
			ledger.take(&wanted(7, seq, 100, 1), 0, &mut lines).unwrap();
		}
		let outcome = Gap { offset: 120, length: 30, client: 7, seq: 2, errno: 28 };
		ledger.note_outcome(&outcome, &mut lines);
		for seq in 1..=3 {
			ledger.note_outcome(&Gap { client: 7, seq, ..Gap::default() }, &mut lines);
		}
		let text = text(&lines);
		assert_eq!(ranges(&ledger), [(120, 30, 2)]);
		assert_eq!(ranges(&Ledger::read(&text)), [(120, 30, 2), (300, 100, 4), (400, 100, 5)]);
		for cut in 0..text.len() {
			let whole = text[..cut].lines().filter(|l| l.parse::<Line>().is_ok()).count();
			let read = Ledger::read(&text[..cut]);
			assert_eq!(read.end, 100 * whole.min(5) as u64);
			assert!(ranges(&read).iter().map(|range| range.1).sum::<u64>() <= 500);
		}
	}

	#[test]
	fn who_repeats_gets_the_extent_it_had_and_its_gap_is_gone() {
		let (mut ledger, mut lines) = (Ledger::default(), Vec::new());
		ledger.take(&wanted(7, 1, 100, 1), 0, &mut lines).unwrap();
		ledger.take(&wanted(7, 2, 100, 1), 0, &mut lines).unwrap();
		let mut read = Ledger::read(&text(&lines));
		assert_eq!(ranges(&read), [(0, 100, 1), (100, 100, 2)]);
		assert_eq!(read.take(&wanted(7, 2, 100, 1), 0, &mut lines), Some(100));
		assert_eq!(ranges(&read), [(0, 100, 1)]);
		read.note_outcome(&Gap { client: 7, seq: 2, ..Gap::default() }, &mut lines);
		assert_eq!(ranges(&Ledger::read(&text(&lines))), [(0, 100, 1)]);
		assert!(!read.is_busy());
	}

	#[test]
	fn what_a_dead_server_had_is_a_gap_and_a_cut_takes_gaps_along() {
		let (mut ledger, mut lines) = (Ledger::default(), Vec::new());
		ledger.take(&wanted(1, 1, 10, 1), 5, &mut lines).unwrap();
		ledger.take(&wanted(2, 1, 10, 1), 6, &mut lines).unwrap();
		ledger.abandon(5, &mut lines);
		assert_eq!(ranges(&ledger), [(0, 10, 1)]);
		assert!(ledger.is_busy());
		ledger.cut(0, &mut lines);
		assert_eq!((ranges(&ledger), ledger.is_busy()), (vec![], false));
		assert_eq!(ledger.take(&wanted(1, 2, 4, 1), 5, &mut lines), Some(0));
	}

	#[test]
	fn what_nobody_will_write_is_a_gap_unless_it_is_done_or_anothers() {
		let (mut ledger, mut lines) = (Ledger::default(), Vec::new());
		for seq in 1..=3 {
			ledger.take(&wanted(1, seq, 10, 1), 5, &mut lines).unwrap();
		}
		ledger.note_outcome(&Gap { client: 1, seq: 1, ..Gap::default() }, &mut lines);
		ledger.take(&wanted(1, 2, 10, 1), 6, &mut lines).unwrap();
		(1..=4).for_each(|seq| ledger.give_up((1, seq), 5, &mut lines));
		assert_eq!(ranges(&ledger), [(20, 10, 3)]);
		ledger.give_up((1, 2), 6, &mut lines);
		assert!(!ledger.is_busy());
		assert_eq!(ranges(&Ledger::read(&text(&lines))), [(10, 10, 2), (20, 10, 3)]);
	}

	#[test]
	fn a_ledger_is_what_its_fewest_lines_make() {
		let (mut ledger, mut lines) = (Ledger::default(), Vec::new());
		for seq in 1..=200 {
			ledger.take(&wanted(1, seq, 10, 1), 0, &mut lines).unwrap();
			ledger.note_outcome(&Gap { client: 1, seq, ..Gap::default() }, &mut lines);
		}
		ledger.take(&wanted(2, 1, 10, 512), 0, &mut lines).unwrap();
		let short = ledger.lines();
		assert!(short.len() < 140, "{} lines", short.len());
		let read = Ledger::read(&text(&short));
		assert_eq!((read.end, ranges(&read)), (2058, vec![(2000, 48, 0), (2048, 10, 1)]));
		assert_eq!(read.taken.len(), ledger.taken.len());
	}
}
