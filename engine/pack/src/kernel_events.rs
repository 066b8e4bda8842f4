//! What the kernel did, into the table `kernel_events`.

use std::collections::HashMap;

use fathom_stream::{Decoder, Item, KernelEvent, Record, Segment, chunks, kernel_kind};

use crate::error::PackError;
use crate::output::{Table, TableFile};
use crate::tables::Tables;

/// Rows that are in memory at a time.
const BATCH_ROWS: usize = 1 << 16;
const MINOR_BITS: u32 = 20;

struct Row {
	node: u32,
	process: Option<u32>,
	start: i64,
	stop: i64,
	event: KernelEvent,
}

/// Process images by process number, each with its start: an exec makes another of the same number.
type Images = HashMap<u32, Vec<(i64, u32)>>;

impl Tables<'_> {
	pub fn kernel_events(&self) -> Result<(), PackError> {
		let mut table = TableFile::new(self.folder, "kernel_events");
		table.add(columns(&[]))?;
		for (number, node) in self.run.nodes.iter().enumerate() {
			let images = self.images_of(number);
			for file in node.agents.iter().filter(|file| file.of_kernel()) {
				self.kernel_file(number, &file.source.read()?, &images, &mut table)?;
			}
		}
		table.close()
	}

	fn images_of(&self, node: usize) -> Images {
		let mut images = Images::new();
		for (row, facts) in self.merged.processes.iter().zip(self.facts) {
			if self.merged.images[row.image].image.node == node {
				images.entry(row.key.1).or_default().push((facts.start, row.process));
			}
		}
		images.values_mut().for_each(|list| list.sort_unstable());
		images
	}

	/// What is damaged is said with the marks of the file.
	fn kernel_file(
		&self,
		node: usize,
		data: &[u8],
		images: &Images,
		table: &mut TableFile,
	) -> Result<(), PackError> {
		let good = |segment| match segment {
			Segment::Chunk(chunk) => Some(chunk),
			Segment::Skipped(_) => None,
		};
		let all: Vec<_> = chunks(data).filter_map(good).collect();
		let time = self.monotonic(node, &all);
		let mut decoder = Decoder::new();
		let mut batch = Vec::new();
		for chunk in &all {
			let mut rows = decoder.rows(chunk);
			while let Some(item) = rows.next() {
				let Ok(Item::Record(Record::Kernel(event))) = item else { continue };
				let (start, stop) = (time(event.began), time(event.ended));
				let process = images.get(&event.pid).map(|list| image_at(list, start));
				batch.push(Row { node: node as u32, process, start, stop, event });
			}
			if batch.len() >= BATCH_ROWS {
				table.add(columns(&std::mem::take(&mut batch)))?;
			}
		}
		table.add(columns(&batch))
	}
}

/// The one that ran then; before the first was recorded the loader worked for it.
fn image_at(images: &[(i64, u32)], time: i64) -> u32 {
	let begun = images.partition_point(|(start, _)| *start <= time);
	images[begun.saturating_sub(1)].1
}

fn is_request(kind: u32) -> bool {
	matches!(kind, kernel_kind::READ | kernel_kind::WRITE | kernel_kind::FLUSH | kernel_kind::OTHER)
}

fn name(kind: u32) -> &'static str {
	kernel_kind::NAMES.get(kind as usize).copied().unwrap_or(kernel_kind::NAMES[0])
}

fn device(device: u32) -> Option<String> {
	let minor = device & ((1 << MINOR_BITS) - 1);
	(device != 0).then(|| format!("{}:{minor}", device >> MINOR_BITS))
}

fn columns(rows: &[Row]) -> Table {
	let each = || rows.iter().map(|row| row.event);
	let known = |number: u32| (number != 0).then_some(number);
	let moves = |event: &KernelEvent| event.kind == kernel_kind::PAGES || is_request(event.kind);
	let placed = |event: &KernelEvent| moves(event) || event.kind == kernel_kind::COMMIT;
	Table::default()
		.u32("node", rows.iter().map(|row| row.node).collect())
		.u32_or("process", rows.iter().map(|row| row.process).collect())
		.u32_or("pid", each().map(|event| known(event.pid)).collect())
		.u32_or("tid", each().map(|event| known(event.tid)).collect())
		.text("event", each().map(|event| name(event.kind)).collect())
		.i64("start", rows.iter().map(|row| row.start).collect())
		.i64("stop", rows.iter().map(|row| row.stop).collect())
		.i64_or("queued", each().map(|e| is_request(e.kind).then_some(e.queued as i64)).collect())
		.text_or("device", each().map(|event| device(event.device)).collect())
		.u64_or("inode", each().map(|event| (event.inode != 0).then_some(event.inode)).collect())
		.i64_or("at", each().map(|e| placed(&e).then_some(e.at as i64)).collect())
		.i64_or("bytes", each().map(|e| moves(&e).then_some(e.bytes as i64)).collect())
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn an_event_belongs_to_the_image_that_ran_then() {
		let images = [(100, 0), (200, 1)];
		for (time, process) in [(0, 0), (100, 0), (199, 0), (200, 1), (999, 1)] {
			assert_eq!(image_at(&images, time), process, "at {time}");
		}
	}

	#[test]
	fn devices_as_the_mount_table_names_them() {
		assert_eq!(device(254 << MINOR_BITS | 3).as_deref(), Some("254:3"));
		assert_eq!(device(0), None);
	}
}
