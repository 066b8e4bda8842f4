//! A look in words: one JSON object.

use std::collections::HashMap;

use fathom_pack::Resolved;
use fathom_stream::OpenCall;
use serde_json::{Value, json};

use crate::error::WatchError;
use crate::image::{Image, Open, State};
use crate::missed::Missed;
use crate::names::{Book, OpName};
use crate::sums::{Key, OPEN, Sum, Sums};
use crate::watch::Watch;

/// Calls that are alike, in the run's numbers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RowKey {
	/// In [`Book::ops`].
	pub op: Option<u32>,
	pub enclosing: Option<u32>,
	pub inner: bool,
	pub pid: u32,
	pub rank: Option<u32>,
	/// In [`Book::files`].
	pub file: Option<u32>,
	/// In the book.
	pub site: Option<u32>,
	/// File and site were left out: there are too many rows.
	pub rest: bool,
}

/// What such calls sum to.
#[derive(Debug, Clone, Copy, Default)]
pub struct Total {
	calls: u64,
	errors: u64,
	bytes: u64,
	/// Not a number: the clock's rate is not known yet.
	seconds: f64,
}

impl Total {
	fn new(sum: &Sum, ticks_per_second: Option<f64>) -> Total {
		let seconds = sum.ticks as f64 / ticks_per_second.unwrap_or(f64::NAN);
		Total { calls: sum.calls, errors: sum.errors, bytes: sum.bytes, seconds }
	}

	fn add(&mut self, other: &Total) {
		self.calls += other.calls;
		self.errors += other.errors;
		self.bytes = self.bytes.wrapping_add(other.bytes);
		self.seconds += other.seconds;
	}
}

pub type Row = (RowKey, Total);

/// What a look gives.
pub struct Look {
	pub rows: Vec<Row>,
	/// By index in [`Watch::images`].
	pub open: Vec<(usize, Open)>,
}

impl Watch {
	/// Takes all that is new. `last`: the run is over.
	pub fn look(&mut self, last: bool) -> Result<Look, WatchError> {
		let open = self.read(last)?;
		let rows = rows(self, &open);
		Ok(Look { rows, open })
	}
}

/// What was counted since the last look, with names; the places of the calls in flight get theirs too.
fn rows(watch: &mut Watch, open: &[(usize, Open)]) -> Vec<Row> {
	for (index, open) in open {
		if let (Some(image), Some(call)) = (watch.images.get_mut(*index), open.calls.first()) {
			image.names.site(call.site, &mut watch.book);
		}
	}
	let mut rows: HashMap<RowKey, Total> = HashMap::new();
	let unsure = watch.missed != Missed::default();
	for image in &mut watch.images {
		let all = unsure || image.state != State::Running;
		let ticks = image.clock.ticks_per_second(&watch.rate);
		image_rows(image, &mut watch.book, all, ticks, &mut rows);
	}
	rows.into_iter().collect()
}

/// Objects and sites that another thread's stream has yet to tell of wait for the next look, unless `all`.
fn image_rows(
	image: &mut Image,
	book: &mut Book,
	all: bool,
	ticks_per_second: Option<f64>,
	rows: &mut HashMap<RowKey, Total>,
) {
	let names = &mut image.names;
	for process in &mut image.processes {
		let mut later = Sums::default();
		for (key, sum) in process.sums.drain() {
			if !all && !names.knows(key.object, key.site) {
				later.add(key, &sum);
				continue;
			}
			let op_number = |op: u32| names.op(op).map(|op| op.number);
			let row = RowKey {
				op: op_number(key.op),
				enclosing: enclosing(&key).and_then(op_number),
				inner: key.inner,
				pid: process.pid,
				rank: process.rank,
				file: names.file(key.object),
				site: names.site(key.site, book),
				rest: false,
			};
			rows.entry(row).or_default().add(&Total::new(&sum, ticks_per_second));
		}
		process.sums = later;
	}
}

fn enclosing(key: &Key) -> Option<u32> {
	if key.enclosing == OPEN { None } else { key.enclosing.checked_sub(1) }
}

/// The longest `most` rows; what the others sum to goes without file and place in the program.
fn shorten(mut rows: Vec<Row>, most: usize) -> Vec<Row> {
	rows.sort_unstable_by(|(_, a), (_, b)| b.seconds.total_cmp(&a.seconds));
	let mut rest: HashMap<RowKey, Total> = HashMap::new();
	for (key, sum) in rows.drain(most.min(rows.len())..) {
		let key = RowKey { file: None, site: None, rest: true, ..key };
		rest.entry(key).or_default().add(&sum);
	}
	rows.extend(rest);
	rows
}

