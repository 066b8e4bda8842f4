//! Rounds of numbers into a file of samples: `docs/stream-format.md`. What does not change is not written
//! again; what is written is whole after each round, whatever becomes of the agent.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fathom_stream::{ChunkWriter, Clock, Header, Samples, Series, chunk_flag};

use crate::error::{AgentError, At};
use crate::values::{Key, Values};

/// Rows of a chunk after which another is begun; the format allows 1 MiB.
const CHUNK_BYTES: usize = 256 << 10;
/// Values of one record, so that a chunk's last one cannot burst it.
const RECORD_VALUES: usize = 1 << 14;
/// Numbers of a node at a time; a client of a thousand Lustre targets has some ten thousand.
const MOST_SERIES: usize = 1 << 16;
/// Kind of the marks that are about samples.
const SAMPLES: &str = "samples";
/// Rounds after which all names are written again.
const NAMES_EVERY: u64 = 256;

/// A number that was sampled in the last round.
#[derive(Debug, Clone, Copy)]
struct State {
	series: u32,
	value: i64,
	/// The last round's value is in the file.
	written: bool,
}

pub struct Recorder {
	path: PathBuf,
	file: File,
	instance: u64,
	chunks: u64,
	pub written: u64,
	budget: u64,
	halvings: u32,
	rounds: u64,
	next_series: u32,
	known: HashMap<Key, State>,
	last: Option<u64>,
	overflow: bool,
}

/// What a round made necessary.
#[derive(Debug, PartialEq, Eq)]
pub enum Pace {
	Keep,
	/// Half of what was left of the budget is used.
	Slower,
	/// The budget is spent.
	Stop,
}

impl Recorder {
	/// A new file in a node's folder.
	pub fn create(folder: &Path, instance: u64, budget: u64) -> Result<Recorder, AgentError> {
		let path = folder.join(format!("agent.{instance:016x}.fts"));
		let file = OpenOptions::new().append(true).create_new(true).open(&path).at(&path)?;
		Ok(Recorder {
			path,
			file,
			instance,
			chunks: 0,
			written: 0,
			budget,
			halvings: 0,
			rounds: 0,
			next_series: 0,
			known: HashMap::new(),
			last: None,
			overflow: false,
		})
	}

	/// Notes one round.
	pub fn round(&mut self, now: Clock, values: Values) -> Result<Pace, AgentError> {
		let mut list = values.list;
		let too_many = list.len() > MOST_SERIES && !std::mem::replace(&mut self.overflow, true);
		list.truncate(MOST_SERIES);
		let mut out = Out::new(self, now);
		if too_many {
			out.mark(
				now,
				SAMPLES,
				&format!("more than {MOST_SERIES} numbers: the rest is left out"),
				0,
			);
		}
		let (mut before, mut current) = (Vec::new(), Vec::new());
		let mut next = HashMap::with_capacity(list.len());
		let names_again = self.rounds.is_multiple_of(NAMES_EVERY);
		for (key, value) in list {
			let state = self.known.remove(&key);
			let series = state.map_or(self.next_series, |state| state.series);
			if state.is_none() {
				self.next_series += 1;
			}
			if state.is_none() || names_again {
				out.name(series, &key);
			}
			let same = state.is_some_and(|state| state.value == value);
			if let Some(state) = state.filter(|state| !same && !state.written) {
				before.push((series, state.value));
			}
			if !same {
				current.push((series, value));
			}
			next.insert(key, State { series, value, written: !same });
		}
		before.extend(unwritten(&self.known));
		if let Some(last) = self.last.replace(now.monotonic) {
			out.values(last, before);
		}
		out.values(now.monotonic, current);
		self.known = next;
		self.rounds += 1;
		let bytes = out.finish(0);
		self.append(&bytes)?;
		self.pace(now)
	}

	/// The last value of what had not changed.
	pub fn finish(&mut self, now: Clock) -> Result<(), AgentError> {
		let known = std::mem::take(&mut self.known);
		let mut out = Out::new(self, now);
		if let Some(last) = self.last {
			out.values(last, unwritten(&known).collect());
		}
		let bytes = out.finish(chunk_flag::LAST);
		self.append(&bytes)
	}

	/// A row for the run's log.
	pub fn mark(
		&mut self,
		now: Clock,
		kind: &str,
		detail: &str,
		value: u64,
	) -> Result<(), AgentError> {
		let mut out = Out::new(self, now);
		out.mark(now, kind, detail, value);
		let bytes = out.finish(0);
		self.append(&bytes)
	}

