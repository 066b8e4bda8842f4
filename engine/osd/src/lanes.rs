//! An OSD works on many operations at once; a stream of rows has one after another. So there are lanes: an operation
//! goes to one that is free when it begins, and each is a thread of the recorder with a stream of its own.

use std::ffi::CString;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

use fathom_record::{PastOperation, Stripes, moment};

use crate::operation::{Kind, Operation};

/// Beyond these, operations go to the lane that is free first, and their times may be cut there.
const MOST: usize = 512;

struct Row {
	operation: Operation,
	file: u32,
	place: Option<Stripes>,
	clock: Clock,
}

struct Lane {
	busy_until: u64,
	rows: Sender<Row>,
	thread: JoinHandle<()>,
}

/// From nanoseconds since 1970 to the ticks of rows: by two moments.
#[derive(Debug, Clone, Copy)]
struct Clock {
	first: (u64, u64),
	last: (u64, u64),
}

impl Clock {
	fn ticks(&self, realtime: u64) -> u64 {
		let (ticks, from) = self.first;
		let step = i128::from(self.last.0) - i128::from(ticks);
		let length = (i128::from(self.last.1) - i128::from(from)).max(1);
		let at = (i128::from(realtime) - i128::from(from)) * step / length;
		u64::try_from(i128::from(ticks) + at).unwrap_or(0)
	}
}

pub struct Lanes {
	lanes: Vec<Lane>,
	clock: Clock,
	ops: Ops,
}

/// The recorder's numbers.
#[derive(Debug, Clone, Copy)]
struct Ops {
	read: u32,
	write: u32,
	other: u32,
	fetch: Option<u32>,
	commit: Option<u32>,
}

impl Lanes {
	pub fn new() -> Lanes {
		let op = |name| fathom_record::op(name).unwrap_or(0);
		let ops = Ops {
			read: op(c"osd_read"),
			write: op(c"osd_write"),
			other: op(c"osd_call"),
			fetch: fathom_record::store_op(c"fetch"),
			commit: fathom_record::store_op(c"commit"),
		};
		let now = moment();
		Lanes { lanes: Vec::new(), clock: Clock { first: now, last: now }, ops }
	}

	/// Times are told by the clock as it is now.
	pub fn update_clock(&mut self) {
		self.clock.last = moment();
	}

	/// One after another in the order of their begins, as far as they are known.
	pub fn add(&mut self, operation: Operation, file: u32, place: Option<Stripes>) {
		let free = self.lanes.iter().position(|lane| lane.busy_until <= operation.began);
		let lane = match free {
			Some(lane) => lane,
			None if self.lanes.len() < MOST => self.add_lane(),
			None => {
				let soonest = self.lanes.iter().enumerate().min_by_key(|(_, lane)| lane.busy_until);
				soonest.map_or(0, |(lane, _)| lane)
			}
		};
		let lane = &mut self.lanes[lane];
		lane.busy_until = operation.ended;
		// A lane ends only after us.
		let _ = lane.rows.send(Row { operation, file, place, clock: self.clock });
	}

	fn add_lane(&mut self) -> usize {
		let (rows, receiver) = channel::<Row>();
		let ops = self.ops;
		let thread = thread::spawn(move || receiver.iter().for_each(|row| record_row(&ops, &row)));
		self.lanes.push(Lane { busy_until: 0, rows, thread });
		self.lanes.len() - 1
	}

	/// All rows are recorded.
	pub fn end(self) {
		for Lane { rows, thread, .. } in self.lanes {
			drop(rows);
			let _ = thread.join();
		}
	}
}

fn record_row(ops: &Ops, row: &Row) {
	let Row { operation, file, place, clock } = row;
	let (op, store_op) = match operation.kind {
		Kind::Read => (ops.read, ops.fetch),
		Kind::Write => (ops.write, ops.commit),
		Kind::Other => (ops.other, None),
	};
	let object = CString::new(operation.object.as_str()).unwrap_or_default();
	fathom_record::past_operation(&PastOperation {
		op,
		store_op,
		file: *file,
		began: clock.ticks(operation.began),
		stored: clock.ticks(operation.stored_from)..clock.ticks(operation.stored_to),
		ended: clock.ticks(operation.ended),
		queued: (operation.taken - operation.began) as i64,
		bytes: operation.bytes,
		place: *place,
		object: &object,
	});
}