/// Facts of a line beside its rows.
pub struct Facts {
	pub number: u64,
	/// Seconds since the look before, or since the run's start.
	pub interval: f64,
	pub cpu_seconds: Option<f64>,
	pub last: bool,
	/// Most rows.
	pub most: usize,
}

pub fn line(watch: &Watch, look: Look, facts: &Facts) -> Value {
	let book = &watch.book;
	let calls: Vec<Value> = shorten(look.rows, facts.most)
		.iter()
		.map(|(key, total)| row(book, key, total, facts.interval))
		.collect();
	let open: Vec<Value> = look
		.open
		.iter()
		.filter_map(|(image, open)| in_flight(watch, &watch.images[*image], open))
		.collect();
	json!({
		"look": facts.number,
		"time": crate::clock::realtime() as f64 / 1e9,
		"interval_seconds": facts.interval,
		"run_seconds": watch.age(),
		"processes": {
			"running": watch.count(State::Running),
			"ended": watch.count(State::Ended),
			"killed": watch.count(State::Killed),
		},
		"calls": calls,
		"in_flight": open,
		"missed": {
			"chunks": watch.missed.chunks, "bytes": watch.missed.bytes, "why": watch.missed.why,
		},
		"nodes_not_seen": watch.other_nodes(),
		"cpu_seconds": facts.cpu_seconds,
		"last": facts.last,
	})
}

fn row(book: &Book, key: &RowKey, total: &Total, interval: f64) -> Value {
	let unknown = OpName { layer: "unknown".into(), op: "unknown".into(), kind: "unknown".into() };
	let op = key.op.and_then(|op| book.ops.get(op as usize)).unwrap_or(&unknown);
	let enclosing = key.enclosing.and_then(|op| book.ops.get(op as usize));
	let site = place(book, key.site);
	json!({
		"layer": op.layer, "op": op.op, "kind": op.kind,
		"enclosing_layer": enclosing.map(|op| &op.layer), "enclosing": enclosing.map(|op| &op.op),
		"inner": key.inner, "pid": key.pid, "rank": key.rank,
		"file": key.file.and_then(|file| book.files.get(file as usize)),
		"function": site.function, "source": site.source, "line": site.line, "rest": key.rest,
		"calls": total.calls, "errors": total.errors, "bytes": total.bytes,
		"seconds": total.seconds.is_finite().then_some(total.seconds),
		"bytes_per_second": (interval > 0.0).then(|| total.bytes as f64 / interval),
	})
}

fn place(book: &Book, site: Option<u32>) -> Resolved {
	site.map(|site| book.line(site)).unwrap_or_default()
}

/// The innermost call of a thread that is no region, with the place in the program that the outermost was made at.
fn in_flight(watch: &Watch, image: &Image, open: &Open) -> Option<Value> {
	let book = &watch.book;
	let op_of = |call: &OpenCall| {
		let op = image.names.op(call.op.checked_sub(1)?)?;
		book.ops.get(op.number as usize)
	};
	let innermost =
		open.calls.iter().rposition(|call| op_of(call).is_some_and(|op| op.layer != "user"))?;
	let call = &open.calls[innermost];
	let op = op_of(call)?;
	let lasted = |call: &OpenCall| image.clock.since(&watch.rate, call.began);
	let file = |call: &OpenCall| {
		image.names.file(call.object).and_then(|file| book.files.get(file as usize))
	};
	let around: Vec<Value> = open.calls[..innermost]
		.iter()
		.map(|call| {
			let op = op_of(call);
			json!({
				"layer": op.map(|op| &op.layer), "op": op.map(|op| &op.op),
				"kind": op.map(|op| &op.kind), "file": file(call), "seconds": lasted(call),
			})
		})
		.collect();
	let site = place(book, open.calls.first().and_then(|call| image.names.known_site(call.site)));
	let process = image.processes.get(open.process)?;
	Some(json!({
		"layer": op.layer, "op": op.op, "kind": op.kind, "inside": around,
		"file": file(call), "rank": process.rank, "pid": process.pid, "thread": open.tid,
		"function": site.function, "source": site.source, "line": site.line,
		"size": call.size, "offset": (call.offset != fathom_stream::UNKNOWN_OFFSET).then_some(call.offset),
		"seconds": lasted(call),
	}))
}
