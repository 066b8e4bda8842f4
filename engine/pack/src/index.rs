//! Numbers that outlive a pack: what earlier tables called each process and stream.

use std::collections::HashMap;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{UInt32Type, UInt64Type};
use bytes::Bytes;
use fathom_sink::{IfThere, read_file};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::error::{At, PackError};

/// A process image, and in it the process: a vfork's child shares its parent's image.
pub type ProcessKey = (u64, u32);

#[derive(Debug, Default)]
pub struct Index {
	processes: HashMap<ProcessKey, u32>,
	/// The first number that no process has had.
	next: u32,
	pub streams: HashMap<u64, u32>,
}

impl Index {
	/// Of the tables in `folder`; empty where there are none.
	pub fn read(folder: &Path) -> Result<Index, PackError> {
		let mut index = Index::default();
		each_row(&folder.join("processes.parquet"), &["process", "pid", "instance"], |row| {
			index.processes.insert((row[2], row[1] as u32), row[0] as u32);
			index.next = index.next.max((row[0] as u32).saturating_add(1));
		})?;
		each_row(&folder.join("streams.parquet"), &["stream", "id"], |row| {
			index.streams.insert(row[1], row[0] as u32);
		})?;
		Ok(index)
	}

	pub fn process(&mut self, key: ProcessKey) -> u32 {
		*self.processes.entry(key).or_insert_with(|| {
			let number = self.next;
			self.next = number.saturating_add(1);
			number
		})
	}
}

/// Calls `take` with the named unsigned columns of every row.
fn each_row(path: &Path, columns: &[&str], take: impl FnMut(&[u64])) -> Result<(), PackError> {
	if let Some(table) = read_file(path).if_there().at(path)? {
		rows_of(table.into(), columns, take);
	}
	Ok(())
}

/// A table that is damaged gives no rows: then everything is numbered anew.
fn rows_of(table: Bytes, columns: &[&str], mut take: impl FnMut(&[u64])) {
	let Ok(builder) = ParquetRecordBatchReaderBuilder::try_new(table) else { return };
	let Ok(reader) = builder.build() else { return };
	let mut row = vec![0; columns.len()];
	for batch in reader.flatten() {
		for i in 0..batch.num_rows() {
			for (value, name) in row.iter_mut().zip(columns) {
				let Some(column) = batch.column_by_name(name) else { return };
				*value = match (
					column.as_primitive_opt::<UInt32Type>(),
					column.as_primitive_opt::<UInt64Type>(),
				) {
					(Some(values), _) => u64::from(values.value(i)),
					(_, Some(values)) => values.value(i),
					_ => return,
				};
			}
			take(&row);
		}
	}
}
