//! Second pass: parts of `calls`, `args` and `links`, each written by one thread.

use std::collections::HashMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::SchemaRef;
use fathom_sink::entries;
use fathom_stream::Decoder;
use parquet::arrow::ArrowWriter;
use serde::{Deserialize, Serialize};

use crate::calls::{Out, StreamRows, Writing};
use crate::calls_file::{CallsFile, OpTexts};
use crate::clock::Line;
use crate::collectives::CallNumbers;
use crate::column::schema_of;
use crate::columns::{LinkColumns, StreamFacts};
use crate::common_values::Top;
use crate::counters::{Key, Sum};
use crate::define::Op;
use crate::error::{At, PackError};
use crate::heat::{Bin, Heat, HeatKey};
use crate::image::{Content, Loaded};
use crate::image_maps::{FieldPlan, ImageMaps, Map};
use crate::merged::{ImageState, Merged};
use crate::outermost::{Inside, Pending};
use crate::output::properties;
use crate::progress::Progress;
use crate::schema;
use crate::server_links::{FileAccesses, Watched};
use crate::survey::{Interrupted, ordinals};
use crate::survey_image::ordered;
use crate::walk::Walker;

/// Rows of one part: few enough that a reader can take them in parallel, enough that there are few files.
pub const PART_ROWS: u64 = 4 << 20;

/// What all parts need to know of the run.
pub struct Writer<'r> {
	pub merged: &'r Merged,
	pub lines: &'r [Line],
	pub collectives: &'r [CallNumbers],
	pub folder: &'r Path,
	pub progress: &'r Progress,
	pub heat_width: i64,
	part_rows: u64,
	op_texts: OpTexts,
	plans: Vec<FieldPlan>,
	arg_names: HashMap<String, u16>,
	arg_values: ArrayRef,
	pub watched: Watched,
}

/// What a part adds to the small tables.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Written {
	pub sums: Vec<(Key, Sum)>,
	/// With their keys.
	pub tops: Vec<(Key, Top, Option<String>)>,
	pub heat: Vec<(HeatKey, i64, Bin)>,
	/// Calls and operations of servers on the same files.
	pub file_accesses: FileAccesses,
	/// Calls whose state is not `done`.
	pub unfinished: u64,
}

impl Written {
	/// What an image's calls come to.
	fn take(&mut self, out: Out, datatypes: &HashMap<u32, String>) {
		let (sums, tops) = out.counters.into_rows();
		for top in tops {
			let number = u32::try_from(top.value).ok().filter(|_| top.what.has_name());
			let label = number.and_then(|number| datatypes.get(&number).cloned());
			self.tops.push((sums[top.row as usize].0, top, label));
		}
		self.sums.extend(sums);
		self.heat.extend(out.heat.into_rows());
		self.file_accesses.add(out.file_accesses);
	}

	pub fn add(&mut self, other: Written) {
		self.sums.extend(other.sums);
		self.tops.extend(other.tops);
		self.heat.extend(other.heat);
		self.file_accesses.add(other.file_accesses);
		self.unfinished += other.unfinished;
	}

	pub fn sort(&mut self) {
		self.sums.sort_unstable_by_key(|(key, _)| *key);
		self.tops.sort_by_key(|(key, top, _)| (*key, top.what)); // the most frequent stay first
		self.heat.sort_unstable_by_key(|(key, at, _)| (*key, *at));
	}
}

/// Images whose calls go into the same part, or one image that takes several.
pub type Part = Vec<usize>;

