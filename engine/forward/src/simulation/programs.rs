//! What clients do, and what they believe: each program keeps what it was told, and holds it against the disk in the end.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fathom_wire::number::{flag, hint, level, lock, mode, open, set};
use fathom_wire::{Claim, Extent, Failed, Handle, Hints, Reply, Request, SetAttr, Text};

use rustix::io::Errno;

use crate::clock::simulated;
use crate::simulation::client::{Client, Heard};
use crate::simulation::world::World;
use crate::trouble::STALE;

/// Requests that a program has at once.
const AT_ONCE: usize = 3;
/// Bytes of a slot of the shared file.
const SLOT: usize = 16;

const TIMED_OUT: u32 = Errno::TIMEDOUT.raw_os_error() as u32;

/// What came of a request.
type Answer = Result<(Reply, Vec<u8>), u32>;

pub trait Program: Send {
	/// The next request, if it is time for one.
	fn go_on(&mut self, client: &mut Client, chance: &mut fastrand::Rng);
	fn hear(&mut self, client: &mut Client, heard: &Heard);
	/// It has nothing more to do.
	fn is_over(&self) -> bool;
	/// What it was told, against the disk.
	fn check(&self, world: &World);
	fn describe(&self) -> String;
	/// Of one that appends.
	fn records(&self) -> Vec<&Record> {
		Vec::new()
	}
	/// It can go on without paths, and may go away in its midst.
	fn only_appends(&self) -> bool {
		false
	}
	/// It is killed; nothing more is heard of it.
	fn leave(&mut self) {}
	/// When it last cut the file that others append to.
	fn last_cut(&self) -> Option<Duration> {
		None
	}
	/// Of one that counts: numbers that it wrote, that it may have written, and whether a write failed.
	fn counts(&self) -> Option<(&[u64], &[u64], bool)> {
		None
	}
}

/// `alone`: no other server has the directory. Locks over several are not simulated.
pub fn some_program(
	chance: &mut fastrand::Rng,
	(client, number): (u64, u64),
	alone: bool,
) -> Box<dyn Program> {
	let name = format!("{client}.{number}");
	match chance.u8(0..if alone { 6 } else { 5 }) {
		5 => Box::new(Cuts { left: 2, ..Cuts::default() }),
		0 | 1 => Box::new(Appends::new(name, client, chance)),
		2 => Box::new(Writes::new(name, client * 8 + number * 2, chance)),
		3 => Box::new(Names::new(name)),
		4 if !alone => Box::new(Cuts { left: 2, ..Cuts::default() }),
		_ => Box::new(Counts { owner: number + 1, ..Counts::default() }),
	}
}

pub fn check_all(world: &World) {
	for seat in &world.seats {
		seat.programs.iter().for_each(|program| program.check(world));
	}
	crate::simulation::log::check(world);
	check_counts(world);
}

/// A file that all programs share; it is opened, and made by who comes first.
#[derive(Default)]
struct Shared {
	handle: Option<Handle>,
	opening: Option<u64>,
}

impl Shared {
	/// Its handle, once it is open.
	fn open(&mut self, client: &mut Client, path: &str) -> Option<Handle> {
		let is_new = self.handle.is_none() && self.opening.is_none();
		if is_new && !client.is_busy_with(path) {
			let flags = open::CREATE | open::READ | open::WRITE;
			let path = Text::from(path);
			let request = Request::Open { dir: Handle::ROOT, flags, mode: 0o644, path };
			self.opening = Some(client.ask(request, b"", (0, Hints::default()), &[]));
		}
		self.handle
	}

	fn hear(&mut self, seq: u64, answer: &Answer) {
		if self.opening == Some(seq) {
			self.opening = None;
			match answer {
				Ok((Reply::Open { handle, .. }, _)) => self.handle = Some(*handle),
				other => panic!("open: {other:?}"),
			}
		}
	}
}

/// How a write is sent, by chance.
fn way(chance: &mut fastrand::Rng) -> u32 {
	let level = if chance.bool() { flag::NONBLOCKING } else { 0 };
	let pulled = if chance.u8(0..3) == 0 { flag::PULL } else { 0 };
	level | pulled
}

