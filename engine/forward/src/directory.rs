//! A directory as the store: every path is resolved by the kernel beneath the exported root, whatever it says.

use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, Mutex, Weak};

use fathom_record::Access;
use fathom_wire::number::{allocate, limit, open, rename, seek};
use fathom_wire::{Attr, Entry, Handle, Reply, SetAttr, Text};
use rustix::fs::{
	AtFlags, FallocateFlags, FileType, Mode, OFlags, RenameFlags, SeekFrom, XattrFlags,
};
use rustix::io::{Errno, ReadWriteFlags};

use crate::Map;
use crate::accesses::Accesses;
use crate::journal::{JOURNALS, own_directory};
pub use crate::object::Object;
use crate::object::{
	CLOSED, Counted, IOV_MAX, beneath, beneath_name, change, find, list, open_flags, parent,
	proc_path, read_all, read_from, sync, write_all,
};
use crate::probe_backoff::ProbeBackoff;
use crate::removed::Removed;
use crate::stripes::{DATA, FILES, PEER_ROOT, Striping};

type Result<T> = std::result::Result<T, Errno>;

/// What holds the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Data {
	/// The files of the directory.
	Files,
	/// Nothing: what is written is dropped, reads are at the end of file.
	Nothing,
}

/// What can be had of a file system without waiting for a disk or for a server of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nearness {
	/// Nothing is sure.
	Far,
	/// On disks of this machine: attributes of files that are open, and what of their data is cached.
	Disk,
	/// All.
	Memory,
}

pub struct Directory {
	root: OwnedFd,
	/// All handles that it has.
	roots: [Handle; 3],
	data: Data,
	accesses: Accesses,
	/// Of the device that the root is on.
	nearness: Nearness,
	device: [u8; 8],
	/// Of writes that may not wait.
	quick_writes: ProbeBackoff,
	/// Files that have lost their names.
	pub removed: Removed,
	parents: Parents,
}

/// Directories in which files were made that are not synced yet, each opened once: by device and number.
#[derive(Default)]
struct Parents(Mutex<Map<(u64, u64), Weak<Counted>>>);

impl Parents {
	/// The directory that a path's last component is in.
	fn of(&self, dir: &Object, path: &Text) -> Result<Arc<Counted>> {
		if !path.0.contains(&b'/') {
			return Ok(dir.place.clone());
		}
		let (directory, _) = parent(dir, path)?;
		let facts = rustix::fs::fstat(&directory)?;
		let Ok(mut parents) = self.0.lock() else { return Ok(Arc::new(directory.into())) };
		let known = parents.get(&(facts.st_dev, facts.st_ino)).and_then(Weak::upgrade);
		if let Some(known) = known {
			return Ok(known);
		}
		if parents.len().is_power_of_two() {
			parents.retain(|_, one| one.strong_count() > 0);
		}
		let opened = Arc::new(Counted::from(directory));
		parents.insert((facts.st_dev, facts.st_ino), Arc::downgrade(&opened));
		Ok(opened)
	}
}

impl Directory {
	pub fn open(root: &Path, data: Data, accesses: Accesses) -> Result<Directory> {
		let flags = OFlags::PATH | OFlags::DIRECTORY | CLOSED;
		let root = rustix::fs::open(root, flags, Mode::empty())?;
		let nearness = nearness(&root)?;
		let this = Object::of(rustix::io::fcntl_dupfd_cloexec(&root, 0)?)?.0;
		let (roots, device) = ([Handle::ROOT, PEER_ROOT, this.handle], this.device());
		let removed = Removed::default();
		let quick_writes = ProbeBackoff::default();
		let parents = Parents::default();
		Ok(Directory {
			root,
			roots,
			data,
			accesses,
			nearness,
			device,
			quick_writes,
			removed,
			parents,
		})
	}

	/// The exported directory; `own`: as other servers see it.
	pub fn root(&self, own: bool) -> Result<Object> {
		let place = rustix::io::fcntl_dupfd_cloexec(&self.root, 0)?;
		let mut root = Object::of(place)?.0;
		root.handle = if own { PEER_ROOT } else { Handle::ROOT };
		Ok(root)
	}

