//! Data of striped files: each server's share in its data file, which is made at the first write; one that is absent is a
//! hole. The size is the furthest end, asked for when it is needed.

use std::thread::{self, ScopedJoinHandle};

use fathom_wire::number::{level, lookup, open, set};
use fathom_wire::{Attr, Extent, Handle, Reply, Request, SetAttr, Time};
use rustix::io::Errno;

use crate::directory::OWN_ROOT;
use crate::layout::{Layout, Share, cut};
use crate::peer::Came;
use crate::server::Trouble;
use crate::stripes::{DATA, FILES, Object, Stripes, TRIES, bare, is_stale, mismatch, named};

type Result<T> = std::result::Result<T, Trouble>;

/// The same of several servers, at once.
fn all<T: Send, S: Sync>(each: &[S], work: impl Fn(&S) -> Result<T> + Sync) -> Vec<Result<T>> {
	if let [one] = each {
		return vec![work(one)];
	}
	let purpose = fathom_record::works_for_what();
	let (work, lost) = (&work, || Err(Errno::IO.into()));
	thread::scope(|scope| {
		let for_one = |one| {
			let purpose = purpose.clone();
			let begun = thread::Builder::new().spawn_scoped(scope, move || {
				fathom_record::works_for(purpose);
				work(one)
			});
			begun.map_err(|_| work(one)) // no thread is to be had: one after the other
		};
		let threads: Vec<_> = each.iter().map(for_one).collect();
		let done = |thread: std::result::Result<ScopedJoinHandle<'_, Result<T>>, Result<T>>| {
			thread.map_or_else(|done| done, |thread| thread.join().unwrap_or_else(|_| lost()))
		};
		threads.into_iter().map(done).collect()
	})
}

impl Stripes {
	/// Attributes of the file as a whole, from those of what stands for it.
	pub fn with_data(&self, attr: Attr, layout: &Layout) -> Result<Attr> {
		let mut whole = bare(attr);
		let servers = layout.servers();
		let found = all(&servers, |server| self.look(layout, *server));
		for (server, found) in servers.iter().zip(found) {
			let Some((_, attr)) = found? else { continue };
			whole.size = whole.size.max(layout.end(*server, attr.size));
			whole.blocks += attr.blocks;
			whole.atime = later(whole.atime, attr.atime);
			whole.mtime = later(whole.mtime, attr.mtime);
			whole.ctime = later(whole.ctime, attr.ctime);
		}
		Ok(whole)
	}

	/// A data file as it is; None: there is none.
	fn look(&self, layout: &Layout, server: usize) -> Result<Option<(Handle, Attr)>> {
		let path = named(DATA, layout);
		let request = Request::Lookup { dir: OWN_ROOT, flags: lookup::NOFOLLOW, path };
		match self.ask(server, &request, &[]).map(|came| came.reply) {
			Ok(Reply::Lookup { handle, attr }) => {
				self.data.put((layout.id, server), handle);
				Ok(Some((handle, attr)))
			}
			Err(trouble) if trouble.errno == Errno::NOENT => Ok(None),
			Err(trouble) => Err(trouble),
			Ok(_) => mismatch(),
		}
	}

	fn make_data(&self, layout: &Layout, server: usize) -> Result<Handle> {
		let flags = open::CREATE | open::READ | open::WRITE | open::NOFOLLOW;
		let request =
			Request::Open { dir: OWN_ROOT, flags, mode: 0o600, path: named(DATA, layout) };
		let Reply::Open { handle, .. } = self.ask(server, &request, &[])?.reply else {
			return mismatch();
		};
		self.ask(server, &Request::Release { handle }, &[])?;
		self.data.put((layout.id, server), handle);
		Ok(handle)
	}

