//! Data of striped files: each server's share in its data file, which is made at the first write; one that is absent is a
//! hole. The size is the furthest end, asked for when it is needed.

use std::collections::BTreeMap;
use std::thread::{self, ScopedJoinHandle};

use fathom_wire::number::{level, limit, lookup, open, set};
use fathom_wire::{Attr, Extent, Handle, Reply, Request, SetAttr, Time};
use rustix::io::Errno;

use crate::layout::{Layout, Share};
use crate::peer::Response;
use crate::portions::{FailedRanges, Portion, Stretch, by_stretch, write_portions};
use crate::stripes::{
	DATA, FILES, Object, PEER_ROOT, Stripes, TRIES, bare, is_stale, is_synced, layout_path,
	mismatch,
};
use crate::trouble::Trouble;

type Result<T> = std::result::Result<T, Trouble>;

/// Runs `work` on all items at once, each on a thread of its own.
fn run_on_all<T: Send, S: Sync>(
	items: &[S],
	work: impl Fn(&S) -> Result<T> + Sync,
) -> Vec<Result<T>> {
	if let [item] = items {
		return vec![work(item)];
	}
	let purpose = fathom_record::works_for_what();
	let (work, lost) = (&work, || Err(Errno::IO.into()));
	thread::scope(|scope| {
		let for_one = |item| {
			let purpose = purpose.clone();
			let begun = thread::Builder::new().spawn_scoped(scope, move || {
				fathom_record::works_for(purpose);
				work(item)
			});
			begun.map_err(|_| work(item)) // no thread is to be had: one after the other
		};
		let threads: Vec<_> = items.iter().map(for_one).collect();
		let done = |thread: std::result::Result<ScopedJoinHandle<'_, Result<T>>, Result<T>>| {
			thread.map_or_else(|done| done, |thread| thread.join().unwrap_or_else(|_| lost()))
		};
		threads.into_iter().map(done).collect()
	})
}

/// Where each extent's bytes begin, one extent's behind the other's.
fn starts(extents: &[Extent]) -> Vec<usize> {
	let lengths = extents.iter().map(|extent| extent.length as usize);
	let ends = lengths.scan(0, |end, length| {
		*end += length;
		Some(*end)
	});
	std::iter::once(0).chain(ends).collect()
}

