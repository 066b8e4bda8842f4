//! Functions of a library that was linked into a program: no slot leads to them, so their first instructions give way to
//! a jump. What has to be written where is worked out here, from the program's file and its symbol table; the runtime and
//! engine/attach write it (`docs/hidden-format.md`).

mod code;
mod image;
mod plan;
mod wanted;

pub use plan::{Plan, Refused, plan};
pub use wanted::{Wanted, read};

/// Why nothing can be planned.
#[derive(Debug, thiserror::Error)]
pub enum PrologueError {
	#[error("{0}: {1}")]
	File(String, String),
	#[error("functions that were linked in are seen on x86-64 only, not on {0}")]
	Machine(String),
	#[error("line {0} of the names wanted: {1}")]
	Wanted(usize, &'static str),
	#[error("{0} bytes of code are too many to find room for")]
	Room(usize),
}