/// What became of writes that were answered, and what commits said of them.
#[derive(Default)]
struct Accepted {
	/// Answered at level accepted, and not committed.
	open: BTreeSet<u64>,
	/// The commit under way, and which it is for.
	committing: Option<(u64, BTreeSet<u64>)>,
	told: BTreeSet<(u64, u64)>,
}

impl Accepted {
	fn commit(&mut self, client: &mut Client, handle: Handle, path: &str) {
		if self.committing.is_none() {
			let request = Request::Commit { handle, level: level::WRITTEN };
			let seq = client.ask(request, b"", (0, Hints::default()), &[(handle, path)]);
			self.committing = Some((seq, self.open.clone()));
		}
	}

	/// What a commit says, this program's or another's of the client: which are written, and which ranges are not.
	fn hear(&mut self, seq: u64, answer: &Answer) -> (BTreeSet<u64>, Vec<Failed>) {
		let own = self.committing.take_if(|(committing, _)| *committing == seq);
		let failed = match answer {
			Ok((Reply::Commit { failed }, _)) => failed.as_slice(),
			Err(STALE) => return Default::default(), // it commits anew
			Err(errno) if own.is_some() => panic!("commit: {errno}"),
			_ => &[],
		};
		let is_own = |range: &&Failed| self.open.contains(&range.seq);
		let failed: Vec<Failed> = failed.iter().filter(is_own).cloned().collect();
		for range in &failed {
			assert!(self.told.insert((range.seq, range.offset)), "told twice: {range:?}");
		}
		self.open.retain(|seq| !failed.iter().any(|range| range.seq == *seq));
		let mut written = own.map(|(_, open)| open).unwrap_or_default();
		written.retain(|seq| self.open.remove(seq));
		(written, failed)
	}
}

/// What is known of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
	Asked,
	/// At that offset, as far as the server is not killed.
	Accepted(u64),
	Written(u64),
	Failed,
	/// Its server was killed before it was committed.
	Unknown,
}

pub struct Record {
	pub bytes: Vec<u8>,
	/// When it was asked for.
	pub asked: Duration,
	pub fate: Fate,
}

/// Records at the end of a shared file.
pub struct Appends {
	name: String,
	client: u64,
	left: u32,
	log: Shared,
	pub records: BTreeMap<u64, Record>,
	accepted: Accepted,
}

impl Appends {
	fn new(name: String, client: u64, chance: &mut fastrand::Rng) -> Appends {
		let left = chance.u32(1..8);
		let (log, accepted) = (Shared::default(), Accepted::default());
		Appends { name, client, left, log, records: BTreeMap::new(), accepted }
	}

	fn outstanding(&self) -> usize {
		self.records.values().filter(|record| record.fate == Fate::Asked).count()
	}
}

impl Program for Appends {
	fn go_on(&mut self, client: &mut Client, chance: &mut fastrand::Rng) {
		let Some(handle) = self.log.open(client, "log") else { return };
		if self.left == 0 {
			if self.outstanding() == 0 && !self.accepted.open.is_empty() {
				self.accepted.commit(client, handle, "log");
			}
			return;
		}
		if self.outstanding() >= AT_ONCE || self.accepted.committing.is_some() {
			return;
		}
		self.left -= 1;
		let text = format!("<{}:{}{}>", self.name, self.left, "x".repeat(chance.usize(0..40)));
		let bytes = text.into_bytes();
		let request = Request::Append { handle, length: bytes.len() as u64 };
		let hints = Hints::default().with(hint::APPEND_SHARED, b"");
		let seq = client.ask(request, &bytes, (way(chance), hints), &[(handle, "log")]);
		let asked = simulated::passed().unwrap();
		self.records.insert(seq, Record { bytes, asked, fate: Fate::Asked });
	}