	/// About a data file, which is made if it is to be; None: there is none.
	fn at_data(
		&self,
		(layout, server, make): (&Layout, usize, bool),
		request: impl Fn(Handle) -> Request,
		data: &[&[u8]],
	) -> Result<Option<Came>> {
		let key = (layout.id, server);
		let mut known = self.data.get(&key);
		let mut tries = TRIES;
		loop {
			tries -= 1;
			let handle = match known {
				Some(handle) => Some(handle),
				None => self.look(layout, server)?.map(|(handle, _)| handle),
			};
			let handle = match handle {
				Some(handle) => handle,
				None if make => self.make_data(layout, server)?,
				None => return Ok(None),
			};
			let answered = self.ask(server, &request(handle), data);
			if tries == 0 || !is_stale(&answered) {
				return answered.map(Some);
			}
			// its server was started anew, or knew too many others meanwhile
			self.data.forget(|one| *one == key);
			known = None;
		}
	}

	/// Bytes that were read; fewer than asked for only at the end of file.
	pub fn read(&self, object: &Object, into: &mut [u8], offset: u64) -> Result<usize> {
		let layout = object.layout()?;
		let shares = layout.shares(offset, into.len());
		let asked = all(&shares, |share| self.read_share(&layout, share));
		into.fill(0);
		let (mut end, mut absent) = (0, true);
		for (share, data) in shares.iter().zip(asked) {
			let Some(data) = data? else { continue };
			absent = false;
			let mut at = 0;
			for (from, to) in &share.parts {
				let some = &data[at.min(data.len())..data.len().min(at + to - from)];
				into[*from..from + some.len()].copy_from_slice(some);
				at += to - from;
				end = if some.is_empty() { end } else { end.max(from + some.len()) };
			}
		}
		if end == into.len() {
			return Ok(end); // what came short before is a hole
		}
		if absent {
			self.at_home(object, |handle| Request::GetAttr { handle })?; // it may be removed
		}
		let size = self.with_data(Attr::default(), &layout)?.size;
		let there = usize::try_from(size.saturating_sub(offset)).unwrap_or(usize::MAX);
		Ok(there.clamp(end, into.len()))
	}

	fn read_share(&self, layout: &Layout, share: &Share) -> Result<Option<Vec<u8>>> {
		let extents = vec![Extent { offset: share.start, length: share.length() }];
		let request = |handle| Request::Read { handle, extents: extents.clone() };
		let came = self.at_data((layout, share.server, false), request, &[])?;
		Ok(came.map(|came| came.data))
	}

	/// Ranges that failed, each with why.
	pub fn write(
		&self,
		object: &Object,
		parts: &[&[u8]],
		offset: u64,
	) -> Result<Vec<(Extent, Trouble)>> {
		let layout = object.layout()?;
		let shares = layout.shares(offset, parts.iter().map(|part| part.len()).sum());
		let callers = fathom_record::works_for_what().callers;
		let written = all(&shares, |share| {
			let of = |(from, to): &(usize, usize)| {
				fathom_record::cut(&callers, *from as u64..*to as u64)
			};
			fathom_record::puts_together(share.parts.iter().flat_map(of).collect());
			let data: Vec<&[u8]> =
				share.parts.iter().flat_map(|range| cut(parts, *range)).collect();
			let extents = vec![Extent { offset: share.start, length: share.length() }];
			let request = |handle| Request::Write { handle, extents: extents.clone() };
			self.at_data((&layout, share.server, true), request, &data).map(drop)
		});
		let mut failed = Vec::new();
		for (share, written) in shares.iter().zip(written) {
			let Err(trouble) = written else { continue };
			let ranges = share.parts.iter().map(|(from, to)| Extent {
				offset: offset + *from as u64,
				length: (to - from) as u64,
			});
			failed.extend(ranges.map(|range| (range, trouble.clone())));
		}
		failed.sort_by_key(|(range, _)| range.offset);
		Ok(failed)
	}

