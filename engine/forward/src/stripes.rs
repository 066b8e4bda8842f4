//! Files striped over servers that have storage of their own. Names, modes and layouts are on the first server, data in
//! a file on each: all of it is asked for by the ordinary operations on the servers' own directories, which are
//! answered there without asking on.

use std::sync::Arc;

use fathom_record::Purpose;
use fathom_wire::number::{hint, lookup, open, set};
use fathom_wire::{Attr, Entry, Extent, Handle, Hints, Reply, Request, SetAttr, Text};
use rustix::io::Errno;

use crate::asked_by;
use crate::auth::random;
use crate::bounded_map::BoundedMap;
use crate::layout::Layout;
use crate::peer::{Patience, Peer, Question, Response};
use crate::trouble::Trouble;

type Result<T> = std::result::Result<T, Trouble>;

/// The root for other servers, who stripe files over it: not what clients see.
pub const PEER_ROOT: Handle = {
	let mut handle = [0; 32];
	handle[0] = 3;
	Handle(handle)
};

/// Where a file is found by its id whatever becomes of its names: a name more of the file that holds the layout.
pub const FILES: &str = ".fathom-forward/files";
/// Where the data files are.
pub const DATA: &str = ".fathom-forward/data";
/// How often something begins anew whose name others make and remove, or whose server is started anew.
pub const TRIES: usize = 20;
/// Bytes of a block.
const MOST_SIZE: u64 = 1 << 40;

/// How new files are striped: as a server does it, or as a client wishes (hint `striping`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Striping {
	/// Bytes of a block; of a wish, 0: as the server does it.
	pub size: u64,
	/// Over so many servers; 0: all, of a wish as the server does it.
	pub count: u32,
	/// From this one on; None: by the file's id.
	pub first: Option<u32>,
}

impl Striping {
	/// What the hints of an open say.
	pub fn wished(hints: &Hints) -> Striping {
		let Some(value) = hints.value(hint::STRIPING) else { return Striping::default() };
		let number = |at: usize| {
			let four = value.get(at..at + 4).and_then(|four| four.try_into().ok());
			four.map_or(0, u32::from_le_bytes)
		};
		let first = Some(number(12)).filter(|first| value.len() >= 16 && *first != u32::MAX);
		let size = u64::from(number(4)) << 32 | u64::from(number(0));
		Striping { size, count: number(8), first }
	}
}

/// A file, directory or symbolic link as clients see it.
#[derive(Clone)]
pub struct Object {
	pub handle: Handle,
	/// On the first server.
	home: Handle,
	/// None: it is no regular file.
	layout: Option<Layout>,
}

impl Object {
	pub fn layout(&self) -> Result<Layout> {
		self.layout.ok_or_else(|| Errno::INVAL.into())
	}
}

pub struct Stripes {
	pub peers: Vec<Arc<Peer>>,
	pub striping: Striping,
	pub patience: Patience,
	layouts: BoundedMap<Handle, Layout>,
	/// Handles of data files, by the file's id and the server.
	pub data: BoundedMap<(u128, usize), Handle>,
}

/// A server does not know a handle, as it was started anew, maybe since it gave it: what leads to it is asked for again.
pub fn is_stale<T>(answer: &Result<T>) -> bool {
	answer.as_ref().is_err_and(|trouble| trouble.errno == Errno::STALE)
}

/// What was answered is not what was asked for.
pub fn mismatch<T>() -> Result<T> {
	Err(Errno::PROTO.into())
}

/// What a commit at level synced says.
pub fn is_synced(reply: &Reply) -> Result<()> {
	match reply {
		Reply::Commit { failed } => match failed.first() {
			Some(failed) => Err(Errno::from_raw_os_error(failed.errno as i32).into()),
			None => Ok(()),
		},
		_ => mismatch(),
	}
}

/// The names of the directories and of the files in them.
pub fn layout_path(directory: &str, layout: &Layout) -> Text {
	Text::from(format!("{directory}/{}", layout.name()).as_str())
}

impl Stripes {
	pub fn new(peers: Vec<Arc<Peer>>, striping: Striping, patience: Patience) -> Stripes {
		let (layouts, data) = (BoundedMap::default(), BoundedMap::default());
		Stripes { peers, striping, patience, layouts, data }
	}

	pub fn root(&self) -> Object {
		Object { handle: Handle::ROOT, home: PEER_ROOT, layout: None }
	}

	pub fn ask(&self, server: usize, request: &Request, data: &[&[u8]]) -> Result<Response> {
		self.put(server, Question { data, ..Question::of(request) })
	}

	fn put(&self, server: usize, question: Question<'_>) -> Result<Response> {
		let Purpose { callers, known_as, .. } = fathom_record::works_for_what();
		let peer = self.peers.get(server).ok_or(Errno::NODEV)?;
		let known_as = known_as.as_deref();
		peer.seek(Question { callers: &callers, known_as, ..question }, self.patience)
	}

