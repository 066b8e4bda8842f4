//! Changes of names that must not be done twice. What is about to be done is written down, and if it fails, how: a server
//! that was killed in between knows when it is asked again whether what it finds was done by that very request.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, Once, OnceLock};
use std::time::Duration;

use fathom_wire::number::limit;
use fathom_wire::{Attr, Time};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::time::ClockId;

use crate::Map;
use crate::clock;
use crate::journal::{JOURNALS, errno_of, own_directory, own_file, read_own};
use crate::queue::Key;
use crate::trouble::{Trouble, errno_text};

/// In the server's own directory: records in places that are used again once nobody can ask. A group's servers have one each, by
/// their numbers.
const NAME: &str = "names";
/// Bytes of a record: client, seq, seconds and nanoseconds of when it began, errno, number of what is moved, checksum.
const RECORD: usize = 48;
/// Bytes that the file has from the start, for more than a thousand records: a full disk takes those.
const ROOM: usize = 64 << 10;
/// Seconds that somebody may come and ask again.
const ASKED_FOR: i64 = 3600;
/// The longest that a kernel has, and one more.
const TICK: Duration = Duration::from_millis(20);

/// What is known of a request of before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
	key: Key,
	began: (i64, u32),
	/// Why it was not done; 0: it may have been.
	errno: u32,
	/// Inode of what is moved, where that matters.
	pub moved: u64,
}

impl Record {
	fn bytes(&self) -> [u8; RECORD] {
		let mut bytes = [0; RECORD];
		bytes[0..8].copy_from_slice(&self.key.0.to_le_bytes());
		bytes[8..16].copy_from_slice(&self.key.1.to_le_bytes());
		bytes[16..24].copy_from_slice(&self.began.0.to_le_bytes());
		bytes[24..28].copy_from_slice(&self.began.1.to_le_bytes());
		bytes[28..32].copy_from_slice(&self.errno.to_le_bytes());
		bytes[32..40].copy_from_slice(&self.moved.to_le_bytes());
		let crc = crc32c::crc32c(&bytes[..40]);
		bytes[40..44].copy_from_slice(&crc.to_le_bytes());
		bytes
	}

	/// None: it was cut off, or there never was one.
	fn parse(bytes: &[u8]) -> Option<Record> {
		let u64_at = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
		let u32_at = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
		let key = (u64_at(0)?, u64_at(8)?);
		let began = (u64_at(16)? as i64, u32_at(24)?);
		let is_whole = key.0 != 0 && u32_at(40)? == crc32c::crc32c(&bytes[..40]);
		is_whole.then_some(Record { key, began, errno: u32_at(28)?, moved: u64_at(32)? })
	}
}

/// The kernel dates no file that is made from now on earlier.
fn now() -> (i64, u32) {
	clock::date(ClockId::RealtimeCoarse)
}

/// A moment after all files that are there, and before all that are made after this. Since Linux 6.13 some files are dated
/// to the nanosecond, others by ticks: the next tick is waited for.
fn start() -> (i64, u32) {
	let started = clock::date(ClockId::Realtime);
	let until = clock::now() + TICK;
	while now() <= started && clock::now() < until {
		clock::pause(Duration::from_millis(1));
	}
	started
}

/// Places for records.
#[derive(Default)]
struct Places {
	free: Vec<u64>,
	next: u64,
	/// By client, in order of seq.
	used: HashMap<u64, VecDeque<(u64, u64)>>,
}

impl Places {
	/// One for a request; those of the client's that cannot be asked for again are free.
	fn take(&mut self, (client, seq): Key) -> u64 {
		let used = self.used.entry(client).or_default();
		let oldest = seq.saturating_sub(u64::from(limit::WINDOW));
		while let Some((_, place)) = used.pop_front_if(|(seq, _)| *seq < oldest) {
			self.free.push(place);
		}
		let place = self.free.pop().unwrap_or_else(|| {
			self.next += 1;
			self.next - 1
		});
		used.push_back((seq, place));
		place
	}
}

/// Where records are kept.
pub trait RecordStore: Send + Sync {
	/// All that are there.
	fn read(&self) -> Result<Vec<u8>, String>;
	/// In its place; it outlives this process.
	fn write(&self, at: u64, record: &[u8]) -> Result<(), Errno>;
}

/// A file in the server's own directory.
pub struct RecordFile {
	/// Made when it is needed.
	file: OnceLock<File>,
	/// By one alone, as others write into it at once.
	opening: Mutex<()>,
	root: OwnedFd,
	name: String,
}

impl RecordFile {
	/// `server`: its number and how many share the directory.
	pub fn beneath(root: BorrowedFd<'_>, server: (u32, u32)) -> Result<RecordFile, Errno> {
		let root = rustix::io::fcntl_dupfd_cloexec(root, 0)?;
		let name = match server {
			(0, 1) => NAME.to_owned(),
			(number, _) => format!("{NAME}.{number}"),
		};
		Ok(RecordFile { file: OnceLock::new(), opening: Mutex::new(()), root, name })
	}

