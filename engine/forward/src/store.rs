//! What holds files: this server's directory, a CephFS, another server, or stripes over several servers' directories.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use fathom_record::Place;
use fathom_wire::number::{open, seek};
use fathom_wire::{Attr, Entry, Extent, Handle, Reply, SetAttr, Text};
use rustix::fs::FileType;
use rustix::io::Errno;

use crate::accesses::Accesses;
use crate::ceph::{self, Ceph};
use crate::claim::Claim;
pub use crate::directory::Data;
use crate::directory::Directory;
use crate::ended::{self, Ended};
use crate::group::{Group, patience};
use crate::intents::{RecordFile, RecordStore};
use crate::journal::{JournalDirectory, JournalStore};
use crate::layout::Layout;
use crate::object;
use crate::portions::{FailedRanges, Stretch};
#[cfg(test)]
use crate::simulation::disk::{self, Disk};
use crate::stripes::{self, Stripes, Striping};
use crate::throttle::Throttle;
use crate::trouble::Trouble;
use crate::upstream_store::{self, UpstreamStore};
use crate::{Export, Settings};

pub type Result<T> = std::result::Result<T, Trouble>;

/// A file or directory that is known by its handle.
pub enum Object {
	#[cfg(test)]
	Simulated(disk::Object),
	Local(object::Object),
	Ceph(ceph::Object),
	Upstream(upstream_store::Object),
	Striped(stripes::Object),
}

/// What a store of one kind knows an object as.
trait Kind: Into<Object> {
	fn of(object: &Object) -> Result<&Self>;
}

macro_rules! kinds {
	($($name:ident($type:ty)),*) => {$(
		impl From<$type> for Object {
			fn from(object: $type) -> Object {
				Object::$name(object)
			}
		}

		impl Kind for $type {
			fn of(object: &Object) -> Result<&Self> {
				match object {
					Object::$name(object) => Ok(object),
					_ => Err(Errno::XDEV.into()),
				}
			}
		}
	)*};
}
kinds!(
	Local(object::Object),
	Ceph(ceph::Object),
	Upstream(upstream_store::Object),
	Striped(stripes::Object)
);
#[cfg(test)]
kinds!(Simulated(disk::Object));

impl Object {
	pub fn handle(&self) -> Handle {
		match self {
			#[cfg(test)]
			Object::Simulated(object) => object.handle,
			Object::Local(object) => object.handle,
			Object::Ceph(object) => object.handle,
			Object::Upstream(object) => object.handle,
			Object::Striped(object) => object.handle,
		}
	}

	/// It was opened for writing, so that it can be written whatever its mode is by now.
	pub fn is_writable(&self) -> bool {
		match self {
			#[cfg(test)]
			Object::Simulated(_) => true,
			Object::Local(object) => object.is_writable(),
			Object::Ceph(object) => object.is_writable(),
			Object::Upstream(_) | Object::Striped(_) => true,
		}
	}

	/// The file itself, for the trace.
	pub fn place(&self) -> Place<'_> {
		match self {
			Object::Local(object) => object.place(),
			_ => Place { file: -1, path: None },
		}
	}

	/// Its path is not that of a file of this machine.
	pub fn is_elsewhere(&self) -> bool {
		!matches!(self, Object::Local(_))
	}

	/// Another server has it, and may forget it.
	pub fn is_of_another(&self) -> bool {
		matches!(self, Object::Striped(_) | Object::Upstream(_))
	}

	/// Bytes at whose multiples accesses best end.
	pub fn unit(&self) -> u64 {
		match self {
			Object::Ceph(object) => object.unit,
			_ => 1,
		}
	}
}

/// What holds whole files.
enum Whole {
	#[cfg(test)]
	Simulated(Arc<Disk>),
	Directory(Box<Directory>),
	Ceph(Ceph),
	Upstream(UpstreamStore),
}

pub struct Store {
	whole: Whole,
	/// None: files are whole.
	pub stripes: Option<Stripes>,
	/// Held as long as the directory is served.
	_claim: Option<Claim>,
}

