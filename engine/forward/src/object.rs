//! A file or directory that is held open, what is done with one, and paths, which the kernel resolves beneath a directory.

use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use fathom_record::Place;
use fathom_wire::number::{limit, open, set};
use fathom_wire::{Attr, Entry, Handle, SetAttr, Text, Time};
use rustix::fs::{
	AtFlags, FileType, Gid, Mode, OFlags, RawDir, ResolveFlags, SeekFrom, Statx, StatxFlags,
	Timespec, Timestamps, Uid,
};
use rustix::io::Errno;

use crate::journal::JOURNALS;

type Result<T> = std::result::Result<T, Errno>;

/// Parts that the kernel takes at once.
pub const IOV_MAX: usize = 1024;
pub const CLOSED: OFlags = OFlags::CLOEXEC;

/// Descriptors that all objects hold.
static HELD: AtomicUsize = AtomicUsize::new(0);

/// How many descriptors of files and directories are open.
pub fn held_descriptors() -> usize {
	HELD.load(Ordering::Relaxed)
}

/// A descriptor that is counted as long as it is open.
pub struct Counted(OwnedFd);

impl From<OwnedFd> for Counted {
	fn from(descriptor: OwnedFd) -> Counted {
		HELD.fetch_add(1, Ordering::Relaxed);
		Counted(descriptor)
	}
}

impl Drop for Counted {
	fn drop(&mut self) {
		HELD.fetch_sub(1, Ordering::Relaxed);
	}
}

impl Deref for Counted {
	type Target = OwnedFd;

	fn deref(&self) -> &OwnedFd {
		&self.0
	}
}

impl AsFd for Counted {
	fn as_fd(&self) -> BorrowedFd<'_> {
		self.0.as_fd()
	}
}

/// A file or directory that is known by its handle.
pub struct Object {
	pub handle: Handle,
	/// It is the file itself, whatever becomes of its names: opened with O_PATH, or one of those below.
	pub place: Arc<Counted>,
	pub reading: OnceLock<Arc<Counted>>,
	/// The same, by which the time of reading stays.
	pub quiet: OnceLock<Arc<Counted>>,
	pub writing: OnceLock<Arc<Counted>>,
	/// The directory in which it was made, to be synced with it once.
	pub created_in: Mutex<Option<Arc<Counted>>>,
}

/// Its number will be another file's.
impl Drop for Object {
	fn drop(&mut self) {
		fathom_record::closed(self.place.as_raw_fd());
	}
}

impl Object {
	/// A handle is what a file is, so equal for all its names and after a restart.
	pub fn of(place: OwnedFd) -> Result<(Object, Attr)> {
		let stat = statx(&place)?;
		let birth = stat.stx_btime.tv_sec as u64 ^ u64::from(stat.stx_btime.tv_nsec) << 32;
		let device = u64::from(stat.stx_dev_major) << 32 | u64::from(stat.stx_dev_minor);
		let mut handle = [0; 32];
		handle[0..8].copy_from_slice(&1u64.to_le_bytes()); // so that none is the root's zeros
		handle[8..16].copy_from_slice(&device.to_le_bytes());
		handle[16..24].copy_from_slice(&stat.stx_ino.to_le_bytes());
		handle[24..32].copy_from_slice(&birth.to_le_bytes());
		let object = Object {
			handle: Handle(handle),
			place: Arc::new(place.into()),
			reading: OnceLock::new(),
			quiet: OnceLock::new(),
			writing: OnceLock::new(),
			created_in: Mutex::new(None),
		};
		Ok((object, attr_of(&stat)))
	}

	/// What it is on, as its handle has it.
	pub fn device(&self) -> [u8; 8] {
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
	pub fn place_of<'a>(&self, path: &'a Text) -> Place<'a> {
		let path = Some(&path.0[..]).filter(|path| !path.is_empty());
		Place { file: self.place.as_raw_fd(), path }
	}

	pub fn attr(&self) -> Result<Attr> {
		statx(&self.place).map(|stat| attr_of(&stat))
	}

	pub fn is_link(&self) -> Result<bool> {
		statx(&self.place)
			.map(|stat| FileType::from_raw_mode(u32::from(stat.stx_mode)) == FileType::Symlink)
	}

	/// To be read by others.
	pub fn readable(&self) -> Result<BorrowedFd<'_>> {
		self.reading().map(AsFd::as_fd)
	}

	pub fn reading(&self) -> Result<&OwnedFd> {
		reopened(&self.reading, &self.place, OFlags::RDONLY)
	}

	pub fn quiet(&self) -> Result<&OwnedFd> {
		reopened(&self.quiet, &self.place, OFlags::RDONLY | OFlags::NOATIME)
	}

	pub fn writing(&self) -> Result<&OwnedFd> {
		reopened(&self.writing, &self.place, OFlags::WRONLY)
	}
}

fn reopened<'a>(
	slot: &'a OnceLock<Arc<Counted>>,
	place: &OwnedFd,
	flags: OFlags,
) -> Result<&'a OwnedFd> {
	if let Some(opened) = slot.get() {
		return Ok(opened);
	}
	// a FIFO must not hold up who opens it
	let flags = flags | CLOSED | OFlags::NONBLOCK;
	let opened = rustix::fs::open(proc_path(place), flags, Mode::empty())?;
	Ok(slot.get_or_init(|| Arc::new(opened.into())))
}

/// A name for an open file that can be opened again.
pub fn proc_path(file: &OwnedFd) -> String {
	format!("/proc/self/fd/{}", file.as_raw_fd())
}

