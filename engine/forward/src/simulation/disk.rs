//! A file system in memory, which outlives the servers of a simulation. It fails when it is told to, and a server that is killed
//! has written only a part of what it was about to write.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use fathom_wire::number::{open, set};
use fathom_wire::{Attr, Entry, Handle, Reply, SetAttr, Text, Time};
use rustix::io::Errno;
use rustix::time::ClockId;

use crate::clock;
use crate::intents::RecordStore;
use crate::journal::{JournalFile, JournalStore};
use crate::stripes::Striping;

type Result<T> = std::result::Result<T, Errno>;
type Found = (Object, Attr);

const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;
const LINK: u32 = 0o120_000;
/// The root's inode.
const ROOT: u64 = 1;

pub struct Object {
	pub handle: Handle,
	inode: u64,
}

#[derive(Default, Clone)]
struct Inode {
	mode: u32,
	links: u32,
	birth: (i64, u32),
	data: Vec<u8>,
	names: BTreeMap<Vec<u8>, u64>,
}

#[derive(Default)]
struct State {
	inodes: BTreeMap<u64, Inode>,
	next: u64,
	journals: BTreeMap<String, Vec<u8>>,
	/// How much of them servers know to be there.
	known: BTreeMap<String, usize>,
	/// Of each server.
	records: BTreeMap<u32, Vec<u8>>,
	ends: Vec<u8>,
	nameless: Vec<Handle>,
	near: bool,
	/// Bytes after which a journal is written anew.
	long: u64,
	/// Writes of data that fail, from the next on, and how.
	failing: u32,
	/// Of one that fails, whether some of it is written.
	partly: bool,
	/// The same of journals.
	failing_journals: u32,
	/// How many bytes a server that is being killed still writes; a change of names is one.
	left: Option<usize>,
	/// It does not live to rename a journal.
	dies_before_rename: bool,
}

impl State {
	/// How much of so much is still done, by a server that is alive or nearly dead.
	fn spend(&mut self, bytes: usize) -> usize {
		let Some(left) = &mut self.left else { return bytes };
		let done = bytes.min(*left);
		*left -= done;
		done
	}

	/// A change of names is done.
	fn may_change(&mut self) -> Result<()> {
		if self.spend(1) == 1 { Ok(()) } else { Err(Errno::IO) }
	}

	fn inode(&mut self, number: u64) -> Result<&mut Inode> {
		self.inodes.get_mut(&number).ok_or(Errno::STALE)
	}

	fn found(&mut self, number: u64) -> Result<Found> {
		let inode = self.inode(number)?;
		let (seconds, nanoseconds) = inode.birth;
		let mut handle = Handle::default();
		handle.0[0] = 1;
		handle.0[16..24].copy_from_slice(&number.to_le_bytes());
		handle.0[24..28].copy_from_slice(&nanoseconds.to_le_bytes());
		let attr = Attr {
			mode: inode.mode,
			nlink: inode.links,
			ino: number,
			size: inode.data.len() as u64,
			birth: Time { seconds, nanoseconds },
			..Attr::default()
		};
		let handle = if number == ROOT { Handle::ROOT } else { handle };
		Ok((Object { handle, inode: number }, attr))
	}

	fn named(&mut self, dir: u64, name: &[u8]) -> Result<u64> {
		if name.is_empty() {
			return Ok(dir);
		}
		self.inode(dir)?.names.get(name).copied().ok_or(Errno::NOENT)
	}

	fn make(&mut self, dir: u64, name: &[u8], mode: u32, data: &[u8]) -> Result<Found> {
		if self.inode(dir)?.names.contains_key(name) {
			return Err(Errno::EXIST);
		}
		self.may_change()?;
		self.next += 1;
		let (number, birth) = (self.next, clock::date(ClockId::RealtimeCoarse));
		let inode = Inode { mode, links: 1, birth, data: data.to_vec(), ..Inode::default() };
		self.inodes.insert(number, inode);
		self.inode(dir)?.names.insert(name.to_vec(), number);
		self.found(number)
	}

