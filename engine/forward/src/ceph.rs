//! A CephFS as the store, by libcephfs: no mount. Its root is the exported directory; paths are walked here, component by
//! component, so that none leads out of the directory that it was given relative to.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fathom_cephfs::{Inode, Layout, Mount, Opened, Stat, setattr};
use fathom_record::{Access, Place};
use fathom_wire::number::{limit, open, set};
use fathom_wire::{Attr, Entry, Handle, Reply, SetAttr, Text, Time};
use rustix::fs::{FileType, OFlags};
use rustix::io::Errno;

use crate::accesses::Accesses;
use crate::journal::{JOURNALS, JournalFile, JournalStore};
use crate::limits::DRAIN;
use crate::queue::MOST;
use crate::stripes::Striping;
use crate::trouble::Trouble;
use crate::trouble::errno_text;

type Result<T> = std::result::Result<T, Errno>;

/// Symbolic links on the way of one path.
const LINKS: usize = 40;

/// A file or directory that is known by its handle.
pub struct Object {
	pub handle: Handle,
	inode: Arc<Inode>,
	reading: OnceLock<Opened>,
	writing: OnceLock<Opened>,
	/// Bytes of a stripe.
	pub unit: u64,
}

pub struct Ceph {
	mount: Arc<Mount>,
	root: Arc<Inode>,
	accesses: Accesses,
	/// Files without a name, that take room as long as they are known.
	nameless: Mutex<Vec<Handle>>,
}

/// No descriptor of ours.
const NOWHERE: Place<'static> = Place { file: -1, path: None };

impl Object {
	fn of(inode: Arc<Inode>, stat: &Stat) -> (Object, Attr) {
		let (handle, unit) = (handle_of(stat), stripe(&inode.layout().unwrap_or_default()));
		let (reading, writing) = (OnceLock::new(), OnceLock::new());
		(Object { handle, inode, reading, writing, unit }, attr_of(stat))
	}

	pub fn is_writable(&self) -> bool {
		self.writing.get().is_some()
	}

	fn reading(&self) -> Result<&Opened> {
		opened(&self.reading, &self.inode, OFlags::RDONLY)
	}

	fn writing(&self) -> Result<&Opened> {
		opened(&self.writing, &self.inode, OFlags::WRONLY)
	}
}

/// A whole stripe, if one access takes it; else the part of it that is on one daemon.
fn stripe(layout: &Layout) -> u64 {
	let unit = u64::from(layout.stripe_unit.max(1));
	let whole = unit * u64::from(layout.stripe_count.max(1));
	if whole <= MOST as u64 { whole } else { unit }
}

/// What comes nearest to a wish, beginning with what the directory says: CephFS wants units of 64 KiB, and objects of whole
/// units. Which daemon is first follows from the file's number.
fn nearest(wish: Striping, usual: Layout, daemons: u32) -> Layout {
	const LEAST: u64 = 65536;
	const LARGEST: u64 = 64 << 20;
	let mut layout = usual;
	if wish.size > 0 {
		layout.stripe_unit = (wish.size.next_multiple_of(LEAST)).min(LARGEST) as u32;
	}
	if wish.count > 0 {
		layout.stripe_count = wish.count.min(daemons.max(1));
	}
	let unit = layout.stripe_unit.max(1);
	layout.object_size = (layout.object_size / unit).max(1) * unit;
	layout
}

fn opened<'a>(slot: &'a OnceLock<Opened>, inode: &Inode, flags: OFlags) -> Result<&'a Opened> {
	if let Some(opened) = slot.get() {
		return Ok(opened);
	}
	let opened = inode.open(flags.bits() as i32)?;
	Ok(slot.get_or_init(|| opened))
}

/// What libcephfs does for as long as daemons are away is waited for so long; None: it goes on.
fn within<T: Send + 'static>(
	limit: Duration,
	work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
	let (sender, done) = mpsc::channel();
	std::thread::spawn(move || sender.send(work()));
	done.recv_timeout(limit).ok()
}

