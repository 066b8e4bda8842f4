//! Another forwarding server as the store, as of a remote site: each operation is asked of it, as a client of its own would.

use std::sync::Arc;

use fathom_record::Purpose;
use fathom_wire::number::{hint, level, limit, lookup, open};
use fathom_wire::{Attr, Entry, Extent, Handle, Hints, Reply, Request, SetAttr, Text};
use rustix::io::Errno;

use crate::asked_by;
use crate::peer::{Patience, Peer, Question, Response};
use crate::portions::{FailedRanges, Portion, Stretch, by_stretch, write_portions};
use crate::stripes::{Striping, is_stale, is_synced, mismatch};
use crate::trouble::Trouble;

type Result<T> = std::result::Result<T, Trouble>;

/// A file or directory by the other server's handle, which is ours too.
pub struct Object {
	pub handle: Handle,
	/// By which it was looked up, from the root.
	path: Text,
}

impl Object {
	fn inside(&self, path: &Text, handle: Handle) -> Object {
		let between: &[u8] = if self.path.0.is_empty() { b"" } else { b"/" };
		Object { handle, path: Text([&self.path.0, between, &path.0].concat()) }
	}
}

pub struct UpstreamStore {
	peer: Arc<Peer>,
	patience: Patience,
}

impl UpstreamStore {
	/// A server alone: what several know of locks and of ends of files lies with each file's owner among them.
	pub fn open(peer: Arc<Peer>, patience: Patience) -> Result<UpstreamStore> {
		let store = UpstreamStore { peer, patience };
		let status = store.ask(&Request::Status {})?.data;
		let status: serde_json::Value = serde_json::from_slice(&status).unwrap_or_default();
		match status["servers"].as_u64() {
			Some(1) => Ok(store),
			_ => {
				let why = "it is not alone: export what one server has, without --group, --stripe \
				           or another server behind it";
				Err(Trouble::new(Errno::INVAL, why.to_owned()))
			}
		}
	}

	pub fn root(&self) -> Object {
		Object { handle: Handle::ROOT, path: Text::default() }
	}

	fn ask(&self, request: &Request) -> Result<Response> {
		self.put(Question::of(request))
	}

	fn put(&self, question: Question<'_>) -> Result<Response> {
		let Purpose { callers, known_as, .. } = fathom_record::works_for_what();
		let known_as = known_as.as_deref();
		self.peer.seek(Question { callers: &callers, known_as, ..question }, self.patience)
	}

	/// Asks about objects. If the server was started anew, they are looked up first so that it knows them again.
	fn ask_about(&self, objects: &[&Object], question: Question<'_>) -> Result<Response> {
		let answer = self.put(question);
		if !is_stale(&answer) {
			return answer;
		}
		for object in objects.iter().filter(|object| object.handle != Handle::ROOT) {
			let path = object.path.clone();
			let request = Request::Lookup { dir: Handle::ROOT, flags: lookup::NOFOLLOW, path };
			match self.ask(&request).map(|response| response.reply) {
				Ok(Reply::Lookup { handle, .. }) if handle == object.handle => {}
				Err(trouble) if trouble.errno != Errno::NOENT => return Err(trouble),
				_ => return answer, // its name is gone, or another's
			}
		}
		self.put(question)
	}

	fn reply(&self, object: &Object, request: &Request) -> Result<Reply> {
		self.ask_about(&[object], Question::of(request)).map(|response| response.reply)
	}

	/// A change of names.
	fn change_names(&self, objects: &[&Object], request: &Request) -> Result<()> {
		let hints = &asked_by::hints();
		self.ask_about(objects, Question { hints, ..Question::of(request) }).map(drop)
	}

	pub fn lookup(&self, dir: &Object, path: &Text, nofollow: bool) -> Result<(Object, Attr)> {
		let flags = if nofollow { lookup::NOFOLLOW } else { 0 };
		match self.reply(dir, &Request::Lookup { dir: dir.handle, flags, path: path.clone() })? {
			Reply::Lookup { handle, attr } => Ok((dir.inside(path, handle), attr)),
			_ => mismatch(),
		}
	}

