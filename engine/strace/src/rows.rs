//! Rows of process images: calls as strace wrote them, each on the object that it is about.

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};

use fathom_import::{Node, Rows};
use fathom_stream::{
	Call, NO_SEQ, Object, OpRecord, Text, UNKNOWN_OFFSET, Unfinished, unfinished_reason,
};

use crate::calls::{CALLS, Field};

/// What a row is about, once per image.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Key {
	/// Of an open file description, by a descriptor.
	Descriptor(u64, i64),
	Path(Vec<u8>),
	/// By its address and that of its row.
	Mapping(u64, u64),
}

#[derive(Debug, Clone)]
pub struct ObjectDef {
	pub key: Key,
	pub class: u32,
	pub parent: Option<Box<ObjectDef>>,
	pub name: Vec<u8>,
	pub numbers: Vec<u64>,
	/// The row that is about it creates it.
	pub created: bool,
}

pub struct Row {
	/// In `CALLS`.
	pub shape: usize,
	pub about: Option<ObjectDef>,
	pub began: u64,
	pub ended: u64,
	pub error: u64,
	pub fields: Vec<i64>,
	/// The second path.
	pub to: Option<Vec<u8>>,
	/// It never returned.
	pub open: bool,
}

pub struct Image {
	image: fathom_import::Image,
	objects: HashMap<Key, u32>,
}

impl Deref for Image {
	type Target = fathom_import::Image;

	fn deref(&self) -> &Self::Target {
		&self.image
	}
}

impl DerefMut for Image {
	fn deref_mut(&mut self) -> &mut Self::Target {
		&mut self.image
	}
}

impl Image {
	pub fn new(pid: u32, parent: u32) -> Image {
		Image { image: fathom_import::Image::new(pid, parent), objects: HashMap::new() }
	}

	pub fn into_inner(self) -> fathom_import::Image {
		self.image
	}

	/// Times of the row are nanoseconds since 1970.
	pub fn row(&mut self, node: &Node, tid: u32, row: &Row) {
		let began = row.began.saturating_sub(node.epoch);
		let Image { image, objects } = self;
		image.write(node, tid, began, |rows| write(rows, objects, node.epoch, row));
	}
}

fn write(rows: &mut Rows<'_>, objects: &mut HashMap<Key, u32>, epoch: u64, row: &Row) {
	let shape = &CALLS[row.shape];
	let op = row.shape as u32;
	rows.op(&OpRecord {
		op,
		layer: b"posix",
		name: shape.op.as_bytes(),
		kind: shape.kind.as_bytes(),
		fields: shape.field_names().as_bytes(),
		flags: shape.flags(),
	});
	let seq = rows.seq();
	let object = row.about.as_ref().map_or(0, |about| object(rows, objects, about));
	if let Some(to) = &row.to {
		rows.writer().text(&Text { seq, name: b"to", value: to });
	}
	// Times of calls are rounded each for itself.
	let tick = |time: u64| time.saturating_sub(epoch);
	let ended = tick(row.ended).max(rows.ended());
	let began = tick(row.began).clamp(rows.ended(), ended);
	if row.open {
		let of = |name| shape.fields.iter().position(|(field, _)| *field == name);
		let field = |name, none| of(name).map_or(none, |at: usize| row.fields[at]);
		rows.writer().unfinished(&Unfinished {
			reason: unfinished_reason::OPEN_AT_END,
			seq,
			op: op + 1,
			depth: 0,
			object,
			site: 0,
			began,
			ended,
			size: field("size", 0),
			offset: field("offset", UNKNOWN_OFFSET),
		});
		rows.took_seq();
	} else {
		rows.call(&Call {
			op,
			object,
			site: 0,
			depth: 0,
			seq,
			parent: None,
			began,
			ended,
			error: row.error,
			fields: &row.fields,
		});
	}
}

fn object(rows: &mut Rows<'_>, objects: &mut HashMap<Key, u32>, about: &ObjectDef) -> u32 {
	if let (false, Some(&known)) = (about.created, objects.get(&about.key)) {
		return known;
	}
	let parent = about.parent.as_ref().map_or(0, |parent| self::object(rows, objects, parent));
	let object = objects.len() as u32 + 1;
	let created_by = if about.created { rows.seq() } else { NO_SEQ };
	rows.writer().object(&Object {
		object,
		class: about.class,
		parent,
		created_by,
		name: &about.name,
		numbers: about.numbers.clone(),
	});
	objects.insert(about.key.clone(), object);
	object
}

/// The value of a field that nobody knows.
pub fn unknown(field: Field) -> i64 {
	match field {
		Field::Position | Field::Pointed(_) | Field::GivenOrPosition(_) => UNKNOWN_OFFSET,
		_ => 0,
	}
}