impl Ceph {
	pub fn open(
		root: &Path,
		conf: Option<&Path>,
		id: &str,
		patience: Duration,
		accesses: Accesses,
	) -> std::result::Result<Ceph, Trouble> {
		let (at, file, who) = (root.to_owned(), conf.map(Path::to_owned), id.to_owned());
		let begin = move || Mount::begin(&at, file.as_deref(), &who, patience);
		// libcephfs ends by its own limit, but for the time that it takes to end
		let mount = within(patience + Duration::from_secs(1), begin)
			.unwrap_or_else(|| Err(format!("the cluster does not answer for {patience:?}")))
			.map_err(|why| Trouble::new(Errno::NOTCONN, why))?;
		let root = Arc::new(mount.root()?);
		Ok(Ceph { mount, root, accesses, nameless: Mutex::default() })
	}

	pub fn root(&self) -> Result<Object> {
		let mut root = Object::of(self.root.clone(), &self.root.stat()?).0;
		root.handle = Handle::ROOT;
		Ok(root)
	}

	pub fn journal_store(&self) -> Arc<dyn JournalStore> {
		Arc::new(Journals { root: self.root.clone() })
	}

	pub fn end(&self) -> std::result::Result<(), Trouble> {
		let mount = self.mount.clone();
		let ended = within(DRAIN, move || mount.end()).unwrap_or(Err(Errno::TIMEDOUT));
		ended.map_err(|errno| {
			let why = format!("CephFS has not taken all that was written: {}", errno_text(errno));
			Trouble::new(errno, why)
		})
	}

	pub fn take_nameless(&self) -> Vec<Handle> {
		self.nameless.lock().map(|mut lost| std::mem::take(&mut *lost)).unwrap_or_default()
	}

	/// A file that has just lost a name.
	fn check_removed(&self, inode: Option<Inode>) {
		let Some(Ok(stat)) = inode.map(|inode| inode.stat()) else { return };
		if stat.nlink == 0
			&& is(&stat, FileType::RegularFile)
			&& let Ok(mut nameless) = self.nameless.lock()
		{
			nameless.push(handle_of(&stat));
		}
	}

	pub fn lookup(&self, dir: &Object, path: &Text, nofollow: bool) -> Result<(Object, Attr)> {
		self.accesses.access(Access::Stat, NOWHERE, 0, || {
			let (inode, stat) = walk(&dir.inode, &path.0, !nofollow)?;
			Ok(Object::of(inode, &stat))
		})
	}

	/// The file, its attributes, whether it was made.
	pub fn open_file(
		&self,
		dir: &Object,
		path: &Text,
		how: (u32, u32),
		wish: Striping,
	) -> Result<(Object, Attr, bool)> {
		let creates = u32::from(how.0 & open::CREATE != 0);
		let opened = || self.open_or_create(dir, path, how, wish);
		self.accesses.access(Access::Open, NOWHERE, creates, opened)
	}

	fn open_or_create(
		&self,
		dir: &Object,
		path: &Text,
		(flags, mode): (u32, u32),
		wish: Striping,
	) -> Result<(Object, Attr, bool)> {
		let writes = flags & open::WRITE != 0;
		for _ in 0..100 {
			if flags & open::CREATE != 0 && !path.0.is_empty() {
				let (parent, name) = parent(dir, &path.0)?;
				let access = if writes { OFlags::RDWR } else { OFlags::RDONLY };
				let create_flags = (access | OFlags::CREATE | OFlags::EXCL).bits() as i32;
				match parent.create(&name, mode & 0o7777, create_flags) {
					Err(Errno::EXIST) if flags & open::EXCLUSIVE == 0 => {}
					Err(errno) => return Err(errno),
					Ok((inode, file, stat)) => {
						self.lay_out(&inode, wish);
						let (object, attr) = Object::of(Arc::new(inode), &stat);
						let slot = if writes { &object.writing } else { &object.reading };
						let _ = slot.set(file);
						return Ok((object, attr, true));
					}
				}
			}
			match walk(&dir.inode, &path.0, flags & open::NOFOLLOW == 0) {
				// removed by another meanwhile: made anew
				Err(Errno::NOENT) if flags & open::CREATE != 0 => {}
				Err(errno) => return Err(errno),
				Ok((inode, stat)) => return open_existing(inode, &stat, flags),
			}
		}
		Err(Errno::NOENT)
	}