	fn hear(&mut self, client: &mut Client, heard: &Heard) {
		match heard {
			Heard::Connected { lost, .. } => {
				let lost = self.accepted.open.iter().filter(|_| lost.is_some());
				for seq in lost.copied().collect::<Vec<_>>() {
					self.accepted.open.remove(&seq);
					self.records.entry(seq).and_modify(|record| record.fate = Fate::Unknown);
				}
			}
			Heard::Answer { seq, answer } => {
				self.log.hear(*seq, answer);
				if answer.as_ref().is_err_and(|errno| *errno == STALE) {
					assert!(client.is_pathless, "a file that is there is not known");
					self.log = Shared::default();
				}
				let (written, failed) = self.accepted.hear(*seq, answer);
				for seq in written {
					let fate = &mut self.records.get_mut(&seq).unwrap().fate;
					let Fate::Accepted(at) = *fate else { panic!("{fate:?}, and is committed") };
					*fate = Fate::Written(at);
				}
				for range in failed {
					// its owner had no time to say whether it knows of it
					let is_late = range.errno == TIMED_OUT;
					let fate = if is_late { Fate::Unknown } else { Fate::Failed };
					self.records.get_mut(&range.seq).unwrap().fate = fate;
				}
				let Some(record) = self.records.get_mut(seq) else { return };
				record.fate = match answer {
					Ok((Reply::Append { offset, level: level::ACCEPTED }, _)) => {
						self.accepted.open.insert(*seq);
						Fate::Accepted(*offset)
					}
					Ok((Reply::Append { offset, .. }, _)) => Fate::Written(*offset),
					Ok(other) => panic!("append: {other:?}"),
					Err(errno) if *errno == TIMED_OUT => Fate::Unknown,
					Err(_) => Fate::Failed,
				};
			}
		}
	}

	fn is_over(&self) -> bool {
		self.left == 0 && self.outstanding() == 0 && self.accepted.open.is_empty()
	}

	fn check(&self, world: &World) {
		let log = world.disk.contents("log").unwrap_or_default();
		let mut last = None;
		for (seq, record) in &self.records {
			say!("client {} record {seq}: {:?}", self.client, record.fate);
		}
		for record in self.records.values().filter(|record| world.is_uncut(record)) {
			let Fate::Written(at) = record.fate else { continue };
			let there = log.get(at as usize..at as usize + record.bytes.len());
			assert_eq!(there, Some(&record.bytes[..]), "a record that was written");
			assert!(last < Some(at), "client {}: records are out of order", self.client);
			last = Some(at);
		}
	}

	fn describe(&self) -> String {
		format!("appends: {} left, {} asked", self.left, self.outstanding())
	}

	fn records(&self) -> Vec<&Record> {
		self.records.values().collect()
	}

	fn only_appends(&self) -> bool {
		true
	}

	fn leave(&mut self) {
		self.left = 0;
		self.accepted = Accepted::default();
		let open = |record: &&mut Record| matches!(record.fate, Fate::Asked | Fate::Accepted(_));
		self.records.values_mut().filter(open).for_each(|record| record.fate = Fate::Unknown);
	}
}

/// Cuts the file that others append to, as who rotates logs does.
#[derive(Default)]
struct Cuts {
	left: u32,
	log: Shared,
	asked: Option<u64>,
	last: Option<Duration>,
}

impl Program for Cuts {
	fn go_on(&mut self, client: &mut Client, chance: &mut fastrand::Rng) {
		let Some(handle) = self.log.open(client, "log") else { return };
		if self.left == 0 || self.asked.is_some() || chance.u8(0..3) > 0 {
			return;
		}
		self.left -= 1;
		let request =
			Request::SetAttr { handle, set: SetAttr { which: set::SIZE, ..SetAttr::default() } };
		let hints = Hints::default().with(hint::APPEND_SHARED, b"");
		self.asked = Some(client.ask(request, b"", (0, hints), &[(handle, "log")]));
	}

	fn hear(&mut self, _: &mut Client, heard: &Heard) {
		let Heard::Answer { seq, answer } = heard else { return };
		self.log.hear(*seq, answer);
		if self.asked.take_if(|asked| asked == seq).is_some() {
			// it may be done yet
			let is_late = answer.as_ref().is_err_and(|errno| *errno == TIMED_OUT);
			self.last = if is_late { Some(Duration::MAX) } else { simulated::passed() };
		}
	}

	fn is_over(&self) -> bool {
		self.left == 0 && self.asked.is_none()
	}

	fn check(&self, _: &World) {}

