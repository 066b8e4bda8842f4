//! A directory as the store: every path is resolved by the kernel beneath the exported root, whatever it says.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::{Mutex, OnceLock};

use fathom_record::{Access, Place};
use fathom_wire::number::{limit, open, rename, set};
use fathom_wire::{Attr, Entry, Handle, Reply, SetAttr, Text, Time};
use rustix::fs::{
	AtFlags, FileType, Gid, Mode, OFlags, RawDir, RenameFlags, ResolveFlags, SeekFrom, Statx,
	StatxFlags, Timespec, Timestamps, Uid,
};
use rustix::io::{Errno, ReadWriteFlags};

use crate::journal::OWN;
use crate::layout::Layout;
use crate::stripes::{DATA, FILES};
use crate::throttle::Throttle;
use crate::tries::Tries;

type Result<T> = std::result::Result<T, Errno>;

/// The root for other servers, who stripe files over it: not what clients see.
pub const OWN_ROOT: Handle = {
	let mut handle = [0; 32];
	handle[0] = 3;
	Handle(handle)
};

/// A file or directory that is known by its handle.
pub struct Object {
	pub handle: Handle,
	/// Opened with O_PATH: it is the file itself, whatever becomes of its names.
	place: OwnedFd,
	reading: OnceLock<OwnedFd>,
	writing: OnceLock<OwnedFd>,
	/// The directory in which it was made, to be synced with it once.
	made_in: Mutex<Option<OwnedFd>>,
}

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
	throttle: Option<Throttle>,
	/// Of the device that the root is on.
	nearness: Nearness,
	device: [u8; 8],
	/// Of writes that may not wait.
	quick_writes: Tries,
	/// Files that have lost their names.
	pub removed: Removed,
}

/// Parts that the kernel takes at once.
const IOV_MAX: usize = 1024;
const CLOSED: OFlags = OFlags::CLOEXEC;

impl Directory {
	pub fn open(root: &Path, data: Data, throttle: Option<Throttle>) -> Result<Directory> {
		let flags = OFlags::PATH | OFlags::DIRECTORY | CLOSED;
		let root = rustix::fs::open(root, flags, Mode::empty())?;
		let nearness = nearness(&root)?;
		let this = Object::of(rustix::io::fcntl_dupfd_cloexec(&root, 0)?)?.0;
		let (roots, device) = ([Handle::ROOT, OWN_ROOT, this.handle], this.device());
		let removed = Removed::default();
		let quick_writes = Tries::default();
		Ok(Directory { root, roots, data, throttle, nearness, device, quick_writes, removed })
	}

	/// The exported directory; `own`: as other servers see it.
	pub fn root(&self, own: bool) -> Result<Object> {
		let place = rustix::io::fcntl_dupfd_cloexec(&self.root, 0)?;
		let mut root = Object::of(place)?.0;
		root.handle = if own { OWN_ROOT } else { Handle::ROOT };
		Ok(root)
	}

