//! Requests and replies: the table of docs/forwarding-protocol.md, "Operations", once for both directions.

use fathom_stream::Cursor;

use crate::field::{Field, Text, record};
use crate::number::op;
use crate::types::with_hints;
use crate::{
	Attr, Awaited, Claim, Entry, Extent, Failed, Gap, Handle, Hello, Hints, Holder, Session,
	SetAttr, Wanted, WireError,
};

/// An enum of messages by op: fields to bytes and back. "data" marks those that data may follow.
macro_rules! messages {
	($(#[$doc:meta])* $enum:ident {
		$($name:ident = $op:ident $($data:literal)? ($($field:ident: $type:ty),*);)*
	}) => {
		$(#[$doc])*
		#[derive(Debug, Clone, PartialEq, Eq)]
		pub enum $enum { $($name { $($field: $type),* }),* }

		impl $enum {
			pub fn op(&self) -> u16 {
				match self { $($enum::$name { .. } => op::$op),* }
			}

			/// Fields and hints as bytes; data, where there is any, follows them.
			pub fn encode(&self, hints: &Hints) -> Vec<u8> {
				let mut out = Vec::new();
				self.put(&mut out, hints);
				out
			}

			/// The same behind what is there.
			pub fn put(&self, out: &mut Vec<u8>, hints: &Hints) {
				match self {
					$($enum::$name { $($field),* } => { $($field.put(out);)* })*
				}
				hints.put(out);
			}

			/// Message, hints, and where its data begins in the body.
			pub fn decode(op: u16, body: &[u8]) -> Result<(Self, Hints, usize), WireError> {
				let mut from = Cursor::new(body);
				let (message, data) = match op {
					$(op::$op => {
						$(let $field = <$type>::get(&mut from)?;)*
						($enum::$name { $($field),* }, [$($data,)? ""][0] == "data")
					})*
					_ => return Err(WireError::Unknown("operation", u64::from(op))),
				};
				let (hints, at) = with_hints(&mut from, data)?;
				Ok((message, hints, at))
			}
		}
	};
}

messages! {
	/// What a client asks.
	Request {
		Hello = HELLO (hello: Hello);
		Auth = AUTH (proof: [u8; 32]);
		Ping = PING ();
		Status = STATUS ();
		Munge = MUNGE (credential: Text);
		Record = RECORD "data" (begin: u8);
		Lookup = LOOKUP (dir: Handle, flags: u32, path: Text);
		Open = OPEN (dir: Handle, flags: u32, mode: u32, path: Text);
		Release = RELEASE (handle: Handle);
		GetAttr = GETATTR (handle: Handle);
		SetAttr = SETATTR (handle: Handle, set: SetAttr);
		Rename = RENAME (dir: Handle, path: Text, to_dir: Handle, to: Text, flags: u32);
		Link = LINK (handle: Handle, dir: Handle, path: Text);
		Unlink = UNLINK (dir: Handle, path: Text);
		Mkdir = MKDIR (dir: Handle, mode: u32, path: Text);
		Rmdir = RMDIR (dir: Handle, path: Text);
		ReadDir = READDIR (handle: Handle, cookie: u64, most: u32);
		Symlink = SYMLINK (dir: Handle, path: Text, target: Text);
		ReadLink = READLINK (handle: Handle);
		StatFs = STATFS (handle: Handle);
		Mknod = MKNOD (dir: Handle, mode: u32, rdev: u64, path: Text);
		Read = READ (handle: Handle, extents: Vec<Extent>);
		Write = WRITE "data" (handle: Handle, extents: Vec<Extent>);
		Append = APPEND "data" (handle: Handle, length: u64);
		Commit = COMMIT (handle: Handle, level: u8);
		Gaps = GAPS (handle: Handle, from: u64);
		Lock = LOCK (handle: Handle, claim: Claim);
		Unlock = UNLOCK (handle: Handle, claim: Claim);
		Locked = LOCKED (handle: Handle, claim: Claim);
		Call = CALL "data" (handle: Handle, name: Text, room: u32);
		Seek = SEEK (handle: Handle, offset: u64, what: u8);
		Allocate = ALLOCATE (handle: Handle, mode: u32, offset: u64, length: u64);
		GetXattr = GETXATTR (handle: Handle, name: Text);
		SetXattr = SETXATTR "data" (handle: Handle, name: Text, flags: u32);
		ListXattr = LISTXATTR (handle: Handle);
		RemoveXattr = REMOVEXATTR (handle: Handle, name: Text);
		Reserve = RESERVE (
			handle: Handle, flags: u32, size: u64, stamp: u64, wanted: Vec<Wanted>,
			outcomes: Vec<Gap>
		);
		Holders = HOLDERS (handle: Handle, claim: Claim);
		Awaited = AWAITED (owners: Vec<Holder>);
	}
}

messages! {
	/// What a server answers when all went well.
	Reply {
		Hello = HELLO (session: Session);
		Auth = AUTH (session: Session);
		Ping = PING ();
		Status = STATUS "data" ();
		Munge = MUNGE (session: Session, credential: Text);
		Record = RECORD (outcome: u8, run: Text);
		Lookup = LOOKUP (handle: Handle, attr: Attr);
		Open = OPEN (handle: Handle, attr: Attr, created: u8);
		Release = RELEASE ();
		GetAttr = GETATTR (attr: Attr);
		SetAttr = SETATTR (attr: Attr);
		Rename = RENAME ();
		Link = LINK (attr: Attr);
		Unlink = UNLINK ();
		Mkdir = MKDIR (handle: Handle, attr: Attr);
		Rmdir = RMDIR ();
		ReadDir = READDIR (entries: Vec<Entry>);
		Symlink = SYMLINK (handle: Handle, attr: Attr);
		ReadLink = READLINK (target: Text);
		StatFs = STATFS (
			bsize: u64, frsize: u64, blocks: u64, bfree: u64, bavail: u64, files: u64, ffree: u64,
			namemax: u32
		);
		Mknod = MKNOD (handle: Handle, attr: Attr);
		Read = READ "data" (lengths: Vec<u64>);
		Write = WRITE (bytes: u64, level: u8);
		Append = APPEND (offset: u64, level: u8);
		Commit = COMMIT (failed: Vec<Failed>);
		Gaps = GAPS (gaps: Vec<Gap>);
		Lock = LOCK ();
		Unlock = UNLOCK ();
		Locked = LOCKED (claim: Claim);
		Call = CALL "data" ();
		Seek = SEEK (offset: u64);
		Allocate = ALLOCATE ();
		GetXattr = GETXATTR "data" ();
		SetXattr = SETXATTR ();
		ListXattr = LISTXATTR "data" ();
		RemoveXattr = REMOVEXATTR ();
		Reserve = RESERVE (stamp: u64, offsets: Vec<u64>);
		Holders = HOLDERS (owners: Vec<Holder>);
		Awaited = AWAITED (locks: Vec<Awaited>);
	}
}

record!(
	/// The body of a reply whose status is not 0.
	Failure, "a failure" { offset: u64, length: u64, what: Text, hints: Hints }
);

record!(
	/// A server asks for a part of a request's data.
	Pull, "a pull" { at: u64, length: u32 }
);

/// A part of the data: where it belongs, and its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part<'a> {
	pub at: u64,
	pub bytes: &'a [u8],
}

impl<'a> Part<'a> {
	pub fn decode(body: &'a [u8]) -> Result<Self, WireError> {
		let at = u64::get(&mut Cursor::new(body))?;
		Ok(Part { at, bytes: body.get(8..).unwrap_or_default() })
	}
}
