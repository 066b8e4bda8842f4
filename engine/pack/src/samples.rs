//! What agents sampled, into the table `samples`.

use std::collections::{HashMap, HashSet};

use fathom_stream::{Chunk, Decoder, Item, Record, Samples, Segment, chunks};

use crate::clock::{Kind, realtime_offset};
use crate::error::PackError;
use crate::marks::MarkRow;
use crate::output::{Table, TableFile};
use crate::run::AgentFile;
use crate::tables::Tables;

/// Rows that are in memory at a time.
const BATCH_ROWS: usize = 1 << 16;

#[derive(Debug, Default)]
struct Rows {
	node: Vec<u32>,
	process: Vec<Option<u32>>,
	time: Vec<i64>,
	/// Index into the series of the file.
	series: Vec<usize>,
	value: Vec<i64>,
}

/// What a file's numbers stand for.
struct Series {
	process: Option<u32>,
	what: String,
	device: Option<String>,
	unit: String,
}

/// A file as it was read: what it names, its chunks, and what was wrong with it.
struct Content<'a> {
	series: HashMap<u32, usize>,
	all: Vec<Series>,
	chunks: Vec<Chunk<'a>>,
	marks: Vec<MarkRow>,
}

impl Tables<'_> {
	/// Writes the table; returns what there is to say of it.
	pub fn samples(&self) -> Result<Vec<MarkRow>, PackError> {
		let mut table = TableFile::new(self.folder, "samples");
		let mut marks = Vec::new();
		table.add(Rows::default().take(&[]))?;
		for (number, node) in self.run.nodes.iter().enumerate() {
			for agent in &node.agents {
				let data = agent.source.read()?;
				let mut content = self.content(agent, &data);
				self.rows(number, &mut content, &mut table)?;
				marks.append(&mut content.marks);
			}
			marks.extend(node.agent_log.lines().map(|line| MarkRow {
				kind: "agent".into(),
				detail: format!("{}: {line}", node.host),
				..MarkRow::default()
			}));
		}
		table.close()?;
		Ok(marks)
	}

	/// First pass: a name may stand behind the first value that it is for, when a chunk was damaged.
	fn content<'a>(&self, agent: &AgentFile, data: &'a [u8]) -> Content<'a> {
		let mut content = Content {
			series: HashMap::new(),
			all: Vec::new(),
			chunks: Vec::new(),
			marks: Vec::new(),
		};
		let processes: HashMap<_, _> =
			self.merged.processes.iter().map(|row| (row.key, row.process)).collect();
		let damage = |byte: u64, bytes: u64, reason: String| MarkRow {
			kind: "damage".into(),
			detail: format!("{} byte {byte}: {reason}", agent.source.path.display()),
			value: bytes as i64,
			..MarkRow::default()
		};
		let mut strangers = HashSet::new();
		let mut decoder = Decoder::new();
		for segment in chunks(data) {
			let chunk = match segment {
				Segment::Chunk(chunk) => chunk,
				Segment::Skipped(skip) => {
					content.marks.push(damage(skip.offset, skip.bytes, skip.reason.to_string()));
					continue;
				}
			};
			let mut rows = decoder.rows(&chunk);
			while let Some(item) = rows.next() {
				match item {
					Ok(Item::Record(Record::Series(series))) => {
						let process = processes.get(&(series.instance, series.pid)).copied();
						if series.instance != 0 && process.is_none() {
							strangers.insert((series.instance, series.pid));
						} else if !content.series.contains_key(&series.series) {
							content.series.insert(series.series, content.all.len());
							content.all.push(named(&series, process));
						}
					}
					Ok(_) => {}
					Err(bad) => content.marks.push(damage(
						chunk.offset + bad.byte as u64,
						(chunk.bytes.len() - bad.byte) as u64,
						bad.reason.to_string(),
					)),
				}
			}
			content.chunks.push(chunk);
		}
		if !strangers.is_empty() {
			content.marks.push(MarkRow {
				kind: "samples".into(),
				detail: "left out: of processes of which nothing was recorded".into(),
				value: strangers.len() as i64,
				..MarkRow::default()
			});
		}
		content
	}

	fn rows(
		&self,
		node: usize,
		content: &mut Content<'_>,
		table: &mut TableFile,
	) -> Result<(), PackError> {
		let mut marks = Vec::new();
		let time = self.monotonic(node, &content.chunks);
		let mut decoder = Decoder::new();
		let mut batch = Rows::default();
		for chunk in &content.chunks {
			let mut rows = decoder.rows(chunk);
			while let Some(item) = rows.next() {
				match item {
					Ok(Item::Record(Record::Samples(samples))) => {
						batch.push(node, time(samples.time), &samples, content);
					}
					Ok(Item::Record(Record::Mark(mark))) => marks.push(MarkRow {
						time: Some(time(mark.ticks)),
						kind: String::from_utf8_lossy(mark.kind).into_owned(),
						detail: String::from_utf8_lossy(mark.detail).into_owned(),
						value: mark.value as i64,
						..MarkRow::default()
					}),
					_ => {}
				}
			}
			if batch.node.len() >= BATCH_ROWS {
				table.add(batch.take(&content.all))?;
			}
		}
		content.marks.extend(marks);
		table.add(batch.take(&content.all))
	}

	/// From a node's CLOCK_MONOTONIC to the run's time: as its processes' clock was brought there, else by the
	/// node's real-time clock.
	pub fn monotonic(&self, node: usize, chunks: &[Chunk<'_>]) -> impl Fn(u64) -> i64 {
		let boot_id = &self.run.nodes[node].boot_id;
		let mut clocks = self.merged.clocks.iter();
		let own = clocks.position(|c| c.boot_id == *boot_id && c.kind != Kind::Faked);
		let line = own.map(|clock| self.times.monotonic[clock].clone());
		let readings: Vec<_> = chunks.iter().map(|chunk| chunk.header.begin).collect();
		let shift = realtime_offset(&readings).saturating_sub(self.times.started);
		move |ns| {
			line.as_ref().map_or_else(|| (ns as i64).saturating_add(shift), |line| line.ns(ns))
		}
	}
}

fn named(series: &fathom_stream::Series<'_>, process: Option<u32>) -> Series {
	let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
	Series {
		process,
		what: text(series.what),
		device: (!series.device.is_empty()).then(|| text(series.device)),
		unit: text(series.unit),
	}
}

impl Rows {
	fn push(&mut self, node: usize, time: i64, samples: &Samples, content: &Content<'_>) {
		for (series, value) in &samples.values {
			let Some(&series) = content.series.get(series) else { continue };
			self.node.push(node as u32);
			self.process.push(content.all[series].process);
			self.time.push(time);
			self.series.push(series);
			self.value.push(*value);
		}
	}

	fn take(&mut self, all: &[Series]) -> Table {
		let rows = std::mem::take(self);
		let each = || rows.series.iter().map(|&series| &all[series]);
		Table::default()
			.u32("node", rows.node)
			.u32_or("process", rows.process)
			.i64("time", rows.time)
			.text("what", each().map(|series| &series.what).collect())
			.text_or("device", each().map(|series| series.device.as_deref()).collect())
			.i64("value", rows.value)
			.text("unit", each().map(|series| &series.unit).collect())
	}
}