	/// A new file, as wished. A wish is no order: a user who may not say where data lies has the directory's layout.
	fn lay_out(&self, inode: &Inode, wish: Striping) {
		if wish.size == 0 && wish.count == 0 {
			return;
		}
		let _ = inode
			.layout()
			.and_then(|usual| inode.set_layout(&nearest(wish, usual, self.mount.daemons())));
	}

	pub fn attr(&self, object: &Object) -> Result<Attr> {
		self.accesses.access(Access::Stat, NOWHERE, 0, || Ok(attr_of(&object.inode.stat()?)))
	}

	pub fn set_attr(&self, object: &Object, wanted: &SetAttr) -> Result<Attr> {
		self.accesses.access(Access::SetAttr, NOWHERE, 0, || {
			let (stat, mask) = changes(wanted);
			object.inode.set(stat, mask)?;
			Ok(attr_of(&object.inode.stat()?))
		})
	}

	/// CephFS knows no other renaming than that which replaces.
	pub fn rename(
		&self,
		from: (&Object, &Text),
		to: (&Object, &Text),
		flags: u32,
	) -> std::result::Result<(), Trouble> {
		if flags != 0 {
			let why = "CephFS renames by replacing only: no noreplace, no exchange".to_owned();
			return Err(Trouble::new(Errno::INVAL, why));
		}
		Ok(self.accesses.access(Access::Rename, NOWHERE, 0, || {
			let (from, from_name) = parent(from.0, &from.1.0)?;
			let (to, to_name) = parent(to.0, &to.1.0)?;
			let replaced = to.lookup(&to_name).ok();
			from.rename(&from_name, &to, &to_name)?;
			self.check_removed(replaced.map(|(inode, _)| inode));
			Ok(())
		})?)
	}

	pub fn link(&self, object: &Object, dir: &Object, path: &Text) -> Result<Attr> {
		self.accesses.access(Access::Link, NOWHERE, 0, || {
			let (dir, name) = parent(dir, &path.0)?;
			object.inode.link(&dir, &name)?;
			Ok(attr_of(&object.inode.stat()?))
		})
	}

	pub fn unlink(&self, dir: &Object, path: &Text, directory: bool) -> Result<()> {
		let what = if directory { Access::Rmdir } else { Access::Unlink };
		self.accesses.access(what, NOWHERE, 0, || {
			let (dir, name) = parent(dir, &path.0)?;
			let removed = dir.lookup(&name).ok();
			dir.remove(&name, directory)?;
			self.check_removed(removed.map(|(inode, _)| inode));
			Ok(())
		})
	}

	pub fn mkdir(&self, dir: &Object, path: &Text, mode: u32) -> Result<(Object, Attr)> {
		self.create_named(Access::Mkdir, dir, path, |dir, name| dir.mkdir(name, mode & 0o7777))
	}

	pub fn mknod(&self, dir: &Object, path: &Text, mode: u32, rdev: u64) -> Result<(Object, Attr)> {
		self.create_named(Access::Mknod, dir, path, |dir, name| dir.mknod(name, mode, rdev))
	}

	pub fn symlink(&self, dir: &Object, path: &Text, target: &Text) -> Result<(Object, Attr)> {
		self.create_named(Access::Symlink, dir, path, |dir, name| dir.symlink(name, &target.0))
	}

	fn create_named(
		&self,
		what: Access,
		dir: &Object,
		path: &Text,
		make: impl FnOnce(&Inode, &[u8]) -> Result<(Inode, Stat)>,
	) -> Result<(Object, Attr)> {
		self.accesses.access(what, NOWHERE, 1, || {
			let (dir, name) = parent(dir, &path.0)?;
			let (inode, stat) = make(&dir, &name)?;
			Ok(Object::of(Arc::new(inode), &stat))
		})
	}

