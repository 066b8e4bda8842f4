//! Decoder of Fathom's streams: `docs/stream-format.md` is the contract, `runtime/core/stream.c` the encoder.
//!
//! Everything here takes bytes and returns what was good in them and what was not. No input panics, and a
//! chunk whose checksum does not fit gives no row.

/// A line for who reads standard error. Names in it send a terminal no orders. Where it cannot be written, that stops
/// nothing.
#[macro_export]
macro_rules! warn {
	($($words:tt)*) => {{
		use std::io::Write as _;
		let line = format!("{}\n", $crate::printable(&format!($($words)*)));
		let _ = std::io::stderr().write_all(line.as_bytes()); // at once: others write there too
	}};
}

/// The same on standard output, for who started us.
#[macro_export]
macro_rules! say {
	($($words:tt)*) => {{
		use std::io::Write as _;
		let _ = writeln!(std::io::stdout(), $($words)*);
	}};
}

mod bytes;
mod chunk;
mod derived;
mod error;
mod format;
mod parse;
#[rustfmt::skip]
mod plain;
mod printable;
mod record;
mod ring;
mod rows;
mod seal;

pub use bytes::{Cursor, put_text, put_varint, put_zigzag};
pub use chunk::{
	Chunk, Chunks, Clock, HEADER, Header, Segment, Skip, ThreadUse, chunks, find_chunk,
	sealed_chunk,
};
pub use error::{Damage, Reason};
pub use format::{
	chunk_flag, counter_detail, descriptor_flag, hint_source, kernel_kind, link_kind, object_class,
	op_flag, record_type, selection_form, tallied, unfinished_reason,
};
pub use plain::{
	Datatype, Hint, Inside, KernelEvent, Link, Mark, Module, OpRecord, ProcessRecord, Rank, Record,
	Series, Site, Tally, Text, Unfinished,
};
pub use printable::printable;
pub use record::{
	BINS, Counter, CounterData, FileData, Group, Heat, HeatBin, Object, OpenCall, Order, Part,
	PatternCounts, Plain, Repeated, Samples, Selection, SomeCounts, size_bin,
};
pub use ring::{
	BLOCK, CounterTable, PAGE, RING_HEADER_BYTES, Ring, RingHeader, Slot, ThreadPage,
	counter_table, read_ring, ring_header, thread_page,
};
pub use rows::{Call, Decoder, Item, Place, Rows};
pub use seal::ChunkWriter;

/// Most calls that can be open in one thread.
pub const MAX_DEPTH: usize = 63;
/// Most recorded numbers of a call.
pub const MAX_FIELDS: usize = 8;
/// Calls that one stream can number: ids in the tables have so many bits for it.
pub const MOST_CALLS: u64 = 1 << 40;
/// In a header: no call was interrupted; in `Object::created_by`: none.
pub const NO_SEQ: u64 = u64::MAX;
/// The value of a field `offset` that nobody knows.
pub const UNKNOWN_OFFSET: i64 = i64::MIN;
