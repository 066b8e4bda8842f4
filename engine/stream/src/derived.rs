//! What follows from plain records.

use crate::format::{op_flag, unfinished_reason};
use crate::plain::{OpRecord, ProcessRecord, Unfinished};
use crate::record::OpenCall;

impl OpRecord<'_> {
	/// The field that says how many pieces of memory a call moves.
	pub fn pieces(&self) -> Option<usize> {
		((self.flags >> op_flag::PIECES_SHIFT & op_flag::PIECES_MASK) as usize).checked_sub(1)
	}

	pub fn field_count(&self) -> usize {
		if self.fields.is_empty() {
			return 0;
		}
		1 + self.fields.iter().filter(|&&byte| byte == b',').count()
	}
}

impl ProcessRecord<'_> {
	/// Numbers of the processors that it may run on.
	pub fn processors(&self) -> impl Iterator<Item = usize> {
		let bits = (0..).zip(self.allowed);
		bits.flat_map(|(i, byte)| {
			(0..8).filter(move |bit| byte >> bit & 1 != 0).map(move |bit| i * 8 + bit)
		})
	}
}

impl Unfinished {
	/// What is left of the calls of a thread whose process was killed, innermost first. They lasted at least to
	/// `last_tick`, the last one known of the thread.
	pub fn at_end(open: &[OpenCall], last_tick: u64) -> impl Iterator<Item = Unfinished> {
		let ended = open.iter().map(|call| call.began).fold(last_tick, u64::max);
		open.iter().enumerate().rev().map(move |(depth, call)| Unfinished {
			reason: unfinished_reason::OPEN_AT_END,
			seq: call.seq,
			op: call.op,
			depth: depth as u32,
			object: call.object,
			site: call.site,
			began: call.began,
			ended,
			size: call.size,
			offset: call.offset,
		})
	}
}