	pub fn read_link(&self, object: &Object) -> Result<Text> {
		self.accesses.access(Access::Readlink, NOWHERE, 0, || Ok(Text(object.inode.read_link()?)))
	}

	/// Entries from a cookie on, and whether there are more.
	pub fn read_dir(&self, dir: &Object, cookie: u64, most: u32) -> Result<(Vec<Entry>, bool)> {
		let most = most.clamp(1, limit::ENTRIES) as usize;
		let hidden = |name: &[u8]| dir.handle == Handle::ROOT && name == JOURNALS.as_bytes();
		self.accesses.access(Access::Getdents, NOWHERE, 0, || {
			let (mut entries, mut bytes, mut more) = (Vec::new(), 0, false);
			dir.inode.list(cookie, |entry| {
				if hidden(&entry.name) {
					return true;
				}
				bytes += 19 + entry.name.len();
				more = entries.len() >= most || bytes > 1 << 20;
				if !more {
					let (cookie, ino, kind) = (entry.next, entry.ino, entry.kind);
					entries.push(Entry { cookie, ino, kind, name: Text(entry.name) });
				}
				!more
			})?;
			Ok((entries, more))
		})
	}

	pub fn stat_fs(&self, object: &Object) -> Result<Reply> {
		let stat = self.accesses.access(Access::StatVfs, NOWHERE, 0, || object.inode.stat_fs())?;
		Ok(Reply::StatFs {
			bsize: stat.bsize,
			frsize: stat.frsize,
			blocks: stat.blocks,
			bfree: stat.bfree,
			bavail: stat.bavail,
			files: stat.files,
			ffree: stat.ffree,
			namemax: stat.namemax as u32,
		})
	}

	/// Bytes that were read; fewer than asked for only at the end of file.
	pub fn read(&self, object: &Object, into: &mut [u8], offset: u64) -> Result<usize> {
		let extent = (into.len(), offset);
		self.accesses
			.transfer(Access::Pread, NOWHERE, extent, || object.reading()?.read(into, offset))
	}

	/// One access to the store: all these bytes, one after the other.
	pub fn write(&self, object: &Object, parts: &[&[u8]], offset: u64) -> Result<()> {
		let total = parts.iter().map(|part| part.len()).sum();
		let write = || object.writing()?.write(parts, offset).map(|()| total);
		self.accesses.transfer(Access::Pwritev, NOWHERE, (total, offset), write).map(|_| ())
	}

	/// What was written is with the storage daemons.
	pub fn flush(&self, object: &Object) -> Result<()> {
		match object.writing.get() {
			Some(file) => self.accesses.access(Access::Fsync, NOWHERE, 0, || file.sync(true)),
			None => Ok(()),
		}
	}

	/// The same, and the file's name and attributes are there.
	pub fn sync(&self, object: &Object) -> Result<()> {
		self.accesses.access(Access::Fsync, NOWHERE, 0, || match object.writing.get() {
			Some(file) => file.sync(false),
			None => object.inode.sync(),
		})
	}
}

fn is(stat: &Stat, kind: FileType) -> bool {
	FileType::from_raw_mode(u32::from(stat.mode)) == kind
}

/// Components of a path, the last first to be popped; an absolute path leads out.
fn components(path: &[u8]) -> Result<impl DoubleEndedIterator<Item = Vec<u8>>> {
	if path.first() == Some(&b'/') {
		return Err(Errno::XDEV);
	}
	Ok(path.split(|byte| *byte == b'/').filter(|part| !part.is_empty()).map(<[u8]>::to_vec))
}

/// Why a name was not found: in what is no directory, libcephfs says that it may not be looked for.
fn lookup_errno(dir: &Inode, errno: Errno) -> Errno {
	let is_file = || dir.stat().is_ok_and(|stat| !is(&stat, FileType::Directory));
	if errno == Errno::ACCESS && is_file() { Errno::NOTDIR } else { errno }
}

