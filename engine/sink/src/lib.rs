//! Streams of many processes in few shared files and an index: docs/trace-sink.md. Blocks say themselves what is in them, so
//! the index can always be made again.
//!
//! No input panics, and none asks for more memory than a block may have.

mod block;
mod file;
mod index;
mod scan;
mod sink;
mod spool;
mod writer;

pub use block::{Codec, Head, MOST_RAW, Piece, compress, good_name, seal};
pub use file::{
	IfThere, create_new, entries, is_directory, make_directories, open_file, open_or_create,
	read_file, remove_abandoned, replace, replace_bytes, sync_below, sync_directory, write_new,
};
pub use index::{Entry, Records, index, read_index};
pub use scan::{Bytes, Scanned, scan};
pub use sink::{Files, INDEX, Lost, Report, Sink};
pub use spool::{Spool, bring_in, random};
pub use writer::Writer;

/// Why bytes are no block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
	#[error("no block begins here")]
	NoMagic,
	#[error("version {0} is not known")]
	Version(u16),
	#[error("it ends within its beginning")]
	Truncated,
	#[error("the checksum of its beginning does not fit")]
	Head,
	#[error("{0} that cannot be")]
	Impossible(&'static str),
	#[error("the checksum of its data does not fit")]
	Data,
	#[error("its data cannot be read")]
	Unreadable,
}
