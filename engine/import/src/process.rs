//! A process of an imported run: its calls, nested by their times, then its counters.

use std::collections::{BTreeMap, HashSet};

use fathom_stream::{
	Call, Counter, CounterData, Datatype, HeatBin, NO_SEQ, Object, OpRecord, SomeCounts, Tally,
	tallied,
};

use crate::contents::{self, Hint, Shared};
use crate::nest::{Span, lanes};
use crate::spread::{Details, Sum};
use crate::{Image, Node, Rows};

/// The run's start: a tick of 0 means that nobody knows.
const START: u64 = 1_000_000_000;
/// Numbers of threads of which nobody knows one.
const NEXT_THREAD: u32 = 1 << 24;

pub struct Process {
	pub number: u32,
	pub host: u32,
	pub image: Image,
	pub calls: Vec<contents::Call>,
	pub counters: Vec<contents::Counter>,
	pub hints: Vec<Hint>,
	pub heat: Vec<contents::Heat>,
	/// Of a run in which some processes only are ranks.
	pub rank: Option<u32>,
	objects: HashSet<u32>,
}

fn tick(time: u64) -> u64 {
	time.saturating_add(START)
}

impl Process {
	/// `pids`: the system's numbers of it and of its parent; where nobody knows them it has a number of its own.
	pub fn new(number: u32, host: u32, pids: (Option<u32>, Option<u32>)) -> Process {
		let pid = pids.0.unwrap_or(number.saturating_add(1));
		let image = Image::new(pid, pids.1.unwrap_or(0));
		let (calls, counters, hints, heat, objects) = Default::default();
		Process { number, host, image, calls, counters, hints, heat, rank: None, objects }
	}

	/// Tick 0 of a run that starts then.
	pub fn epoch(start: u64) -> u64 {
		start.saturating_sub(START)
	}

	/// All that was imported of it, into its image. `ranks`: how many processes there are, and whether they are ranks.
	pub fn write(&mut self, shared: &Shared, node: &Node, ranks: (u32, bool), lasted: u64) {
		let rank = self.rank.or(ranks.1.then_some(self.number));
		self.image.rank = rank.map(|rank| (rank, ranks.0));
		self.image.lasted = tick(lasted);
		self.write_calls(shared, node);
		let tid = self.image.pid;
		let mut counters = std::mem::take(&mut self.counters);
		counters.extend(shared.sums.iter().filter_map(|all| {
			let sum = all.sum.part(self.number, ranks.0)?;
			Some(contents::Counter {
				op: all.op,
				object: all.object,
				enclosing: all.enclosing,
				sum,
			})
		}));
		let Process { image, objects, hints, heat, .. } = self;
		// Also one without calls is there.
		image.write(node, tid, START, |_| ());
		for counter in &counters {
			image.write(node, tid, START, |rows| write_counter(rows, shared, objects, counter));
		}
		for heat in heat {
			image.write(node, tid, START, |rows| write_heat(rows, shared, heat));
		}
		for hint in hints {
			image.write(node, tid, START, |rows| {
				write_object(rows, shared, objects, hint.object);
				rows.writer().plain(&fathom_stream::Hint {
					object: hint.object,
					source: hint.source,
					key: hint.key.as_bytes(),
					value: hint.value.as_bytes(),
				});
			});
		}
	}

	fn write_calls(&mut self, shared: &Shared, node: &Node) {
		let mut threads: BTreeMap<u32, Vec<contents::Call>> = BTreeMap::new();
		for call in std::mem::take(&mut self.calls) {
			threads.entry(call.thread).or_default().push(call);
		}
		for (thread, calls) in threads {
			self.write_thread(shared, node, thread, &calls);
		}
	}

	/// Calls of a thread, or, where `thread` is 0, of threads that nobody knows.
	fn write_thread(
		&mut self,
		shared: &Shared,
		node: &Node,
		thread: u32,
		calls: &[contents::Call],
	) {
		let about = |call: &contents::Call| shared.about.get(&call.object).copied().unwrap_or(0);
		let span = |call: &contents::Call| Span {
			began: call.began,
			ended: call.ended,
			height: shared.ops.get(&call.op).map_or(0, |op| op.height),
			about: (thread == 0).then(|| about(call)),
		};
		let spans: Vec<Span> = calls.iter().map(span).collect();
		let Process { image, objects, .. } = self;
		let first = if thread == 0 { image.pid } else { thread };
		for (lane, number) in lanes(&spans).iter().zip(0u32..) {
			let tid = first.wrapping_add(number.wrapping_mul(NEXT_THREAD));
			for tree in lane.trees() {
				let root = tree.last().map_or(0, |&(at, _)| calls[at].inside);
				image.write(node, tid, START, |rows| {
					if let Some(around) = root.checked_sub(1) {
						write_op(rows, shared, around);
					}
					rows.inside(root, tree.len() > 1);
					for (at, depth) in tree {
						write_call(rows, shared, objects, &calls[at], depth);
					}
				});
			}
		}
	}
}