/// What a path names, beneath a directory.
fn walk(dir: &Arc<Inode>, path: &[u8], follow: bool) -> Result<(Arc<Inode>, Stat)> {
	let mut above = vec![dir.clone()];
	let mut rest: VecDeque<Vec<u8>> = components(path)?.collect();
	let directory = path.last() == Some(&b'/');
	let mut links = 0;
	while let Some(name) = rest.pop_front() {
		match &name[..] {
			b"." => {}
			b".." if above.len() == 1 => return Err(Errno::XDEV),
			b".." => drop(above.pop()),
			_ => {
				let parent = above.last().ok_or(Errno::XDEV)?;
				let (next, stat) =
					parent.lookup(&name).map_err(|errno| lookup_errno(parent, errno))?;
				let goes_on = follow || directory || !rest.is_empty();
				if !(goes_on && is(&stat, FileType::Symlink)) {
					above.push(Arc::new(next));
					continue;
				}
				links += 1;
				if links > LINKS {
					return Err(Errno::LOOP);
				}
				let target = next.read_link()?;
				components(&target)?.rev().for_each(|part| rest.push_front(part));
			}
		}
	}
	let inode = above.pop().ok_or(Errno::XDEV)?;
	let stat = inode.stat()?;
	match directory && !is(&stat, FileType::Directory) {
		true => Err(Errno::NOTDIR),
		false => Ok((inode, stat)),
	}
}

/// The directory that a path's last component is in, and that component.
fn parent(dir: &Object, path: &[u8]) -> Result<(Arc<Inode>, Vec<u8>)> {
	let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
	let path = &path[..end];
	let slash = path.iter().rposition(|byte| *byte == b'/');
	let (above, name) = slash.map_or((&path[..0], path), |at| (&path[..=at], &path[at + 1..]));
	match name {
		b"" => Err(Errno::NOENT),
		b"." | b".." => Err(Errno::INVAL),
		name => Ok((walk(&dir.inode, above, true)?.0, name.to_vec())),
	}
}

fn open_existing(inode: Arc<Inode>, stat: &Stat, flags: u32) -> Result<(Object, Attr, bool)> {
	let writes = flags & open::WRITE != 0;
	match FileType::from_raw_mode(u32::from(stat.mode)) {
		FileType::Symlink => return Err(Errno::LOOP),
		FileType::Directory if writes => return Err(Errno::ISDIR),
		FileType::Directory => {}
		_ if flags & open::DIRECTORY != 0 => return Err(Errno::NOTDIR),
		_ => {}
	}
	let (object, attr) = Object::of(inode, stat);
	if is(stat, FileType::RegularFile) {
		if writes {
			object.writing()?
		} else {
			object.reading()?
		};
	}
	Ok((object, attr, false))
}

/// A handle is what a file is; CephFS gives no number twice.
fn handle_of(stat: &Stat) -> Handle {
	let birth = stat.btime.seconds as u64 ^ (stat.btime.nanoseconds as u64) << 32;
	let mut handle = [0; 32];
	for (at, number) in [1, stat.dev, stat.ino, birth].into_iter().enumerate() {
		handle[8 * at..8 * at + 8].copy_from_slice(&u64::to_le_bytes(number));
	}
	Handle(handle)
}

fn attr_of(stat: &Stat) -> Attr {
	let time =
		|t: &fathom_cephfs::Time| Time { seconds: t.seconds, nanoseconds: t.nanoseconds as u32 };
	Attr {
		mode: u32::from(stat.mode),
		nlink: stat.nlink,
		uid: stat.uid,
		gid: stat.gid,
		blksize: stat.blksize,
		rdev: stat.rdev,
		dev: stat.dev,
		ino: stat.ino,
		size: stat.size,
		blocks: stat.blocks,
		atime: time(&stat.atime),
		mtime: time(&stat.mtime),
		ctime: time(&stat.ctime),
		birth: time(&stat.btime),
	}
}