impl<'r> Writer<'r> {
	pub fn new(
		merged: &'r Merged,
		lines: &'r [Line],
		collectives: &'r [CallNumbers],
		folder: &'r Path,
		progress: &'r Progress,
		heat_width: i64,
		part_rows: u64,
	) -> Self {
		let mut names: Vec<String> =
			merged.ops.iter().flat_map(|op| op.fields.iter().cloned()).collect();
		names.extend(merged.images.iter().flat_map(|i| i.survey.text_names.iter().cloned()));
		names.sort();
		names.dedup();
		names.truncate(usize::from(u16::MAX));
		let arg_names: HashMap<String, u16> =
			names.iter().enumerate().map(|(i, name)| (name.clone(), i as u16)).collect();
		let number = |name: &str| arg_names.get(name).copied().unwrap_or(0);
		let layer =
			|op: &Op| merged.layers().position(|layer| layer == op.layer).unwrap_or(0) as u8;
		let plans = merged.ops.iter().map(|op| FieldPlan::new(op, layer(op), number)).collect();
		Writer {
			merged,
			lines,
			collectives,
			folder,
			progress,
			heat_width,
			part_rows,
			op_texts: OpTexts::new(&merged.ops),
			plans,
			arg_values: Arc::new(StringArray::from(names)),
			watched: Watched::new(merged, lines),
			arg_names,
		}
	}

	pub fn events(&self, part: &Part) -> u64 {
		part.iter().map(|&image| self.merged.images[image].survey.events()).sum()
	}

	/// Neighbouring processes together, up to the size of a part, and about so many parts at least, where there are
	/// as many processes.
	pub fn parts(&self, least: usize) -> Vec<Part> {
		let most = self.part_rows.min(self.merged.events().div_ceil(least as u64));
		let mut order: Vec<usize> = (0..self.merged.images.len()).collect();
		order.sort_by_key(|&i| self.merged.images[i].streams.iter().min().copied());
		let mut parts: Vec<Part> = Vec::new();
		let mut rows = 0;
		for image in order {
			let events = self.merged.images[image].survey.events();
			match parts.last_mut() {
				Some(part) if rows + events <= most => {
					part.push(image);
					rows += events;
				}
				_ => {
					parts.push(vec![image]);
					rows = events;
				}
			}
		}
		if parts.is_empty() {
			parts.push(Vec::new()); // a run without calls has tables too
		}
		parts
	}

	/// Writes one part.
	pub fn write(&self, part: &Part) -> Result<Written, PackError> {
		let process = |image: Option<&usize>| {
			image.and_then(|&i| self.merged.images[i].processes.iter().min().copied()).unwrap_or(0)
		};
		let name = format!("{:06}-{:06}", process(part.first()), process(part.last()));
		let mut files = Files::open(self, name, 0)?;
		let mut written = Written::default();
		for &image in part {
			let state = &self.merged.images[image];
			let loaded = Loaded::read(&state.image)?;
			let mut out = Out { heat: Heat::new(self.heat_width), ..Out::default() };
			self.image(image, &loaded.content(), &mut files, &mut out)?;
			files.flush(self, &mut out)?;
			written.unfinished += out.unfinished;
			written.take(out, &state.survey.definitions.datatypes);
		}
		files.close()?;
		Ok(written)
	}

	/// All streams of an image, one after another, in the order of their indexes.
	fn image(
		&self,
		image: usize,
		content: &Content<'_>,
		files: &mut Files,
		out: &mut Out,
	) -> Result<(), PackError> {
		let (state, maps) = (&self.merged.images[image], self.maps(image));
		let ordinals = ordinals(&state.survey);
		let streams = ordered(&content.streams);
		let mut order: Vec<usize> = (0..streams.len()).collect();
		order.sort_by_key(|&i| state.streams[i]);
		let mut decoder = Decoder::new();
		for local in order {
			let line = &self.lines[state.clock];
			let (mut clock, mut walker) = (line.reader(), Walker::default());
			let mut rows = stream_rows(state, &maps, &ordinals, local, line);
			out.calls.begin_stream(rows.facts);
			for chunk in streams[local].chunks.iter().map(Some).chain([None]) {
				let mut failed = None;
				let mut full = |out: &mut Out| {
					if failed.is_none() {
						failed = files.flush(self, out).err();
					}
				};
				let mut writing =
					Writing { rows: &mut rows, clock: &mut clock, out, full: &mut full };
				if let Some(chunk) = chunk {
					walker.chunk(&mut decoder, chunk, &mut writing);
				} else {
					walker.finish(state.survey.alive, &mut writing);
					writing.finish();
				}
				failed.map_or(Ok(()), Err)?;
			}
		}
		Ok(())
	}

