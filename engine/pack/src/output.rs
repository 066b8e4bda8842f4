//! Parquet files: how they are coded, and a builder for tables that fit into memory.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, PrimitiveBuilder, StringBuilder};
use arrow_array::types::{ArrowPrimitiveType, UInt32Type, UInt64Type};
use arrow_array::{
	ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
	UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use crate::column::schema_of;
use crate::error::{At, PackError};
use crate::schema::TABLES;

/// Rows of one row group.
pub const GROUP_ROWS: usize = 1 << 20;
/// Columns by which readers skip row groups: only these have their least and largest value noted.
const LOOKED_UP: [&str; 8] =
	["id", "stream", "process", "rank", "start", "file", "call", "from_call"];
const PAGE_ROWS: usize = 1 << 17;

/// zstd over delta coding for integers and dictionaries for text. Columns named in `scattered` hold numbers
/// that are alike but in no order: their bytes are split instead.
pub fn properties(schema: &Schema, scattered: &[&str]) -> WriterProperties {
	let level = ZstdLevel::try_new(1).unwrap_or_default();
	let mut properties = WriterProperties::builder()
		.set_compression(Compression::ZSTD(level))
		.set_statistics_enabled(EnabledStatistics::Chunk)
		.set_dictionary_enabled(false)
		.set_max_row_group_row_count(Some(GROUP_ROWS))
		.set_data_page_row_count_limit(PAGE_ROWS)
		.set_write_batch_size(8192)
		.set_offset_index_disabled(true)
		.set_created_by("fathom-engine".into());
	for field in schema.fields() {
		let path = ColumnPath::from(field.name().as_str());
		if !LOOKED_UP.contains(&field.name().as_str()) {
			properties =
				properties.set_column_statistics_enabled(path.clone(), EnabledStatistics::None);
		}
		properties = match field.data_type() {
			DataType::Utf8 | DataType::Dictionary(..) => {
				properties.set_column_dictionary_enabled(path, true)
			}
			kind if kind.is_integer() && scattered.contains(&field.name().as_str()) => {
				properties.set_column_encoding(path, Encoding::BYTE_STREAM_SPLIT)
			}
			kind if kind.is_integer() => {
				properties.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED)
			}
			_ => properties,
		};
	}
	properties.build()
}

/// A table under construction: its columns in order.
#[derive(Default)]
pub struct Table {
	fields: Vec<Field>,
	columns: Vec<ArrayRef>,
}

type Values<T> = Vec<T>;

impl Table {
	fn add(mut self, name: &str, nullable: bool, column: ArrayRef) -> Self {
		self.fields.push(Field::new(name, column.data_type().clone(), nullable));
		self.columns.push(column);
		self
	}

	pub fn u32(self, name: &str, values: Values<u32>) -> Self {
		self.add(name, false, Arc::new(UInt32Array::from(values)))
	}

	pub fn u32_or(self, name: &str, values: Values<Option<u32>>) -> Self {
		self.add(name, true, Arc::new(UInt32Array::from(values)))
	}

	pub fn i32(self, name: &str, values: Values<i32>) -> Self {
		self.add(name, false, Arc::new(Int32Array::from(values)))
	}

	pub fn i32_or(self, name: &str, values: Values<Option<i32>>) -> Self {
		self.add(name, true, Arc::new(Int32Array::from(values)))
	}

	pub fn u64(self, name: &str, values: Values<u64>) -> Self {
		self.add(name, false, Arc::new(UInt64Array::from(values)))
	}

	pub fn u64_or(self, name: &str, values: Values<Option<u64>>) -> Self {
		self.add(name, true, Arc::new(UInt64Array::from(values)))
	}

	pub fn i64(self, name: &str, values: Values<i64>) -> Self {
		self.add(name, false, Arc::new(Int64Array::from(values)))
	}

	pub fn i64_or(self, name: &str, values: Values<Option<i64>>) -> Self {
		self.add(name, true, Arc::new(Int64Array::from(values)))
	}

	pub fn f64(self, name: &str, values: Values<f64>) -> Self {
		self.add(name, false, Arc::new(Float64Array::from(values)))
	}

	pub fn f64_or(self, name: &str, values: Values<Option<f64>>) -> Self {
		self.add(name, true, Arc::new(Float64Array::from(values)))
	}

	pub fn bool(self, name: &str, values: Values<bool>) -> Self {
		self.add(name, false, Arc::new(BooleanArray::from(values)))
	}