	/// The exported directory, for others to look beneath.
	pub fn directory(&self) -> BorrowedFd<'_> {
		self.root.as_fd()
	}

	/// Where striped files' layouts and data are.
	pub fn make_own(&self) -> Result<()> {
		for name in [OWN, FILES, DATA] {
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

	/// Whoever asks the store waits here as long as the throttle says.
	fn pass(&self, creates: u32, bytes: usize) {
		if let Some(throttle) = &self.throttle {
			throttle.pass(creates, bytes);
		}
	}

	/// An access that moves no data: recorded, and as slow as the throttle says.
	fn access<T>(
		&self,
		what: Access,
		place: Place<'_>,
		creates: u32,
		work: impl FnOnce() -> Result<T>,
	) -> Result<T> {
		let passed = || {
			self.pass(creates, 0);
			work()
		};
		fathom_record::access(what, place, (0, 0), passed, |_| 0)
	}

	/// One that moves data: bytes that were moved.
	fn transfer(
		&self,
		what: Access,
		object: &Object,
		extent: (usize, u64),
		work: impl FnOnce() -> Result<usize>,
	) -> Result<usize> {
		let passed = || {
			self.pass(0, extent.0);
			work()
		};
		fathom_record::access(what, object.place(), extent, passed, |bytes| *bytes)
	}

	pub fn lookup(&self, dir: &Object, path: &Text, nofollow: bool) -> Result<(Object, Attr)> {
		self.access(Access::Stat, dir.named(path), 0, || find(dir, path, nofollow))
	}

	/// The file, its attributes, whether it was made.
	pub fn open_file(
		&self,
		dir: &Object,
		path: &Text,
		flags: u32,
		mode: u32,
	) -> Result<(Object, Attr, bool)> {
		let opened = || self.open_or_make(dir, path, flags, mode);
		fathom_record::access(Access::Open, dir.named(path), (0, 0), opened, |_| 0)
	}

	fn open_or_make(
		&self,
		dir: &Object,
		path: &Text,
		flags: u32,
		mode: u32,
	) -> Result<(Object, Attr, bool)> {
		let wanted = open_flags(flags);
		if path.0.is_empty() {
			self.pass(0, 0);
			let again = wanted & !OFlags::NOFOLLOW; // of a name that is the kernel's
			let file = rustix::fs::open(proc_path(&dir.place), again | CLOSED, Mode::empty())?;
			return self.opened(dir, path, file, flags, false);
		}
		for _ in 0..100 {
			if flags & open::CREATE != 0 {
				self.pass(1, 0);
				let made = wanted | OFlags::CREATE | OFlags::EXCL;
				match beneath(dir, path, made, Mode::from_raw_mode(mode & 0o7777)) {
					Err(Errno::EXIST) if flags & open::EXCLUSIVE == 0 => {}
					Err(error) => return Err(error),
					Ok(file) => return self.opened(dir, path, file, flags, true),
				}
			}
			self.pass(0, 0);
			match beneath(dir, path, wanted, Mode::empty()) {
				// removed by another meanwhile: made anew
				Err(Errno::NOENT) if flags & open::CREATE != 0 => {}
				Err(error) => return Err(error),
				Ok(file) => return self.opened(dir, path, file, flags, false),
			}
		}
		Err(Errno::NOENT)
	}

	fn opened(
		&self,
		dir: &Object,
		path: &Text,
		file: OwnedFd,
		flags: u32,
		made: bool,
	) -> Result<(Object, Attr, bool)> {
		let place = rustix::fs::open(proc_path(&file), OFlags::PATH | CLOSED, Mode::empty())?;
		let (object, attr) = Object::of(place)?;
		let slot = if flags & open::WRITE != 0 { &object.writing } else { &object.reading };
		let _ = slot.set(file);
		if made {
			let (parent, _) = parent(dir, path)?;
			if let Ok(mut made_in) = object.made_in.lock() {
				*made_in = Some(parent);
			}
		}
		Ok((object, attr, made))
	}

	pub fn attr(&self, object: &Object) -> Result<Attr> {
		self.access(Access::Stat, object.place(), 0, || object.attr())
	}

	pub fn set_attr(&self, object: &Object, wanted: &SetAttr) -> Result<Attr> {
		self.access(Access::SetAttr, object.place(), 0, || change(object, wanted))
	}

	pub fn rename(&self, from: (&Object, &Text), to: (&Object, &Text), flags: u32) -> Result<()> {
		let flags = match flags {
			0 => RenameFlags::empty(),
			rename::NOREPLACE => RenameFlags::NOREPLACE,
			rename::EXCHANGE => RenameFlags::EXCHANGE,
			_ => return Err(Errno::INVAL),
		};
		self.access(Access::Rename, from.0.named(from.1), 0, || {
			let (from, from_name) = parent(from.0, from.1)?;
			let (to, to_name) = parent(to.0, to.1)?;
			let replaced = beneath_name(&to, to_name);
			rustix::fs::renameat_with(&from, from_name, &to, to_name, flags)?;
			self.removed.check(replaced);
			Ok(())
		})
	}

	pub fn link(&self, object: &Object, dir: &Object, path: &Text) -> Result<Attr> {
		self.access(Access::Link, dir.named(path), 0, || {
			let (dir, name) = parent(dir, path)?;
			let here = rustix::fs::CWD;
			let file = proc_path(&object.place);
			rustix::fs::linkat(here, file, &dir, name, AtFlags::SYMLINK_FOLLOW)?;
			object.attr()
		})
	}

	pub fn unlink(&self, dir: &Object, path: &Text, directory: bool) -> Result<()> {
		let (what, flags) = match directory {
			true => (Access::Rmdir, AtFlags::REMOVEDIR),
			false => (Access::Unlink, AtFlags::empty()),
		};
		self.access(what, dir.named(path), 0, || {
			let (dir, name) = parent(dir, path)?;
			let removed = beneath_name(&dir, name);
			rustix::fs::unlinkat(&dir, name, flags)?;
			self.removed.check(removed);
			Ok(())
		})
	}

	pub fn mkdir(&self, dir: &Object, path: &Text, mode: u32) -> Result<(Object, Attr)> {
		self.access(Access::Mkdir, dir.named(path), 1, || {
			let (parent, name) = parent(dir, path)?;
			rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(mode & 0o7777))
		})?;
		self.lookup(dir, path, true)
	}

	/// A FIFO, a socket's name, a device; the kernel says who may.
	pub fn mknod(&self, dir: &Object, path: &Text, mode: u32, rdev: u64) -> Result<(Object, Attr)> {
		self.access(Access::Mknod, dir.named(path), 1, || {
			let (parent, name) = parent(dir, path)?;
			let (kind, mode) = (FileType::from_raw_mode(mode), Mode::from_raw_mode(mode & 0o7777));
			rustix::fs::mknodat(&parent, name, kind, mode, rdev)
		})?;
		self.lookup(dir, path, true)
	}

	pub fn symlink(&self, dir: &Object, path: &Text, target: &Text) -> Result<(Object, Attr)> {
		self.access(Access::Symlink, dir.named(path), 1, || {
			let (parent, name) = parent(dir, path)?;
			rustix::fs::symlinkat(&target.0[..], &parent, name)
		})?;
		self.lookup(dir, path, true)
	}

	pub fn read_link(&self, object: &Object) -> Result<Text> {
		self.access(Access::Readlink, object.place(), 0, || {
			Ok(Text(rustix::fs::readlinkat(&object.place, "", Vec::new())?.into_bytes()))
		})
	}

	/// Entries from a cookie on, and whether there are more.
	pub fn read_dir(&self, dir: &Object, cookie: u64, most: u32) -> Result<(Vec<Entry>, bool)> {
		self.access(Access::Getdents, dir.place(), 0, || {
			list(dir, self.roots.contains(&dir.handle), cookie, most)
		})
	}

	pub fn stat_fs(&self, object: &Object) -> Result<Reply> {
		let said = self
			.access(Access::StatVfs, object.place(), 0, || rustix::fs::fstatvfs(&object.place))?;
		Ok(Reply::StatFs {
			bsize: said.f_bsize,
			frsize: said.f_frsize,
			blocks: said.f_blocks,
			bfree: said.f_bfree,
			bavail: said.f_bavail,
			files: said.f_files,
			ffree: said.f_ffree,
			namemax: said.f_namemax as u32,
		})
	}

	/// Bytes that were read; fewer than asked for only at the end of file.
	pub fn read(&self, object: &Object, into: &mut [u8], offset: u64) -> Result<usize> {
		self.transfer(Access::Pread, object, (into.len(), offset), || match self.data {
			Data::Files => read_all(object, into, offset),
			Data::Nothing => Ok(0),
		})
	}

	/// The file's attributes can be had without waiting.
	pub fn is_quick(&self, object: &Object) -> bool {
		self.throttle.is_none() && self.nearness != Nearness::Far && object.device() == self.device
	}

	/// Every access to the file may take long.
	pub fn is_slow(&self, object: &Object) -> bool {
		self.data == Data::Files && !self.is_quick(object)
	}

	/// As read, if that needs no waiting.
	pub fn read_now(&self, object: &Object, into: &mut [u8], offset: u64) -> Option<usize> {
		if self.data == Data::Nothing && self.throttle.is_none() {
			return self.read(object, into, offset).ok();
		}
		match self.nearness {
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
			_ if !self.is_near(object) => false,
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
		self.is_near(object) && (self.nearness == Nearness::Memory || self.quick_writes.is_worth())
	}

	/// A write to the file may be one that does not wait. What is refused is not recorded.
	fn is_near(&self, object: &Object) -> bool {
		let near = self.is_quick(object) && self.data == Data::Files;
		near && (self.nearness == Nearness::Memory || !fathom_record::is_on())
	}

	/// One access to the store: all these bytes, one after the other.
	pub fn write(&self, object: &Object, parts: &[&[u8]], offset: u64) -> Result<()> {
		let total = parts.iter().map(|part| part.len()).sum();
		let written = self.transfer(Access::Pwritev, object, (total, offset), || match self.data {
			Data::Files => write_all(object, parts, offset).map(|()| total),
			Data::Nothing => Ok(total),
		});
		written.map(|_| ())
	}

	/// The file's data and, once after it was made, its name.
	pub fn sync(&self, object: &Object) -> Result<()> {
		self.access(Access::Fsync, object.place(), 0, || sync(object))
	}
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

fn find(dir: &Object, path: &Text, nofollow: bool) -> Result<(Object, Attr)> {
	let follow = if nofollow { OFlags::NOFOLLOW } else { OFlags::empty() };
	Object::of(beneath(dir, path, OFlags::PATH | follow, Mode::empty())?)
}

fn change(object: &Object, wanted: &SetAttr) -> Result<Attr> {
	let path = proc_path(&object.place);
	let has = |bit| wanted.which & bit != 0;
	if has(set::SIZE) {
		rustix::fs::ftruncate(object.writing()?, wanted.size)?;
	}
	if has(set::UID) || has(set::GID) {
		let uid = has(set::UID).then(|| Uid::from_raw(wanted.uid));
		let gid = has(set::GID).then(|| Gid::from_raw(wanted.gid));
		rustix::fs::chownat(&object.place, "", uid, gid, AtFlags::EMPTY_PATH)?;
	}
	if has(set::MODE) {
		rustix::fs::chmod(&path, Mode::from_raw_mode(wanted.mode & 0o7777))?;
	}
	if has(set::ATIME | set::MTIME | set::ATIME_NOW | set::MTIME_NOW) {
		let times = Timestamps {
			last_access: timespec(&wanted.atime, has(set::ATIME), has(set::ATIME_NOW)),
			last_modification: timespec(&wanted.mtime, has(set::MTIME), has(set::MTIME_NOW)),
		};
		rustix::fs::utimensat(rustix::fs::CWD, &path, &times, AtFlags::empty())?;
	}
	object.attr()
}

/// Entries from a cookie on, and whether there are more.
fn list(dir: &Object, is_root: bool, cookie: u64, most: u32) -> Result<(Vec<Entry>, bool)> {
	let flags = OFlags::RDONLY | OFlags::DIRECTORY | CLOSED;
	let opened = rustix::fs::open(proc_path(&dir.place), flags, Mode::empty())?;
	rustix::fs::seek(&opened, SeekFrom::Start(cookie))?;
	let mut buffer = [MaybeUninit::uninit(); 16384];
	let mut reading = RawDir::new(opened, &mut buffer);
	let (mut entries, mut bytes) = (Vec::new(), 0);
	while let Some(entry) = reading.next() {
		let entry = entry?;
		if is_root && entry.file_name().to_bytes() == OWN.as_bytes() {
			continue; // the server's own
		}
		bytes += 19 + entry.file_name().to_bytes().len();
		if entries.len() >= most.clamp(1, limit::ENTRIES) as usize || bytes > 1 << 20 {
			return Ok((entries, true));
		}
		entries.push(Entry {
			cookie: entry.next_entry_cookie(),
			ino: entry.ino(),
			kind: kind_of(entry.file_type()),
			name: Text(entry.file_name().to_bytes().to_vec()),
		});
	}
	Ok((entries, false))
}

fn read_all(object: &Object, mut into: &mut [u8], mut offset: u64) -> Result<usize> {
	let mut done = 0;
	while !into.is_empty() {
		match rustix::io::pread(object.reading()?, &mut *into, offset) {
			Err(Errno::INTR) => {}
			Err(error) => return Err(error),
			Ok(0) => break,
			Ok(bytes) => {
				into = &mut into[bytes..];
				(done, offset) = (done + bytes, offset + bytes as u64);
			}
		}
	}
	Ok(done)
}

fn write_all(object: &Object, parts: &[&[u8]], mut offset: u64) -> Result<()> {
	let mut slices: Vec<_> = parts.iter().map(|part| IoSlice::new(part)).collect();
	let mut left = slices.as_mut_slice();
	IoSlice::advance_slices(&mut left, 0);
	while !left.is_empty() {
		let some = &left[..left.len().min(IOV_MAX)];
		match rustix::io::pwritev(object.writing()?, some, offset) {
			Err(Errno::INTR) => {}
			Err(error) => return Err(error),
			Ok(0) => return Err(Errno::IO),
			Ok(bytes) => {
				offset += bytes as u64;
				IoSlice::advance_slices(&mut left, bytes);
			}
		}
	}
	Ok(())
}

fn sync(object: &Object) -> Result<()> {
	match object.writing() {
		Err(Errno::ISDIR) => rustix::fs::fsync(object.reading()?)?,
		file => rustix::fs::fsync(file?)?,
	}
	let made_in = object.made_in.lock().ok().and_then(|mut made_in| made_in.take());
	if let Some(directory) = made_in {
		let flags = OFlags::RDONLY | OFlags::DIRECTORY | CLOSED;
		rustix::fs::fsync(rustix::fs::open(proc_path(&directory), flags, Mode::empty())?)?;
	}
	Ok(())
}

/// Files that were removed.
#[derive(Default)]
pub struct Removed {
	/// Striped ones of which nothing but the name by their id is left: their data is to be freed.
	found: Mutex<Vec<(Handle, Layout)>>,
	/// Those without any name: they take room as long as they are open.
	nameless: Mutex<Vec<Handle>>,
}

impl Removed {
	/// A file that has just lost a name.
	fn check(&self, file: Option<OwnedFd>) {
		let Some(file) = file else { return };
		let Ok((object, attr)) = Object::of(file) else { return };
		if attr.mode & 0o170_000 != 0o100_000 {
			return; // a removed directory takes no room, and may be somebody's working directory
		}
		if attr.nlink == 0
			&& let Ok(mut nameless) = self.nameless.lock()
		{
			nameless.push(object.handle);
		}
		if attr.nlink != 1 || attr.size > 4096 {
			return;
		}
		let mut text = [0; 4096];
		let read = object.reading().and_then(|file| rustix::io::pread(file, &mut text, 0));
		let layout = read.map(|bytes| String::from_utf8_lossy(&text[..bytes]).parse());
		if let (Ok(Ok(layout)), Ok(mut found)) = (layout, self.found.lock()) {
			found.push((object.handle, layout));
		}
	}

	pub fn take(&self) -> Vec<(Handle, Layout)> {
		self.found.lock().map(|mut found| std::mem::take(&mut *found)).unwrap_or_default()
	}

	pub fn take_nameless(&self) -> Vec<Handle> {
		self.nameless.lock().map(|mut lost| std::mem::take(&mut *lost)).unwrap_or_default()
	}
}

/// Its number will be another file's.
impl Drop for Object {
	fn drop(&mut self) {
		fathom_record::closed(self.place.as_raw_fd());
	}
}

impl Object {
	/// A handle is what a file is, so equal for all its names and after a restart.
	fn of(place: OwnedFd) -> Result<(Object, Attr)> {
		let said = statx(&place)?;
		let birth = said.stx_btime.tv_sec as u64 ^ u64::from(said.stx_btime.tv_nsec) << 32;
		let device = u64::from(said.stx_dev_major) << 32 | u64::from(said.stx_dev_minor);
		let mut handle = [0; 32];
		handle[0..8].copy_from_slice(&1u64.to_le_bytes()); // so that none is the root's zeros
		handle[8..16].copy_from_slice(&device.to_le_bytes());
		handle[16..24].copy_from_slice(&said.stx_ino.to_le_bytes());
		handle[24..32].copy_from_slice(&birth.to_le_bytes());
		let object = Object {
			handle: Handle(handle),
			place,
			reading: OnceLock::new(),
			writing: OnceLock::new(),
			made_in: Mutex::new(None),
		};
		Ok((object, attr_of(&said)))
	}

	/// What it is on, as its handle has it.
	fn device(&self) -> [u8; 8] {
		let mut device = [0; 8];
		device.copy_from_slice(&self.handle.0[8..16]);
		device
	}

	/// It was opened for writing, so that it can be written whatever its mode is by now.
	pub fn is_writable(&self) -> bool {
		self.writing.get().is_some()
	}

	/// The file itself, for the trace.
	pub fn place(&self) -> Place<'_> {
		Place { file: self.place.as_raw_fd(), path: None }
	}

	/// What a path in this directory names; an empty one names the file itself.
	fn named<'a>(&self, path: &'a Text) -> Place<'a> {
		let path = Some(&path.0[..]).filter(|path| !path.is_empty());
		Place { file: self.place.as_raw_fd(), path }
	}

	fn attr(&self) -> Result<Attr> {
		statx(&self.place).map(|said| attr_of(&said))
	}

	/// To be read by others.
	pub fn readable(&self) -> Result<BorrowedFd<'_>> {
		self.reading().map(OwnedFd::as_fd)
	}

	fn reading(&self) -> Result<&OwnedFd> {
		reopened(&self.reading, &self.place, OFlags::RDONLY)
	}

	fn writing(&self) -> Result<&OwnedFd> {
		reopened(&self.writing, &self.place, OFlags::WRONLY)
	}
}