	pub fn maps(&self, image: usize) -> ImageMaps<'_> {
		let state = &self.merged.images[image];
		let unknown_op = self.merged.ops.len() as u16 - 1;
		let mut maps = ImageMaps {
			ops: Map::default(),
			unknown_op,
			plans: &self.plans,
			objects: Map::default(),
			sites: Map::default(),
			selections: Map::default(),
			first_selection: state.first_selection,
			shapes: Vec::with_capacity(state.selections.len()),
			collectives: self.collectives.get(image).cloned().unwrap_or_default(),
			arg_names: &self.arg_names,
			streams: &self.merged.streams,
			watched: &self.watched,
			runtime: &self.merged.runtime,
		};
		for (number, op) in &state.survey.definitions.ops {
			let op = self.merged.op_numbers.get(op).copied().unwrap_or(unknown_op);
			maps.ops.insert(*number, op);
		}
		for (i, (number, file)) in state.objects.iter().enumerate() {
			maps.objects.insert(*number, (state.first_object + i as u32, *file));
		}
		for (number, site) in &state.sites {
			maps.sites.insert(*number, *site);
		}
		for (i, number) in state.selections.iter().enumerate() {
			maps.selections.insert(*number, state.first_selection + i as u32);
			maps.shapes.push(&state.survey.definitions.selections[number]);
		}
		maps
	}
}

pub fn stream_rows<'p>(
	state: &ImageState,
	maps: &'p ImageMaps<'p>,
	ordinals: &'p [Option<Vec<u32>>],
	local: usize,
	line: &Line,
) -> StreamRows<'p> {
	let survey = &state.survey;
	let stream = &survey.streams[local];
	let rank = state.identity(stream.pid).rank.and_then(|rank| i32::try_from(rank).ok());
	let mut interrupted = HashMap::new();
	let mut side_time: HashMap<u64, i64> = HashMap::new();
	let mut clock = line.reader();
	for ((side, seq), inside) in &survey.interrupted {
		if *side as usize == local {
			interrupted.insert(*seq, made_in(state, ordinals, inside));
		}
		if inside.stream as usize == local {
			let took = clock.ns(inside.began + inside.duration) - clock.ns(inside.began);
			*side_time.entry(inside.seq).or_default() += took;
		}
	}
	StreamRows {
		facts: StreamFacts {
			stream: state.streams[local],
			process: state.processes[local],
			thread: stream.tid,
			rank,
		},
		local: local as u32,
		other_thread: stream.tid != stream.pid,
		maps,
		ordinals: ordinals[local].as_deref(),
		interrupted,
		end: state.end_of(stream.pid),
		side_time,
		inside: Inside::default(),
		pending: Pending::default(),
		roots_done: 0,
	}
}

/// Id and outermost call's ordinal of the call that a signal handler interrupted.
fn made_in(
	state: &ImageState,
	ordinals: &[Option<Vec<u32>>],
	inside: &Interrupted,
) -> (u64, Interrupted, u32) {
	let stream = inside.stream as usize;
	let id = u64::from(state.streams[stream]) << 40 | inside.seq;
	let ordinal = match &ordinals[stream] {
		None => inside.root as u32,
		Some(list) => list.get(inside.root as usize).copied().unwrap_or(0),
	};
	(id, *inside, ordinal)
}

/// The files of one part. Those of `args` and `links` are made when there is something to write.
struct Files {
	/// The part's, and how many files of it there were before.
	name: String,
	number: usize,
	path: PathBuf,
	calls: CallsFile<File>,
	rows: u64,
	args: PartFile,
	links: PartFile,
}

struct PartFile {
	path: PathBuf,
	schema: SchemaRef,
	writer: Option<ArrowWriter<File>>,
}