	/// A name stands for nothing more; a file that has none lives on as long as somebody knows its handle.
	fn unname(&mut self, dir: u64, name: &[u8]) -> Result<()> {
		let number = self.inode(dir)?.names.remove(name).ok_or(Errno::NOENT)?;
		let inode = self.inode(number)?;
		inode.links -= 1;
		if inode.links == 0 {
			let handle = self.found(number)?.0.handle;
			self.nameless.push(handle);
		}
		Ok(())
	}
}

pub struct Disk(Mutex<State>);

impl Disk {
	/// `near`: nobody need wait for it. `long`: bytes of a journal that is written anew.
	pub fn new(near: bool, long: u64) -> Arc<Disk> {
		let root = Inode { mode: DIRECTORY | 0o755, links: 1, ..Inode::default() };
		let inodes = BTreeMap::from([(ROOT, root)]);
		let state = State { inodes, next: ROOT, near, long, ..State::default() };
		Arc::new(Disk(Mutex::new(state)))
	}

	fn state(&self) -> MutexGuard<'_, State> {
		self.0.lock().unwrap()
	}

	/// The server is killed: it writes so many bytes more, or all until it renames a journal.
	pub fn kill_in(&self, bytes: usize, before_rename: bool) {
		let mut state = self.state();
		(state.left, state.dies_before_rename) = (Some(bytes), before_rename);
	}

	/// The next server writes.
	pub fn revive(&self) {
		let mut state = self.state();
		(state.left, state.dies_before_rename) = (None, false);
	}

	/// A server knows of all that is written.
	pub fn know_journals(&self) {
		let mut state = self.state();
		state.known = state.journals.iter().map(|(name, all)| (name.clone(), all.len())).collect();
	}

	/// The server is killed while it writes journals: of what it does not know to be there some is.
	pub fn tear_journals(&self, chance: &mut fastrand::Rng) {
		let State { journals, known, .. } = &mut *self.state();
		for (name, journal) in journals {
			let known = known.get(name).copied().unwrap_or(0).min(journal.len());
			if chance.bool() {
				journal.truncate(chance.usize(known..=journal.len()));
			}
		}
	}

	/// The next writes of data fail, and those of journals.
	pub fn fail(&self, writes: u32, partly: bool, journals: u32) {
		let mut state = self.state();
		(state.failing, state.partly, state.failing_journals) = (writes, partly, journals);
	}

	/// What a file holds.
	pub fn contents(&self, name: &str) -> Option<Vec<u8>> {
		let mut state = self.state();
		let number = state.named(ROOT, name.as_bytes()).ok()?;
		Some(state.inode(number).ok()?.data.clone())
	}

	pub fn handle(&self, name: &str) -> Option<Handle> {
		let mut state = self.state();
		let number = state.named(ROOT, name.as_bytes()).ok()?;
		Some(state.found(number).ok()?.0.handle)
	}

	/// All names, with what links lead to.
	pub fn names(&self) -> Vec<String> {
		let mut state = self.state();
		let names = state.inode(ROOT).map(|root| root.names.clone()).unwrap_or_default();
		names.into_keys().map(|name| String::from_utf8_lossy(&name).into_owned()).collect()
	}

	pub fn journals(&self) -> String {
		let state = self.state();
		let whole = state.journals.iter().filter(|(name, _)| !name.ends_with(".new"));
		whole.map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned()).collect()
	}

	pub fn ends(&self) -> Vec<u8> {
		self.state().ends.clone()
	}

	pub fn note_end(&self, line: &str) {
		self.state().ends.extend(line.as_bytes());
	}

	pub fn is_near(&self) -> bool {
		self.state().near
	}

	pub fn root(&self) -> Object {
		Object { handle: Handle::ROOT, inode: ROOT }
	}

	pub fn take_nameless(&self) -> Vec<Handle> {
		std::mem::take(&mut self.state().nameless)
	}

	pub fn lookup(&self, dir: &Object, path: &Text, _nofollow: bool) -> Result<Found> {
		let mut state = self.state();
		let number = state.named(dir.inode, &path.0)?;
		state.found(number)
	}

	pub fn open_file(
		&self,
		dir: &Object,
		path: &Text,
		(flags, mode): (u32, u32),
		_wish: Striping,
	) -> Result<(Object, Attr, bool)> {
		let mut state = self.state();
		let there = state.named(dir.inode, &path.0);
		match there {
			Ok(_) if flags & open::EXCLUSIVE != 0 => Err(Errno::EXIST),
			Ok(number) => state.found(number).map(|(object, attr)| (object, attr, false)),
			Err(Errno::NOENT) if flags & open::CREATE != 0 => {
				let made = state.make(dir.inode, &path.0, REGULAR | mode, b"")?;
				Ok((made.0, made.1, true))
			}
			Err(errno) => Err(errno),
		}
	}

	pub fn mkdir(&self, dir: &Object, path: &Text, mode: u32) -> Result<Found> {
		self.state().make(dir.inode, &path.0, DIRECTORY | mode, b"")
	}

	pub fn mknod(&self, dir: &Object, path: &Text, mode: u32, _rdev: u64) -> Result<Found> {
		self.state().make(dir.inode, &path.0, mode, b"")
	}

	pub fn symlink(&self, dir: &Object, path: &Text, target: &Text) -> Result<Found> {
		self.state().make(dir.inode, &path.0, LINK | 0o777, &target.0)
	}

	pub fn read_link(&self, object: &Object) -> Result<Text> {
		Ok(Text(self.state().inode(object.inode)?.data.clone()))
	}

	pub fn link(&self, object: &Object, dir: &Object, path: &Text) -> Result<Attr> {
		let mut state = self.state();
		if state.inode(dir.inode)?.names.contains_key(&path.0) {
			return Err(Errno::EXIST);
		}
		state.may_change()?;
		state.inode(object.inode)?.links += 1;
		state.inode(dir.inode)?.names.insert(path.0.clone(), object.inode);
		Ok(state.found(object.inode)?.1)
	}

	pub fn unlink(&self, dir: &Object, path: &Text, directory: bool) -> Result<()> {
		let mut state = self.state();
		let number = state.named(dir.inode, &path.0)?;
		let is_directory =
			state.inode(number)?.mode & DIRECTORY != 0 && state.inode(number)?.mode & REGULAR == 0;
		match (directory, is_directory) {
			(true, false) => return Err(Errno::NOTDIR),
			(false, true) => return Err(Errno::ISDIR),
			_ => {}
		}
		state.may_change()?;
		state.unname(dir.inode, &path.0)
	}

	pub fn rename(&self, from: (&Object, &Text), to: (&Object, &Text), _flags: u32) -> Result<()> {
		let mut state = self.state();
		let number = state.named(from.0.inode, &from.1.0)?;
		state.may_change()?;
		if state.named(to.0.inode, &to.1.0) == Ok(number) {
			return Ok(());
		}
		let _ = state.unname(to.0.inode, &to.1.0);
		state.inode(from.0.inode)?.names.remove(&from.1.0);
		state.inode(to.0.inode)?.names.insert(to.1.0.clone(), number);
		Ok(())
	}

	pub fn attr(&self, object: &Object) -> Result<Attr> {
		Ok(self.state().found(object.inode)?.1)
	}

	pub fn set_attr(&self, object: &Object, wanted: &SetAttr) -> Result<Attr> {
		let mut state = self.state();
		if wanted.which & set::SIZE != 0 {
			state.may_change()?;
			state.inode(object.inode)?.data.resize(wanted.size as usize, 0);
		}
		Ok(state.found(object.inode)?.1)
	}

	pub fn read(&self, object: &Object, into: &mut [u8], offset: u64) -> Result<usize> {
		let mut state = self.state();
		let data = &state.inode(object.inode)?.data;
		let there = data.get(offset as usize..).unwrap_or_default();
		let bytes = there.len().min(into.len());
		into[..bytes].copy_from_slice(&there[..bytes]);
		Ok(bytes)
	}

	pub fn write(&self, object: &Object, parts: &[&[u8]], offset: u64) -> Result<()> {
		let mut state = self.state();
		let (all, failing) = (parts.concat(), state.failing > 0);
		state.failing = state.failing.saturating_sub(1);
		let wanted = match (failing, state.partly) {
			(false, _) => all.len(),
			(true, true) => all.len() / 2,
			(true, false) => 0,
		};
		let (done, at) = (state.spend(wanted), offset as usize);
		let data = &mut state.inode(object.inode)?.data;
		if done > 0 {
			data.resize(data.len().max(at + done), 0);
			data[at..at + done].copy_from_slice(&all[..done]);
		}
		if failing { Err(Errno::NOSPC) } else { Ok(()) }
	}

	pub fn sync(&self, _object: &Object) -> Result<()> {
		Ok(())
	}

	pub fn read_dir(&self, _: &Object, _: u64, _: u32) -> Result<(Vec<Entry>, bool)> {
		Err(Errno::OPNOTSUPP)
	}

	pub fn stat_fs(&self, _: &Object) -> Result<Reply> {
		Err(Errno::OPNOTSUPP)
	}
}