fn reopened<'a>(
	slot: &'a OnceLock<OwnedFd>,
	place: &OwnedFd,
	flags: OFlags,
) -> Result<&'a OwnedFd> {
	if let Some(opened) = slot.get() {
		return Ok(opened);
	}
	// a FIFO must not hold up who opens it
	let flags = flags | CLOSED | OFlags::NONBLOCK;
	let opened = rustix::fs::open(proc_path(place), flags, Mode::empty())?;
	Ok(slot.get_or_init(|| opened))
}

/// A name for an open file that can be opened again.
fn proc_path(file: &OwnedFd) -> String {
	format!("/proc/self/fd/{}", file.as_raw_fd())
}

fn beneath(dir: &Object, path: &Text, flags: OFlags, mode: Mode) -> Result<OwnedFd> {
	let path = if path.0.is_empty() { b".".as_slice() } else { &path.0 };
	let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
	for _ in 0..100 {
		match rustix::fs::openat2(&dir.place, path, flags | CLOSED, mode, resolve) {
			Err(Errno::AGAIN) => {} // something was renamed meanwhile
			opened => return opened,
		}
	}
	Err(Errno::AGAIN)
}

/// The directory that a path's last component is in, and that component.
fn parent<'a>(dir: &Object, path: &'a Text) -> Result<(OwnedFd, &'a [u8])> {
	let end = path.0.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
	let path = &path.0[..end];
	let slash = path.iter().rposition(|byte| *byte == b'/');
	let (above, name) = slash.map_or((&path[..0], path), |at| (&path[..at], &path[at + 1..]));
	match name {
		b"" => return Err(Errno::NOENT),
		b"." | b".." => return Err(Errno::INVAL),
		_ => {}
	}
	let flags = OFlags::PATH | OFlags::DIRECTORY;
	Ok((beneath(dir, &Text(above.to_vec()), flags, Mode::empty())?, name))
}

