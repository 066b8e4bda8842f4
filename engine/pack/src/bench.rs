//! How fast one core reads streams back: decoded only, into Arrow arrays, into Parquet.

use std::collections::HashMap;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Instant;

use fathom_stream::{Decoder, Item, Record};

use crate::calls::{Out, StreamRows, Writing};
use crate::calls_file::{CallsFile, OpTexts};
use crate::clock::Line;
use crate::columns::{OpNames, StreamFacts};
use crate::define::{Definitions, Op};
use crate::error::{At, PackError};
use crate::image::{Content, Loaded};
use crate::image_maps::{FieldPlan, ImageMaps, Map};
use crate::outermost::{Inside, Pending};
use crate::run::{Image, Source, stream_name};
use crate::runtime::Runtime;
use crate::server_links::Watched;
use crate::walk::{Row, Visitor, Walker};

#[derive(Debug, Clone, Default)]
pub struct Rates {
	pub events: u64,
	pub stream_bytes: u64,
	pub table_bytes: u64,
	/// Million events per second, one core, best of the repetitions.
	pub decode: f64,
	pub arrow: f64,
	pub parquet: f64,
}

/// Seconds this thread has run: rates are per core, however many others share it.
fn seconds() -> f64 {
	static BEGIN: OnceLock<Instant> = OnceLock::new();
	let wall = || BEGIN.get_or_init(Instant::now).elapsed().as_secs_f64();
	let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
	let ran = text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok());
	ran.map_or_else(wall, |ns| ns / 1e9)
}

/// Reads the file once, then measures each stage `repeat` times.
pub fn bench(path: &Path, repeat: u32) -> Result<Rates, PackError> {
	let (pid, instance) = stream_name(path).ok_or_else(|| PackError::Data {
		path: path.to_owned(),
		reason: "not named <pid>.<instance>.fts".into(),
	})?;
	let files = vec![Source::own(path)];
	let loaded = Loaded::read(&Image { node: 0, pid, instance, files, bytes: 0 })?;
	let content = loaded.content();
	let mut rates = Rates { stream_bytes: loaded.files[0].1.len() as u64, ..Rates::default() };
	let definitions = define(&content);
	let ops: Vec<Op> = definitions.ops.values().cloned().chain([Op::unknown()]).collect();
	let arg_names = HashMap::new();
	let plans: Vec<FieldPlan> = ops.iter().map(|op| FieldPlan::new(op, 0, |_| 0)).collect();
	let streams = HashMap::new();
	let watched = Watched::default();
	let runtime = Runtime::default();
	let maps = maps(&definitions, &plans, &arg_names, &streams, &watched, &runtime);
	let (names, texts) = (OpNames::new(&ops), OpTexts::new(&ops));
	for _ in 0..repeat {
		let begin = seconds();
		rates.events = decode_only(&content);
		rates.decode = rates.decode.max(rates.events as f64 / (seconds() - begin) / 1e6);
		let begin = seconds();
		each_batch(&content, &maps, &mut |out| {
			out.calls.take(&names).at(path)?;
			Ok(())
		})?;
		rates.arrow = rates.arrow.max(rates.events as f64 / (seconds() - begin) / 1e6);
		let begin = seconds();
		rates.table_bytes = to_parquet(path, &content, &maps, &texts)?;
		rates.parquet = rates.parquet.max(rates.events as f64 / (seconds() - begin) / 1e6);
	}
	Ok(rates)
}

fn define(content: &Content<'_>) -> Definitions {
	let mut definitions = Definitions::default();
	let mut decoder = Decoder::new();
	for chunk in content.streams.iter().flat_map(|stream| &stream.chunks) {
		let mut rows = decoder.rows(chunk);
		while let Some(Ok(item)) = rows.next() {
			if let Item::Record(record) = item {
				definitions.take(chunk.header.pid, chunk.header.stream, &record);
			}
		}
	}
	definitions
}

fn maps<'m>(
	definitions: &Definitions,
	plans: &'m [FieldPlan],
	arg_names: &'m HashMap<String, u16>,
	streams: &'m HashMap<u64, u32>,
	watched: &'m Watched,
	runtime: &'m Runtime,
) -> ImageMaps<'m> {
	let mut maps = ImageMaps {
		watched,
		runtime,
		ops: Map::default(),
		unknown_op: plans.len() as u16 - 1,
		plans,
		objects: Map::default(),
		sites: Map::default(),
		selections: Map::default(),
		first_selection: 0,
		shapes: Vec::new(),
		collectives: HashMap::new(),
		arg_names,
		streams,
	};
	for (i, number) in definitions.ops.keys().enumerate() {
		maps.ops.insert(*number, i as u16);
	}
	for (i, number) in definitions.objects.keys().enumerate() {
		maps.objects.insert(*number, (i as u32, Some(i as u32)));
	}
	for (i, number) in definitions.sites.keys().enumerate() {
		maps.sites.insert(*number, i as u32);
	}
	maps
}

struct Count(u64);

impl Visitor for Count {
	fn row(&mut self, row: &Row<'_>) {
		self.0 += u64::from(row.ended >= row.began.unwrap_or(0));
	}

	fn record(&mut self, _: &Record<'_>) {}
}

fn decode_only(content: &Content<'_>) -> u64 {
	let mut count = Count(0);
	let mut decoder = Decoder::new();
	for stream in &content.streams {
		let mut walker = Walker::default();
		for chunk in &stream.chunks {
			walker.chunk(&mut decoder, chunk, &mut count);
		}
		walker.finish(false, &mut count);
	}
	count.0
}

fn each_batch(
	content: &Content<'_>,
	maps: &ImageMaps<'_>,
	take: &mut impl FnMut(&mut Out) -> Result<(), PackError>,
) -> Result<(), PackError> {
	let samples: Vec<_> = content
		.streams
		.iter()
		.flat_map(|stream| &stream.chunks)
		.flat_map(|chunk| [chunk.header.begin, chunk.header.seal])
		.filter(|sample| sample.ticks != 0)
		.collect();
	let line = Line::fit(&samples, None);
	let mut decoder = Decoder::new();
	let mut out = Out::default();
	for (index, stream) in content.streams.iter().enumerate() {
		let mut walker = Walker::default();
		let mut rows = StreamRows {
			facts: StreamFacts { stream: index as u32, process: 0, thread: 1, rank: Some(0) },
			local: 0,
			other_thread: false,
			maps,
			ordinals: None,
			interrupted: HashMap::new(),
			end: None,
			side_time: HashMap::new(),
			inside: Inside::default(),
			pending: Pending::default(),
			roots_done: 0,
		};
		let mut clock = line.reader();
		out.calls.begin_stream(rows.facts);
		let mut failed = None;
		let mut full = |out: &mut Out| {
			if failed.is_none() {
				failed = take(out).err();
			}
		};
		let mut writing =
			Writing { rows: &mut rows, clock: &mut clock, out: &mut out, full: &mut full };
		for chunk in &stream.chunks {
			walker.chunk(&mut decoder, chunk, &mut writing);
		}
		walker.finish(false, &mut writing);
		writing.finish();
		full(&mut out);
		failed.map_or(Ok(()), Err)?;
	}
	Ok(())
}

fn to_parquet(
	path: &Path,
	content: &Content<'_>,
	maps: &ImageMaps<'_>,
	texts: &OpTexts,
) -> Result<u64, PackError> {
	let mut file = CallsFile::new(path, Vec::new())?;
	each_batch(content, maps, &mut |out| file.write(&mut out.calls, texts).at(path))?;
	Ok(file.close().at(path)?.len() as u64)
}
