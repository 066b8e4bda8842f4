//! What workers and callers report to the thread of the server.

use fathom_wire::{Extent, Handle, Header, Reply};
use rustix::io::Errno;

use crate::append_owner::{Answer, Asker, Served};
use crate::coalesce::{Question, Resolution};
use crate::deadlock::Cycle;
use crate::found_again::{Again, Waiting};
use crate::ledger::Ledger;
use crate::queue::{Key, Piece};
use crate::reaper::Orphan;
use crate::store::Object;
use crate::trouble::Trouble;
use crate::writes::Accesses;

/// What came of work on the store.
pub enum Done {
	/// An answer; an object that was created or resolved for it, with its path.
	Simple(Key, Result<Reply, Trouble>, Option<(Object, String)>),
	/// The result of a coalesced lookup or open.
	Resolved(Question, Resolution),
	Attr(Vec<Key>, Result<Reply, Trouble>),
	/// An answer; true: there is more to ask for.
	Partial(Key, Result<(Reply, bool), Trouble>),
	Size(Handle, Key, Result<u64, Trouble>),
	/// A file was truncated for a request: its answer.
	Truncated(Key, Result<Reply, Trouble>),
	Read(Key, ReadFrame),
	/// A block that is to be kept.
	Filled(Handle, u64, Option<Vec<u8>>),
	/// Pieces and what of them failed.
	Written(Handle, Vec<(Piece, Vec<(Extent, Trouble)>)>, Accesses),
	Synced(Key, Handle, Result<(), Trouble>),
	/// What a file's journal says, and whether it was there.
	Journal(Handle, Result<(Ledger, bool), Errno>),
	Journaled(Handle, Vec<Served>, Result<(), Errno>),
	/// What another server answered.
	Asked(Asker, Result<Answer, Trouble>),
	/// An answer with data behind it.
	WithData(Key, Result<(Reply, Vec<u8>), Trouble>),
	/// What another server answered about a lock that a client wants.
	Relayed(Key, Handle, u64, Result<Reply, Trouble>),
	/// A wait for a lock was followed.
	Followed(Key, bool, Option<Cycle>),
	/// Files that a request names are known again, or are not there.
	FoundAgain(Key, Vec<Again>, Box<Waiting>),
	/// What munged answered about a connection's client: our own credential, or why it is refused.
	CredentialChecked(u64, Header, Result<String, String>),
	/// Files were released at other servers, or closed.
	Released,
	/// The data of removed files.
	Freed(Vec<(Orphan, Result<(), Trouble>)>),
}

/// What was read: a frame whose data is in its place.
pub struct ReadFrame {
	pub frame: Vec<u8>,
	/// Of each part: bytes asked for and read.
	pub parts: Vec<(u64, u64)>,
	pub error: Option<(Extent, Trouble)>,
	/// Its data was compressed.
	pub compressed: bool,
	/// Bytes of the pool that it holds.
	pub held: usize,
}
