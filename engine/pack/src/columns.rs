//! Columns of the large tables: plain vectors that grow row by row and become Arrow arrays without a copy.

use std::sync::Arc;

use arrow_array::types::{
	ArrowPrimitiveType, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
	ArrayRef, DictionaryArray, PrimitiveArray, RecordBatch, StringArray, UInt16Array,
};
use arrow_buffer::{BooleanBuffer, MutableBuffer, NullBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use crate::define::Op;

/// Bits of [`CallRow::valid`]: columns that are not null.
pub mod has {
	pub const PARENT: u16 = 1;
	pub const CALL: u16 = 1 << 1;
	pub const OBJECT: u16 = 1 << 2;
	pub const FILE: u16 = 1 << 3;
	pub const SIZE: u16 = 1 << 4;
	pub const OFFSET: u16 = 1 << 5;
	pub const OFFSET_FROM: u16 = 1 << 6;
	pub const BYTES: u16 = 1 << 7;
	pub const RESULT: u16 = 1 << 8;
	pub const SITE: u16 = 1 << 9;
	pub const SELECTION: u16 = 1 << 10;
	pub const COLLECTIVE: u16 = 1 << 11;
	pub const RANK: u16 = 1 << 12;
}

pub const OFFSET_FROM: [&str; 3] = ["given", "tracked", "unknown"];
pub const STATES: [&str; 3] = ["done", "unfinished", "lost"];

/// A row of `calls` but for what all rows of its stream share.
#[derive(Debug, Clone, Copy, Default)]
pub struct CallRow {
	pub seq: u64,
	/// Its id: stream and seq.
	pub parent: u64,
	pub call: u32,
	pub op: u16,
	pub valid: u16,
	pub object: u32,
	pub file: u32,
	pub start: i64,
	pub duration: i64,
	pub nested: i64,
	pub size: i64,
	pub offset: i64,
	pub bytes: i64,
	pub result: i64,
	pub error: i32,
	pub site: u32,
	pub selection: u32,
	pub collective: u32,
	pub depth: u8,
	pub offset_from: u8,
	pub state: u8,
}

/// What all calls of a stream share.
#[derive(Debug, Clone, Copy, Default)]
pub struct StreamFacts {
	pub stream: u32,
	pub process: u32,
	pub thread: u32,
	pub rank: Option<i32>,
}

#[derive(Debug, Default)]
pub struct CallColumns {
	id: Vec<u64>,
	stream: Vec<u32>,
	process: Vec<u32>,
	thread: Vec<u32>,
	rank: Vec<i32>,
	parent: Vec<u64>,
	call: Vec<u32>,
	depth: Vec<u8>,
	op: Vec<u16>,
	object: Vec<u32>,
	file: Vec<u32>,
	start: Vec<i64>,
	duration: Vec<i64>,
	nested: Vec<i64>,
	size: Vec<i64>,
	offset: Vec<i64>,
	offset_from: Vec<u8>,
	bytes: Vec<i64>,
	result: Vec<i64>,
	error: Vec<i32>,
	state: Vec<u8>,
	site: Vec<u32>,
	selection: Vec<u32>,
	collective: Vec<u32>,
	valid: Vec<u16>,
}

impl CallColumns {
	pub fn len(&self) -> usize {
		self.id.len()
	}

	pub fn is_empty(&self) -> bool {
		self.id.is_empty()
	}

	#[inline]
	pub fn push(&mut self, facts: &StreamFacts, row: &CallRow) {
		let rank = if facts.rank.is_some() { has::RANK } else { 0 };
		self.id.push(u64::from(facts.stream) << 40 | row.seq);
		self.stream.push(facts.stream);
		self.process.push(facts.process);
		self.thread.push(facts.thread);
		self.rank.push(facts.rank.unwrap_or(0));
		self.parent.push(row.parent);
		self.call.push(row.call);
		self.depth.push(row.depth);
		self.op.push(row.op);
		self.object.push(row.object);
		self.file.push(row.file);
		self.start.push(row.start);
		self.duration.push(row.duration);
		self.nested.push(row.nested);
		self.size.push(row.size);
		self.offset.push(row.offset);
		self.offset_from.push(row.offset_from);
		self.bytes.push(row.bytes);
		self.result.push(row.result);
		self.error.push(row.error);
		self.state.push(row.state);
		self.site.push(row.site);
		self.selection.push(row.selection);
		self.collective.push(row.collective);
		self.valid.push(row.valid | rank);
	}

	/// Moves all rows into Arrow arrays.
	pub fn take(&mut self, names: &OpNames) -> Result<RecordBatch, ArrowError> {
		let valid = std::mem::take(&mut self.valid);
		let null = |bit: u16| nulls(&valid, bit);
		let op = ScalarBuffer::from(std::mem::take(&mut self.op));
		let named = |values: &ArrayRef| -> Result<ArrayRef, ArrowError> {
			let keys = UInt16Array::new(op.clone(), None);
			Ok(Arc::new(DictionaryArray::<UInt16Type>::try_new(keys, values.clone())?))
		};
		let columns: Vec<ArrayRef> = vec![
			column::<UInt64Type>(&mut self.id, None),
			column::<UInt32Type>(&mut self.stream, None),
			column::<UInt32Type>(&mut self.process, None),
			column::<UInt32Type>(&mut self.thread, None),
			column::<Int32Type>(&mut self.rank, null(has::RANK)),
			column::<UInt64Type>(&mut self.parent, null(has::PARENT)),
			column::<UInt32Type>(&mut self.call, null(has::CALL)),
			column::<UInt8Type>(&mut self.depth, None),
			named(&names.layer)?,
			named(&names.name)?,
			named(&names.kind)?,
			column::<UInt32Type>(&mut self.object, null(has::OBJECT)),
			column::<UInt32Type>(&mut self.file, null(has::FILE)),
			column::<Int64Type>(&mut self.start, None),
			column::<Int64Type>(&mut self.duration, None),
			column::<Int64Type>(&mut self.nested, None),
			column::<Int64Type>(&mut self.size, null(has::SIZE)),
			column::<Int64Type>(&mut self.offset, null(has::OFFSET)),
			choice(&mut self.offset_from, null(has::OFFSET_FROM), &OFFSET_FROM)?,
			column::<Int64Type>(&mut self.bytes, null(has::BYTES)),
			column::<Int64Type>(&mut self.result, null(has::RESULT)),
			column::<Int32Type>(&mut self.error, None),
			choice(&mut self.state, None, &STATES)?,
			column::<UInt32Type>(&mut self.site, null(has::SITE)),
			column::<UInt32Type>(&mut self.selection, null(has::SELECTION)),
			column::<UInt32Type>(&mut self.collective, null(has::COLLECTIVE)),
		];
		RecordBatch::try_new(call_schema(), columns)
	}
}

/// Dictionary values of `layer`, `op` and `kind`, by op.
pub struct OpNames {
	layer: ArrayRef,
	name: ArrayRef,
	kind: ArrayRef,
}

impl OpNames {
	pub fn new(ops: &[Op]) -> OpNames {
		let texts = |get: fn(&Op) -> &str| -> ArrayRef {
			Arc::new(StringArray::from_iter_values(ops.iter().map(get)))
		};
		OpNames {
			layer: texts(|op| &op.layer),
			name: texts(|op| &op.name),
			kind: texts(|op| &op.kind),
		}
	}
}

fn dictionary(keys: DataType) -> DataType {
	DataType::Dictionary(Box::new(keys), Box::new(DataType::Utf8))
}

pub fn call_schema() -> SchemaRef {
	let (names, choices) = (dictionary(DataType::UInt16), dictionary(DataType::UInt8));
	let must = |name: &str, kind: DataType| Field::new(name, kind, false);
	let may = |name: &str, kind: DataType| Field::new(name, kind, true);
	Arc::new(Schema::new(vec![
		must("id", DataType::UInt64),
		must("stream", DataType::UInt32),
		must("process", DataType::UInt32),
		must("thread", DataType::UInt32),
		may("rank", DataType::Int32),
		may("parent", DataType::UInt64),
		may("call", DataType::UInt32),
		must("depth", DataType::UInt8),
		must("layer", names.clone()),
		must("op", names.clone()),
		must("kind", names),
		may("object", DataType::UInt32),
		may("file", DataType::UInt32),
		must("start", DataType::Int64),
		must("duration", DataType::Int64),
		must("nested", DataType::Int64),
		may("size", DataType::Int64),
		may("file_offset", DataType::Int64),
		may("offset_from", choices.clone()),
		may("bytes", DataType::Int64),
		may("result", DataType::Int64),
		must("error", DataType::Int32),
		must("state", choices),
		may("site", DataType::UInt32),
		may("selection", DataType::UInt32),
		may("collective", DataType::UInt32),
	]))
}

/// Columns of `calls` whose values are alike but in no order.
pub const SCATTERED: [&str; 2] = ["duration", "nested"];

#[derive(Debug, Default)]
pub struct ArgColumns {
	call: Vec<u64>,
	name: Vec<u16>,
	value: Vec<i64>,
	valid: Vec<u16>,
	text: Vec<Option<String>>,
}

impl ArgColumns {
	pub fn len(&self) -> usize {
		self.call.len()
	}

	pub fn value(&mut self, call: u64, name: u16, value: i64) {
		self.call.push(call);
		self.name.push(name);
		self.value.push(value);
		self.valid.push(1);
		self.text.push(None);
	}

	pub fn text(&mut self, call: u64, name: u16, text: String) {
		self.call.push(call);
		self.name.push(name);
		self.value.push(0);
		self.valid.push(0);
		self.text.push(Some(text));
	}

	pub fn take(&mut self, names: &ArrayRef) -> Result<RecordBatch, ArrowError> {
		let valid = std::mem::take(&mut self.valid);
		let keys = UInt16Array::from(std::mem::take(&mut self.name));
		let text: StringArray = std::mem::take(&mut self.text).into_iter().collect();
		let columns: Vec<ArrayRef> = vec![
			column::<UInt64Type>(&mut self.call, None),
			Arc::new(DictionaryArray::<UInt16Type>::try_new(keys, names.clone())?),
			column::<Int64Type>(&mut self.value, nulls(&valid, 1)),
			Arc::new(text),
		];
		RecordBatch::try_new(arg_schema(), columns)
	}
}

pub fn arg_schema() -> SchemaRef {
	Arc::new(Schema::new(vec![
		Field::new("call", DataType::UInt64, false),
		Field::new("name", dictionary(DataType::UInt16), false),
		Field::new("value", DataType::Int64, true),
		Field::new("text", DataType::Utf8, true),
	]))
}

pub const LINK_KINDS: [&str; 5] = ["unknown", "serves", "carries", "completes", "matched"];

#[derive(Debug, Default)]
pub struct LinkColumns {
	from_call: Vec<u64>,
	to_call: Vec<u64>,
	to_stream: Vec<u64>,
	to_seq: Vec<u64>,
	kind: Vec<u8>,
	bytes: Vec<u64>,
	confidence: Vec<u8>,
	valid: Vec<u16>,
}

impl LinkColumns {
	pub fn len(&self) -> usize {
		self.from_call.len()
	}

	pub fn push(&mut self, from: u64, to: Option<u64>, link: &fathom_stream::Link) {
		self.from_call.push(from);
		self.to_call.push(to.unwrap_or(0));
		self.to_stream.push(link.to_stream);
		self.to_seq.push(link.to_seq);
		let known = (link.kind as usize) < LINK_KINDS.len();
		self.kind.push(if known { link.kind as u8 } else { 0 });
		self.bytes.push(link.bytes);
		self.confidence.push(link.percent.min(100) as u8);
		self.valid.push(u16::from(to.is_some()));
	}

	pub fn take(&mut self) -> Result<RecordBatch, ArrowError> {
		let valid = std::mem::take(&mut self.valid);
		let columns: Vec<ArrayRef> = vec![
			column::<UInt64Type>(&mut self.from_call, None),
			column::<UInt64Type>(&mut self.to_call, nulls(&valid, 1)),
			column::<UInt64Type>(&mut self.to_stream, None),
			column::<UInt64Type>(&mut self.to_seq, None),
			choice(&mut self.kind, None, &LINK_KINDS)?,
			column::<UInt64Type>(&mut self.bytes, None),
			column::<UInt8Type>(&mut self.confidence, None),
		];
		RecordBatch::try_new(link_schema(), columns)
	}
}

pub fn link_schema() -> SchemaRef {
	Arc::new(Schema::new(vec![
		Field::new("from_call", DataType::UInt64, false),
		Field::new("to_call", DataType::UInt64, true),
		Field::new("to_stream", DataType::UInt64, false),
		Field::new("to_seq", DataType::UInt64, false),
		Field::new("kind", dictionary(DataType::UInt8), false),
		Field::new("bytes", DataType::UInt64, false),
		Field::new("confidence", DataType::UInt8, false),
	]))
}

fn column<T>(values: &mut Vec<T::Native>, nulls: Option<NullBuffer>) -> ArrayRef
where
	T: ArrowPrimitiveType,
{
	Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(std::mem::take(values)), nulls))
}

fn choice(
	keys: &mut Vec<u8>,
	nulls: Option<NullBuffer>,
	values: &[&str],
) -> Result<ArrayRef, ArrowError> {
	let keys = PrimitiveArray::<UInt8Type>::new(ScalarBuffer::from(std::mem::take(keys)), nulls);
	let values = Arc::new(StringArray::from(values.to_vec()));
	Ok(Arc::new(DictionaryArray::<UInt8Type>::try_new(keys, values)?))
}

/// The null buffer of one bit of `valid`; `None` when every row has it.
fn nulls(valid: &[u16], bit: u16) -> Option<NullBuffer> {
	if valid.iter().fold(bit, |all, bits| all & bits) != 0 {
		return None;
	}
	let mut packed = MutableBuffer::from_len_zeroed(valid.len().div_ceil(8));
	for (byte, rows) in packed.as_slice_mut().iter_mut().zip(valid.chunks(8)) {
		for (i, bits) in rows.iter().enumerate() {
			*byte |= u8::from(bits & bit != 0) << i;
		}
	}
	Some(NullBuffer::new(BooleanBuffer::new(packed.into(), 0, valid.len())))
}