	/// A change of names, which the first server does once for each client's request.
	fn change(&self, request: &Request) -> Result<Reply> {
		let hints = &asked_by::hints();
		self.put(0, Question { hints, ..Question::of(request) }).map(|response| response.reply)
	}

	fn ask_first(&self, request: &Request) -> Result<Reply> {
		self.ask(0, request, &[]).map(|response| response.reply)
	}

	/// About an object on the first server, which may have been started anew and know it by its id only.
	pub fn at_home(
		&self,
		object: &Object,
		request: impl Fn(Handle) -> Request,
	) -> Result<(Reply, bool)> {
		let answer = self.found(object, || self.ask(0, &request(object.home), &[]));
		answer.map(|response| (response.reply, response.more))
	}

	fn found<T>(&self, object: &Object, ask: impl Fn() -> Result<T>) -> Result<T> {
		let mut answer = ask();
		for _ in 1..TRIES {
			let (true, Some(layout)) = (is_stale(&answer), object.layout) else { break };
			self.find(&layout)?;
			answer = ask();
		}
		answer
	}

	/// Makes the first server know a file again, by its id.
	fn find(&self, layout: &Layout) -> Result<()> {
		let path = layout_path(FILES, layout);
		let request = Request::Lookup { dir: PEER_ROOT, flags: lookup::NOFOLLOW, path };
		match self.ask_first(&request) {
			Err(Trouble { errno: Errno::NOENT, .. }) => Err(Errno::STALE.into()), // it is removed
			reply => reply.map(drop),
		}
	}

	/// An object that the first server has, as clients see it.
	fn known(&self, home: Handle, attr: Attr) -> Result<(Object, Attr)> {
		let layout = if is_regular(&attr) { Some(self.layout_of(home)?) } else { None };
		let object = Object { handle: handle_of(home, layout.as_ref()), home, layout };
		let attr = match &layout {
			Some(layout) => self.with_data(attr, layout)?,
			None => attr,
		};
		Ok((object, attr))
	}

	fn layout_of(&self, home: Handle) -> Result<Layout> {
		if let Some(layout) = self.layouts.get(&home) {
			return Ok(layout);
		}
		let extents = vec![Extent { offset: 0, length: 4096 }];
		let response = self.ask(0, &Request::Read { handle: home, extents }, &[])?;
		let layout = String::from_utf8_lossy(&response.data).parse::<Layout>();
		let why = "it stands for no striped file, but lies where only such may";
		let layout = layout.map_err(|()| Trouble::new(Errno::BADMSG, why.to_owned()))?;
		if layout.of as usize > self.peers.len() {
			let (of, configured) = (layout.of, self.peers.len());
			let why =
				format!("it is striped over some of {of} servers; --stripe names {configured}");
			return Err(Trouble::new(Errno::NODEV, why));
		}
		self.layouts.put(home, layout);
		Ok(layout)
	}

	pub fn lookup(&self, dir: &Object, path: &Text, nofollow: bool) -> Result<(Object, Attr)> {
		let flags = if nofollow { lookup::NOFOLLOW } else { 0 };
		let request = Request::Lookup { dir: dir.home, flags, path: path.clone() };
		let mut resolved = Err(Errno::STALE.into());
		for _ in 0..TRIES {
			resolved = match self.ask_first(&request)? {
				Reply::Lookup { handle, attr } => self.known(handle, attr),
				_ => mismatch(),
			};
			if !is_stale(&resolved) {
				break;
			}
		}
		resolved
	}

	/// The file, its attributes, whether it was made. The first server holds it until `release`.
	pub fn open_file(
		&self,
		dir: &Object,
		path: &Text,
		(flags, mode): (u32, u32),
		wish: Striping,
	) -> Result<(Object, Attr, bool)> {
		let plain = flags & !(open::CREATE | open::EXCLUSIVE | open::TRUNCATE);
		let (create, exclusive) = (flags & open::CREATE != 0, flags & open::EXCLUSIVE != 0);
		let mut last = Trouble::from(Errno::NOENT);
		for _ in 0..TRIES {
			if !(create && exclusive) {
				let request =
					Request::Open { dir: dir.home, flags: plain, mode: 0, path: path.clone() };
				match self.ask_first(&request) {
					Err(Trouble { errno: Errno::NOENT, .. }) if create => {}
					Err(trouble) => return Err(trouble),
					Ok(Reply::Open { handle, attr, .. }) => match self.opened(handle, attr) {
						Err(trouble) if trouble.errno == Errno::STALE => {
							last = trouble;
							continue;
						}
						opened => return opened,
					},
					Ok(_) => return mismatch(),
				}
			}
			match self.create(dir, path, (plain, mode, exclusive), wish) {
				// made by another meanwhile
				Err(Trouble { errno: Errno::EXIST, .. }) if !exclusive => {}
				Err(trouble) if trouble.errno == Errno::STALE => last = trouble,
				created => return created.map(|(object, attr)| (object, attr, true)),
			}
		}
		Err(last)
	}

