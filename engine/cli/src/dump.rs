//! `dump`: a stream file row by row, as JSON lines.

use std::collections::HashMap;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;

use fathom_stream::{
	Call, Chunk, CounterData, Decoder, Item, Part, Record, Segment, ThreadUse, Unfinished, chunks,
};
use serde_json::{Map, Value, json};

pub fn dump(file: &Path) -> Result<(), String> {
	let data = fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
	let mut out = BufWriter::new(std::io::stdout().lock());
	let mut decoder = Decoder::new();
	for segment in chunks(&data) {
		let lines = match segment {
			Segment::Chunk(chunk) => chunk_lines(&mut decoder, &chunk),
			Segment::Skipped(skip) => vec![json!({
				"row": "skipped", "byte": skip.offset, "bytes": skip.bytes, "reason": skip.reason.to_string(),
			})],
		};
		for line in lines {
			match writeln!(out, "{line}") {
				Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => return Ok(()),
				result => result.map_err(|error| error.to_string())?,
			}
		}
	}
	out.flush().map_err(|error| error.to_string())
}

/// An op's name and fields, as the chunk says.
#[derive(Default)]
struct Named {
	layer: String,
	op: String,
	fields: Vec<String>,
}

fn text(bytes: &[u8]) -> String {
	String::from_utf8_lossy(bytes).into_owned()
}

fn chunk_lines(decoder: &mut Decoder, chunk: &Chunk<'_>) -> Vec<Value> {
	let h = &chunk.header;
	let mut lines = vec![json!({
		"row": "chunk", "byte": chunk.offset, "stream": format!("{:016x}", h.stream), "number": h.number,
		"pid": h.pid, "tid": h.tid, "flags": h.flags, "next_seq": h.next_seq, "depth": h.depth,
		"first_tick": h.first_tick, "committed": h.committed, "use_begin": thread_use(h.use_begin),
		"use_seal": thread_use(h.use_seal),
	})];
	let mut ops: HashMap<u32, Named> = HashMap::new();
	let mut rows = decoder.rows(chunk);
	while let Some(item) = rows.next() {
		lines.push(match item {
			Ok(Item::Call(call)) => call_line(&ops, &call),
			Ok(Item::Unfinished(row, parent)) => unfinished_line(&ops, &row, parent),
			Ok(Item::Record(record)) => {
				if let Record::Op(op) = &record {
					let fields = text(op.fields).split(',').map(str::to_owned).collect();
					let named = Named { layer: text(op.layer), op: text(op.name), fields };
					ops.insert(op.op, named);
				}
				record_line(&record)
			}
			Err(damage) => json!({ "row": "damage", "at": damage.to_string() }),
		});
	}
	lines
}

/// ns on a processor, and waiting for one; bytes from storage.
fn thread_use(known: Option<ThreadUse>) -> Value {
	json!(known.map(|known| (known.ran, known.waited, known.read)))
}

fn call_line(ops: &HashMap<u32, Named>, call: &Call<'_>) -> Value {
	let unnamed = Named::default();
	let op = ops.get(&call.op).unwrap_or(&unnamed);
	let fields: Map<String, Value> = op
		.fields
		.iter()
		.zip(call.fields)
		.map(|(name, value)| (name.clone(), json!(value)))
		.collect();
	json!({
		"row": "call", "layer": op.layer, "op": op.op, "object": call.object, "site": call.site,
		"depth": call.depth, "seq": call.seq, "parent": call.parent, "began": call.began,
		"ended": call.ended, "error": call.error, "fields": fields,
	})
}

fn unfinished_line(ops: &HashMap<u32, Named>, row: &Unfinished, parent: Option<u64>) -> Value {
	let op = row.op.checked_sub(1).and_then(|op| ops.get(&op));
	json!({
		"row": "unfinished", "reason": row.reason, "layer": op.map(|op| &op.layer), "op": op.map(|op| &op.op),
		"object": row.object, "site": row.site, "depth": row.depth, "seq": row.seq, "parent": parent,
		"began": row.began, "ended": row.ended, "size": row.size, "offset": row.offset,
	})
}

fn record_line(record: &Record<'_>) -> Value {
	match record {
		Record::Object(o) => json!({
			"row": "object", "object": o.object, "class": o.class, "parent": o.parent,
			"created_by": (o.created_by != fathom_stream::NO_SEQ).then_some(o.created_by),
			"name": text(o.name), "numbers": o.numbers,
		}),
		Record::Selection(s) => json!({
			"row": "selection", "selection": s.selection, "form": s.form, "exact": s.exact, "rank": s.rank,
			"displacement": s.displacement, "unit": s.unit, "period": s.period, "total": s.total,
			"box": s.bounds, "hash": s.hash, "blocks": s.block,
			"parts": s.parts.iter().map(|p| json!([p.start, p.bytes, p.levels])).collect::<Vec<_>>(),
		}),
		Record::Counter(c) => json!({
			"row": "counter", "op": c.op, "object": c.object, "enclosing": c.enclosing.checked_sub(1),
			"calls": c.calls, "errors": c.errors, "bytes": c.bytes, "ticks": c.ticks, "min": c.min,
			"max": c.max, "first": c.first, "last": c.last, "data": c.data.as_deref().map(data),
		}),
		Record::Heat(h) => json!({
			"row": "heat", "op": h.op, "shift": h.shift, "first": h.first,
			"bins": h.bins.iter().map(|bin| [bin.calls, bin.bytes, bin.ticks]).collect::<Vec<_>>(),
		}),
		Record::Open(calls) => json!({
			"row": "open", "seqs": calls.iter().map(|call| call.seq).collect::<Vec<_>>(),
		}),
		Record::Group(g) => json!({
			"row": "group", "object": g.object, "hash": format!("{:016x}", g.hash), "size": g.size,
			"ordinal": g.ordinal, "own": g.own, "members": g.members,
		}),
		Record::Samples(s) => json!({ "row": "samples", "time": s.time, "values": s.values }),
		Record::Unknown(kind) => json!({ "row": "unknown", "type": kind }),
		plain => plain_line(plain),
	}
}

/// A line of a record that is numbers and texts in a row.
fn plain_line(record: &Record<'_>) -> Value {
	let mut line = Map::new();
	let name = record.each_part(|part, value| {
		line.insert(
			part.to_owned(),
			match value {
				Part::Number(value) => json!(value),
				Part::Signed(value) => json!(value),
				Part::Bytes(value) => json!(format!("{value:016x}")),
				Part::Text(value) => json!(text(value)),
			},
		);
	});
	line.insert("row".to_owned(), json!(name));
	Value::Object(line)
}

fn data(data: &CounterData) -> Value {
	let file = data.file.map(|file| {
		let order = file.order;
		json!({
			"extents": file.extents, "counts": file.counts.each(), "located": order.located,
			"first": [order.first_offset, order.first_end, order.second_offset],
			"last": [order.last_offset, order.last_end, order.distance],
			"turn": file.turn, "size_run": file.size_run, "stride_run": file.stride_run,
		})
	});
	json!({ "sizes": data.sizes, "file": file })
}