	pub fn bool_or(self, name: &str, values: Values<Option<bool>>) -> Self {
		self.add(name, true, Arc::new(BooleanArray::from(values)))
	}

	pub fn text<S: AsRef<str>>(self, name: &str, values: Values<S>) -> Self {
		let column = StringArray::from_iter_values(values);
		self.add(name, false, Arc::new(column))
	}

	pub fn text_or<S: AsRef<str>>(self, name: &str, values: Values<Option<S>>) -> Self {
		self.add(name, true, Arc::new(StringArray::from_iter(values)))
	}

	pub fn texts<'t>(self, name: &str, values: impl Iterator<Item = &'t [String]>) -> Self {
		let mut builder = ListBuilder::new(StringBuilder::new());
		for list in values {
			for text in list {
				builder.values().append_value(text);
			}
			builder.append(true);
		}
		self.add(name, false, Arc::new(builder.finish()))
	}

	pub fn u32s<'t>(self, name: &str, values: impl Iterator<Item = &'t [u32]>) -> Self {
		self.add(name, false, lists::<UInt32Type>(values))
	}

	pub fn u64s<'t>(self, name: &str, values: impl Iterator<Item = &'t [u64]>) -> Self {
		self.add(name, false, lists::<UInt64Type>(values))
	}

	/// `None`: no list.
	pub fn u64s_or<'t>(self, name: &str, values: impl Iterator<Item = Option<&'t [u64]>>) -> Self {
		let mut builder = ListBuilder::new(PrimitiveBuilder::<UInt64Type>::new());
		for list in values {
			builder.values().append_slice(list.unwrap_or_default());
			builder.append(list.is_some());
		}
		self.add(name, true, Arc::new(builder.finish()))
	}

	/// Writes the table whole.
	pub fn write(self, folder: &Path, name: &str) -> Result<(), PackError> {
		let mut file = TableFile::new(folder, name);
		file.add(self)?;
		file.close()
	}
}

/// A table's file that gets its rows in several goes; made with the first.
pub struct TableFile {
	path: PathBuf,
	name: String,
	writer: Option<ArrowWriter<File>>,
}

impl TableFile {
	pub fn new(folder: &Path, name: &str) -> TableFile {
		TableFile { path: folder.join(format!("{name}.parquet")), name: name.into(), writer: None }
	}

	pub fn add(&mut self, rows: Table) -> Result<(), PackError> {
		let path = &self.path;
		let schema = self.schema(rows.fields)?;
		let batch = RecordBatch::try_new(schema.clone(), rows.columns).at(path)?;
		let writer = match &mut self.writer {
			Some(writer) => writer,
			empty => {
				let file = File::create(path).at(path)?;
				let properties = properties(&schema, &[]);
				empty.insert(ArrowWriter::try_new(file, schema, Some(properties)).at(path)?)
			}
		};
		writer.write(&batch).at(path)
	}

	/// These columns, if they are those of `catalog/tables.toml`.
	fn schema(&self, fields: Vec<Field>) -> Result<SchemaRef, PackError> {
		let known = TABLES.iter().find(|(name, _)| *name == self.name);
		let schema = Arc::new(Schema::new(fields));
		if known.is_none_or(|(_, columns)| schema_of(columns) != schema) {
			let reason =
				format!("catalog/tables.toml has other columns of {}: {schema}", self.name);
			return Err(PackError::Data { path: self.path.clone(), reason });
		}
		Ok(schema)
	}

	pub fn close(self) -> Result<(), PackError> {
		self.writer.map_or(Ok(()), |writer| writer.close().map(|_| ()).at(&self.path))
	}
}

fn lists<'t, T: ArrowPrimitiveType>(values: impl Iterator<Item = &'t [T::Native]>) -> ArrayRef {
	let mut builder = ListBuilder::new(PrimitiveBuilder::<T>::new());
	for list in values {
		builder.values().append_slice(list);
		builder.append(true);
	}
	Arc::new(builder.finish())
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn columns_that_the_catalog_lacks_are_refused() {
		let rows = || Table::default().u32("node", vec![0]).text("host", vec!["n"]);
		let folder = Path::new("/nonexistent");
		for (table, name) in [(rows(), "nodes"), (rows(), "unheard_of"), (Table::default(), "ops")]
		{
			let refused = table.write(folder, name).unwrap_err().to_string();
			assert!(refused.contains("catalog/tables.toml"), "{refused}");
		}
	}
}