/// What a name stands for now.
fn beneath_name(dir: &OwnedFd, name: &[u8]) -> Option<OwnedFd> {
	let flags = OFlags::PATH | OFlags::NOFOLLOW | CLOSED;
	rustix::fs::openat(dir, name, flags, Mode::empty()).ok()
}

fn open_flags(flags: u32) -> OFlags {
	let mut wanted = match (flags & open::READ != 0, flags & open::WRITE != 0) {
		(true, true) => OFlags::RDWR,
		(false, true) => OFlags::WRONLY,
		_ => OFlags::RDONLY,
	};
	if flags & open::NOFOLLOW != 0 {
		wanted |= OFlags::NOFOLLOW;
	}
	if flags & open::DIRECTORY != 0 {
		wanted |= OFlags::DIRECTORY;
	}
	wanted | OFlags::NONBLOCK // a FIFO without a writer must not hold a worker
}

fn statx(place: &OwnedFd) -> Result<Statx> {
	let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
	rustix::fs::statx(place, "", AtFlags::EMPTY_PATH, wanted)
}

fn attr_of(said: &Statx) -> Attr {
	let time = |t: rustix::fs::StatxTimestamp| Time { seconds: t.tv_sec, nanoseconds: t.tv_nsec };
	Attr {
		mode: u32::from(said.stx_mode),
		nlink: said.stx_nlink,
		uid: said.stx_uid,
		gid: said.stx_gid,
		blksize: said.stx_blksize,
		rdev: rustix::fs::makedev(said.stx_rdev_major, said.stx_rdev_minor),
		dev: rustix::fs::makedev(said.stx_dev_major, said.stx_dev_minor),
		ino: said.stx_ino,
		size: said.stx_size,
		blocks: said.stx_blocks,
		atime: time(said.stx_atime),
		mtime: time(said.stx_mtime),
		ctime: time(said.stx_ctime),
		birth: time(said.stx_btime),
	}
}

fn timespec(time: &Time, given: bool, now: bool) -> Timespec {
	let nanoseconds = match (given, now) {
		(true, _) => i64::from(time.nanoseconds),
		(_, true) => rustix::fs::UTIME_NOW,
		_ => rustix::fs::UTIME_OMIT,
	};
	Timespec { tv_sec: time.seconds, tv_nsec: nanoseconds as _ }
}

/// DT_* of a directory entry.
fn kind_of(kind: FileType) -> u8 {
	match kind {
		FileType::Fifo => 1,
		FileType::CharacterDevice => 2,
		FileType::Directory => 4,
		FileType::BlockDevice => 6,
		FileType::RegularFile => 8,
		FileType::Symlink => 10,
		FileType::Socket => 12,
		_ => 0,
	}
}

/// An errno as `io::Error` says it.
pub fn said(errno: Errno) -> String {
	io::Error::from(errno).to_string()
}