	fn opened(&self, home: Handle, attr: Attr) -> Result<(Object, Attr, bool)> {
		let known = self.known(home, attr);
		if known.is_err() {
			let _ = self.ask_first(&Request::Release { handle: home });
		}
		known.map(|(object, attr)| (object, attr, false))
	}

	/// A new file: by its id first, with its layout in it, and then by its name, so that no name is without a layout.
	fn create(
		&self,
		dir: &Object,
		path: &Text,
		(flags, mode, exclusive): (u32, u32, bool),
		wish: Striping,
	) -> Result<(Object, Attr)> {
		let layout = self.new_layout(wish)?;
		let by_id = layout_path(FILES, &layout);
		let flags = flags & !(open::NOFOLLOW | open::DIRECTORY) | open::CREATE | open::WRITE;
		let request = Request::Open { dir: PEER_ROOT, flags, mode, path: by_id.clone() };
		let Reply::Open { handle, attr: new, .. } = self.ask_first(&request)? else {
			return mismatch();
		};
		let striped = handle_of(handle, Some(&layout));
		let object = Object { handle: striped, home: handle, layout: Some(layout) };
		// without exclusive one that is there will do, so that there may be several tries
		let link = |request: &Request| {
			if exclusive { self.change(request) } else { self.ask_first(request) }
		};
		let laid_out = self.lay_out(&object, &layout, (dir, path), link);
		match laid_out {
			Ok(attr) if attr.ino == new.ino => {
				self.layouts.put(handle, layout);
				return Ok((object, bare(attr)));
			}
			// who is not answered may have been obeyed
			Err(trouble) if trouble.again && trouble.errno != Errno::EXIST => return Err(trouble),
			_ => {}
		}
		let _ = self.ask_first(&Request::Unlink { dir: PEER_ROOT, path: by_id });
		let _ = self.ask_first(&Request::Release { handle });
		laid_out?;
		// the same request has made it before, by another id
		let flags = flags & !open::CREATE;
		let request = Request::Open { dir: dir.home, flags, mode: 0, path: path.clone() };
		let Reply::Open { handle, attr, .. } = self.ask_first(&request)? else {
			return mismatch();
		};
		self.opened(handle, attr).map(|(object, attr, _)| (object, attr))
	}

	/// The layout nearest to a wish.
	fn new_layout(&self, wish: Striping) -> Result<Layout> {
		let bytes = random().map_err(|why| Trouble::new(Errno::IO, why))?;
		let (id, of) = (u128::from_le_bytes(bytes), self.peers.len() as u32);
		let size = if wish.size == 0 { self.striping.size } else { wish.size };
		let counts = [wish.count, self.striping.count, of];
		let count = counts.into_iter().find(|count| *count > 0).unwrap_or(of).min(of);
		let first = wish.first.unwrap_or((id % u128::from(of)) as u32) % of;
		Ok(Layout { id, size: size.clamp(1, MOST_SIZE), count, first, of })
	}

	fn lay_out(
		&self,
		object: &Object,
		layout: &Layout,
		(dir, path): (&Object, &Text),
		link: impl Fn(&Request) -> Result<Reply>,
	) -> Result<Attr> {
		let (text, handle) = (layout.to_string(), object.home);
		let extents = vec![Extent { offset: 0, length: text.len() as u64 }];
		self.ask(0, &Request::Write { handle, extents }, &[text.as_bytes()])?;
		let request = Request::Link { handle, dir: dir.home, path: path.clone() };
		match self.found(object, || link(&request))? {
			Reply::Link { attr } => Ok(attr),
			_ => mismatch(),
		}
	}

	/// Nobody here holds the file so many times more: the first server need not for us.
	pub fn release(&self, object: &Object, times: u32) {
		for _ in 0..times {
			let _ = self.ask_first(&Request::Release { handle: object.home });
		}
	}

	pub fn attr(&self, object: &Object) -> Result<Attr> {
		let (Reply::GetAttr { attr }, _) =
			self.at_home(object, |handle| Request::GetAttr { handle })?
		else {
			return mismatch();
		};
		match &object.layout {
			Some(layout) => self.with_data(attr, layout),
			None => Ok(attr),
		}
	}