fn write_call(
	rows: &mut Rows<'_>,
	shared: &Shared,
	objects: &mut HashSet<u32>,
	call: &contents::Call,
	depth: u32,
) {
	let fields = write_op(rows, shared, call.op);
	write_object(rows, shared, objects, call.object);
	rows.call(&Call {
		op: call.op,
		object: call.object,
		site: 0,
		depth,
		seq: 0, // follows from depth
		parent: None,
		began: tick(call.began),
		ended: tick(call.ended),
		error: call.error,
		fields: &call.fields[..fields],
	});
}

/// How many fields its calls have.
fn write_op(rows: &mut Rows<'_>, shared: &Shared, op: u32) -> usize {
	let Some(definition) = shared.ops.get(&op) else { return 0 };
	let record = OpRecord {
		op,
		layer: definition.layer.as_bytes(),
		name: definition.name.as_bytes(),
		kind: definition.kind.as_bytes(),
		fields: definition.fields.as_bytes(),
		flags: definition.flags,
	};
	rows.op(&record);
	record.field_count()
}

/// An object, after what it lies in.
fn write_object(rows: &mut Rows<'_>, shared: &Shared, objects: &mut HashSet<u32>, object: u32) {
	let Some(definition) = shared.objects.get(&object) else { return };
	if !objects.insert(object) {
		return;
	}
	write_object(rows, shared, objects, definition.parent);
	rows.writer().object(&Object {
		object,
		class: definition.class,
		parent: definition.parent,
		created_by: NO_SEQ,
		name: definition.name.as_bytes(),
		numbers: definition.numbers.clone(),
	});
}

fn write_counter(
	rows: &mut Rows<'_>,
	shared: &Shared,
	objects: &mut HashSet<u32>,
	counter: &contents::Counter,
) {
	let contents::Counter { op, object, enclosing, sum } = counter;
	write_op(rows, shared, *op);
	if let Some(around) = enclosing.checked_sub(1) {
		write_op(rows, shared, around);
	}
	write_object(rows, shared, objects, *object);
	let Sum { calls, bytes, time, longest, first, last, .. } = sum;
	let (op, object, enclosing) = (*op, *object, *enclosing);
	rows.writer().counter(&Counter {
		op,
		object,
		enclosing,
		calls: *calls,
		errors: 0,
		bytes: *bytes,
		ticks: *time,
		min: 0, // nobody knows the shortest
		max: *longest,
		first: tick(*first),
		last: tick(*last),
		data: data(sum).map(Box::new),
	});
	for &[function, _] in &sum.details.functions {
		let function = function as u32;
		write_op(rows, shared, function);
		if let Some(definition) = shared.ops.get(&function) {
			let name = definition.name.as_bytes();
			rows.writer().plain(&Datatype { datatype: function, name });
		}
	}
	let Details { functions, ranges, strides, common, .. } = &sum.details;
	let lists = [
		(tallied::SIZE, &sum.sizes),
		(tallied::SIZE, common),
		(tallied::STRIDE, strides),
		(tallied::FUNCTION, functions),
		(tallied::SIZE_RANGE, ranges),
	];
	for (what, list) in lists {
		for &[value, calls] in list.iter().filter(|pair| pair[1] > 0) {
			let value = i64::try_from(value).unwrap_or(i64::MAX);
			rows.writer().plain(&Tally { op, object, enclosing, what, value, calls, bound: 0 });
		}
	}
}

/// What is known of its accesses.
fn data(sum: &Sum) -> Option<CounterData> {
	let some = sum.details.counts();
	let sizes_known = !sum.sizes.is_empty();
	if !sizes_known && some.known == 0 {
		return None;
	}
	let some = Some(SomeCounts { sizes_known, ..some }).filter(|some| some.known != 0);
	Some(CounterData { sizes: sum.histogram(), file: None, some })
}

/// Each bin's as of its middle: bins of the stream are powers of two.
fn write_heat(rows: &mut Rows<'_>, shared: &Shared, heat: &contents::Heat) {
	write_op(rows, shared, heat.op);
	for &[at, bytes, ticks] in &heat.bins {
		let middle = at.saturating_mul(heat.width).saturating_add(heat.width / 2);
		let bins = vec![HeatBin { calls: 0, bytes, ticks }];
		rows.writer().heat(&fathom_stream::Heat {
			op: heat.op,
			shift: 0,
			first: tick(middle),
			bins,
		});
	}
}