	fn file(&self) -> Result<&File, Errno> {
		if let Some(file) = self.file.get() {
			return Ok(file);
		}
		let _alone = self.opening.lock().map_err(|_| Errno::IO)?;
		if let Some(file) = self.file.get() {
			return Ok(file);
		}
		let flags = OFlags::RDWR | OFlags::CREATE;
		let file = own_file(&own_directory(&self.root, true)?, &self.name, flags)?;
		let length = file.metadata().map_err(|error| errno_of(&error))?.len() as usize;
		// what there is no room for now may find it later
		let _ = file.write_all_at(&vec![0; ROOM.saturating_sub(length)], length as u64);
		Ok(self.file.get_or_init(|| file))
	}
}

impl RecordStore for RecordFile {
	fn read(&self) -> Result<Vec<u8>, String> {
		Ok(read_own(&self.root, &self.name)?.unwrap_or_default())
	}

	fn write(&self, at: u64, record: &[u8]) -> Result<(), Errno> {
		self.file()?.write_all_at(record, at).map_err(|error| errno_of(&error))
	}
}

pub struct Intents {
	records: Box<dyn RecordStore>,
	before: Map<Key, (Record, u64)>,
	places: Mutex<Places>,
	started: (i64, u32),
	/// The log has that some changes are not written down.
	logged: Once,
}

impl Intents {
	pub fn open(records: Box<dyn RecordStore>) -> Result<Intents, String> {
		let started = start();
		let bytes = records.read()?;
		let mut places = Places { next: (bytes.len() / RECORD) as u64, ..Places::default() };
		let mut before: Map<Key, (Record, u64)> = Map::default();
		for (place, record) in (0u64..).zip(bytes.chunks_exact(RECORD).map(Record::parse)) {
			match record.filter(|record| started.0 - record.began.0 < ASKED_FOR) {
				Some(record) => drop(before.insert(record.key, (record, place))),
				None => places.free.push(place),
			}
		}
		Ok(Intents { records, before, places: Mutex::new(places), started, logged: Once::new() })
	}

	/// A request that changes names begins; `again`: it may have been asked before; `frees`: it makes room.
	pub fn begin(self: &Arc<Intents>, key: Key, again: bool, frees: bool) -> Intent {
		let before = self.before.get(&key).filter(|_| again).copied();
		let place = before.map(|(_, place)| place);
		let place = place.or_else(|| self.places.lock().ok().map(|mut places| places.take(key)));
		let (intents, before) = (self.clone(), before.map(|(record, _)| record));
		let record = Record { key, began: now(), errno: 0, moved: 0 };
		Intent {
			intents,
			place: place.unwrap_or_default(),
			record: before.unwrap_or(record),
			before,
			frees,
		}
	}

	/// A client that is gone asks for nothing again.
	pub fn forget(&self, client: u64) {
		if let Ok(mut places) = self.places.lock()
			&& let Some(used) = places.used.remove(&client)
		{
			places.free.extend(used.into_iter().map(|(_, place)| place));
		}
	}

	/// Nor for this one.
	pub fn forget_one(&self, (client, seq): Key) {
		if let Ok(mut places) = self.places.lock()
			&& let Some(used) = places.used.get_mut(&client)
			&& let Some(at) = used.iter().position(|(other, _)| *other == seq)
		{
			let place = used.remove(at).map(|(_, place)| place);
			if used.is_empty() {
				places.used.remove(&client);
			}
			places.free.extend(place);
		}
	}

	/// Said once: what is done so may be done twice.
	fn log(&self, why: &str) {
		self.logged.call_once(|| {
			warn!(
				"fathom-engine: {why}; a change of names that a kill interrupts may be done twice"
			);
		});
	}
}

/// One change of names.
pub struct Intent {
	intents: Arc<Intents>,
	place: u64,
	record: Record,
	before: Option<Record>,
	/// On a full disk it is the way out.
	frees: bool,
}

impl Intent {
	fn write(&self) -> Result<(), Errno> {
		self.intents.records.write(self.place * RECORD as u64, &self.record.bytes())
	}

	/// Writes down what is about to be done; an error: it must not be done.
	fn announce(&self) -> Result<(), Trouble> {
		let Err(errno) = self.write() else { return Ok(()) };
		let why = format!("{JOURNALS}/{NAME}: {}", errno_text(errno));
		let is_full = matches!(errno, Errno::NOSPC | Errno::DQUOT);
		// the server's user may make no file there, so there has never been a record
		let is_kept_out = matches!(errno, Errno::ACCESS | Errno::PERM | Errno::ROFS);
		if is_kept_out || (is_full && self.frees) {
			self.intents.log(&why);
			return Ok(());
		}
		Err(Trouble::new(errno, why))
	}

