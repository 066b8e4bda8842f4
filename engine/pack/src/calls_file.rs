//! A part of `calls`: columns of few values as runs, the others by the general writer.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use parquet::arrow::ArrowSchemaConverter;
use parquet::arrow::add_encoded_arrow_schema_to_metadata;
use parquet::arrow::arrow_writer::{ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::errors::{ParquetError, Result};
use parquet::file::writer::SerializedFileWriter;

use crate::column::schema_of;
use crate::columns::{CallColumns, OFFSET_FROM, SCATTERED, STATES};
use crate::define::Op;
use crate::error::{At, PackError};
use crate::output::{GROUP_ROWS, properties};
use crate::runs::{Meaning, RunColumn};
use crate::schema;

/// Texts of the ops' columns: by op the number of its text, and the texts.
pub struct OpTexts {
	layer: (Vec<u32>, Vec<String>),
	name: (Vec<u32>, Vec<String>),
	kind: (Vec<u32>, Vec<String>),
}

impl OpTexts {
	pub fn new(ops: &[Op]) -> OpTexts {
		OpTexts {
			layer: numbered(ops.iter().map(|op| &op.layer)),
			name: numbered(ops.iter().map(|op| &op.name)),
			kind: numbered(ops.iter().map(|op| &op.kind)),
		}
	}
}

fn numbered<'t>(all: impl Iterator<Item = &'t String>) -> (Vec<u32>, Vec<String>) {
	let mut texts: Vec<String> = Vec::new();
	let number = |text: &String| {
		let at = texts.iter().position(|known| known == text).unwrap_or_else(|| {
			texts.push(text.clone());
			texts.len() - 1
		});
		at as u32
	};
	(all.map(number).collect(), texts)
}

/// A column of the row group that is being written.
enum Column {
	Runs(RunColumn),
	Plain(Box<ArrowColumnWriter>),
}

pub struct CallsFile<W: Write + Send> {
	schema: SchemaRef,
	writer: SerializedFileWriter<W>,
	group: Vec<Column>,
	groups: usize,
	rows: usize,
}

impl<W: Write + Send> CallsFile<W> {
	pub fn new(path: &Path, sink: W) -> std::result::Result<Self, PackError> {
		let schema = schema_of(&schema::CALLS);
		let mut properties = properties(&schema, &SCATTERED);
		add_encoded_arrow_schema_to_metadata(&schema, &mut properties);
		let types = ArrowSchemaConverter::new().convert(&schema).at(path)?;
		let writer = SerializedFileWriter::new(sink, types.root_schema_ptr(), Arc::new(properties));
		let writer = writer.at(path)?;
		Ok(CallsFile { schema, writer, group: Vec::new(), groups: 0, rows: 0 })
	}

	/// Takes all rows of `columns`.
	pub fn write(&mut self, columns: &mut CallColumns, texts: &OpTexts) -> Result<()> {
		if self.group.is_empty() {
			self.begin_group(texts)?;
		}
		self.rows += columns.len();
		columns.look_over();
		for (field, column) in self.schema.fields().iter().zip(&mut self.group) {
			match column {
				Column::Runs(runs) => fill(runs, columns, field.name(), texts)?,
				Column::Plain(writer) => {
					let array = columns.array(field.name())?;
					for leaf in compute_leaves(field, &array)? {
						writer.write(&leaf)?;
					}
				}
			}
		}
		columns.clear();
		if self.rows >= GROUP_ROWS { self.end_group() } else { Ok(()) }
	}

	fn begin_group(&mut self, texts: &OpTexts) -> Result<()> {
		let factory = ArrowRowGroupWriterFactory::new(&self.writer, self.schema.clone());
		let writers = factory.create_column_writers(self.groups)?;
		let column = |(field, writer): (&Arc<arrow_schema::Field>, ArrowColumnWriter)| match meaning(
			field.name(),
			texts,
		) {
			Some(meaning) => Column::Runs(RunColumn::new(meaning, field.is_nullable())),
			None => Column::Plain(Box::new(writer)),
		};
		self.group = self.schema.fields().iter().zip(writers).map(column).collect();
		self.groups += 1;
		Ok(())
	}

	fn end_group(&mut self) -> Result<()> {
		if self.group.is_empty() {
			return Ok(());
		}
		let types = self.writer.schema_descr().columns().to_vec();
		let mut group = self.writer.next_row_group()?;
		for (column, kind) in self.group.drain(..).zip(types) {
			match column {
				Column::Plain(writer) => writer.close()?.append_to_row_group(&mut group)?,
				Column::Runs(runs) => {
					let (bytes, close) = runs.close(kind)?;
					group.append_column(&bytes::Bytes::from(bytes), close)?;
				}
			}
		}
		group.close()?;
		self.rows = 0;
		Ok(())
	}

	pub fn close(mut self) -> Result<W> {
		self.end_group()?;
		self.writer.into_inner()
	}
}

/// Which columns are written as runs, and what their values mean.
fn meaning(column: &str, texts: &OpTexts) -> Option<Meaning> {
	let fixed = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
	Some(match column {
		"stream" | "process" | "thread" | "rank" | "depth" | "object" | "file" | "error"
		| "site" | "selection" => Meaning::Number,
		"layer" => Meaning::Text(texts.layer.1.clone()),
		"op" => Meaning::Text(texts.name.1.clone()),
		"kind" => Meaning::Text(texts.kind.1.clone()),
		"offset_from" => Meaning::Text(fixed(&OFFSET_FROM)),
		"state" => Meaning::Text(fixed(&STATES)),
		_ => return None,
	})
}

fn fill(runs: &mut RunColumn, columns: &CallColumns, name: &str, texts: &OpTexts) -> Result<()> {
	use crate::columns::has;
	let op = |numbers: &[u32], op: u16| numbers.get(usize::from(op)).copied();
	let rows = columns.rows().iter();
	match name {
		"stream" => columns.each_stream(|facts, rows| runs.push(Some(facts.stream), rows)),
		"process" => columns.each_stream(|facts, rows| runs.push(Some(facts.process), rows)),
		"thread" => columns.each_stream(|facts, rows| runs.push(Some(facts.thread), rows)),
		"rank" => columns.each_stream(|facts, rows| runs.push(facts.rank.map(|r| r as u32), rows)),
		"depth" => runs.extend(rows.map(|row| Some(u32::from(row.depth)))),
		"error" => runs.extend(rows.map(|row| Some(row.error as u32))),
		"state" => runs.extend(rows.map(|row| Some(u32::from(row.state)))),
		"layer" => runs.extend(rows.map(|row| op(&texts.layer.0, row.op))),
		"op" => runs.extend(rows.map(|row| op(&texts.name.0, row.op))),
		"kind" => runs.extend(rows.map(|row| op(&texts.kind.0, row.op))),
		"object" => runs.extend(rows.map(|row| row.if_has(has::OBJECT, row.object))),
		"file" => runs.extend(rows.map(|row| row.if_has(has::FILE, row.file))),
		"site" => runs.extend(rows.map(|row| row.if_has(has::SITE, row.site))),
		"selection" => runs.extend(rows.map(|row| row.if_has(has::SELECTION, row.selection))),
		"offset_from" => {
			runs.extend(rows.map(|row| row.if_has(has::OFFSET_FROM, u32::from(row.offset_from))));
		}
		_ => return Err(ParquetError::General(format!("calls have no column of runs {name}"))),
	}
	Ok(())
}
