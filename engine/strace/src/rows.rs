//! Rows of process images: calls as strace wrote them, each on the object that it is about.

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};

use fathom_import::{Node, Rows};
use fathom_stream::{
	Call, Link, NO_SEQ, Object, OpRecord, Text, UNKNOWN_OFFSET, Unfinished, link_kind,
	object_class, unfinished_reason,
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

/// A file by its name alone.
pub fn path_object(name: Vec<u8>) -> ObjectDef {
	let key = Key::Path(name.clone());
	ObjectDef {
		key,
		class: object_class::PATH,
		parent: None,
		name,
		numbers: Vec::new(),
		created: false,
	}
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
	/// Of asynchronous I/O: which operation it is of.
	pub operation: Option<u64>,
}

pub struct Image {
	image: fathom_import::Image,
	objects: HashMap<Key, u32>,
	/// Operations that wait for their completion: the stream and seq of the post.
	posted: HashMap<u64, (u64, u64)>,
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
		let image = fathom_import::Image::new(pid, parent);
		Image { image, objects: HashMap::new(), posted: HashMap::new() }
	}

	pub fn into_inner(self) -> fathom_import::Image {
		self.image
	}

	/// Times of the row are nanoseconds since 1970.
	pub fn row(&mut self, node: &Node, tid: u32, row: &Row) {
		self.tree(node, tid, &[], row);
	}

	/// A row with those inside it, which take no time.
	pub fn tree(&mut self, node: &Node, tid: u32, inside: &[Row], row: &Row) {
		let Image { image, objects, posted } = self;
		let mut writer = Writer { objects, posted, epoch: node.epoch };
		let began = row.began.saturating_sub(node.epoch);
		image.write(node, tid, began, |rows| {
			let before = rows.ended();
			inside.iter().for_each(|row| writer.write(rows, before, 1, row));
			writer.write(rows, before, 0, row);
		});
	}
}

struct Writer<'i> {
	objects: &'i mut HashMap<Key, u32>,
	posted: &'i mut HashMap<u64, (u64, u64)>,
	epoch: u64,
}

impl Writer<'_> {
	/// `before`: when the outermost row before this one ended. A row's seq is that of its begin: what it lies in has one less.
	fn write(&mut self, rows: &mut Rows<'_>, before: u64, depth: u32, row: &Row) {
		let shape = &CALLS[row.shape];
		let op = row.shape as u32;
		rows.op(&OpRecord {
			op,
			layer: shape.layer.as_bytes(),
			name: shape.op.as_bytes(),
			kind: shape.kind.as_bytes(),
			fields: shape.field_names().as_bytes(),
			flags: shape.flags(),
		});
		let seq = rows.seq() + u64::from(depth);
		let object = row.about.as_ref().map_or(0, |about| object(rows, self.objects, about, seq));
		if let Some(to) = &row.to {
			rows.writer().plain(&Text { seq, name: b"to", value: to });
		}
		if let Some(operation) = row.operation {
			self.join(rows, shape.kind == "post", operation, seq, row);
		}
		// Times of calls are rounded each for itself.
		let tick = |time: u64| time.saturating_sub(self.epoch);
		let ended = tick(row.ended).max(rows.ended());
		let began = match depth {
			0 => tick(row.began).clamp(before, ended),
			_ => ended,
		};
		if row.open {
			unfinished(rows, row, (object, seq), (began, ended));
			return;
		}
		rows.call(&Call {
			op,
			object,
			site: 0,
			depth,
			seq,
			parent: None,
			began,
			ended,
			error: row.error,
			fields: &row.fields,
		});
	}

	/// A post waits for its completion; that says which post it is of.
	fn join(&mut self, rows: &mut Rows<'_>, posts: bool, operation: u64, seq: u64, row: &Row) {
		if posts {
			self.posted.insert(operation, (rows.stream(), seq));
		} else if let Some((to_stream, to_seq)) = self.posted.remove(&operation) {
			let of = |name| CALLS[row.shape].fields.iter().position(|(field, _)| *field == name);
			let bytes = of("bytes").map_or(0, |at| row.fields[at] as u64);
			let kind = link_kind::COMPLETES;
			rows.writer().plain(&Link { seq, to_stream, to_seq, kind, bytes, percent: 100 });
		}
	}
}

fn unfinished(
	rows: &mut Rows<'_>,
	row: &Row,
	(object, seq): (u32, u64),
	(began, ended): (u64, u64),
) {
	let shape = &CALLS[row.shape];
	let of = |name| shape.fields.iter().position(|(field, _)| *field == name);
	let field = |name, none| of(name).map_or(none, |at: usize| row.fields[at]);
	rows.writer().plain(&Unfinished {
		reason: unfinished_reason::OPEN_AT_END,
		seq,
		op: row.shape as u32 + 1,
		depth: 0,
		object,
		site: 0,
		began,
		ended,
		size: field("size", 0),
		offset: field("offset", UNKNOWN_OFFSET),
	});
	rows.took_seq();
}

fn object(
	rows: &mut Rows<'_>,
	objects: &mut HashMap<Key, u32>,
	about: &ObjectDef,
	seq: u64,
) -> u32 {
	if let (false, Some(&known)) = (about.created, objects.get(&about.key)) {
		return known;
	}
	let parent = about.parent.as_ref().map_or(0, |parent| self::object(rows, objects, parent, seq));
	let object = objects.len() as u32 + 1;
	let created_by = if about.created { seq } else { NO_SEQ };
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
