//! What holds files: this server's directory, or stripes over several servers' directories.

use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::Arc;

use fathom_record::Place;
use fathom_wire::{Attr, Entry, Extent, Handle, Reply, SetAttr, Text};
use rustix::fs::FileType;
use rustix::io::Errno;

use crate::directory::{self, Directory};
pub use crate::directory::{Data, said};
use crate::server::Trouble;
use crate::striped::{Lost, Stretch};
use crate::stripes::{self, Stripes, Striping};
use crate::throttle::Throttle;

type Result<T> = std::result::Result<T, Trouble>;

/// A file or directory that is known by its handle.
pub enum Object {
	Here(directory::Object),
	Striped(stripes::Object),
}

impl Object {
	pub fn handle(&self) -> Handle {
		match self {
			Object::Here(object) => object.handle,
			Object::Striped(object) => object.handle,
		}
	}

	/// It was opened for writing, so that it can be written whatever its mode is by now.
	pub fn is_writable(&self) -> bool {
		match self {
			Object::Here(object) => object.is_writable(),
			Object::Striped(_) => true,
		}
	}

	/// The file itself, for the trace.
	pub fn place(&self) -> Place<'_> {
		match self {
			Object::Here(object) => object.place(),
			Object::Striped(_) => Place { file: -1, path: None },
		}
	}

	fn here(&self) -> Result<&directory::Object> {
		match self {
			Object::Here(object) => Ok(object),
			Object::Striped(_) => Err(Errno::XDEV.into()),
		}
	}

	fn striped(&self) -> Result<&stripes::Object> {
		match self {
			Object::Striped(object) => Ok(object),
			Object::Here(_) => Err(Errno::XDEV.into()),
		}
	}
}

pub struct Store {
	pub here: Directory,
	/// None: files are whole, and here.
	pub stripes: Option<Stripes>,
}

impl Store {
	pub fn open(
		root: &Path,
		data: Data,
		throttle: Option<Throttle>,
		stripes: Option<Stripes>,
	) -> Result<Store> {
		let here = Directory::open(root, data, throttle)?;
		if stripes.is_some() {
			here.make_own()?;
		}
		Ok(Store { here, stripes })
	}

	/// What clients see, and what other servers see.
	pub fn roots(&self) -> Result<Vec<Arc<Object>>> {
		let striped = self.stripes.as_ref().map(Stripes::root).map(Object::Striped);
		let here = Object::Here(self.here.root(self.stripes.is_some())?);
		Ok(striped.into_iter().chain([here]).map(Arc::new).collect())
	}

	/// Where an object is: here, or striped.
	fn stripes(&self, object: &Object) -> Option<&Stripes> {
		self.stripes.as_ref().filter(|_| matches!(object, Object::Striped(_)))
	}

	pub fn lookup(&self, dir: &Object, path: &Text, nofollow: bool) -> Result<(Object, Attr)> {
		if let Some(stripes) = self.stripes(dir) {
			let (object, attr) = stripes.lookup(dir.striped()?, path, nofollow)?;
			return Ok((Object::Striped(object), attr));
		}
		let (object, attr) = self.here.lookup(dir.here()?, path, nofollow)?;
		Ok((Object::Here(object), attr))
	}

	/// The file, its attributes, whether it was made.
	pub fn open_file(
		&self,
		dir: &Object,
		path: &Text,
		(flags, mode): (u32, u32),
		wish: Striping,
	) -> Result<(Object, Attr, bool)> {
		if let Some(stripes) = self.stripes(dir) {
			let how = (flags, mode);
			let (object, attr, made) = stripes.open_file(dir.striped()?, path, how, wish)?;
			return Ok((Object::Striped(object), attr, made));
		}
		let (object, attr, made) = self.here.open_file(dir.here()?, path, flags, mode)?;
		Ok((Object::Here(object), attr, made))
	}

	pub fn attr(&self, object: &Object) -> Result<Attr> {
		match self.stripes(object) {
			Some(stripes) => stripes.attr(object.striped()?),
			None => Ok(self.here.attr(object.here()?)?),
		}
	}

	pub fn set_attr(&self, object: &Object, wanted: &SetAttr) -> Result<Attr> {
		match self.stripes(object) {
			Some(stripes) => stripes.set_attr(object.striped()?, wanted),
			None => Ok(self.here.set_attr(object.here()?, wanted)?),
		}
	}

	pub fn rename(&self, from: (&Object, &Text), to: (&Object, &Text), flags: u32) -> Result<()> {
		match self.stripes(from.0) {
			Some(stripes) => {
				stripes.rename((from.0.striped()?, from.1), (to.0.striped()?, to.1), flags)
			}
			None => Ok(self.here.rename((from.0.here()?, from.1), (to.0.here()?, to.1), flags)?),
		}
	}

	pub fn link(&self, object: &Object, dir: &Object, path: &Text) -> Result<Attr> {
		match self.stripes(object) {
			Some(stripes) => stripes.link(object.striped()?, dir.striped()?, path),
			None => Ok(self.here.link(object.here()?, dir.here()?, path)?),
		}
	}

	pub fn unlink(&self, dir: &Object, path: &Text, directory: bool) -> Result<()> {
		match self.stripes(dir) {
			Some(stripes) => stripes.unlink(dir.striped()?, path, directory),
			None => Ok(self.here.unlink(dir.here()?, path, directory)?),
		}
	}