impl Stripes {
	/// Attributes of the file as a whole, from those of what stands for it.
	pub fn with_data(&self, attr: Attr, layout: &Layout) -> Result<Attr> {
		let mut whole = bare(attr);
		let servers = layout.servers();
		let data_files = run_on_all(&servers, |server| self.look(layout, *server));
		for (server, data_file) in servers.iter().zip(data_files) {
			let Some((_, attr)) = data_file? else { continue };
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
		let path = layout_path(DATA, layout);
		let request = Request::Lookup { dir: PEER_ROOT, flags: lookup::NOFOLLOW, path };
		match self.ask(server, &request, &[]).map(|response| response.reply) {
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
			Request::Open { dir: PEER_ROOT, flags, mode: 0o600, path: layout_path(DATA, layout) };
		let Reply::Open { handle, .. } = self.ask(server, &request, &[])?.reply else {
			return mismatch();
		};
		self.ask(server, &Request::Release { handle }, &[])?;
		self.data.put((layout.id, server), handle);
		Ok(handle)
	}

	/// Asks about a data file, which is created if `make` says so; None: there is none.
	fn at_data(
		&self,
		(layout, server, make): (&Layout, usize, bool),
		request: impl Fn(Handle) -> Request,
		data: &[&[u8]],
	) -> Result<Option<Response>> {
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

	/// Bytes that were read of each extent into its place, one behind the other; fewer than asked for only at the end of file.
	/// Each server is asked once, for all that it has.
	pub fn read(&self, object: &Object, extents: &[Extent], into: &mut [u8]) -> Result<Vec<usize>> {
		let layout = object.layout()?;
		let starts = starts(extents);
		let mut by_server: BTreeMap<usize, Vec<(usize, Share)>> = BTreeMap::new();
		for (at, extent) in extents.iter().enumerate() {
			for share in layout.shares(extent.offset, extent.length as usize) {
				by_server.entry(share.server).or_default().push((at, share));
			}
		}
		let per_server: Vec<_> = by_server.into_iter().collect();
		let responses =
			run_on_all(&per_server, |(server, shares)| self.read_shares(&layout, *server, shares));
		into.fill(0);
		let (mut ends, mut absent) = (vec![0; extents.len()], true);
		for ((_, shares), response) in per_server.iter().zip(responses) {
			let Some(pieces) = response? else { continue };
			absent = false;
			for ((extent, share), data) in shares.iter().zip(pieces) {
				let mut at = 0;
				for (from, to) in &share.parts {
					let some = &data[at.min(data.len())..data.len().min(at + to - from)];
					let place = starts[*extent] + from;
					into[place..place + some.len()].copy_from_slice(some);
					at += to - from;
					let end = if some.is_empty() { 0 } else { from + some.len() };
					ends[*extent] = end.max(ends[*extent]);
				}
			}
		}
		let is_whole = |(extent, end): (&Extent, &usize)| *end as u64 == extent.length;
		if extents.iter().zip(&ends).all(is_whole) {
			return Ok(ends); // what came short before is a hole
		}
		if absent {
			self.at_home(object, |handle| Request::GetAttr { handle })?; // it may be removed
		}
		let size = self.with_data(Attr::default(), &layout)?.size;
		let present = |(extent, end): (&Extent, &usize)| {
			let present = usize::try_from(size.saturating_sub(extent.offset)).unwrap_or(usize::MAX);
			present.clamp(*end, extent.length as usize)
		};
		Ok(extents.iter().zip(&ends).map(present).collect())
	}

	/// The bytes of each share; None: the server has no data of the file.
	fn read_shares(
		&self,
		layout: &Layout,
		server: usize,
		shares: &[(usize, Share)],
	) -> Result<Option<Vec<Vec<u8>>>> {
		let mut pieces = Vec::new();
		for some in shares.chunks(limit::EXTENTS as usize) {
			let extent = |(_, share): &(usize, Share)| share.extent();
			let extents: Vec<Extent> = some.iter().map(extent).collect();
			let request = |handle| Request::Read { handle, extents: extents.clone() };
			let Some(response) = self.at_data((layout, server, false), request, &[])? else {
				return Ok(None);
			};
			let Reply::Read { lengths } = response.reply else { return mismatch() };
			let mut data = response.data.as_slice();
			for length in lengths {
				let one = data.split_off(..length as usize).ok_or(Errno::PROTO)?;
				pieces.push(one.to_vec());
			}
		}
		Ok(Some(pieces))
	}

	/// Ranges of each stretch that failed, and why. Each server is asked once, for all that it has.
	pub fn write(&self, object: &Object, stretches: &[Stretch<'_>]) -> Result<Vec<FailedRanges>> {
		let layout = object.layout()?;
		let mut by_server: BTreeMap<usize, Vec<Portion<'_>>> = BTreeMap::new();
		for (number, stretch) in stretches.iter().enumerate() {
			for share in layout.shares(stretch.offset, stretch.length()) {
				let portions = by_server.entry(share.server).or_default();
				portions.push(Portion::of(number, stretch, share));
			}
		}
		let per_server: Vec<_> = by_server.into_iter().collect();
		let written = run_on_all(&per_server, |(server, portions)| {
			let write = |extents: &[Extent], data: &[&[u8]]| {
				let request = |handle| Request::Write { handle, extents: extents.to_vec() };
				self.at_data((&layout, *server, true), request, data).map(drop)
			};
			Ok(write_portions(portions, &write, &|| self.peers[*server].is_away()))
		});
		let lost: Result<Vec<_>> = written.into_iter().collect();
		Ok(by_stretch(stretches.len(), lost?.into_iter().flatten().collect()))
	}

	/// Every data file ends where the file does; that of the last byte is as long as it must be.
	pub fn truncate(&self, layout: &Layout, size: u64) -> Result<()> {
		let last = size.checked_sub(1).map(|last| layout.place(last).0);
		let servers = layout.servers();
		let done = run_on_all(&servers, |server| {
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
		let done = run_on_all(&servers, |server| {
			self.at_data((layout, *server, false), request, &[]).map(drop)
		});
		done.into_iter().collect()
	}

	/// All of it lasts: data, layout and names.
	pub fn sync(&self, object: &Object) -> Result<()> {
		let request = |handle| Request::Commit { handle, level: level::SYNCED };
		let (home, _) = self.at_home(object, request)?;
		is_synced(&home)?;
		let Ok(layout) = object.layout() else { return Ok(()) };
		let servers = layout.servers();
		let done = run_on_all(&servers, |server| {
			match self.at_data((&layout, *server, false), request, &[])? {
				Some(response) => is_synced(&response.reply),
				None => Ok(()),
			}
		});
		done.into_iter().collect()
	}

	/// Of all servers together, in units of the first.
	pub fn stat_fs(&self, _any: &Object) -> Result<Reply> {
		let servers: Vec<usize> = (0..self.peers.len()).collect();
		let request = Request::StatFs { handle: PEER_ROOT };
		let replies = run_on_all(&servers, |server| {
			self.ask(*server, &request, &[]).map(|response| response.reply)
		});
		let mut sum = None;
		for reply in replies {
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
			let request = Request::Unlink { dir: PEER_ROOT, path: layout_path(directory, layout) };
			match self.ask(server, &request, &[]) {
				Err(trouble) if trouble.errno == Errno::NOENT => Ok(()),
				answered => answered.map(drop),
			}
		};
		run_on_all(&servers, |server| gone(*server, DATA)).into_iter().collect::<Result<()>>()?;
		self.data.forget(|(id, _)| *id == layout.id);
		gone(0, FILES)
	}
}

fn later(one: Time, other: Time) -> Time {
	if (other.seconds, other.nanoseconds) > (one.seconds, one.nanoseconds) { other } else { one }
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
