//! What messages are made of.

use fathom_stream::Cursor;

use crate::field::{Field, Item, Text, record};
use crate::number::limit;
use crate::{Hints, WireError};

/// A file, opaque to clients; zeros: the exported root.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Handle(pub [u8; 32]);

impl Handle {
	pub const ROOT: Handle = Handle([0; 32]);
}

impl Field for Handle {
	const NAME: &'static str = "a handle";
	fn put(&self, out: &mut Vec<u8>) {
		out.extend(self.0);
	}
	fn get(from: &mut Cursor<'_>) -> Result<Self, WireError> {
		Ok(Handle(<[u8; 32]>::get(from)?))
	}
}

/// A range of a file's bytes; its end is a number, too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extent {
	pub offset: u64,
	pub length: u64,
}

impl Extent {
	pub fn end(&self) -> u64 {
		self.offset.saturating_add(self.length)
	}
}

impl Field for Extent {
	const NAME: &'static str = "extents";
	fn put(&self, out: &mut Vec<u8>) {
		self.offset.put(out);
		self.length.put(out);
	}
	fn get(from: &mut Cursor<'_>) -> Result<Self, WireError> {
		let extent = Extent { offset: u64::get(from)?, length: u64::get(from)? };
		match extent.offset.checked_add(extent.length) {
			Some(end) if i64::try_from(end).is_ok() => Ok(extent),
			_ => Err(WireError::Impossible("an extent")),
		}
	}
}

impl Item for Extent {
	const LEAST: usize = 16;
	const MOST: u32 = limit::EXTENTS;
}

record!(
	/// Since 1970.
	Time, "a time" { seconds: i64, nanoseconds: u32 }
);

record!(
	/// What stat says.
	Attr, "attributes" {
		mode: u32, nlink: u32, uid: u32, gid: u32, blksize: u32,
		rdev: u64, dev: u64, ino: u64, size: u64,
		/// Of 512 bytes.
		blocks: u64,
		atime: Time, mtime: Time, ctime: Time, birth: Time,
	}
);

record!(
	/// What is to be changed: `which` says (number::set).
	SetAttr, "attributes to set" {
		which: u32, mode: u32, uid: u32, gid: u32, size: u64, atime: Time, mtime: Time,
	}
);

record!(
	/// The first words of a client.
	Hello, "hello" { lowest: u16, highest: u16, key: [u8; 16], nonce: [u8; 32], name: Text }
);

record!(
	/// What a server promises a client.
	Session, "a session" {
		epoch: u64, window: u32, inline: u32, piece: u32, data: u64,
		/// Milliseconds that a client without connections is kept.
		lease: u32,
		/// Milliseconds, where a request names none.
		deadline: u32,
		server: u32, servers: u32, name: Text,
	}
);

record!(
	/// A name in a directory.
	Entry, "directory entries" {
		/// Where the next call goes on.
		cookie: u64, ino: u64,
		/// DT_REG and so on.
		kind: u8, name: Text,
	}
);

impl Item for Entry {
	const LEAST: usize = 19;
	const MOST: u32 = limit::ENTRIES;
}

record!(
	/// A range of an answered write that then failed.
	Failed, "failed ranges" { handle: Handle, seq: u64, offset: u64, length: u64, errno: u32 }
);

impl Item for Failed {
	const LEAST: usize = 60;
	const MOST: u32 = limit::FAILED;
}

record!(
	/// A range that was reserved and is not written; errno 0: for alignment.
	Gap, "gaps" { offset: u64, length: u64, client: u64, seq: u64, errno: u32 }
);

impl Item for Gap {
	const LEAST: usize = 36;
	const MOST: u32 = limit::FAILED;
}

record!(
	/// An append that wants an extent: whose, how long, and of what its offset is a multiple.
	Wanted, "wanted extents" { client: u64, seq: u64, length: u64, align: u32 }
);

impl Item for Wanted {
	const LEAST: usize = 28;
	const MOST: u32 = limit::FAILED;
}

record!(
	/// A lock that is wanted, given back, asked for, or in the way of another.
	Claim, "a lock" {
		/// The client whose end is the lock's, 0: who asks.
		client: u64,
		/// Locks of one owner of a client are not in each other's way.
		owner: u64,
		/// number::lock.
		flags: u32,
		/// number::mode.
		mode: u8,
		/// Of the process, for people.
		pid: u32,
		start: u64,
		/// 0: to the end of all files.
		length: u64,
	}
);

record!(
	/// Whose a lock is: a number of a client's.
	Holder, "owners of locks" { client: u64, owner: u64 }
);

impl Item for Holder {
	const LEAST: usize = 16;
	const MOST: u32 = limit::HOLDERS;
}

record!(
	/// A lock that a process waits for, by which request of its client. The claim names the client.
	Awaited, "locks that are waited for" { handle: Handle, claim: Claim, seq: u64 }
);

impl Item for Awaited {
	const LEAST: usize = 81;
	const MOST: u32 = limit::HOLDERS;
}

/// Fields of a body, and where its data begins.
pub(crate) fn with_hints(from: &mut Cursor<'_>, data: bool) -> Result<(Hints, usize), WireError> {
	let hints = Hints::get(from)?;
	match from.left() {
		left if left > 0 && !data => Err(WireError::Surplus(left)),
		_ => Ok((hints, from.position())),
	}
}