/// Work on an object, by the store that has it, as it knows the object.
macro_rules! by {
	($store:ident, $object:expr, $files:ident, $inner:ident => $work:expr) => {
		match ($object, &$store.stripes, &$store.whole) {
			#[cfg(test)]
			(Object::Simulated($inner), _, Whole::Simulated($files)) => $work,
			(Object::Striped($inner), Some($files), _) => $work,
			(Object::Local($inner), _, Whole::Directory($files)) => $work,
			(Object::Ceph($inner), _, Whole::Ceph($files)) => $work,
			(Object::Upstream($inner), _, Whole::Upstream($files)) => $work,
			_ => Err(Errno::XDEV.into()),
		}
	};
}

/// The same where a path resolves to an object.
macro_rules! resolve {
	($store:ident, $object:expr, $files:ident, $inner:ident => $work:expr) => {
		by!($store, $object, $files, $inner => {
			let (object, attr) = $work?;
			Ok((object.into(), attr))
		})
	};
}

impl Store {
	pub fn open(settings: &Settings, group: &Group) -> Result<Store> {
		let accesses = Accesses { throttle: settings.rates.map(Throttle::new) };
		let stripes = settings.striping.map(|striping| group.stripes(striping, settings));
		let mut claim = None;
		let whole = match (&settings.export, group.servers()) {
			#[cfg(test)]
			(Export::Simulated(disk), _) => Whole::Simulated(disk.clone()),
			(Export::Directory(root), _) => {
				let directory = Directory::open(root, settings.data, accesses)?;
				if settings.data == Data::Files {
					claim = Claim::take(directory.directory(), group.list())?;
				}
				Whole::Directory(Box::new(directory))
			}
			(Export::Cephfs { path, conf, id }, _) => {
				Whole::Ceph(Ceph::open(path, conf.as_deref(), id, settings.patience, accesses)?)
			}
			(Export::Server(..), [server]) => {
				Whole::Upstream(UpstreamStore::open(server.clone(), patience(settings))?)
			}
			(Export::Server(..), _) => return Err(Errno::INVAL.into()),
		};
		if let (Some(_), Whole::Directory(directory)) = (&stripes, &whole) {
			directory.make_own()?;
		}
		Ok(Store { whole, stripes, _claim: claim })
	}

	/// What clients see, and what other servers see.
	pub fn roots(&self) -> Result<Vec<Arc<Object>>> {
		let striped = self.stripes.as_ref().map(Stripes::root).map(Object::Striped);
		let whole = match &self.whole {
			#[cfg(test)]
			Whole::Simulated(disk) => Object::Simulated(disk.root()),
			Whole::Directory(directory) => Object::Local(directory.root(self.stripes.is_some())?),
			Whole::Ceph(ceph) => Object::Ceph(ceph.root()?),
			Whole::Upstream(upstream) => Object::Upstream(upstream.root()),
		};
		Ok(striped.into_iter().chain([whole]).map(Arc::new).collect())
	}

	/// Where journals of appends are, of files that are kept.
	pub fn journal_store(&self, settings: &Settings) -> Result<Option<Arc<dyn JournalStore>>> {
		Ok(match &self.whole {
			#[cfg(test)]
			Whole::Simulated(disk) => Some(Arc::new(disk::Own(disk.clone(), 0))),
			Whole::Directory(directory) if settings.data == Data::Files => {
				Some(Arc::new(JournalDirectory::beneath(rustix::io::fcntl_dupfd_cloexec(
					directory.directory(),
					0,
				)?)))
			}
			Whole::Ceph(ceph) => Some(ceph.journal_store()),
			_ => None,
		})
	}

	/// Where changes of names are written down before they are done; None: they are not.
	pub fn record_store(&self, group: &Group) -> Result<Option<Box<dyn RecordStore>>> {
		#[cfg(test)]
		if let Whole::Simulated(disk) = &self.whole {
			return Ok(Some(Box::new(disk::Own(disk.clone(), group.numbers().0))));
		}
		let Some(place) = self.own_place() else { return Ok(None) };
		Ok(Some(Box::new(RecordFile::beneath(place, group.numbers())?)))
	}