	pub fn mkdir(&self, dir: &Object, path: &Text, mode: u32) -> Result<(Object, Attr)> {
		if let Some(stripes) = self.stripes(dir) {
			let (object, attr) = stripes.mkdir(dir.striped()?, path, mode)?;
			return Ok((Object::Striped(object), attr));
		}
		let (object, attr) = self.here.mkdir(dir.here()?, path, mode)?;
		Ok((Object::Here(object), attr))
	}

	/// No other kind: a regular file is opened instead, so that striped ones have their layout.
	pub fn mknod(&self, dir: &Object, path: &Text, mode: u32, rdev: u64) -> Result<(Object, Attr)> {
		use FileType::{BlockDevice, CharacterDevice, Fifo, Socket};
		let kind = FileType::from_raw_mode(mode);
		if !matches!(kind, Fifo | Socket | CharacterDevice | BlockDevice) {
			return Err(Errno::INVAL.into());
		}
		if let Some(stripes) = self.stripes(dir) {
			let (object, attr) = stripes.mknod(dir.striped()?, path, mode, rdev)?;
			return Ok((Object::Striped(object), attr));
		}
		let (object, attr) = self.here.mknod(dir.here()?, path, mode, rdev)?;
		Ok((Object::Here(object), attr))
	}

	pub fn symlink(&self, dir: &Object, path: &Text, target: &Text) -> Result<(Object, Attr)> {
		if let Some(stripes) = self.stripes(dir) {
			let (object, attr) = stripes.symlink(dir.striped()?, path, target)?;
			return Ok((Object::Striped(object), attr));
		}
		let (object, attr) = self.here.symlink(dir.here()?, path, target)?;
		Ok((Object::Here(object), attr))
	}

	pub fn read_link(&self, object: &Object) -> Result<Text> {
		match self.stripes(object) {
			Some(stripes) => stripes.read_link(object.striped()?),
			None => Ok(self.here.read_link(object.here()?)?),
		}
	}

	/// Entries from a cookie on, and whether there are more.
	pub fn read_dir(&self, dir: &Object, cookie: u64, most: u32) -> Result<(Vec<Entry>, bool)> {
		match self.stripes(dir) {
			Some(stripes) => stripes.read_dir(dir.striped()?, cookie, most),
			None => Ok(self.here.read_dir(dir.here()?, cookie, most)?),
		}
	}

	pub fn stat_fs(&self, object: &Object) -> Result<Reply> {
		match self.stripes(object) {
			Some(stripes) => stripes.stat_fs(),
			None => Ok(self.here.stat_fs(object.here()?)?),
		}
	}

	/// Bytes that were read; fewer than asked for only at the end of file.
	pub fn read(&self, object: &Object, into: &mut [u8], offset: u64) -> Result<usize> {
		if let Some(stripes) = self.stripes(object) {
			let extent = Extent { offset, length: into.len() as u64 };
			let lengths = stripes.read(object.striped()?, &[extent], into)?;
			return Ok(lengths.into_iter().sum());
		}
		Ok(self.here.read(object.here()?, into, offset)?)
	}

	/// What is striped is asked for as a list; of other files None.
	pub fn read_list(
		&self,
		object: &Object,
		extents: &[Extent],
		into: &mut [u8],
	) -> Option<Result<Vec<usize>>> {
		match (self.stripes(object), object) {
			(Some(stripes), Object::Striped(object)) => Some(stripes.read(object, extents, into)),
			_ => None,
		}
	}

	/// A descriptor of the file, to be read by others.
	pub fn readable<'a>(&self, object: &'a Object) -> Result<BorrowedFd<'a>> {
		Ok(object.here()?.readable()?)
	}

	/// The file's attributes can be had without waiting.
	pub fn is_quick(&self, object: &Object) -> bool {
		matches!(object, Object::Here(object) if self.here.is_quick(object))
	}

	/// Every access to the file may take long, however little it reads.
	pub fn is_slow(&self, object: &Object) -> bool {
		matches!(object, Object::Here(object) if self.here.is_slow(object))
	}

	/// As read, if that needs no waiting.
	pub fn read_now(&self, object: &Object, into: &mut [u8], offset: u64) -> Option<usize> {
		match object {
			Object::Here(object) => self.here.read_now(object, into, offset),
			Object::Striped(_) => None,
		}
	}

	/// It may be that writes to it need no waiting.
	pub fn may_write_now(&self, object: &Object) -> bool {
		matches!(object, Object::Here(object) if self.here.may_write_now(object))
	}

	/// Any amount of data is done with at once.
	pub fn does_nothing(&self) -> bool {
		self.here.does_nothing()
	}

	/// Bytes that lie one after the other, if that needs no waiting; if it does, some of them may be written.
	pub fn write_now(&self, object: &Object, parts: &[&[u8]], offset: u64) -> bool {
		matches!(object, Object::Here(object) if self.here.write_now(object, parts, offset))
	}

	/// Bytes that lie one after the other, by one access.
	pub fn write(&self, object: &Object, parts: &[&[u8]], offset: u64) -> Result<()> {
		Ok(self.here.write(object.here()?, parts, offset)?)
	}

	/// What is striped is written as a list, with what failed of each; of other files None.
	pub fn write_list(
		&self,
		object: &Object,
		stretches: &[Stretch<'_>],
	) -> Option<Result<Vec<Lost>>> {
		match (self.stripes(object), object) {
			(Some(stripes), Object::Striped(object)) => Some(stripes.write(object, stretches)),
			_ => None,
		}
	}

	/// The file's data and, once after it was made, its name.
	pub fn sync(&self, object: &Object) -> Result<()> {
		match self.stripes(object) {
			Some(stripes) => stripes.sync(object.striped()?),
			None => Ok(self.here.sync(object.here()?)?),
		}
	}
}