	/// The exported directory, for others to look beneath.
	pub fn directory(&self) -> BorrowedFd<'_> {
		self.root.as_fd()
	}

	/// Where striped files' layouts and data are.
	pub fn make_own(&self) -> Result<()> {
		own_directory(&self.root, true)?;
		for name in [FILES, DATA] {
			match rustix::fs::mkdirat(&self.root, name, Mode::RWXU) {
				Err(error) if error != Errno::EXIST => return Err(error),
				_ => {}
			}
		}
		Ok(())
	}

	/// Files that were removed while no server was there to free their data.
	pub fn find_removed(&self) -> Result<()> {
		let flags = OFlags::RDONLY | OFlags::DIRECTORY | CLOSED;
		let files = rustix::fs::openat(&self.root, FILES, flags, Mode::empty())?;
		for entry in rustix::fs::Dir::read_from(&files)? {
			let entry = entry?;
			let place =
				rustix::fs::openat(&files, entry.file_name(), OFlags::PATH | CLOSED, Mode::empty());
			self.removed.check(place.ok());
		}
		Ok(())
	}

	/// Of clients: the server's own directory is not there for them, whatever way a path takes to it. They can make no link
	/// that leads there, so that it is enough to look at the text.
	fn is_own(&self, dir: &Object, path: &Text) -> bool {
		if dir.handle == PEER_ROOT || !names_own(&path.0) {
			return false;
		}
		let mut above = Vec::new();
		path.0.split(|byte| *byte == b'/').any(|part| {
			let above_now =
				Text(if path.0.starts_with(b"/") { b"/".to_vec() } else { above.clone() });
			above.extend(part);
			above.push(b'/');
			part == JOURNALS.as_bytes()
				&& find(dir, &above_now, false)
					.is_ok_and(|(above, _)| above.handle == self.roots[2])
		})
	}

	/// Nothing there is made, moved or removed.
	fn refuse_own(&self, dir: &Object, path: &Text) -> Result<()> {
		if self.is_own(dir, path) { Err(Errno::PERM) } else { Ok(()) }
	}

	pub fn lookup(&self, dir: &Object, path: &Text, nofollow: bool) -> Result<(Object, Attr)> {
		if self.is_own(dir, path) {
			return Err(Errno::NOENT);
		}
		self.accesses.access(Access::Stat, dir.place_of(path), 0, || find(dir, path, nofollow))
	}

	/// The file, its attributes, whether it was made.
	pub fn open_file(
		&self,
		dir: &Object,
		path: &Text,
		(flags, mode): (u32, u32),
		_wish: Striping,
	) -> Result<(Object, Attr, bool)> {
		if self.is_own(dir, path) {
			return Err(if flags & open::CREATE != 0 { Errno::PERM } else { Errno::NOENT });
		}
		let opened = || self.open_or_create(dir, path, flags, mode);
		fathom_record::access(Access::Open, dir.place_of(path), (0, 0), opened, |_| 0)
	}

	fn open_or_create(
		&self,
		dir: &Object,
		path: &Text,
		flags: u32,
		mode: u32,
	) -> Result<(Object, Attr, bool)> {
		let wanted = open_flags(flags);
		if flags & open::TMPFILE != 0 {
			return self.make_nameless(dir, path, flags, mode);
		}
		if path.0.is_empty() {
			self.accesses.pass(0, 0);
			let again = wanted & !OFlags::NOFOLLOW; // of a name that is the kernel's
			let file = rustix::fs::open(proc_path(&dir.place), again | CLOSED, Mode::empty())?;
			return self.opened(dir, path, file, flags, false);
		}
		for _ in 0..100 {
			if flags & open::CREATE != 0 {
				self.accesses.pass(1, 0);
				let create_flags = wanted | OFlags::CREATE | OFlags::EXCL;
				match beneath(dir, path, create_flags, Mode::from_raw_mode(mode & 0o7777)) {
					Err(Errno::EXIST) if flags & open::EXCLUSIVE == 0 => {}
					Err(error) => return Err(error),
					Ok(file) => return self.opened(dir, path, file, flags, true),
				}
			}
			self.accesses.pass(0, 0);
			match beneath(dir, path, wanted, Mode::empty()) {
				// removed by another meanwhile, or a link that leads to nothing yet
				Err(Errno::NOENT) if flags & open::CREATE != 0 => {
					if let Some(made) = self.create_through_link(dir, path, flags, mode)? {
						return Ok(made);
					}
				}
				Err(error) => return Err(error),
				Ok(file) => return self.opened(dir, path, file, flags, false),
			}
		}
		Err(Errno::NOENT)
	}

	/// A file without a name in a directory; *exclusive*: it gets none later.
	fn make_nameless(
		&self,
		dir: &Object,
		path: &Text,
		flags: u32,
		mode: u32,
	) -> Result<(Object, Attr, bool)> {
		self.accesses.pass(1, 0);
		let exclusive = flags & open::EXCLUSIVE != 0;
		let exclusive = if exclusive { OFlags::EXCL } else { OFlags::empty() };
		let how = open_flags(flags) | OFlags::TMPFILE | exclusive;
		let file = beneath(dir, path, how, Mode::from_raw_mode(mode & 0o7777))?;
		let (object, attr, _) = self.opened(dir, path, file, flags, false)?;
		self.removed.note_nameless(&object);
		Ok((object, attr, true))
	}

	/// A symbolic link's target is made, as open does; None: the name is no link.
	fn create_through_link(
		&self,
		dir: &Object,
		path: &Text,
		flags: u32,
		mode: u32,
	) -> Result<Option<(Object, Attr, bool)>> {
		match find(dir, path, true) {
			Ok((object, _)) if object.is_link()? => {}
			Err(error) if error != Errno::NOENT => return Err(error),
			_ => return Ok(None),
		}
		let mode = Mode::from_raw_mode(mode & 0o7777);
		let file = beneath(dir, path, open_flags(flags) | OFlags::CREATE, mode)?;
		let (object, attr, _) = self.opened(dir, path, file, flags, false)?;
		let directory = directory_of(&object)?;
		if let Ok(mut created_in) = object.created_in.lock() {
			*created_in = directory.map(|directory| Arc::new(directory.into()));
		}
		Ok(Some((object, attr, false)))
	}

	fn opened(
		&self,
		dir: &Object,
		path: &Text,
		file: OwnedFd,
		flags: u32,
		created: bool,
	) -> Result<(Object, Attr, bool)> {
		let (object, attr) = Object::of(file)?;
		let (reads, writes) = (flags & open::READ != 0, flags & open::WRITE != 0);
		if writes {
			let _ = object.writing.set(object.place.clone());
		}
		if reads || !writes {
			let quiet = flags & open::NOATIME != 0;
			let slot = if quiet { &object.quiet } else { &object.reading };
			let _ = slot.set(object.place.clone());
		}
		if created {
			let parent = self.parents.of(dir, path)?;
			if let Ok(mut created_in) = object.created_in.lock() {
				*created_in = Some(parent);
			}
		}
		Ok((object, attr, created))
	}

	pub fn attr(&self, object: &Object) -> Result<Attr> {
		self.accesses.access(Access::Stat, object.place(), 0, || object.attr())
	}

	pub fn set_attr(&self, object: &Object, wanted: &SetAttr) -> Result<Attr> {
		self.accesses.access(Access::SetAttr, object.place(), 0, || change(object, wanted))
	}

	pub fn rename(&self, from: (&Object, &Text), to: (&Object, &Text), flags: u32) -> Result<()> {
		let flags = match flags {
			0 => RenameFlags::empty(),
			rename::NOREPLACE => RenameFlags::NOREPLACE,
			rename::EXCHANGE => RenameFlags::EXCHANGE,
			_ => return Err(Errno::INVAL),
		};
		self.refuse_own(from.0, from.1)?;
		self.refuse_own(to.0, to.1)?;
		self.accesses.access(Access::Rename, from.0.place_of(from.1), 0, || {
			let (from, from_name) = parent(from.0, from.1)?;
			let (to, to_name) = parent(to.0, to.1)?;
			let replaced = beneath_name(&to, to_name);
			rustix::fs::renameat_with(&from, from_name, &to, to_name, flags)?;
			self.removed.check(replaced);
			Ok(())
		})
	}

	pub fn link(&self, object: &Object, dir: &Object, path: &Text) -> Result<Attr> {
		self.refuse_own(dir, path)?;
		self.accesses.access(Access::Link, dir.place_of(path), 0, || {
			let (dir, name) = parent(dir, path)?;
			let cwd = rustix::fs::CWD;
			let file = proc_path(&object.place);
			rustix::fs::linkat(cwd, file, &dir, name, AtFlags::SYMLINK_FOLLOW)?;
			object.attr()
		})
	}

	pub fn unlink(&self, dir: &Object, path: &Text, directory: bool) -> Result<()> {
		let (what, flags) = match directory {
			true => (Access::Rmdir, AtFlags::REMOVEDIR),
			false => (Access::Unlink, AtFlags::empty()),
		};
		self.refuse_own(dir, path)?;
		self.accesses.access(what, dir.place_of(path), 0, || {
			let (dir, name) = parent(dir, path)?;
			let removed = beneath_name(&dir, name);
			rustix::fs::unlinkat(&dir, name, flags)?;
			self.removed.check(removed);
			Ok(())
		})
	}

	pub fn mkdir(&self, dir: &Object, path: &Text, mode: u32) -> Result<(Object, Attr)> {
		self.refuse_own(dir, path)?;
		self.accesses.access(Access::Mkdir, dir.place_of(path), 1, || {
			let (parent, name) = parent(dir, path)?;
			rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(mode & 0o7777))
		})?;
		self.lookup(dir, path, true)
	}

	/// A FIFO, a socket's name, a device; the kernel says who may.
	pub fn mknod(&self, dir: &Object, path: &Text, mode: u32, rdev: u64) -> Result<(Object, Attr)> {
		self.refuse_own(dir, path)?;
		self.accesses.access(Access::Mknod, dir.place_of(path), 1, || {
			let (parent, name) = parent(dir, path)?;
			let (kind, mode) = (FileType::from_raw_mode(mode), Mode::from_raw_mode(mode & 0o7777));
			rustix::fs::mknodat(&parent, name, kind, mode, rdev)
		})?;
		self.lookup(dir, path, true)
	}

	pub fn symlink(&self, dir: &Object, path: &Text, target: &Text) -> Result<(Object, Attr)> {
		self.refuse_own(dir, path)?;
		if names_own(&target.0) && dir.handle != PEER_ROOT {
			return Err(Errno::PERM);
		}
		self.accesses.access(Access::Symlink, dir.place_of(path), 1, || {
			let (parent, name) = parent(dir, path)?;
			rustix::fs::symlinkat(&target.0[..], &parent, name)
		})?;
		self.lookup(dir, path, true)
	}

	pub fn read_link(&self, object: &Object) -> Result<Text> {
		self.accesses.access(Access::Readlink, object.place(), 0, || {
			// the kernel, asked by descriptor, says ENOENT of what is no link
			if !object.is_link()? {
				return Err(Errno::INVAL);
			}
			Ok(Text(rustix::fs::readlinkat(&object.place, "", Vec::new())?.into_bytes()))
		})
	}

	/// Entries from a cookie on, and whether there are more.
	pub fn read_dir(&self, dir: &Object, cookie: u64, most: u32) -> Result<(Vec<Entry>, bool)> {
		self.accesses.access(Access::Getdents, dir.place(), 0, || {
			list(dir, self.roots.contains(&dir.handle), cookie, most)
		})
	}

	pub fn stat_fs(&self, object: &Object) -> Result<Reply> {
		let stat = self
			.accesses
			.access(Access::StatVfs, object.place(), 0, || rustix::fs::fstatvfs(&object.place))?;
		Ok(Reply::StatFs {
			bsize: stat.f_bsize,
			frsize: stat.f_frsize,
			blocks: stat.f_blocks,
			bfree: stat.f_bfree,
			bavail: stat.f_bavail,
			files: stat.f_files,
			ffree: stat.f_ffree,
			namemax: stat.f_namemax as u32,
		})
	}

	/// Bytes that were read; fewer than asked for only at the end of file.
	pub fn read(&self, object: &Object, into: &mut [u8], offset: u64) -> Result<usize> {
		self.accesses.transfer(Access::Pread, object.place(), (into.len(), offset), || {
			match self.data {
				Data::Files => read_all(object, into, offset),
				Data::Nothing => Ok(0),
			}
		})
	}

	pub fn read_quietly(&self, object: &Object, into: &mut [u8], offset: u64) -> Result<usize> {
		self.accesses.transfer(Access::Pread, object.place(), (into.len(), offset), || {
			match self.data {
				Data::Files => read_from(object.quiet()?, into, offset),
				Data::Nothing => Ok(0),
			}
		})
	}

	/// Where the next data or hole is.
	pub fn seek(&self, object: &Object, offset: u64, what: u8) -> Result<u64> {
		let offset = i64::try_from(offset).map_err(|_| Errno::NXIO)? as u64;
		let whence = match what {
			seek::DATA => SeekFrom::Data(offset),
			seek::HOLE => SeekFrom::Hole(offset),
			_ => return Err(Errno::INVAL),
		};
		self.accesses
			.access(Access::Stat, object.place(), 0, || rustix::fs::seek(object.reading()?, whence))
	}

	/// As fallocate, in ways that may be repeated: what shifts bytes may not.
	pub fn allocate(&self, object: &Object, mode: u32, (offset, length): (u64, u64)) -> Result<()> {
		let known = allocate::KEEP_SIZE | allocate::PUNCH_HOLE | allocate::ZERO_RANGE;
		if mode & !known != 0 {
			return Err(Errno::OPNOTSUPP);
		}
		let mode = FallocateFlags::from_bits_retain(mode);
		self.accesses.access(Access::SetAttr, object.place(), 0, || match self.data {
			Data::Files => rustix::fs::fallocate(object.writing()?, mode, offset, length),
			Data::Nothing => Ok(()),
		})
	}

	pub fn get_xattr(&self, object: &Object, name: &Text) -> Result<Vec<u8>> {
		self.accesses.access(Access::Stat, object.place(), 0, || {
			let path = xattr_path(object)?.ok_or(Errno::NODATA)?;
			xattr_bytes(|room| rustix::fs::getxattr(&path, &name.0[..], room))
		})
	}

	pub fn list_xattr(&self, object: &Object) -> Result<Vec<u8>> {
		self.accesses.access(Access::Stat, object.place(), 0, || match xattr_path(object)? {
			Some(path) => xattr_bytes(|room| rustix::fs::listxattr(&path, room)),
			None => Ok(Vec::new()),
		})
	}

	pub fn set_xattr(&self, object: &Object, name: &Text, value: &[u8], flags: u32) -> Result<()> {
		let flags = XattrFlags::from_bits(flags).ok_or(Errno::INVAL)?;
		self.accesses.access(Access::SetAttr, object.place(), 0, || {
			let path = xattr_path(object)?.ok_or(Errno::PERM)?;
			rustix::fs::setxattr(path, &name.0[..], value, flags)
		})
	}

	pub fn remove_xattr(&self, object: &Object, name: &Text) -> Result<()> {
		self.accesses.access(Access::SetAttr, object.place(), 0, || {
			let path = xattr_path(object)?.ok_or(Errno::PERM)?;
			rustix::fs::removexattr(path, &name.0[..])
		})
	}

	/// The file's attributes can be had without waiting.
	pub fn is_quick(&self, object: &Object) -> bool {
		self.accesses.throttle.is_none()
			&& self.nearness != Nearness::Far
			&& object.device() == self.device
	}

	/// Every access to the file may take long.
	pub fn is_slow(&self, object: &Object) -> bool {
		self.data == Data::Files && !self.is_quick(object)
	}

	/// As read, if that needs no waiting.
	pub fn read_now(&self, object: &Object, into: &mut [u8], offset: u64) -> Option<usize> {
		match self.nearness {
			_ if self.does_nothing() => self.read(object, into, offset).ok(),
			_ if !self.is_quick(object) => None,
			Nearness::Memory => self.read(object, into, offset).ok(),
			// what is not recorded is not known to have been asked for twice
			_ if fathom_record::is_on() => None,
			_ => {
				let cached = ReadWriteFlags::NOWAIT;
				let into = &mut [IoSliceMut::new(into)];
				let wanted = into[0].len();
				let got = rustix::io::preadv2(object.reading().ok()?, into, offset, cached);
				got.ok().filter(|bytes| *bytes == wanted)
			}
		}
	}

	/// All these bytes, one after the other, if that needs no waiting; if it does, some of them may be written.
	pub fn write_now(&self, object: &Object, parts: &[&[u8]], offset: u64) -> bool {
		match self.nearness {
			_ if self.does_nothing() => self.write(object, parts, offset).is_ok(),
			_ if !self.may_write_nowait(object) => false,
			Nearness::Memory => self.write(object, parts, offset).is_ok(),
			_ if parts.len() > IOV_MAX => false,
			_ => {
				let wanted = parts.iter().map(|part| part.len()).sum::<usize>();
				let slices: Vec<_> = parts.iter().map(|part| IoSlice::new(part)).collect();
				let cached = ReadWriteFlags::NOWAIT;
				let file = object.writing();
				let done = file.and_then(|f| rustix::io::pwritev2(f, &slices, offset, cached));
				match done {
					Ok(bytes) if bytes == wanted => self.quick_writes.granted(),
					Err(Errno::OPNOTSUPP) => self.quick_writes.refused_for_good(),
					_ => self.quick_writes.refused(),
				}
				done == Ok(wanted)
			}
		}
	}

	/// Whether it is worth a try to write without waiting.
	pub fn may_write_now(&self, object: &Object) -> bool {
		let eligible = self.may_write_nowait(object);
		self.does_nothing()
			|| eligible && (self.nearness == Nearness::Memory || self.quick_writes.is_worth())
	}

	pub fn keeps_data(&self) -> bool {
		self.data == Data::Files
	}

	/// Data is neither kept nor waited for: any amount of it is done with at once.
	pub fn does_nothing(&self) -> bool {
		self.data == Data::Nothing && self.accesses.throttle.is_none()
	}

	/// A write to the file may be one that does not wait. What is refused is not recorded.
	fn may_write_nowait(&self, object: &Object) -> bool {
		let eligible = self.is_quick(object) && self.data == Data::Files;
		eligible && (self.nearness == Nearness::Memory || !fathom_record::is_on())
	}

	/// One access to the store: all these bytes, one after the other.
	pub fn write(&self, object: &Object, parts: &[&[u8]], offset: u64) -> Result<()> {
		let total = parts.iter().map(|part| part.len()).sum();
		let written =
			self.accesses.transfer(Access::Pwritev, object.place(), (total, offset), || match self
				.data
			{
				Data::Files => write_all(object, parts, offset).map(|()| total),
				Data::Nothing => Ok(total),
			});
		written.map(|_| ())
	}

	/// The file's data and, once after it was made, its name.
	pub fn sync(&self, object: &Object) -> Result<()> {
		self.accesses.access(Access::Fsync, object.place(), 0, || sync(object))
	}
}