/// Attributes to set, and the mask of them, as libcephfs takes them.
fn changes(wanted: &SetAttr) -> (Stat, i32) {
	let time = |t: &Time| fathom_cephfs::Time {
		seconds: t.seconds,
		nanoseconds: i64::from(t.nanoseconds),
	};
	let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
	let now = Time { seconds: since.as_secs() as i64, nanoseconds: since.subsec_nanos() };
	let stat = Stat {
		mode: (wanted.mode & 0o7777) as u16,
		uid: wanted.uid,
		gid: wanted.gid,
		size: wanted.size,
		atime: time(if wanted.which & set::ATIME != 0 { &wanted.atime } else { &now }),
		mtime: time(if wanted.which & set::MTIME != 0 { &wanted.mtime } else { &now }),
		..Stat::default()
	};
	let masks = [
		(set::MODE, setattr::MODE),
		(set::UID, setattr::UID),
		(set::GID, setattr::GID),
		(set::SIZE, setattr::SIZE),
		(set::ATIME, setattr::ATIME),
		(set::MTIME, setattr::MTIME),
		(set::ATIME_NOW, setattr::ATIME | setattr::ATIME_NOW),
		(set::MTIME_NOW, setattr::MTIME | setattr::MTIME_NOW),
	];
	// a number that is none stays as it is
	let stays = |number: u32, which| if number == u32::MAX { which } else { 0 };
	let which = wanted.which & !stays(wanted.uid, set::UID) & !stays(wanted.gid, set::GID);
	let selected = masks.into_iter().filter(|(bit, _)| which & bit != 0);
	(stat, selected.fold(0, |mask, (_, bit)| mask | bit))
}

/// Journals of appends, beside the files.
struct Journals {
	root: Arc<Inode>,
}

/// One that is open, and its end.
struct OpenJournal {
	file: Opened,
	end: u64,
}

impl Journals {
	/// The directory that they are in, created if it is absent.
	fn directory(&self) -> Result<Inode> {
		let inside = |above: &Inode, name: &[u8]| match above.mkdir(name, 0o700) {
			Err(Errno::EXIST) => above.lookup(name).map(|(inode, _)| inode),
			created => created.map(|(inode, _)| inode),
		};
		inside(&inside(&self.root, JOURNALS.as_bytes())?, b"appends")
	}

	fn find_journal(&self, name: &str) -> Result<Option<(Inode, Stat)>> {
		let journal = (self.root.lookup(JOURNALS.as_bytes()))
			.and_then(|(own, _)| own.lookup(b"appends"))
			.and_then(|(all, _)| all.lookup(name.as_bytes()));
		match journal {
			Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
			journal => journal.map(Some),
		}
	}
}

impl JournalStore for Journals {
	fn read(&self, name: &str) -> Result<Option<Vec<u8>>> {
		let Some((inode, stat)) = self.find_journal(name)? else { return Ok(None) };
		let mut text = vec![0; stat.size as usize];
		let read = inode.open(OFlags::RDONLY.bits() as i32)?.read(&mut text, 0)?;
		text.truncate(read);
		Ok(Some(text))
	}

	fn open(&self, name: &str) -> Result<Box<dyn JournalFile>> {
		let flags = (OFlags::WRONLY | OFlags::CREATE).bits() as i32;
		let (_, file, stat) = self.directory()?.create(name.as_bytes(), 0o600, flags)?;
		Ok(Box::new(OpenJournal { file, end: stat.size }))
	}

	fn rename(&self, name: &str, to: &str) -> Result<()> {
		let directory = self.directory()?;
		directory.rename(name.as_bytes(), &directory, to.as_bytes())
	}

	fn remove(&self, name: &str) -> Result<()> {
		match self.find_journal(name)? {
			Some(_) => self.directory()?.remove(name.as_bytes(), false),
			None => Ok(()),
		}
	}
}

impl JournalFile for OpenJournal {
	fn add(&mut self, text: &[u8]) -> Result<()> {
		self.file.write(&[text], self.end)?;
		self.end += text.len() as u64;
		self.file.sync(true)
	}
}