impl Files {
	fn open(writer: &Writer<'_>, name: String, number: usize) -> Result<Files, PackError> {
		let place =
			|table: &str| writer.folder.join(table).join(format!("{name}.{number:03}.parquet"));
		let file =
			|table: &str, schema: SchemaRef| PartFile { path: place(table), schema, writer: None };
		let path = place("calls");
		let calls = CallsFile::new(&path, File::create(&path).at(&path)?)?;
		let (args, links) =
			(file("args", schema_of(&schema::ARGS)), file("links", schema_of(&schema::LINKS)));
		Ok(Files { name, number, path, calls, rows: 0, args, links })
	}

	/// The rows so far. Of a long process they go into several files, and lie as if there were one: a call is behind
	/// the one before of its thread.
	fn flush(&mut self, writer: &Writer<'_>, out: &mut Out) -> Result<(), PackError> {
		if self.rows >= writer.part_rows {
			let next = Files::open(writer, self.name.clone(), self.number + 1)?;
			std::mem::replace(self, next).close()?;
		}
		self.rows += out.calls.len() as u64;
		if !out.calls.is_empty() {
			writer.progress.add(out.calls.len() as u64);
			self.calls.write(&mut out.calls, &writer.op_texts).at(&self.path)?;
		}
		if out.args.len() > 0 {
			let batch = out.args.take(&writer.arg_values).at(&self.args.path)?;
			self.args.write(&batch)?;
		}
		if out.links.len() > 0 {
			let batch = out.links.take().at(&self.links.path)?;
			self.links.write(&batch)?;
		}
		Ok(())
	}

	fn close(self) -> Result<(), PackError> {
		self.calls.close().at(&self.path)?;
		self.args.close()?;
		self.links.close()
	}
}

impl PartFile {
	fn open(&mut self) -> Result<&mut ArrowWriter<File>, PackError> {
		match &mut self.writer {
			Some(writer) => Ok(writer),
			empty => {
				let file = File::create(&self.path).at(&self.path)?;
				let properties = properties(&self.schema, &[]);
				let writer = ArrowWriter::try_new(file, self.schema.clone(), Some(properties));
				Ok(empty.insert(writer.at(&self.path)?))
			}
		}
	}

	fn write(&mut self, batch: &RecordBatch) -> Result<(), PackError> {
		let path = self.path.clone();
		self.open()?.write(batch).at(&path)
	}

	fn close(self) -> Result<(), PackError> {
		self.writer.map_or(Ok(()), |writer| writer.close().map(|_| ()).at(&self.path))
	}
}

/// Tables that are folders of parts.
pub const TABLES_IN_PARTS: [&str; 3] = ["calls", "args", "links"];

/// Their folders.
pub fn make_folders(folder: &Path) -> Result<(), PackError> {
	for table in TABLES_IN_PARTS {
		let path = folder.join(table);
		fs::create_dir_all(&path).at(&path)?;
	}
	Ok(())
}

/// A part of `links` that no process recorded.
pub fn write_links(folder: &Path, name: &str, links: &mut LinkColumns) -> Result<(), PackError> {
	if links.len() == 0 {
		return Ok(());
	}
	let path = folder.join("links").join(format!("{name}.parquet"));
	let batch = links.take().at(&path)?;
	let mut file = PartFile { path, schema: schema_of(&schema::LINKS), writer: None };
	file.write(&batch)?;
	file.close()
}

/// An empty part where a table got none, so that its schema is there.
pub fn fill_empty(folder: &Path) -> Result<(), PackError> {
	for (table, schema) in
		[("args", schema_of(&schema::ARGS)), ("links", schema_of(&schema::LINKS))]
	{
		let path = folder.join(table);
		if entries(&path).at(&path)?.is_empty() {
			let path = path.join("empty.parquet");
			let mut file = PartFile { path, schema, writer: None };
			file.open()?;
			file.close()?;
		}
	}
	Ok(())
}