/// A part of the path is the name of the server's own directory.
fn names_own(path: &[u8]) -> bool {
	path.windows(JOURNALS.len()).any(|part| part == JOURNALS.as_bytes())
}

/// The directory in which a file has just been made, by the name that the kernel has for it; None: it is gone, and has no name
/// that is to last.
fn directory_of(object: &Object) -> Result<Option<OwnedFd>> {
	let name = rustix::fs::readlink(proc_path(&object.place), Vec::new())?.into_bytes();
	let Some(end) = name.iter().rposition(|byte| *byte == b'/') else { return Ok(None) };
	let flags = OFlags::PATH | OFlags::DIRECTORY | CLOSED;
	match rustix::fs::open(&name[..end.max(1)], flags, Mode::empty()) {
		Err(Errno::NOENT) => Ok(None),
		opened => opened.map(Some),
	}
}

/// A name by which the kernel takes extended attributes of an open file. None: a symbolic link, which has none of users.
fn xattr_path(object: &Object) -> Result<Option<String>> {
	Ok(if object.is_link()? { None } else { Some(proc_path(&object.place)) })
}

/// What the kernel writes into the room that it is given.
fn xattr_bytes(mut ask: impl FnMut(&mut [u8]) -> Result<usize>) -> Result<Vec<u8>> {
	let mut bytes = vec![0; limit::XATTR as usize];
	let length = ask(&mut bytes)?;
	bytes.truncate(length);
	Ok(bytes)
}

fn nearness(place: &OwnedFd) -> Result<Nearness> {
	const MEMORY: [u32; 2] = [0x0102_1994, 0x8584_58f6]; // tmpfs, ramfs
	const DISK: [u32; 4] = [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010]; // ext, xfs, btrfs, f2fs
	let kind = rustix::fs::fstatfs(place)?.f_type as u32;
	Ok(match kind {
		kind if MEMORY.contains(&kind) => Nearness::Memory,
		kind if DISK.contains(&kind) => Nearness::Disk,
		_ => Nearness::Far,
	})
}
