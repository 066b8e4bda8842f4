//! What a column of a table holds: `schema.rs` has all.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};

/// What a column holds, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
	U8,
	U32,
	U64,
	I32,
	I64,
	F64,
	Bool,
	Text,
	/// Text of a dictionary: of the ops', or of a few.
	Name,
	Choice,
	Texts,
	U32s,
	U64s,
}

impl Kind {
	fn arrow(self) -> DataType {
		let dictionary = |keys| DataType::Dictionary(Box::new(keys), Box::new(DataType::Utf8));
		let list = |of| DataType::List(Arc::new(Field::new_list_field(of, true)));
		match self {
			Kind::U8 => DataType::UInt8,
			Kind::U32 => DataType::UInt32,
			Kind::U64 => DataType::UInt64,
			Kind::I32 => DataType::Int32,
			Kind::I64 => DataType::Int64,
			Kind::F64 => DataType::Float64,
			Kind::Bool => DataType::Boolean,
			Kind::Text => DataType::Utf8,
			Kind::Name => dictionary(DataType::UInt16),
			Kind::Choice => dictionary(DataType::UInt8),
			Kind::Texts => list(DataType::Utf8),
			Kind::U32s => list(DataType::UInt32),
			Kind::U64s => list(DataType::UInt64),
		}
	}
}

/// A column of a table: `schema.rs` has all.
#[derive(Debug, Clone, Copy)]
pub struct Column {
	name: &'static str,
	kind: Kind,
	nullable: bool,
}

impl Column {
	pub const fn must(name: &'static str, kind: Kind) -> Column {
		Column { name, kind, nullable: false }
	}

	pub const fn may(name: &'static str, kind: Kind) -> Column {
		Column { name, kind, nullable: true }
	}
}

pub fn schema_of(columns: &[Column]) -> SchemaRef {
	let field = |column: &Column| Field::new(column.name, column.kind.arrow(), column.nullable);
	Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}