	/// Every data file ends where the file does; that of the last byte is as long as it must be.
	pub fn truncate(&self, layout: &Layout, size: u64) -> Result<()> {
		let last = size.checked_sub(1).map(|last| layout.place(last).0);
		let servers = layout.servers();
		let done = all(&servers, |server| {
			let set = SetAttr {
				which: set::SIZE,
				size: layout.most(*server, size),
				..SetAttr::default()
			};
			let request = |handle| Request::SetAttr { handle, set: set.clone() };
			self.at_data((layout, *server, last == Some(*server)), request, &[]).map(drop)
		});
		done.into_iter().collect()
	}

	pub fn set_times(&self, layout: &Layout, set: &SetAttr) -> Result<()> {
		let servers = layout.servers();
		let request = |handle| Request::SetAttr { handle, set: set.clone() };
		let done =
			all(&servers, |server| self.at_data((layout, *server, false), request, &[]).map(drop));
		done.into_iter().collect()
	}

	/// All of it lasts: data, layout and names.
	pub fn sync(&self, object: &Object) -> Result<()> {
		let request = |handle| Request::Commit { handle, level: level::SYNCED };
		let (home, _) = self.at_home(object, request)?;
		is_synced(&home)?;
		let Ok(layout) = object.layout() else { return Ok(()) };
		let servers = layout.servers();
		let done = all(&servers, |server| {
			match self.at_data((&layout, *server, false), request, &[])? {
				Some(came) => is_synced(&came.reply),
				None => Ok(()),
			}
		});
		done.into_iter().collect()
	}

	/// Of all servers together, in units of the first.
	pub fn stat_fs(&self) -> Result<Reply> {
		let servers: Vec<usize> = (0..self.peers.len()).collect();
		let request = Request::StatFs { handle: OWN_ROOT };
		let said = all(&servers, |server| self.ask(*server, &request, &[]).map(|came| came.reply));
		let mut sum = None;
		for reply in said {
			sum = Some(match (sum, reply?) {
				(None, first) => first,
				(Some(sum), other) => add_space(sum, &other),
			});
		}
		sum.map_or_else(mismatch, Ok)
	}

	/// A removed file's data goes, and last the name by which it is known to be removed.
	pub fn free(&self, layout: &Layout) -> Result<()> {
		let servers = layout.servers();
		let gone = |server: usize, directory| {
			let request = Request::Unlink { dir: OWN_ROOT, path: named(directory, layout) };
			match self.ask(server, &request, &[]) {
				Err(trouble) if trouble.errno == Errno::NOENT => Ok(()),
				answered => answered.map(drop),
			}
		};
		all(&servers, |server| gone(*server, DATA)).into_iter().collect::<Result<()>>()?;
		self.data.forget(|(id, _)| *id == layout.id);
		gone(0, FILES)
	}
}

fn later(one: Time, other: Time) -> Time {
	if (other.seconds, other.nanoseconds) > (one.seconds, one.nanoseconds) { other } else { one }
}

fn is_synced(reply: &Reply) -> Result<()> {
	match reply {
		Reply::Commit { failed } => match failed.first() {
			Some(failed) => Err(Errno::from_raw_os_error(failed.errno as i32).into()),
			None => Ok(()),
		},
		_ => mismatch(),
	}
}

fn add_space(mut sum: Reply, other: &Reply) -> Reply {
	let Reply::StatFs { frsize: unit, blocks, bfree, bavail, files, ffree, .. } = &mut sum else {
		return sum;
	};
	if let Reply::StatFs { frsize, blocks: b, bfree: f, bavail: a, files: n, ffree: m, .. } = other
	{
		let scaled = |count: u64| count.saturating_mul(*frsize) / (*unit).max(1);
		(*blocks, *bfree, *bavail) =
			(*blocks + scaled(*b), *bfree + scaled(*f), *bavail + scaled(*a));
		(*files, *ffree) = (files.saturating_add(*n), ffree.saturating_add(*m));
	}
	sum
}