	fn append(&mut self, chunks: &[Vec<u8>]) -> Result<(), AgentError> {
		for chunk in chunks {
			self.file.write_all(chunk).at(&self.path)?;
			self.written += chunk.len() as u64;
			self.chunks += 1;
		}
		Ok(())
	}

	fn pace(&mut self, now: Clock) -> Result<Pace, AgentError> {
		const LEAST: u64 = 64 << 10;
		let left = self.budget.saturating_sub(self.written);
		if left < LEAST.min(self.budget / 16) {
			self.mark(now, SAMPLES, "the budget is spent: no samples from here on", self.budget)?;
			return Ok(Pace::Stop);
		}
		if left < self.budget >> (self.halvings + 1) {
			self.halvings += 1;
			return Ok(Pace::Slower);
		}
		Ok(Pace::Keep)
	}

	/// The run's log says from when on there are fewer.
	pub fn slower(&mut self, now: Clock, interval: Duration) -> Result<(), AgentError> {
		let used = self.written >> 10;
		let detail = format!("{used} KiB written: from here on every {interval:?}");
		self.mark(now, SAMPLES, &detail, u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX))
	}
}

fn unwritten(known: &HashMap<Key, State>) -> impl Iterator<Item = (u32, i64)> {
	known.values().filter(|state| !state.written).map(|state| (state.series, state.value))
}

/// Chunks that one round fills.
struct Out {
	header: Header,
	chunk: ChunkWriter,
	done: Vec<Vec<u8>>,
}

impl Out {
	fn new(recorder: &Recorder, now: Clock) -> Out {
		let mut header = Header::of_this_process(recorder.instance, recorder.chunks, now);
		header.seal = now;
		Out { chunk: ChunkWriter::new(&header), header, done: Vec::new() }
	}

	fn room(&mut self) {
		if self.chunk.committed() > CHUNK_BYTES {
			self.header.number += 1;
			let full = std::mem::replace(&mut self.chunk, ChunkWriter::new(&self.header));
			self.done.push(full.seal(0));
		}
	}

	fn name(&mut self, series: u32, key: &Key) {
		self.room();
		self.chunk.plain(&Series {
			series,
			instance: key.owner.instance,
			pid: key.owner.pid,
			what: key.what.as_bytes(),
			device: key.device.as_bytes(),
			unit: key.unit.as_bytes(),
		});
	}

	fn values(&mut self, time: u64, mut values: Vec<(u32, i64)>) {
		values.sort_unstable();
		for part in values.chunks(RECORD_VALUES) {
			self.room();
			self.chunk.samples(&Samples { time, values: part.to_vec() });
		}
	}

	fn mark(&mut self, now: Clock, kind: &str, detail: &str, value: u64) {
		self.chunk.mark(now.ticks, kind.as_bytes(), detail.as_bytes(), value);
	}

