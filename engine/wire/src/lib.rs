//! The forwarding protocol (`docs/forwarding-protocol.md`): frames to bytes and back. No socket, no file. Whatever the
//! bytes are, decoding ends in a value or a reason, and asks for no more memory than the bytes are long.

mod compress;
mod field;
mod header;
mod hints;
mod message;
mod types;

/// Numbers of the protocol, by section of `forward/protocol.toml`.
pub mod number {
	include!(concat!(env!("OUT_DIR"), "/protocol.rs"));
}

pub use compress::{compress, expand};
pub use field::{Field, Text, decode, encode};
pub use header::{HEADER, Header};
pub use hints::Hints;
pub use message::{Failure, Part, Pull, Reply, Request};
pub use types::{
	Attr, Awaited, Claim, Entry, Extent, Failed, Gap, Handle, Hello, Holder, Session, SetAttr,
	Time, Wanted,
};

/// Why bytes are no frame of this protocol.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
	#[error("not a forwarding frame: it begins with {0:#010x}")]
	Magic(u32),
	#[error("protocol version {0}, this is version {version}", version = number::frame::VERSION)]
	Version(u8),
	#[error("the header's checksum does not fit")]
	HeaderChecksum,
	#[error("the body's checksum does not fit")]
	BodyChecksum,
	#[error("unknown {0} {1}")]
	Unknown(&'static str, u64),
	#[error("a body of {0} bytes, the most is {1}")]
	Body(u32, u32),
	#[error("{0} of {1}, the most is {2}")]
	TooMany(&'static str, u64, u32),
	#[error("{0} that cannot be")]
	Impossible(&'static str),
	#[error("compressed data of {0} bytes that are not what they say")]
	Compressed(usize),
	#[error("the body ends within {0}")]
	Ended(&'static str),
	#[error("{0} bytes after the end of the body's fields")]
	Surplus(usize),
}