	pub fn set_attr(&self, object: &Object, wanted: &SetAttr) -> Result<Attr> {
		let mut home = wanted.clone();
		if let (Some(layout), true) = (&object.layout, wanted.which & set::SIZE != 0) {
			self.truncate(layout, wanted.size)?;
			home.which &= !set::SIZE;
			if home.which & (set::MTIME | set::MTIME_NOW) == 0 {
				home.which |= set::MTIME_NOW; // though no data file was changed
			}
		}
		let request = |handle| Request::SetAttr { handle, set: home.clone() };
		let (Reply::SetAttr { attr }, _) = self.at_home(object, request)? else {
			return mismatch();
		};
		let Some(layout) = &object.layout else { return Ok(attr) };
		let times = set::ATIME | set::MTIME | set::ATIME_NOW | set::MTIME_NOW;
		if wanted.which & times != 0 {
			let set = SetAttr { which: wanted.which & times, ..wanted.clone() };
			self.set_times(layout, &set)?;
		}
		self.with_data(attr, layout)
	}

	pub fn rename(&self, from: (&Object, &Text), to: (&Object, &Text), flags: u32) -> Result<()> {
		let (dir, path) = (from.0.home, from.1.clone());
		let request = Request::Rename { dir, path, to_dir: to.0.home, to: to.1.clone(), flags };
		self.change(&request).map(drop)
	}

	pub fn link(&self, object: &Object, dir: &Object, path: &Text) -> Result<Attr> {
		let request = Request::Link { handle: object.home, dir: dir.home, path: path.clone() };
		match self.found(object, || self.change(&request))? {
			// a name by its id and this one: the last other went meanwhile, and the data will
			Reply::Link { attr } if object.layout.is_some() && attr.nlink == 2 => {
				self.ask_first(&Request::Unlink { dir: dir.home, path: path.clone() })?;
				Err(Errno::NOENT.into())
			}
			_ => self.attr(object),
		}
	}

	pub fn unlink(&self, dir: &Object, path: &Text, directory: bool) -> Result<()> {
		let (dir, path) = (dir.home, path.clone());
		let request = match directory {
			true => Request::Rmdir { dir, path },
			false => Request::Unlink { dir, path },
		};
		self.change(&request).map(drop)
	}

	pub fn mkdir(&self, dir: &Object, path: &Text, mode: u32) -> Result<(Object, Attr)> {
		match self.change(&Request::Mkdir { dir: dir.home, mode, path: path.clone() })? {
			Reply::Mkdir { handle, attr } => self.known(handle, attr),
			_ => mismatch(),
		}
	}

	pub fn mknod(&self, dir: &Object, path: &Text, mode: u32, rdev: u64) -> Result<(Object, Attr)> {
		let request = Request::Mknod { dir: dir.home, mode, rdev, path: path.clone() };
		match self.change(&request)? {
			Reply::Mknod { handle, attr } => self.known(handle, attr),
			_ => mismatch(),
		}
	}

	pub fn symlink(&self, dir: &Object, path: &Text, target: &Text) -> Result<(Object, Attr)> {
		let (path, target) = (path.clone(), target.clone());
		match self.change(&Request::Symlink { dir: dir.home, path, target })? {
			Reply::Symlink { handle, attr } => self.known(handle, attr),
			_ => mismatch(),
		}
	}

	pub fn read_link(&self, object: &Object) -> Result<Text> {
		match self.at_home(object, |handle| Request::ReadLink { handle })? {
			(Reply::ReadLink { target }, _) => Ok(target),
			_ => mismatch(),
		}
	}

	pub fn read_dir(&self, dir: &Object, cookie: u64, most: u32) -> Result<(Vec<Entry>, bool)> {
		match self.at_home(dir, |handle| Request::ReadDir { handle, cookie, most })? {
			(Reply::ReadDir { entries }, more) => Ok((entries, more)),
			_ => mismatch(),
		}
	}
}

/// The attributes of a file without data: its name by its id is nobody's business.
pub fn bare(attr: Attr) -> Attr {
	Attr { size: 0, blocks: 0, nlink: attr.nlink.saturating_sub(1), ..attr }
}

fn is_regular(attr: &Attr) -> bool {
	attr.mode & 0o170_000 == 0o100_000
}

/// What clients call an object: never what its server does, so that it is known what is asked for. Without the bytes of the
/// device it is the file's name among servers, as any handle.
fn handle_of(home: Handle, layout: Option<&Layout>) -> Handle {
	let mut handle = home;
	handle.0[0..8].copy_from_slice(&2u64.to_le_bytes());
	if let Some(layout) = layout {
		handle.0[8..16].copy_from_slice(&1u64.to_le_bytes());
		handle.0[16..32].copy_from_slice(&layout.id.to_le_bytes());
	}
	handle
}

/// Whether a handle is of a striped object, so that other servers are asked about it.
pub fn is_striped(handle: &Handle) -> bool {
	*handle == Handle::ROOT || handle.0[0..8] == 2u64.to_le_bytes()
}