/// What servers keep for themselves.
#[derive(Clone)]
pub struct Own(pub Arc<Disk>, pub u32);

impl JournalStore for Own {
	fn read(&self, name: &str) -> Result<Option<Vec<u8>>> {
		Ok(self.0.state().journals.get(name).cloned())
	}

	fn open(&self, name: &str) -> Result<Box<dyn JournalFile>> {
		let mut state = self.0.state();
		state.may_change()?;
		state.journals.entry(name.to_owned()).or_default();
		Ok(Box::new((self.0.clone(), name.to_owned())))
	}

	fn rename(&self, name: &str, to: &str) -> Result<()> {
		let mut state = self.0.state();
		if state.dies_before_rename {
			state.left = Some(0);
		}
		state.may_change()?;
		let journal = state.journals.remove(name).ok_or(Errno::NOENT)?;
		state.known.insert(to.to_owned(), journal.len()); // it was whole before
		state.journals.insert(to.to_owned(), journal);
		Ok(())
	}

	fn remove(&self, name: &str) -> Result<()> {
		let mut state = self.0.state();
		state.may_change()?;
		state.journals.remove(name);
		Ok(())
	}

	fn long(&self) -> u64 {
		self.0.state().long
	}
}

impl JournalFile for (Arc<Disk>, String) {
	fn add(&mut self, text: &[u8]) -> Result<()> {
		let mut state = self.0.state();
		let failing = state.failing_journals > 0;
		state.failing_journals = state.failing_journals.saturating_sub(1);
		let done = state.spend(if failing { text.len() / 2 } else { text.len() });
		let is_cut_back = failing && state.spend(1) == 1;
		let done = if is_cut_back { 0 } else { done };
		state.journals.entry(self.1.clone()).or_default().extend(&text[..done]);
		if failing { Err(Errno::NOSPC) } else { Ok(()) }
	}
}

impl RecordStore for Own {
	fn read(&self) -> std::result::Result<Vec<u8>, String> {
		Ok(self.0.state().records.get(&self.1).cloned().unwrap_or_default())
	}

	fn write(&self, at: u64, record: &[u8]) -> Result<()> {
		let mut state = self.0.state();
		let (at, done) = (at as usize, state.spend(record.len()));
		let records = state.records.entry(self.1).or_default();
		records.resize(records.len().max(at + done), 0);
		records[at..at + done].copy_from_slice(&record[..done]);
		Ok(())
	}
}
