//! Collective calls as the first pass notes them, each with the reads and writes of POSIX that it became.

use std::ops::Range;

use fathom_stream::{Link, UNKNOWN_OFFSET, link_kind};

use crate::counters::Direction;
use crate::define::Target;
use crate::first_pass::Pass;
use crate::survey::{Below, CollectiveCall, Wait};
use crate::walk::{Row, State};

/// Reads and writes of POSIX that have ended, on their way to the MPI-IO call around them.
#[derive(Debug, Default)]
pub struct Transfers {
	waiting: Vec<Below>,
	/// Calls up to this seq have lost some.
	lost: u64,
}

impl Transfers {
	/// Outside of MPI-IO they wait for nothing: a program's region may last.
	const WAITING: usize = 1 << 18;

	fn push(&mut self, below: Below) {
		if self.waiting.len() >= Self::WAITING {
			let half = Self::WAITING / 2;
			self.lost = self.waiting[half - 1].seq;
			self.waiting.drain(..half);
		}
		self.waiting.push(below);
	}

	/// Those inside the call of this seq, which ends now: all that began after it.
	fn inside(&mut self, seq: u64) -> std::vec::Drain<'_, Below> {
		let from = self.waiting.partition_point(|below| below.seq < seq);
		self.waiting.drain(from..)
	}
}

impl Pass<'_> {
	pub fn collective(&mut self, row: &Row<'_>, op: u32) {
		let Some(def) = self.survey.definitions.ops.get(&op) else { return };
		let flagged = def.field(Target::Collective).and_then(|i| row.fields.get(i));
		if !def.collective && flagged.is_none_or(|&value| value == 0) {
			return;
		}
		let field = |target| def.field(target).and_then(|i| row.fields.get(i)).copied();
		let bytes = field(Target::Bytes);
		let view_offset = def.fields.iter().position(|name| name == "view_offset");
		let below = self.survey.below.len() as u32;
		self.survey.collectives.push(CollectiveCall {
			stream: self.index,
			seq: row.seq,
			op,
			object: row.object,
			holder: 0,
			ordinal: 0,
			began: row.began.unwrap_or(row.ended),
			ended: row.ended,
			bytes,
			size: field(Target::Size),
			failed: row.error != 0,
			open: row.state == State::Open,
			offset: field(Target::Offset).filter(|&offset| offset != UNKNOWN_OFFSET),
			at_start: view_offset.and_then(|i| row.fields.get(i)) == Some(&0),
			selection: field(Target::Selection).and_then(|n| u32::try_from(n).ok()).unwrap_or(0),
			direction: def.direction.filter(|_| def.layer == "mpiio"),
			below: below..below,
			below_lost: false,
			posts: def.kind == "post",
			completed: None,
		});
	}

	/// A wait of this thread says what it saw completed: one of the last posts, as a rule.
	pub fn completed(&mut self, link: &Link) {
		if link.kind != link_kind::COMPLETES || link.to_stream != self.summary.id {
			return;
		}
		let posts = self.survey.collectives.iter_mut().rev();
		let mut posts = posts.take_while(|call| call.stream == self.index);
		if let Some(post) = posts.find(|call| call.seq <= link.to_seq)
			&& post.seq == link.to_seq
		{
			post.completed = Some(link.seq);
		}
	}

	/// A read or write of POSIX inside another call.
	pub fn transfer(&mut self, row: &Row<'_>, op: u32, direction: Direction) {
		let Some(def) = self.survey.definitions.ops.get(&op) else { return };
		let field = |target| def.field(target).and_then(|i| row.fields.get(i)).copied();
		let moved = if def.kind == "post" { Target::Size } else { Target::Bytes };
		let bytes = field(moved).unwrap_or(0);
		if bytes > 0 && row.error == 0 {
			let offset = field(Target::Offset).filter(|&offset| offset != UNKNOWN_OFFSET);
			let (seq, object) = (row.seq, row.object);
			self.transfers.push(Below { seq, object, direction, offset, bytes });
		}
	}

	/// Stores the transfers below a call, or marks them lost where they are too many.
	pub fn keep_below(&mut self, row: &Row<'_>) -> (Range<u32>, bool) {
		let lost = self.transfers.lost > row.seq;
		let inside = self.transfers.inside(row.seq);
		let below = &mut self.survey.below;
		let from = below.len() as u32;
		let lost = lost || below.len() + inside.len() > self.most_below;
		if !lost {
			below.extend(inside);
		}
		(from..below.len() as u32, lost)
	}

	/// A read or write of MPI-IO takes the transfers below it; only collective calls store them.
	pub fn take_below(&mut self, row: &Row<'_>, before: usize) {
		if self.survey.collectives.len() == before {
			self.transfers.inside(row.seq);
			return;
		}
		let (below, lost) = self.keep_below(row);
		if let Some(call) = self.survey.collectives.last_mut() {
			(call.below, call.below_lost) = (below, lost);
		}
	}

	pub fn take_waited(&mut self, row: &Row<'_>) {
		let (below, below_lost) = self.keep_below(row);
		if below_lost || !below.is_empty() {
			self.survey.waits.push(Wait { stream: self.index, seq: row.seq, below, below_lost });
		}
	}
}