	fn describe(&self) -> String {
		format!("cuts: {} left, asked {:?}", self.left, self.asked)
	}

	fn last_cut(&self) -> Option<Duration> {
		self.last
	}
}

/// Slots of a shared file, each written again and again.
struct Writes {
	name: String,
	first: u64,
	left: u32,
	data: Shared,
	/// By slot: the request under way and what it writes.
	asked: [Option<(u64, Vec<u8>)>; 2],
	/// What a slot holds; None: that is not known.
	holds: [Option<Vec<u8>>; 2],
	accepted: Accepted,
	/// Which slot an accepted write is of.
	slots: BTreeMap<u64, usize>,
}

impl Writes {
	fn new(name: String, first: u64, chance: &mut fastrand::Rng) -> Writes {
		Writes {
			name,
			first,
			left: chance.u32(1..12),
			data: Shared::default(),
			asked: [None, None],
			holds: [None, None],
			accepted: Accepted::default(),
			slots: BTreeMap::new(),
		}
	}

	fn is_asking(&self) -> bool {
		self.asked.iter().any(Option::is_some)
	}

	fn answered(&mut self, slot: usize, seq: u64, value: Vec<u8>, answer: &Answer) {
		self.holds[slot] = Some(value);
		match answer {
			Ok((Reply::Write { level: level::ACCEPTED, .. }, _)) => {
				self.accepted.open.insert(seq);
				self.slots.insert(seq, slot);
			}
			Ok((Reply::Write { .. }, _)) => {}
			Ok(other) => panic!("write: {other:?}"),
			Err(_) => self.holds[slot] = None,
		}
	}
}

impl Program for Writes {
	fn go_on(&mut self, client: &mut Client, chance: &mut fastrand::Rng) {
		let Some(handle) = self.data.open(client, "data") else { return };
		if self.accepted.committing.is_some() {
			return;
		}
		let is_done = self.left == 0 && !self.is_asking();
		if !self.accepted.open.is_empty() && (is_done || chance.u8(0..8) == 0) {
			return self.accepted.commit(client, handle, "data");
		}
		let slot = chance.usize(0..2);
		if self.left == 0 || self.asked[slot].is_some() {
			return;
		}
		self.left -= 1;
		let value = format!("{:>SLOT$}", format!("{}:{}", self.name, self.left)).into_bytes();
		let offset = (self.first + slot as u64) * SLOT as u64;
		let extents = vec![Extent { offset, length: SLOT as u64 }];
		let request = Request::Write { handle, extents };
		let how = (way(chance), Hints::default());
		let seq = client.ask(request, &value, how, &[(handle, "data")]);
		self.asked[slot] = Some((seq, value));
	}

	fn hear(&mut self, _: &mut Client, heard: &Heard) {
		match heard {
			Heard::Connected { lost: Some(_), .. } => {
				// of what is lost a part may be there
				for seq in std::mem::take(&mut self.accepted.open) {
					if let Some(slot) = self.slots.remove(&seq) {
						self.holds[slot] = None;
					}
				}
			}
			Heard::Connected { .. } => {}
			Heard::Answer { seq, answer } => {
				self.data.hear(*seq, answer);
				let (written, failed) = self.accepted.hear(*seq, answer);
				self.slots.retain(|seq, _| !written.contains(seq));
				for range in failed {
					let slot = self.slots.remove(&range.seq).unwrap();
					self.holds[slot] = None;
				}
				for slot in 0..2 {
					if let Some((_, value)) = self.asked[slot].take_if(|asked| asked.0 == *seq) {
						self.answered(slot, *seq, value, answer);
					}
				}
			}
		}
	}

	fn is_over(&self) -> bool {
		self.left == 0 && !self.is_asking() && self.accepted.open.is_empty()
	}

	fn check(&self, world: &World) {
		let data = world.disk.contents("data").unwrap_or_default();
		for (slot, value) in self.holds.iter().enumerate() {
			let Some(value) = value else { continue };
			let at = (self.first as usize + slot) * SLOT;
			let there = data.get(at..at + SLOT).unwrap_or_default();
			let (is_there, wanted) = (there == value, String::from_utf8_lossy(value));
			let there = String::from_utf8_lossy(there);
			assert!(is_there, "slot {slot} of {}: {there}, not {wanted}", self.name);
		}
	}