	fn finish(mut self, flags: u32) -> Vec<Vec<u8>> {
		self.done.push(self.chunk.seal(flags));
		self.done
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::values::{COUNT, Owner};
	use fathom_stream::{Decoder, Item, Record, Segment, chunks};
	use proptest::prelude::*;
	use std::collections::BTreeMap;

	type Point = (u64, i64);

	/// What a reader gets: points of each number, by its name.
	fn read(path: &Path) -> BTreeMap<String, Vec<Point>> {
		let data = std::fs::read(path).unwrap();
		let mut names = BTreeMap::new();
		let mut points: BTreeMap<String, Vec<Point>> = BTreeMap::new();
		let mut decoder = Decoder::new();
		for piece in chunks(&data) {
			let Segment::Chunk(chunk) = piece else { panic!("{piece:?}") };
			let mut rows = decoder.rows(&chunk);
			while let Some(item) = rows.next() {
				match item.unwrap() {
					Item::Record(Record::Series(s)) => {
						names.insert(s.series, String::from_utf8(s.what.to_vec()).unwrap());
					}
					Item::Record(Record::Samples(s)) => {
						for (series, value) in s.values {
							let name = names[&series].clone();
							points.entry(name).or_default().push((s.time, value));
						}
					}
					_ => {}
				}
			}
		}
		points
	}

	fn values(row: &[Option<i64>]) -> Values {
		let mut values = Values { owner: Owner::default(), list: Vec::new() };
		for (i, value) in row.iter().enumerate() {
			if let Some(value) = value {
				values.of_device(format!("n{i}"), "", COUNT, *value as u64);
			}
		}
		values
	}

	fn at(time: u64) -> Clock {
		Clock { ticks: time, monotonic: time, realtime: time + 1 }
	}

	struct Scratch(PathBuf);

	impl Scratch {
		fn new(name: &str) -> Scratch {
			let folder = std::env::temp_dir().join(format!("fathom-{name}-{}", std::process::id()));
			std::fs::create_dir_all(&folder).unwrap();
			Scratch(folder)
		}
	}

	impl Drop for Scratch {
		fn drop(&mut self) {
			let _ = std::fs::remove_dir_all(&self.0);
		}
	}

	/// The value that a reader sees at `time`: on the line between the points around it.
	fn seen(points: &[Point], time: u64) -> Option<i64> {
		if let Some(hit) = points.iter().find(|point| point.0 == time) {
			return Some(hit.1);
		}
		let after = points.iter().position(|point| point.0 > time)?;
		let (left, right) = (points[after.checked_sub(1)?], points[after]);
		let share = (time - left.0) as f64 / (right.0 - left.0) as f64;
		Some(left.1 + ((right.1 - left.1) as f64 * share) as i64)
	}

	proptest! {
		#[test]
		fn every_sample_can_be_had_back(
			rounds in prop::collection::vec(prop::collection::vec(0i64..3, 4), 1..40),
		) {
			let folder = Scratch::new("recorder");
			let mut recorder = Recorder::create(&folder.0, rounds.len() as u64, 1 << 20).unwrap();
			for (i, row) in rounds.iter().enumerate() {
				let row: Vec<_> = row.iter().map(|v| Some(*v)).collect();
				recorder.round(at(1000 + i as u64 * 10), values(&row)).unwrap();
			}
			recorder.finish(at(1 << 40)).unwrap();
			let points = read(&recorder.path);
			for (i, row) in rounds.iter().enumerate() {
				for (n, value) in row.iter().enumerate() {
					let got = seen(&points[&format!("n{n}")], 1000 + i as u64 * 10);
					prop_assert_eq!(got, Some(*value), "round {} of n{}", i, n);
				}
			}
		}
	}

	#[test]
	fn what_ends_keeps_its_last_value() {
		let folder = Scratch::new("ends");
		let mut recorder = Recorder::create(&folder.0, 1, 1 << 20).unwrap();
		for (i, row) in [[Some(5), Some(1)], [Some(5), Some(2)], [None, Some(3)]].iter().enumerate()
		{
			recorder.round(at(i as u64), values(row)).unwrap();
		}
		let points = read(&recorder.path);
		assert_eq!(points["n0"], [(0, 5), (1, 5)]);
		assert_eq!(points["n1"], [(0, 1), (1, 2), (2, 3)]);
	}

	#[test]
	fn a_budget_is_kept_by_sampling_less() {
		let folder = Scratch::new("budget");
		let budget = 256 << 10;
		let mut recorder = Recorder::create(&folder.0, 2, budget).unwrap();
		let (mut slower, mut rounds) = (0, 0u64);
		loop {
			let row: Vec<_> = (0..50).map(|i| Some((rounds * 50 + i) as i64)).collect();
			rounds += 1;
			match recorder.round(at(rounds), values(&row)).unwrap() {
				Pace::Keep => {}
				Pace::Slower => slower += 1,
				Pace::Stop => break,
			}
		}
		assert!((2..20).contains(&slower), "{slower} times slower");
		let size = std::fs::metadata(&recorder.path).unwrap().len();
		assert!(size <= budget && size > budget / 2, "{size} of {budget} bytes");
		assert_eq!(size, recorder.written);
	}

	#[test]
	fn ten_thousand_targets_are_split_into_chunks() {
		let folder = Scratch::new("split");
		let mut recorder = Recorder::create(&folder.0, 3, 1 << 30).unwrap();
		for round in 0..2 {
			let row: Vec<_> = (0..60_000).map(|i| Some(i * 3 + round)).collect();
			recorder.round(at(round as u64), values(&row)).unwrap();
		}
		let points = read(&recorder.path);
		assert_eq!(points.len(), 60_000);
		assert!(points.values().all(|points| points.len() == 2));
	}
}