	/// The file, its attributes, whether it was made. The other server holds it until `release`.
	pub fn open_file(
		&self,
		dir: &Object,
		path: &Text,
		(flags, mode): (u32, u32),
		_: Striping,
	) -> Result<(Object, Attr, bool)> {
		// what is there is truncated later, once that is granted
		let flags = flags & !open::TRUNCATE;
		let request = Request::Open { dir: dir.handle, flags, mode, path: path.clone() };
		let makes = flags & (open::EXCLUSIVE | open::TMPFILE) == open::EXCLUSIVE;
		let hints = &if makes { asked_by::hints() } else { Hints::default() };
		match self.ask_about(&[dir], Question { hints, ..Question::of(&request) })?.reply {
			Reply::Open { handle, attr, created } => {
				Ok((dir.inside(path, handle), attr, created != 0))
			}
			_ => mismatch(),
		}
	}

	/// Nobody here holds the file so many times more.
	pub fn release(&self, object: &Object, times: u32) {
		for _ in 0..times {
			let _ = self.ask(&Request::Release { handle: object.handle });
		}
	}

	pub fn attr(&self, object: &Object) -> Result<Attr> {
		match self.reply(object, &Request::GetAttr { handle: object.handle })? {
			Reply::GetAttr { attr } => Ok(attr),
			_ => mismatch(),
		}
	}

	/// `granted`: the other server has granted, as the owner of the file's end, that it is cut.
	pub fn set_attr(&self, object: &Object, wanted: &SetAttr, granted: bool) -> Result<Attr> {
		let request = Request::SetAttr { handle: object.handle, set: wanted.clone() };
		let hints = &if granted { asked_by::hints() } else { Hints::default() };
		let answer = self.ask_about(&[object], Question { hints, ..Question::of(&request) });
		match answer?.reply {
			Reply::SetAttr { attr } => Ok(attr),
			_ => mismatch(),
		}
	}

	pub fn rename(&self, from: (&Object, &Text), to: (&Object, &Text), flags: u32) -> Result<()> {
		let (dir, path) = (from.0.handle, from.1.clone());
		let request = Request::Rename { dir, path, to_dir: to.0.handle, to: to.1.clone(), flags };
		self.change_names(&[from.0, to.0], &request)
	}

	pub fn link(&self, object: &Object, dir: &Object, path: &Text) -> Result<Attr> {
		let request = Request::Link { handle: object.handle, dir: dir.handle, path: path.clone() };
		self.change_names(&[object, dir], &request)?;
		self.attr(object)
	}

	pub fn unlink(&self, dir: &Object, path: &Text, directory: bool) -> Result<()> {
		let (at, path) = (dir.handle, path.clone());
		let request = match directory {
			true => Request::Rmdir { dir: at, path },
			false => Request::Unlink { dir: at, path },
		};
		self.change_names(&[dir], &request)
	}

	pub fn mkdir(&self, dir: &Object, path: &Text, mode: u32) -> Result<(Object, Attr)> {
		let request = Request::Mkdir { dir: dir.handle, mode, path: path.clone() };
		self.change_names(&[dir], &request)?;
		self.lookup(dir, path, true)
	}

	pub fn mknod(&self, dir: &Object, path: &Text, mode: u32, rdev: u64) -> Result<(Object, Attr)> {
		let request = Request::Mknod { dir: dir.handle, mode, rdev, path: path.clone() };
		self.change_names(&[dir], &request)?;
		self.lookup(dir, path, true)
	}

	pub fn symlink(&self, dir: &Object, path: &Text, target: &Text) -> Result<(Object, Attr)> {
		let (path, target) = (path.clone(), target.clone());
		let request = Request::Symlink { dir: dir.handle, path: path.clone(), target };
		self.change_names(&[dir], &request)?;
		self.lookup(dir, &path, true)
	}

	pub fn read_link(&self, object: &Object) -> Result<Text> {
		match self.reply(object, &Request::ReadLink { handle: object.handle })? {
			Reply::ReadLink { target } => Ok(target),
			_ => mismatch(),
		}
	}

	pub fn read_dir(&self, dir: &Object, cookie: u64, most: u32) -> Result<(Vec<Entry>, bool)> {
		let request = Request::ReadDir { handle: dir.handle, cookie, most };
		let response = self.ask_about(&[dir], Question::of(&request))?;
		match response.reply {
			Reply::ReadDir { entries } => Ok((entries, response.more)),
			_ => mismatch(),
		}
	}

	pub fn stat_fs(&self, object: &Object) -> Result<Reply> {
		self.reply(object, &Request::StatFs { handle: object.handle })
	}