	/// Does it, unless it was done or refused before. `moved`: the inode of what goes elsewhere. `done`: what is said of one
	/// that was done before, by what was found in its way.
	pub fn once<T>(
		mut self,
		moved: Option<u64>,
		act: impl FnOnce() -> Result<T, Trouble>,
		done: impl FnOnce(&Intent, Errno) -> Option<T>,
	) -> Result<T, Trouble> {
		match self.before {
			Some(before) if before.errno != 0 => {
				return Err(Errno::from_raw_os_error(before.errno as i32).into());
			}
			Some(_) => {}
			None => {
				self.record.moved = moved.unwrap_or_default();
				self.announce()?;
			}
		}
		let trouble = match act() {
			Ok(result) => return Ok(result),
			Err(trouble) => trouble,
		};
		if self.before.is_some()
			&& let Some(result) = done(&self, trouble.errno)
		{
			return Ok(result);
		}
		self.record.errno = trouble.status();
		if let Err(errno) = self.write() {
			self.intents.log(&format!("{JOURNALS}/{NAME}: {}", errno_text(errno)));
		}
		Err(trouble)
	}

	/// It was asked before, and what is moved had that inode.
	pub fn moved_before(&self) -> Option<u64> {
		self.before.map(|before| before.moved)
	}

	/// What has these attributes may be what it made before: it is not older than the request, nor younger than this server.
	pub fn made(&self, attr: &Attr) -> bool {
		let Time { seconds, nanoseconds } = attr.birth;
		let born = (seconds, nanoseconds);
		born == (0, 0) || (self.record.began <= born && born <= self.intents.started)
	}
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
	use super::*;
	use std::os::fd::AsFd;

	fn open(root: &File) -> Intents {
		open_as(root, (0, 1))
	}

	fn open_as(root: &File, server: (u32, u32)) -> Intents {
		Intents::open(Box::new(RecordFile::beneath(root.as_fd(), server).unwrap())).unwrap()
	}

	#[test]
	fn a_record_that_is_cut_off_is_none() {
		let record = Record { key: (7, 9), began: (1 << 40, 5), errno: 17, moved: 3 };
		let bytes = record.bytes();
		assert_eq!(Record::parse(&bytes), Some(record));
		assert!((0..44).all(|end| Record::parse(&bytes[..end]).is_none()));
		assert_eq!(Record::parse(&[0; RECORD]), None);
	}

	#[test]
	fn what_was_refused_is_refused_again_and_what_was_done_is_not_done_again() {
		let place = std::env::temp_dir().join(format!("fathom-intents-{}", std::process::id()));
		std::fs::create_dir_all(&place).unwrap();
		let root = File::open(&place).unwrap();
		let exists = || Err::<u32, Trouble>(Errno::EXIST.into());
		let first = Arc::new(open(&root));
		assert!(first.begin((1, 1), false, false).once(None, || Ok(1), |_, _| None).is_ok());
		assert!(first.begin((1, 2), false, false).once(None, exists, |_, _| Some(9)).is_err());
		let next = Arc::new(open(&root));
		let again = |seq| next.begin((1, seq), true, false);
		assert_eq!(again(1).once(None, exists, |_, _| Some(2)).unwrap(), 2);
		assert!(again(2).once(None, || Ok(1), |_, _| Some(9)).is_err());
		assert!(again(3).once(None, exists, |_, _| Some(9)).is_err());
		std::fs::remove_dir_all(&place).unwrap();
	}

	#[test]
	fn what_is_written_down_while_the_file_is_made_stays() {
		let place = std::env::temp_dir().join(format!("fathom-opening-{}", std::process::id()));
		for round in 0..30 {
			let place = place.join(round.to_string());
			std::fs::create_dir_all(&place).unwrap();
			let root = File::open(&place).unwrap();
			let first = Arc::new(open(&root));
			std::thread::scope(|scope| {
				for seq in 1..=8 {
					let intent = first.begin((1, seq), false, false);
					scope.spawn(move || intent.once(None, || Ok(1), |_, _| None).unwrap());
				}
			});
			assert_eq!(open(&root).before.len(), 8);
		}
		std::fs::remove_dir_all(&place).unwrap();
	}

	#[test]
	fn servers_of_a_group_keep_what_they_wrote_down_from_each_other() {
		let place = std::env::temp_dir().join(format!("fathom-group-{}", std::process::id()));
		std::fs::create_dir_all(&place).unwrap();
		let root = File::open(&place).unwrap();
		let servers = [0, 1].map(|number| (number, Arc::new(open_as(&root, (number, 2)))));
		for (number, server) in &servers {
			let key = (u64::from(*number) + 1, 1);
			server.begin(key, false, false).once(None, || Ok(1), |_, _| None).unwrap();
		}
		for number in 0..2 {
			let before = open_as(&root, (number, 2)).before;
			assert_eq!(before.keys().collect::<Vec<_>>(), [&(u64::from(number) + 1, 1)]);
		}
		std::fs::remove_dir_all(&place).unwrap();
	}

	#[test]
	fn places_are_used_again() {
		let mut places = Places::default();
		for seq in 0..10_000 {
			places.take((1, seq));
		}
		assert!(places.next <= u64::from(limit::WINDOW) + 2);
	}
}