	fn describe(&self) -> String {
		format!("writes: {} left, asked {:?}", self.left, self.asked)
	}
}

/// Names that nobody else touches, made and removed in turn, the same ones again and again.
struct Names {
	name: String,
	/// Which of the changes is next, and how many are left.
	next: usize,
	left: u32,
	asked: Option<u64>,
	file: Option<Handle>,
}

impl Names {
	fn new(name: String) -> Names {
		Names { name, next: 0, left: 16, asked: None, file: None }
	}

	fn change(&self) -> (Request, Vec<(Handle, String)>) {
		let (dir, to_dir) = (Handle::ROOT, Handle::ROOT);
		let of = |kind: &str| Text::from(format!("{kind}{}", self.name).as_str());
		let file = self.file.unwrap_or_default();
		let request = match self.next {
			0 => Request::Mkdir { dir, mode: 0o755, path: of("d") },
			1 => {
				let flags = open::CREATE | open::EXCLUSIVE | open::WRITE;
				Request::Open { dir, flags, mode: 0o644, path: of("f") }
			}
			2 => Request::Rename { dir, path: of("f"), to_dir, to: of("g"), flags: 0 },
			3 => Request::Link { handle: file, dir, path: of("h") },
			4 => Request::Unlink { dir, path: of("g") },
			5 => Request::Symlink { dir, path: of("s"), target: of("h") },
			6 => Request::Unlink { dir, path: of("s") },
			7 => Request::Unlink { dir, path: of("h") },
			_ => Request::Rmdir { dir, path: of("d") },
		};
		let paths = if self.next == 3 { vec![(file, format!("g{}", self.name))] } else { vec![] };
		(request, paths)
	}
}

impl Program for Names {
	fn go_on(&mut self, client: &mut Client, _: &mut fastrand::Rng) {
		if self.asked.is_some() || self.left == 0 {
			return;
		}
		self.left -= 1;
		let (request, paths) = self.change();
		let paths: Vec<_> = paths.iter().map(|(handle, path)| (*handle, path.as_str())).collect();
		self.asked = Some(client.ask(request, b"", (0, Hints::default()), &paths));
	}

	fn hear(&mut self, _: &mut Client, heard: &Heard) {
		let Heard::Answer { seq, answer } = heard else { return };
		if self.asked.take_if(|asked| asked == seq).is_none() {
			return;
		}
		match answer {
			Ok((Reply::Open { handle, created, .. }, _)) => {
				assert_eq!(*created, 1);
				self.file = Some(*handle);
			}
			Ok(_) => {}
			Err(errno) => panic!("names of {}: change {} is called {errno}", self.name, self.next),
		}
		self.next = (self.next + 1) % 9;
	}

	fn is_over(&self) -> bool {
		self.left == 0 && self.asked.is_none()
	}

	fn check(&self, world: &World) {
		let there: Vec<String> = world.disk.names();
		let own = there.iter().filter(|name| name.get(1..) == Some(&self.name[..]));
		let own: String = own.filter_map(|name| name.chars().next()).collect();
		let wanted = ["", "d", "df", "dg", "dgh", "dh", "dhs", "dh", "d"][self.next];
		assert_eq!(own, wanted, "names of {} after change {}", self.name, self.next);
	}

	fn describe(&self) -> String {
		format!("names: {} left, asked {:?} {}", self.left, self.asked, self.next)
	}
}

/// One number, which all read and write by turns, under a lock.
#[derive(Default)]
struct Counts {
	/// Of its locks; another program of the client is another.
	owner: u64,
	left: u32,
	begun: bool,
	file: Shared,
	stage: Stage,
	asked: Option<u64>,
	written: Vec<u64>,
	/// Written or not: its answer was not awaited.
	maybe: Vec<u64>,
	/// A write failed.
	is_damaged: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Stage {
	#[default]
	Out,
	Locked,
	Read(u64),
	Counted,
}

impl Counts {
	fn claim(&self, mode: u8, flags: u32) -> Claim {
		Claim { owner: self.owner, mode, flags, length: 1, ..Claim::default() }
	}