pub fn beneath(dir: &Object, path: &Text, flags: OFlags, mode: Mode) -> Result<OwnedFd> {
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

/// The directory that a path's last component is in, and that component, with the slashes behind it: they are the kernel's to
/// understand, as are . and .., which name nothing that could be made or removed.
pub fn parent<'a>(dir: &Object, path: &'a Text) -> Result<(OwnedFd, &'a [u8])> {
	let end = path.0.iter().rposition(|byte| *byte != b'/').ok_or(Errno::NOENT)? + 1;
	let slash = path.0[..end].iter().rposition(|byte| *byte == b'/');
	let (above, name) = match slash {
		Some(at) => (&path.0[..at], &path.0[at + 1..]),
		None => (&path.0[..0], &path.0[..]),
	};
	let flags = OFlags::PATH | OFlags::DIRECTORY;
	Ok((beneath(dir, &Text(above.to_vec()), flags, Mode::empty())?, name))
}

/// What a name stands for now.
pub fn beneath_name(dir: &OwnedFd, name: &[u8]) -> Option<OwnedFd> {
	let flags = OFlags::PATH | OFlags::NOFOLLOW | CLOSED;
	rustix::fs::openat(dir, name, flags, Mode::empty()).ok()
}

pub fn open_flags(flags: u32) -> OFlags {
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
	if flags & open::NOATIME != 0 {
		wanted |= OFlags::NOATIME;
	}
	wanted | OFlags::NONBLOCK // a FIFO without a writer must not hold a worker
}

fn statx(place: &OwnedFd) -> Result<Statx> {
	let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
	rustix::fs::statx(place, "", AtFlags::EMPTY_PATH, wanted)
}

fn attr_of(stat: &Statx) -> Attr {
	let time = |t: rustix::fs::StatxTimestamp| Time { seconds: t.tv_sec, nanoseconds: t.tv_nsec };
	Attr {
		mode: u32::from(stat.stx_mode),
		nlink: stat.stx_nlink,
		uid: stat.stx_uid,
		gid: stat.stx_gid,
		blksize: stat.stx_blksize,
		rdev: rustix::fs::makedev(stat.stx_rdev_major, stat.stx_rdev_minor),
		dev: rustix::fs::makedev(stat.stx_dev_major, stat.stx_dev_minor),
		ino: stat.stx_ino,
		size: stat.stx_size,
		blocks: stat.stx_blocks,
		atime: time(stat.stx_atime),
		mtime: time(stat.stx_mtime),
		ctime: time(stat.stx_ctime),
		birth: time(stat.stx_btime),
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

pub fn find(dir: &Object, path: &Text, nofollow: bool) -> Result<(Object, Attr)> {
	let follow = if nofollow { OFlags::NOFOLLOW } else { OFlags::empty() };
	Object::of(beneath(dir, path, OFlags::PATH | follow, Mode::empty())?)
}

pub fn change(object: &Object, wanted: &SetAttr) -> Result<Attr> {
	let path = proc_path(&object.place);
	let has = |bit| wanted.which & bit != 0;
	if has(set::SIZE) {
		rustix::fs::ftruncate(object.writing()?, wanted.size)?;
	}
	if has(set::UID) || has(set::GID) {
		// none but what the call does besides: set-id bits end
		let uid = (has(set::UID) && wanted.uid != u32::MAX).then(|| Uid::from_raw(wanted.uid));
		let gid = (has(set::GID) && wanted.gid != u32::MAX).then(|| Gid::from_raw(wanted.gid));
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
pub fn list(dir: &Object, is_root: bool, cookie: u64, most: u32) -> Result<(Vec<Entry>, bool)> {
	let flags = OFlags::RDONLY | OFlags::DIRECTORY | CLOSED;
	let opened = rustix::fs::open(proc_path(&dir.place), flags, Mode::empty())?;
	rustix::fs::seek(&opened, SeekFrom::Start(cookie))?;
	let mut buffer = [MaybeUninit::uninit(); 16384];
	let mut reading = RawDir::new(opened, &mut buffer);
	let (mut entries, mut bytes) = (Vec::new(), 0);
	while let Some(entry) = reading.next() {
		let entry = entry?;
		if is_root && entry.file_name().to_bytes() == JOURNALS.as_bytes() {
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

pub fn read_all(object: &Object, into: &mut [u8], offset: u64) -> Result<usize> {
	if into.is_empty() { Ok(0) } else { read_from(object.reading()?, into, offset) }
}

pub fn read_from(file: &OwnedFd, mut into: &mut [u8], mut offset: u64) -> Result<usize> {
	let mut done = 0;
	while !into.is_empty() {
		match rustix::io::pread(file, &mut *into, offset) {
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

pub fn write_all(object: &Object, parts: &[&[u8]], mut offset: u64) -> Result<()> {
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

pub fn sync(object: &Object) -> Result<()> {
	match object.writing() {
		Err(Errno::ISDIR) => rustix::fs::fsync(object.reading()?)?,
		file => rustix::fs::fsync(file?)?,
	}
	let created_in = object.created_in.lock().ok().and_then(|mut created_in| created_in.take());
	if let Some(directory) = created_in {
		let flags = OFlags::RDONLY | OFlags::DIRECTORY | CLOSED;
		rustix::fs::fsync(rustix::fs::open(proc_path(&directory), flags, Mode::empty())?)?;
	}
	Ok(())
}
