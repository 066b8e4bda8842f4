//! Table `marks`: the run's log.

use super::Tables;
use crate::error::PackError;
use crate::marks::MarkRow;
use crate::output::Table;

impl Tables<'_> {
	/// Those of the streams, and more.
	pub fn marks(&self, more: Vec<MarkRow>) -> Result<(), PackError> {
		let mut rows = self.mark_rows();
		rows.extend(more);
		Table::default()
			.u32_or("process", rows.iter().map(|row| row.process).collect())
			.u32_or("stream", rows.iter().map(|row| row.stream).collect())
			.i64_or("time", rows.iter().map(|row| row.time).collect())
			.text("kind", rows.iter().map(|row| &row.kind).collect())
			.text("detail", rows.iter().map(|row| &row.detail).collect())
			.i64("value", rows.iter().map(|row| row.value).collect())
			.write(self.folder, "marks")
	}

	fn mark_rows(&self) -> Vec<MarkRow> {
		let mut rows = Vec::new();
		for state in &self.merged.images {
			let line = &self.times.lines[state.clock];
			let process = state.processes.first().copied();
			for mark in &state.survey.definitions.marks {
				let stream = state.stream_of(mark.stream);
				rows.push(MarkRow {
					process: stream.map(|i| state.processes[i]).or(process),
					stream: stream.map(|i| state.streams[i]),
					time: Some(line.ns(mark.ticks)),
					kind: mark.kind.clone(),
					detail: mark.detail.clone(),
					value: mark.value as i64,
				});
			}
			for damaged in &state.survey.damage {
				rows.push(MarkRow {
					process,
					kind: "damage".into(),
					detail: format!("{} byte {}: {}", damaged.file, damaged.byte, damaged.reason),
					value: damaged.bytes as i64,
					..MarkRow::default()
				});
			}
			for (i, stream) in state.survey.streams.iter().enumerate() {
				if stream.chunks_missing > 0 {
					rows.push(MarkRow {
						process: Some(state.processes[i]),
						stream: Some(state.streams[i]),
						kind: "missing chunks".into(),
						detail: "numbers that no file has".into(),
						value: stream.chunks_missing as i64,
						..MarkRow::default()
					});
				}
			}
		}
		rows
	}
}