	pub fn seek(&self, object: &Object, offset: u64, what: u8) -> Result<u64> {
		match self.reply(object, &Request::Seek { handle: object.handle, offset, what })? {
			Reply::Seek { offset } => Ok(offset),
			_ => mismatch(),
		}
	}

	/// The other server's clients may append meanwhile, as on a file system.
	pub fn allocate(&self, object: &Object, mode: u32, (offset, length): (u64, u64)) -> Result<()> {
		let request = Request::Allocate { handle: object.handle, mode, offset, length };
		let hints = &shared(true);
		self.ask_about(&[object], Question { hints, ..Question::of(&request) }).map(drop)
	}

	pub fn get_xattr(&self, object: &Object, name: &Text) -> Result<Vec<u8>> {
		let request = Request::GetXattr { handle: object.handle, name: name.clone() };
		Ok(self.ask_about(&[object], Question::of(&request))?.data)
	}

	pub fn list_xattr(&self, object: &Object) -> Result<Vec<u8>> {
		let request = Request::ListXattr { handle: object.handle };
		Ok(self.ask_about(&[object], Question::of(&request))?.data)
	}

	pub fn set_xattr(&self, object: &Object, name: &Text, value: &[u8], flags: u32) -> Result<()> {
		let (handle, name) = (object.handle, name.clone());
		let request = Request::SetXattr { handle, name, flags };
		let hints = &asked_by::hints();
		let question = Question { data: &[value], hints, ..Question::of(&request) };
		self.ask_about(&[object], question).map(drop)
	}

	pub fn remove_xattr(&self, object: &Object, name: &Text) -> Result<()> {
		let request = Request::RemoveXattr { handle: object.handle, name: name.clone() };
		self.change_names(&[object], &request)
	}

	/// Bytes that were read of each extent into its place, one behind the other; fewer than asked for only at the end of file.
	/// `quiet`: the time of reading stays.
	pub fn read(
		&self,
		object: &Object,
		extents: &[Extent],
		into: &mut [u8],
		quiet: bool,
	) -> Result<Vec<usize>> {
		let (mut read, mut rest) = (Vec::new(), into);
		let hints = &Hints(quiet.then(|| (hint::NOATIME, Vec::new())).into_iter().collect());
		for some in extents.chunks(limit::EXTENTS as usize) {
			let request = Request::Read { handle: object.handle, extents: some.to_vec() };
			let question = Question { hints, ..Question::of(&request) };
			let response = self.ask_about(&[object], question)?;
			let Reply::Read { lengths } = response.reply else { return mismatch() };
			let mut data = response.data.as_slice();
			for (extent, length) in some.iter().zip(lengths) {
				let one = data.split_off(..length as usize).ok_or(Errno::PROTO)?;
				let place = rest.split_off_mut(..extent.length as usize).ok_or(Errno::PROTO)?;
				place.get_mut(..one.len()).ok_or(Errno::PROTO)?.copy_from_slice(one);
				read.push(one.len());
			}
		}
		Ok(read)
	}

	/// Ranges of each stretch that failed, and why. `granted`: what is beyond the file's end was handed out by the other server,
	/// which owns it.
	pub fn write(
		&self,
		object: &Object,
		stretches: &[Stretch<'_>],
		granted: bool,
	) -> Vec<FailedRanges> {
		let hints = &shared(granted);
		let portions: Vec<_> =
			stretches.iter().enumerate().map(|(number, one)| Portion::whole(number, one)).collect();
		let write = |extents: &[Extent], data: &[&[u8]]| {
			let request = Request::Write { handle: object.handle, extents: extents.to_vec() };
			let question = Question { data, hints, ..Question::of(&request) };
			self.ask_about(&[object], question).map(drop)
		};
		let lost = write_portions(&portions, &write, &|| self.peer.is_away());
		by_stretch(stretches.len(), lost)
	}

	/// All of it lasts there.
	pub fn sync(&self, object: &Object) -> Result<()> {
		let request = Request::Commit { handle: object.handle, level: level::SYNCED };
		is_synced(&self.reply(object, &request)?)
	}
}

/// What says that a file is written beyond its end, or cut, while it is appended to.
fn shared(granted: bool) -> Hints {
	Hints(granted.then(|| (hint::APPEND_SHARED, Vec::new())).into_iter().collect())
}