	/// Servers of this directory that have written all that they had accepted.
	pub fn ended(&self) -> std::result::Result<Ended, String> {
		#[cfg(test)]
		if let Whole::Simulated(disk) = &self.whole {
			return Ok(Ended::of_lines(&disk.ends()));
		}
		Ok(self.own_place().map(Ended::read).transpose()?.unwrap_or_default())
	}

	/// This one is another such.
	pub fn note_end(&self, line: &str) -> Result<()> {
		#[cfg(test)]
		if let Whole::Simulated(disk) = &self.whole {
			disk.note_end(line);
			return Ok(());
		}
		Ok(self.own_place().map_or(Ok(()), |place| ended::note(place, line))?)
	}

	/// Nothing is under way any more: what was written is made to outlive this process.
	pub fn end(&self) -> Result<()> {
		match &self.whole {
			#[cfg(test)]
			Whole::Simulated(_) => Ok(()),
			Whole::Directory(_) | Whole::Upstream(_) => Ok(()),
			Whole::Ceph(ceph) => ceph.end(),
		}
	}

	/// Beneath which the server may keep what the next one is to know.
	fn own_place(&self) -> Option<BorrowedFd<'_>> {
		match &self.whole {
			Whole::Directory(directory) if directory.keeps_data() => Some(directory.directory()),
			_ => None,
		}
	}

	/// The exported directory, for others to look beneath.
	pub fn directory(&self) -> Result<BorrowedFd<'_>> {
		match &self.whole {
			Whole::Directory(directory) => Ok(directory.directory()),
			_ => Err(Errno::OPNOTSUPP.into()),
		}
	}

	/// Notes striped files that were removed while no server was there to free their data.
	pub fn find_removed(&self) -> Result<()> {
		match &self.whole {
			Whole::Directory(directory) => Ok(directory.find_removed()?),
			_ => Ok(()),
		}
	}

	/// Striped files that were removed, of which their data is left.
	pub fn take_removed(&self) -> Vec<(Handle, Layout)> {
		match &self.whole {
			Whole::Directory(directory) => directory.removed.take(),
			_ => Vec::new(),
		}
	}

	/// Files that have lost their last names.
	pub fn take_nameless(&self) -> Vec<Handle> {
		match &self.whole {
			#[cfg(test)]
			Whole::Simulated(disk) => disk.take_nameless(),
			Whole::Directory(directory) => directory.removed.take_nameless(),
			Whole::Ceph(ceph) => ceph.take_nameless(),
			Whole::Upstream(_) => Vec::new(),
		}
	}

	pub fn lookup(&self, dir: &Object, path: &Text, nofollow: bool) -> Result<(Object, Attr)> {
		resolve!(self, dir, files, inner => files.lookup(inner, path, nofollow))
	}

	/// The file, its attributes, whether it was made.
	pub fn open_file(
		&self,
		dir: &Object,
		path: &Text,
		how: (u32, u32),
		wish: Striping,
	) -> Result<(Object, Attr, bool)> {
		let has_nameless = matches!(dir, Object::Local(_) | Object::Upstream(_));
		if how.0 & open::TMPFILE != 0 && !has_nameless {
			return Err(Errno::OPNOTSUPP.into());
		}
		by!(self, dir, files, inner => {
			let (object, attr, created) = files.open_file(inner, path, how, wish)?;
			Ok((object.into(), attr, created))
		})
	}

	pub fn attr(&self, object: &Object) -> Result<Attr> {
		by!(self, object, files, inner => Ok(files.attr(inner)?))
	}

	/// `granted`: the owner of the file's end has granted that it is cut.
	pub fn set_attr(&self, object: &Object, wanted: &SetAttr, granted: bool) -> Result<Attr> {
		match (object, &self.stripes, &self.whole) {
			#[cfg(test)]
			(Object::Simulated(inner), _, Whole::Simulated(disk)) => Ok(disk.set_attr(inner, wanted)?),
			(Object::Striped(inner), Some(files), _) => files.set_attr(inner, wanted),
			(Object::Local(inner), _, Whole::Directory(files)) => {
				Ok(files.set_attr(inner, wanted)?)
			}
			(Object::Ceph(inner), _, Whole::Ceph(files)) => Ok(files.set_attr(inner, wanted)?),
			(Object::Upstream(inner), _, Whole::Upstream(upstream)) => {
				upstream.set_attr(inner, wanted, granted)
			}
			_ => Err(Errno::XDEV.into()),
		}
	}

	pub fn rename(&self, from: (&Object, &Text), to: (&Object, &Text), flags: u32) -> Result<()> {
		by!(self, from.0, files, inner => {
			Ok(files.rename((inner, from.1), (Kind::of(to.0)?, to.1), flags)?)
		})
	}

	pub fn link(&self, object: &Object, dir: &Object, path: &Text) -> Result<Attr> {
		by!(self, object, files, inner => Ok(files.link(inner, Kind::of(dir)?, path)?))
	}

	pub fn unlink(&self, dir: &Object, path: &Text, directory: bool) -> Result<()> {
		by!(self, dir, files, inner => Ok(files.unlink(inner, path, directory)?))
	}

	pub fn mkdir(&self, dir: &Object, path: &Text, mode: u32) -> Result<(Object, Attr)> {
		resolve!(self, dir, files, inner => files.mkdir(inner, path, mode))
	}

	/// No other kind: a regular file is opened instead, so that striped ones have their layout.
	pub fn mknod(&self, dir: &Object, path: &Text, mode: u32, rdev: u64) -> Result<(Object, Attr)> {
		use FileType::{BlockDevice, CharacterDevice, Fifo, Socket};
		let kind = FileType::from_raw_mode(mode);
		if !matches!(kind, Fifo | Socket | CharacterDevice | BlockDevice) {
			return Err(Errno::INVAL.into());
		}
		resolve!(self, dir, files, inner => files.mknod(inner, path, mode, rdev))
	}

	pub fn symlink(&self, dir: &Object, path: &Text, target: &Text) -> Result<(Object, Attr)> {
		resolve!(self, dir, files, inner => files.symlink(inner, path, target))
	}

	pub fn read_link(&self, object: &Object) -> Result<Text> {
		by!(self, object, files, inner => Ok(files.read_link(inner)?))
	}

	/// Where the next data or hole is, from an offset on. Elsewhere than in a directory a file is data, and then a hole.
	pub fn seek(&self, object: &Object, offset: u64, what: u8) -> Result<u64> {
		match (object, &self.whole) {
			(Object::Local(object), Whole::Directory(files)) => {
				Ok(files.seek(object, offset, what)?)
			}
			(Object::Upstream(object), Whole::Upstream(files)) => files.seek(object, offset, what),
			_ => {
				let size = self.attr(object)?.size;
				match what {
					_ if offset >= size => Err(Errno::NXIO.into()),
					seek::DATA => Ok(offset),
					_ => Ok(size),
				}
			}
		}
	}

	/// Space is set aside or given back, as fallocate does.
	pub fn allocate(&self, object: &Object, mode: u32, range: (u64, u64)) -> Result<()> {
		match (object, &self.whole) {
			(Object::Local(object), Whole::Directory(files)) => {
				Ok(files.allocate(object, mode, range)?)
			}
			(Object::Upstream(object), Whole::Upstream(files)) => {
				files.allocate(object, mode, range)
			}
			_ => Err(Errno::OPNOTSUPP.into()),
		}
	}

	pub fn get_xattr(&self, object: &Object, name: &Text) -> Result<Vec<u8>> {
		match (object, &self.whole) {
			(Object::Local(object), Whole::Directory(files)) => Ok(files.get_xattr(object, name)?),
			(Object::Upstream(object), Whole::Upstream(files)) => files.get_xattr(object, name),
			_ => Err(Errno::OPNOTSUPP.into()),
		}
	}

	/// Names, with a zero behind each.
	pub fn list_xattr(&self, object: &Object) -> Result<Vec<u8>> {
		match (object, &self.whole) {
			(Object::Local(object), Whole::Directory(files)) => Ok(files.list_xattr(object)?),
			(Object::Upstream(object), Whole::Upstream(files)) => files.list_xattr(object),
			_ => Err(Errno::OPNOTSUPP.into()),
		}
	}

	pub fn set_xattr(&self, object: &Object, name: &Text, value: &[u8], flags: u32) -> Result<()> {
		match (object, &self.whole) {
			(Object::Local(object), Whole::Directory(files)) => {
				Ok(files.set_xattr(object, name, value, flags)?)
			}
			(Object::Upstream(object), Whole::Upstream(files)) => {
				files.set_xattr(object, name, value, flags)
			}
			_ => Err(Errno::OPNOTSUPP.into()),
		}
	}

	pub fn remove_xattr(&self, object: &Object, name: &Text) -> Result<()> {
		match (object, &self.whole) {
			(Object::Local(object), Whole::Directory(files)) => {
				Ok(files.remove_xattr(object, name)?)
			}
			(Object::Upstream(object), Whole::Upstream(files)) => files.remove_xattr(object, name),
			_ => Err(Errno::OPNOTSUPP.into()),
		}
	}

	/// Entries from a cookie on, and whether there are more.
	pub fn read_dir(&self, dir: &Object, cookie: u64, most: u32) -> Result<(Vec<Entry>, bool)> {
		by!(self, dir, files, inner => Ok(files.read_dir(inner, cookie, most)?))
	}

	pub fn stat_fs(&self, object: &Object) -> Result<Reply> {
		by!(self, object, files, inner => Ok(files.stat_fs(inner)?))
	}

	/// Bytes that were read; fewer than asked for only at the end of file.
	pub fn read(&self, object: &Object, into: &mut [u8], offset: u64) -> Result<usize> {
		match (object, &self.whole) {
			#[cfg(test)]
			(Object::Simulated(object), Whole::Simulated(disk)) => Ok(disk.read(object, into, offset)?),
			(Object::Local(object), Whole::Directory(directory)) => {
				Ok(directory.read(object, into, offset)?)
			}
			(Object::Ceph(object), Whole::Ceph(ceph)) => Ok(ceph.read(object, into, offset)?),
			_ => {
				let extent = Extent { offset, length: into.len() as u64 };
				let lengths = self.read_list(object, &[extent], into, false).ok_or(Errno::XDEV)?;
				Ok(lengths?.into_iter().sum())
			}
		}
	}

	/// The same, and the time of reading stays, where the store has that.
	pub fn read_quietly(&self, object: &Object, into: &mut [u8], offset: u64) -> Result<usize> {
		match (object, &self.whole) {
			(Object::Local(object), Whole::Directory(files)) => {
				Ok(files.read_quietly(object, into, offset)?)
			}
			_ => self.read(object, into, offset),
		}
	}

	/// What other servers have is asked for as a list; of other files None. `quiet`: the time of reading stays.
	pub fn read_list(
		&self,
		object: &Object,
		extents: &[Extent],
		into: &mut [u8],
		quiet: bool,
	) -> Option<Result<Vec<usize>>> {
		match (object, &self.stripes, &self.whole) {
			(Object::Striped(object), Some(files), _) => Some(files.read(object, extents, into)),
			(Object::Upstream(object), _, Whole::Upstream(upstream)) => {
				Some(upstream.read(object, extents, into, quiet))
			}
			_ => None,
		}
	}

	/// A descriptor of the file, to be read by others.
	pub fn readable<'a>(&self, object: &'a Object) -> Result<BorrowedFd<'a>> {
		Ok(<object::Object as Kind>::of(object)?.readable()?)
	}

	/// What can be had without waiting, by a directory only.
	fn local_file<'a>(&self, object: &'a Object) -> Option<(&Directory, &'a object::Object)> {
		match (&self.whole, object) {
			(Whole::Directory(directory), Object::Local(object)) => Some((directory, object)),
			_ => None,
		}
	}

	/// The file's attributes can be had without waiting.
	pub fn is_quick(&self, object: &Object) -> bool {
		#[cfg(test)]
		if let Whole::Simulated(disk) = &self.whole {
			return disk.is_near();
		}
		self.local_file(object).is_some_and(|(directory, object)| directory.is_quick(object))
	}

	/// Every access to the file may take long, however little it reads. libcephfs has a cache of its own.
	pub fn is_slow(&self, object: &Object) -> bool {
		self.local_file(object).is_some_and(|(directory, object)| directory.is_slow(object))
	}

	/// What lies between writes to it may be read and written back with them: that takes less time, and nobody else writes there.
	pub fn fills_gaps(&self, object: &Object) -> bool {
		self.stripes.is_some() && self.is_slow(object)
	}

	/// As read, if that needs no waiting.
	pub fn read_now(&self, object: &Object, into: &mut [u8], offset: u64) -> Option<usize> {
		self.local_file(object)
			.and_then(|(directory, object)| directory.read_now(object, into, offset))
	}

	/// It may be that writes to it need no waiting.
	pub fn may_write_now(&self, object: &Object) -> bool {
		#[cfg(test)]
		if let Whole::Simulated(disk) = &self.whole {
			return disk.is_near();
		}
		self.local_file(object).is_some_and(|(directory, object)| directory.may_write_now(object))
	}

	/// Any amount of data is done with at once.
	pub fn does_nothing(&self) -> bool {
		matches!(&self.whole, Whole::Directory(directory) if directory.does_nothing())
	}

	/// Bytes that lie one after the other, if that needs no waiting; if it does, some of them may be written.
	pub fn write_now(&self, object: &Object, parts: &[&[u8]], offset: u64) -> bool {
		#[cfg(test)]
		if let (Whole::Simulated(disk), Object::Simulated(object)) = (&self.whole, object) {
			return disk.is_near() && disk.write(object, parts, offset).is_ok();
		}
		self.local_file(object)
			.is_some_and(|(directory, object)| directory.write_now(object, parts, offset))
	}

	/// Bytes that lie one after the other, by one access.
	pub fn write(&self, object: &Object, parts: &[&[u8]], offset: u64) -> Result<()> {
		match (object, &self.whole) {
			#[cfg(test)]
			(Object::Simulated(object), Whole::Simulated(disk)) => Ok(disk.write(object, parts, offset)?),
			(Object::Local(object), Whole::Directory(directory)) => {
				Ok(directory.write(object, parts, offset)?)
			}
			(Object::Ceph(object), Whole::Ceph(ceph)) => Ok(ceph.write(object, parts, offset)?),
			_ => Err(Errno::XDEV.into()),
		}
	}

	/// What other servers have is written as a list, with what failed of each; of other files None. `granted`: what is beyond
	/// the file's end was handed out by its owner.
	pub fn write_list(
		&self,
		object: &Object,
		stretches: &[Stretch<'_>],
		granted: bool,
	) -> Option<Result<Vec<FailedRanges>>> {
		match (object, &self.stripes, &self.whole) {
			(Object::Striped(object), Some(files), _) => Some(files.write(object, stretches)),
			(Object::Upstream(object), _, Whole::Upstream(upstream)) => {
				Some(Ok(upstream.write(object, stretches, granted)))
			}
			_ => None,
		}
	}

	/// What is written stays in this process until it is flushed.
	pub fn buffers_writes(&self, object: &Object) -> bool {
		matches!(object, Object::Ceph(_))
	}

	/// What was written outlives this process.
	pub fn flush(&self, object: &Object) -> Result<()> {
		match (object, &self.whole) {
			(Object::Ceph(object), Whole::Ceph(ceph)) => Ok(ceph.flush(object)?),
			_ => Ok(()),
		}
	}

	/// Nobody here holds the file so many times more: another server need not for us.
	pub fn release(&self, object: &Object, times: u32) {
		match (object, &self.stripes, &self.whole) {
			(Object::Striped(object), Some(stripes), _) => stripes.release(object, times),
			(Object::Upstream(object), _, Whole::Upstream(upstream)) => {
				upstream.release(object, times)
			}
			_ => {}
		}
	}

	/// The file's data and, once after it was made, its name.
	pub fn sync(&self, object: &Object) -> Result<()> {
		by!(self, object, files, inner => Ok(files.sync(inner)?))
	}
}
