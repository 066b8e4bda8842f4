//! What another tool's log holds, and what all processes of its run share.

use std::collections::HashMap;

use crate::spread::Sum;

pub struct Op {
	pub layer: String,
	pub name: String,
	pub kind: String,
	/// Comma-separated.
	pub fields: String,
	pub flags: u64,
	pub height: u8,
}

pub struct Object {
	pub class: u32,
	pub name: String,
	pub parent: u32,
	pub numbers: Vec<u64>,
}

pub const MOST_FIELDS: usize = 4;

pub struct Call {
	pub op: u32,
	pub object: u32,
	/// Op + 1 of the calls that it lies in, where these are only counted and it lies in no other; 0: none.
	pub inside: u32,
	/// The system's number of it; 0: nobody knows.
	pub thread: u32,
	pub began: u64,
	pub ended: u64,
	pub error: u64,
	pub fields: [i64; MOST_FIELDS],
}

pub struct Counter {
	pub op: u32,
	pub object: u32,
	/// Op + 1; 0: none.
	pub enclosing: u32,
	pub sum: Sum,
}

/// When an op of this layer and direction moved data.
pub struct Heat {
	pub op: u32,
	/// Ticks of a bin.
	pub width: u64,
	/// Number, bytes, time.
	pub bins: Vec<[u64; 3]>,
}

pub struct Hint {
	pub object: u32,
	pub source: u32,
	pub key: String,
	pub value: String,
}

/// What all processes share.
#[derive(Default)]
pub struct Shared {
	pub ops: HashMap<u32, Op>,
	pub objects: HashMap<u32, Object>,
	/// Sums of all processes.
	pub sums: Vec<Counter>,
	/// Of a call about this object: what all objects of that name are about.
	pub about: HashMap<u32, u32>,
}