	/// The locks are gone: who had one does nothing more under it.
	fn unlocked(&mut self, client: &mut Client) {
		if self.stage == Stage::Out {
			return;
		}
		if let Some(asked) = self.asked.take() {
			client.pending.remove(&asked);
			if let Stage::Read(number) = self.stage {
				self.maybe.push(number + 1);
			}
		}
		self.stage = Stage::Out;
	}
}

impl Program for Counts {
	fn go_on(&mut self, client: &mut Client, _: &mut fastrand::Rng) {
		if !std::mem::replace(&mut self.begun, true) {
			self.left = 3;
		}
		let Some(handle) = self.file.open(client, "count") else { return };
		if self.asked.is_some() || (self.left == 0 && self.stage == Stage::Out) {
			return;
		}
		let extents = vec![Extent { offset: 0, length: 8 }];
		let (request, data) = match self.stage {
			Stage::Out => {
				let claim = self.claim(mode::EXCLUSIVE, lock::WAIT);
				(Request::Lock { handle, claim }, Vec::new())
			}
			Stage::Locked => (Request::Read { handle, extents }, Vec::new()),
			Stage::Read(number) => {
				self.left = self.left.saturating_sub(1);
				(Request::Write { handle, extents }, (number + 1).to_le_bytes().to_vec())
			}
			Stage::Counted => {
				let claim = self.claim(mode::NONE, 0);
				(Request::Unlock { handle, claim }, Vec::new())
			}
		};
		self.asked = Some(client.ask(request, &data, (0, Hints::default()), &[(handle, "count")]));
	}

	fn hear(&mut self, client: &mut Client, heard: &Heard) {
		match heard {
			Heard::Connected { unlocked, .. } => {
				if *unlocked {
					self.unlocked(client);
				}
			}
			Heard::Answer { seq, answer } => {
				self.file.hear(*seq, answer);
				if self.asked.take_if(|asked| asked == seq).is_none() {
					return;
				}
				self.stage = match (self.stage, answer) {
					(Stage::Out, Ok(_)) => Stage::Locked,
					(Stage::Out, Err(_)) => Stage::Out, // it asks again
					(Stage::Locked, Ok((_, data))) => {
						let number = data.get(..8).map(|bytes| bytes.try_into().unwrap());
						Stage::Read(number.map_or(0, u64::from_le_bytes))
					}
					(Stage::Read(number), Ok(_)) => {
						self.written.push(number + 1);
						Stage::Counted
					}
					(Stage::Read(number), Err(_)) => {
						self.maybe.push(number + 1);
						self.is_damaged = true;
						Stage::Counted
					}
					(Stage::Counted, Ok(_)) => Stage::Out,
					(stage, other) => panic!("count: {stage:?}, {other:?}"),
				};
			}
		}
	}

	fn is_over(&self) -> bool {
		self.begun && self.left == 0 && self.stage == Stage::Out && self.asked.is_none()
	}

	fn check(&self, _: &World) {}

	fn describe(&self) -> String {
		format!("counts: {} left, {:?}, asked {:?}", self.left, self.stage, self.asked)
	}

	fn counts(&self) -> Option<(&[u64], &[u64], bool)> {
		Some((&self.written, &self.maybe, self.is_damaged))
	}
}

/// No two have written the same number, and the last one is there.
fn check_counts(world: &World) {
	let programs = world.seats.iter().flat_map(|seat| &seat.programs);
	let counts: Vec<_> = programs.filter_map(|program| program.counts()).collect();
	if counts.iter().any(|(_, _, is_damaged)| *is_damaged) {
		return;
	}
	let mut seen = BTreeSet::new();
	for number in counts.iter().flat_map(|(written, ..)| *written) {
		assert!(seen.insert(*number), "{number} was counted twice, under a lock");
	}
	let there = world.disk.contents("count").unwrap_or_default();
	let there = there.get(..8).map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().unwrap()));
	let maybe = counts.iter().flat_map(|(_, maybe, _)| *maybe);
	let last = seen.last().copied().unwrap_or(0);
	let is_known = there == last || maybe.into_iter().any(|number| *number == there);
	assert!(there >= last && is_known, "{there} is the number, {last} was the last written");
}
