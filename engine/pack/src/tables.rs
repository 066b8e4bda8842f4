//! The small tables: one row per process, stream, file, object and the like. `docs/tables.md` says what is in them.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use fathom_stream::{ProcessorUse, descriptor_flag, hint_source, object_class, selection_form};

use crate::collectives::CollectiveRow;
use crate::counters::{Key, NO_FILE, NO_OP, Sum};
use crate::define::{Identity, ObjectDef, Op, Target};
use crate::error::PackError;
use crate::files::class_name;
use crate::merge::{ImageState, Merged, ProcessRow};
use crate::missing::missing;
use crate::output::Table;
use crate::run::Run;
use crate::times::Times;
use crate::write::Written;

/// What a process comes to.
#[derive(Debug, Clone, Default)]
pub struct ProcessFacts {
	pub start: i64,
	pub stop: i64,
	pub ended: &'static str,
	pub events: u64,
	pub counted: u64,
	pub chunks: u64,
	pub chunks_missing: u64,
	pub chunks_skipped: u64,
	pub stream_bytes: u64,
	/// Of its threads with streams.
	pub processor_use: Option<ProcessorUse>,
}

pub struct Tables<'r> {
	pub run: &'r Run,
	pub merged: &'r Merged,
	pub times: &'r Times,
	pub folder: &'r Path,
	/// By process.
	pub facts: &'r [ProcessFacts],
	/// The run, where a process was killed.
	pub lasted: Option<i64>,
}

/// Of all processes.
pub fn facts(run: &Run, merged: &Merged, times: &Times) -> Vec<ProcessFacts> {
	let processes = merged.processes.iter().zip(starts(merged));
	processes.map(|(row, start)| facts_of(run, merged, times, row, start)).collect()
}

/// From time 0 to the last thing recorded; of a run of which a process was killed, or that has none, no less than it `lasted`.
pub fn duration(processes: &[ProcessFacts], lasted: Option<i64>) -> i64 {
	processes.iter().map(|facts| facts.stop).chain(lasted).max().unwrap_or(0)
}

impl<'r> Tables<'r> {
	pub fn write(
		&self,
		collectives: &[CollectiveRow],
		written: &Written,
		heat_width: i64,
		links: &[Option<MarkRow>],
	) -> Result<(), PackError> {
		self.runs(written.unfinished)?;
		self.processes()?;
		self.streams()?;
		self.nodes()?;
		self.clocks()?;
		self.files()?;
		self.objects()?;
		self.selections()?;
		self.collectives(collectives)?;
		self.counters(&written.sums)?;
		self.tops(written)?;
		self.heat(written, heat_width)?;
		self.hints()?;
		self.sites()?;
		let mut marks = self.samples()?;
		marks.extend(self.missing());
		marks.extend(links.iter().flatten().cloned());
		self.marks(marks)?;
		self.ops()
	}

	/// What of the run is not here.
	pub fn missing(&self) -> Vec<MarkRow> {
		missing(self.run, &self.identities())
	}

	fn state(&self, row: &ProcessRow) -> &ImageState {
		&self.merged.images[row.image]
	}

	fn identities(&self) -> Vec<Identity> {
		self.merged.processes.iter().map(|row| self.state(row).identity(row.key.1)).collect()
	}

	fn runs(&self, unfinished: u64) -> Result<(), PackError> {
		let images = &self.merged.images;
		let sum = |get: fn(&ProcessFacts) -> u64| self.facts.iter().map(get).sum::<u64>();
		let (events, counted) = (sum(|f| f.events), sum(|f| f.counted));
		let all = events + counted;
		let coverage = if all == 0 { 1.0 } else { events as f64 / all as f64 };
		let damage = || images.iter().flat_map(|state| &state.survey.damage);
		let identities = self.identities();
		let ranks: std::collections::BTreeSet<u32> =
			identities.iter().filter_map(|identity| identity.rank).collect();
		let largest = identities.iter().filter_map(|identity| identity.ranks).max();
		let name = self.run.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
		Table::default()
			.text("name", vec![name.strip_suffix(".fathom").unwrap_or(&name)])
			.i64("started", vec![self.times.started])
			.i64("duration", vec![duration(self.facts, self.lasted)])
			.u32("processes", vec![self.facts.len() as u32])
			.u32("streams", vec![images.iter().map(|state| state.streams.len() as u32).sum()])
			.u32("nodes", vec![self.run.nodes.len() as u32])
			.i32_or("ranks", vec![largest.map(|ranks| ranks as i32)])
			.i32("ranks_seen", vec![ranks.len() as i32])
			.u64("events", vec![events])
			.u64("counted", vec![counted])
			.f64("coverage", vec![coverage])
			.u64("unfinished", vec![unfinished])
			.u64("chunks", vec![images.iter().map(|state| state.survey.chunks).sum()])
			.u64("chunks_skipped", vec![damage().count() as u64])
			.u64("bytes_skipped", vec![damage().map(|damaged| damaged.bytes).sum()])
			.u64("chunks_missing", vec![sum(|f| f.chunks_missing)])
			.u64("stream_bytes", vec![images.iter().map(|state| state.image.bytes).sum()])
			.text("engine", vec![env!("CARGO_PKG_VERSION")])
			.text_or("configuration", vec![self.run.configuration.as_deref()])
			.write(self.folder, "runs")
	}

	fn processes(&self) -> Result<(), PackError> {
		let rows = &self.merged.processes;
		let identities = self.identities();
		let parents = parents(self.run, self.merged, self.facts, &identities);
		let facts = self.facts;
		let own = |get: fn(&ProcessFacts) -> u64| facts.iter().map(get).collect::<Vec<u64>>();
		let small = |get: fn(&ProcessFacts) -> u64| {
			facts.iter().map(|f| u32::try_from(get(f)).unwrap_or(u32::MAX)).collect::<Vec<u32>>()
		};
		let signed = |value: Option<u32>| value.and_then(|value| i32::try_from(value).ok());
		let processor_use = |get: fn(ProcessorUse) -> u64| {
			let ns = |f: &ProcessFacts| i64::try_from(get(f.processor_use?)).ok();
			facts.iter().map(ns).collect::<Vec<Option<i64>>>()
		};
		Table::default()
			.u32("process", rows.iter().map(|row| row.process).collect())
			.u64("instance", rows.iter().map(|row| row.key.0).collect())
			.u32("pid", rows.iter().map(|row| row.key.1).collect())
			.u32_or("parent", parents)
			.u32_or("parent_pid", identities.iter().map(|identity| identity.parent_pid).collect())
			.u32("node", rows.iter().map(|row| self.state(row).image.node as u32).collect())
			.u32("clock", rows.iter().map(|row| self.state(row).clock as u32).collect())
			.text_or("exe", identities.iter().map(|identity| identity.exe.as_deref()).collect())
			.texts("command", identities.iter().map(|identity| &identity.command[..]))
			.text_or("cwd", identities.iter().map(|identity| identity.cwd.as_deref()).collect())
			.i32_or("rank", identities.iter().map(|identity| signed(identity.rank)).collect())
			.i32_or("ranks", identities.iter().map(|identity| signed(identity.ranks)).collect())
			.text_or("mpi", identities.iter().map(|identity| identity.mpi.as_deref()).collect())
			.i64("start", facts.iter().map(|f| f.start).collect())
			.i64("stop", facts.iter().map(|f| f.stop).collect())
			.text("ended", facts.iter().map(|f| f.ended).collect())
			.u64("events", own(|f| f.events))
			.u64("counted", own(|f| f.counted))
			.u32("chunks", small(|f| f.chunks))
			.u32("chunks_skipped", small(|f| f.chunks_skipped))
			.u32("chunks_missing", small(|f| f.chunks_missing))
			.u64("stream_bytes", own(|f| f.stream_bytes))
			.text_or("allowed", identities.iter().map(|of| of.allowed.as_deref()).collect())
			.u32_or(
				"allowed_processors",
				identities.iter().map(|of| of.allowed_processors).collect(),
			)
			.i64_or("processor_time", processor_use(|known| known.ran))
			.i64_or("processor_wait", processor_use(|known| known.waited))
			.write(self.folder, "processes")
	}

	fn streams(&self) -> Result<(), PackError> {
		// By index; with the image, and the place in its survey.
		let mut all: BTreeMap<u32, (&ImageState, usize)> = BTreeMap::new();
		for state in &self.merged.images {
			for (i, &number) in state.streams.iter().enumerate() {
				all.insert(number, (state, i));
			}
		}
		let stream_rows = || all.values().map(|(state, i)| (*state, *i, &state.survey.streams[*i]));
		let base = |state: &ImageState, i: usize| {
			let inside = state.survey.interrupted.iter().find(|(key, _)| key.0 as usize == i)?.1;
			Some(u64::from(state.streams[inside.stream as usize]) << 40 | inside.seq)
		};
		let path = |state: &ImageState, file: usize| {
			let path = state.image.files.get(file).map(|source| source.path.as_path());
			let path = path.unwrap_or(Path::new(""));
			path.strip_prefix(&self.run.path).unwrap_or(path).to_string_lossy().into_owned()
		};
		Table::default()
			.u32("stream", all.keys().copied().collect())
			.u64("id", stream_rows().map(|(_, _, s)| s.id).collect())
			.u32("process", stream_rows().map(|(state, i, _)| state.processes[i]).collect())
			.u32("tid", stream_rows().map(|(_, _, s)| s.tid).collect())
			.bool("side", stream_rows().map(|(_, _, s)| s.side).collect())
			.u64_or("base_call", stream_rows().map(|(state, i, _)| base(state, i)).collect())
			.u64("events", stream_rows().map(|(_, _, s)| s.events).collect())
			.u32("chunks", stream_rows().map(|(_, _, s)| s.chunks as u32).collect())
			.u32("chunks_missing", stream_rows().map(|(_, _, s)| s.chunks_missing as u32).collect())
			.bool("complete", stream_rows().map(|(_, _, s)| s.complete).collect())
			.text("path", stream_rows().map(|(state, _, s)| path(state, s.file)).collect())
			.write(self.folder, "streams")
	}

	fn nodes(&self) -> Result<(), PackError> {
		let nodes = &self.run.nodes;
		Table::default()
			.u32("node", (0..nodes.len() as u32).collect())
			.text("host", nodes.iter().map(|node| &node.host).collect())
			.text("boot_id", nodes.iter().map(|node| &node.boot_id).collect())
			.text_or("kernel", nodes.iter().map(|node| node.kernel.as_deref()).collect())
			.u32_or("processors", nodes.iter().map(|node| node.processors).collect())
			.write(self.folder, "nodes")
	}

	fn clocks(&self) -> Result<(), PackError> {
		let (clocks, alignments) = (&self.merged.clocks, &self.times.aligned);
		let rate = |i: usize| Some(self.times.lines[i].ticks_per_second());
		Table::default()
			.u32("clock", (0..clocks.len() as u32).collect())
			.u32("node", self.merged.clock_nodes.iter().map(|&node| node as u32).collect())
			.text("kind", clocks.iter().map(|clock| clock.kind.name()).collect())
			.f64_or("ticks_per_second", (0..clocks.len()).map(rate).collect())
			.i64(
				"shift",
				alignments.iter().map(|alignment| alignment.correction.apply(0)).collect(),
			)
			.f64(
				"drift",
				alignments.iter().map(|alignment| alignment.correction.drift * 1e6).collect(),
			)
			.i64_or("error", alignments.iter().map(|alignment| alignment.error).collect())
			.i64("error_local", self.times.lines.iter().map(|line| line.residual).collect())
			.u32("constraints", alignments.iter().map(|alignment| alignment.constraints).collect())
			.text("method", alignments.iter().map(|alignment| alignment.method).collect())
			.write(self.folder, "clocks")
	}

	fn files(&self) -> Result<(), PackError> {
		let rows = &self.merged.files.rows;
		let latest = |paths: &'r [String]| paths.last().map_or("", |path| path);
		Table::default()
			.u32("file", (0..rows.len() as u32).collect())
			.text("key", rows.iter().map(|row| &row.key).collect())
			.u64_or("inode", rows.iter().map(|row| row.inode).collect())
			.i64_or("birth", rows.iter().map(|row| row.birth).collect())
			.text("path", rows.iter().map(|row| latest(&row.paths)).collect())
			.texts("paths", rows.iter().map(|row| &row.paths[..]))
			.text("kind", rows.iter().map(|row| row.kind()).collect())
			.text_or("file_system", rows.iter().map(|row| row.file_system.as_deref()).collect())
			.text_or("mount", rows.iter().map(|row| row.mount.as_deref()).collect())
			.bool("runtime", self.merged.runtime.files.clone())
			.write(self.folder, "files")
	}

	fn objects(&self) -> Result<(), PackError> {
		let mut rows: Vec<(&ImageState, u32, &ObjectDef)> = Vec::new();
		for state in &self.merged.images {
			let definitions = &state.survey.definitions;
			rows.extend(state.objects.iter().map(|(n, _)| (state, *n, &definitions.objects[n])));
		}
		let group = |state: &'r ImageState, n: u32| state.survey.definitions.groups.get(&n);
		let groups: Vec<_> = rows.iter().map(|(state, n, _)| group(state, *n)).collect();
		let number = |def: &ObjectDef, classes: &[u32], i: usize| {
			classes.contains(&def.class).then(|| def.numbers.get(i).copied()).flatten()
		};
		let small = |value: Option<u64>| value.and_then(|value| u32::try_from(value).ok());
		let flags = |def: &ObjectDef| {
			number(def, &object_class::WITH_DESCRIPTOR, 7).or(number(
				def,
				&object_class::WITH_OPENED,
				0,
			))
		};
		let communicator = |def: &ObjectDef| {
			number(def, &object_class::WITH_OPENED, 1).or(number(
				def,
				&object_class::WITH_COMMUNICATOR,
				0,
			))
		};
		let extents = |def: &'r ObjectDef| {
			if object_class::WITH_ARRAY.contains(&def.class) {
				def.numbers.get(1..).unwrap_or(&[])
			} else {
				&[]
			}
		};
		let members = groups.iter().map(|group| group.map_or(&[][..], |g| &g.members));
		let process = |state: &ImageState, def: &ObjectDef| {
			state.stream_of(def.stream).map_or(0, |i| state.processes[i])
		};
		let maker = |state: &ImageState, def: &ObjectDef| {
			let known = def.created_by != fathom_stream::NO_SEQ;
			let stream = state.streams[state.stream_of(def.stream).filter(|_| known)?];
			Some(u64::from(stream) << 40 | def.created_by)
		};
		let object_defs = || rows.iter().map(|(_, _, def)| *def);
		Table::default()
			.u32("object", (0..rows.len() as u32).collect())
			.u32("process", rows.iter().map(|(state, _, def)| process(state, def)).collect())
			.u32("number", rows.iter().map(|(_, n, _)| *n).collect())
			.text("class", object_defs().map(|def| class_name(def.class)).collect())
			.text("name", object_defs().map(|def| &def.name).collect())
			.u32_or("file", rows.iter().map(|(state, n, _)| state.file(*n)).collect())
			.u32_or("parent", rows.iter().map(|(state, _, def)| state.object(def.parent)).collect())
			.u64_or("created_by", rows.iter().map(|(state, _, def)| maker(state, def)).collect())
			.i32_or(
				"descriptor",
				object_defs()
					.map(|d| number(d, &object_class::WITH_DESCRIPTOR, 0).map(|n| n as i32))
					.collect(),
			)
			.u32_or(
				"mode",
				object_defs()
					.map(|d| small(number(d, &object_class::WITH_DESCRIPTOR, 1)))
					.collect(),
			)
			.u32_or("flags", object_defs().map(|d| small(flags(d))).collect())
			.bool_or(
				"inherited",
				object_defs()
					.map(|d| {
						number(d, &object_class::WITH_DESCRIPTOR, 9)
							.map(|n| n & descriptor_flag::INHERITED != 0)
					})
					.collect(),
			)
			.u32_or("communicator_size", object_defs().map(|d| small(communicator(d))).collect())
			.u64_or("group_hash", groups.iter().map(|g| g.map(|g| g.hash)).collect())
			.u32_or("group_ordinal", groups.iter().map(|g| g.map(|g| g.ordinal)).collect())
			.u32_or("group_rank", groups.iter().map(|g| g.map(|g| g.own)).collect())
			.u32s("group_members", members)
			.u64_or(
				"element_bytes",
				object_defs().map(|d| number(d, &object_class::WITH_ARRAY, 0)).collect(),
			)
			.u64s("extents", rows.iter().map(|(_, _, def)| extents(def)))
			.u64_or(
				"address",
				object_defs().map(|d| number(d, &object_class::WITH_MAPPING, 0)).collect(),
			)
			.u64_or(
				"length",
				object_defs().map(|d| number(d, &object_class::WITH_MAPPING, 1)).collect(),
			)
			.write(self.folder, "objects")
	}

	fn selections(&self) -> Result<(), PackError> {
		let mut rows: Vec<(u32, u32, &fathom_stream::Selection)> = Vec::new();
		for state in &self.merged.images {
			let process = state.processes.first().copied().unwrap_or(0);
			let definitions = &state.survey.definitions;
			rows.extend(state.selections.iter().map(|n| (process, *n, &definitions.selections[n])));
		}
		let every_other = |list: &[u64], from: usize| -> Vec<u64> {
			list.iter().skip(from).step_by(2).copied().collect()
		};
		let split = |get: fn(&fathom_stream::Selection) -> &[u64], from: usize| -> Vec<Vec<u64>> {
			rows.iter().map(|(_, _, s)| every_other(get(s), from)).collect()
		};
		let (box_start, box_count) = (split(|s| &s.bounds, 0), split(|s| &s.bounds, 1));
		let (block_start, block_count) = (split(|s| &s.block, 0), split(|s| &s.block, 1));
		let parts = |get: fn(&fathom_stream::Repeated) -> Vec<u64>| -> Vec<Vec<u64>> {
			rows.iter().map(|(_, _, s)| s.parts.iter().flat_map(get).collect()).collect()
		};
		let (part_start, part_bytes) =
			(parts(|part| vec![part.start]), parts(|part| vec![part.bytes]));
		let part_levels = parts(|part| vec![part.levels.len() as u64]);
		let part_count = parts(|part| part.levels.iter().map(|level| level.0).collect());
		let part_stride = parts(|part| part.levels.iter().map(|level| level.1).collect());
		let form = |s: &fathom_stream::Selection| {
			if s.form == selection_form::BYTES { "bytes" } else { "elements" }
		};
		let selection_defs = || rows.iter().map(|(_, _, selection)| *selection);
		Table::default()
			.u32("selection", (0..rows.len() as u32).collect())
			.u32("process", rows.iter().map(|row| row.0).collect())
			.u32("number", rows.iter().map(|row| row.1).collect())
			.text("form", selection_defs().map(form).collect())
			.bool("exact", selection_defs().map(|s| s.exact).collect())
			.u32("rank", selection_defs().map(|s| s.rank).collect())
			.i64("displacement", selection_defs().map(|s| s.displacement).collect())
			.u64("unit", selection_defs().map(|s| s.unit).collect())
			.u64("period", selection_defs().map(|s| s.period).collect())
			.u64("total", selection_defs().map(|s| s.total).collect())
			.u64s("box_start", box_start.iter().map(|list| &list[..]))
			.u64s("box_count", box_count.iter().map(|list| &list[..]))
			.u64("hash", selection_defs().map(|s| s.hash).collect())
			.u64("blocks", selection_defs().map(|s| s.blocks).collect())
			.u64s("block_start", block_start.iter().map(|list| &list[..]))
			.u64s("block_count", block_count.iter().map(|list| &list[..]))
			.u64s("part_start", part_start.iter().map(|list| &list[..]))
			.u64s("part_bytes", part_bytes.iter().map(|list| &list[..]))
			.u64s("part_levels", part_levels.iter().map(|list| &list[..]))
			.u64s("part_count", part_count.iter().map(|list| &list[..]))
			.u64s("part_stride", part_stride.iter().map(|list| &list[..]))
			.write(self.folder, "selections")
	}

	fn collectives(&self, rows: &[CollectiveRow]) -> Result<(), PackError> {
		Table::default()
			.u32("collective", (0..rows.len() as u32).collect())
			.text("layer", rows.iter().map(|row| &row.layer).collect())
			.text("op", rows.iter().map(|row| &row.op).collect())
			.u32_or("file", rows.iter().map(|row| row.file).collect())
			.u64("group_hash", rows.iter().map(|row| row.group_hash).collect())
			.u32("open_ordinal", rows.iter().map(|row| row.open_ordinal).collect())
			.u64("ordinal", rows.iter().map(|row| row.ordinal).collect())
			.u32("ranks_expected", rows.iter().map(|row| row.expected).collect())
			.u32("ranks_seen", rows.iter().map(|row| row.seen).collect())
			.bool("agreed", rows.iter().map(|row| row.agreed).collect())
			.i64("first_enter", rows.iter().map(|row| row.first_enter).collect())
			.i64("last_enter", rows.iter().map(|row| row.last_enter).collect())
			.i64("first_leave", rows.iter().map(|row| row.first_leave).collect())
			.i64("last_leave", rows.iter().map(|row| row.last_leave).collect())
			.i64_or("bytes", rows.iter().map(|row| row.bytes).collect())
			.write(self.folder, "collectives")
	}

	/// The columns that tell keys of `counters` apart.
	fn keys(&self, keys: &[Key]) -> Table {
		let op = |number: u16| self.merged.ops.get(usize::from(number));
		let layer = |number: u16| op(number).map(|op| op.layer.as_str());
		let name = |number: u16| op(number).map(|op| op.name.as_str());
		let keys = || keys.iter();
		let class = |key: &Key| if key.other_thread { "other" } else { "main" };
		let runtime = &self.merged.runtime;
		Table::default()
			.u32("process", keys().map(|key| key.process).collect())
			.text("thread_class", keys().map(class).collect())
			.u32_or("file", keys().map(|key| (key.file != NO_FILE).then_some(key.file)).collect())
			.text("layer", keys().map(|key| layer(key.op).unwrap_or("")).collect())
			.text("op", keys().map(|key| name(key.op).unwrap_or("")).collect())
			.text("kind", keys().map(|key| op(key.op).map_or("", |op| &op.kind)).collect())
			.text_or("enclosing_layer", keys().map(|key| layer(key.enclosing)).collect())
			.text_or(
				"enclosing",
				keys().map(|key| name(key.enclosing).filter(|_| key.enclosing != NO_OP)).collect(),
			)
			.bool("runtime", keys().map(|key| runtime.has(key)).collect())
	}

	fn counters(&self, rows: &[(Key, Sum)]) -> Result<(), PackError> {
		let keys: Vec<Key> = rows.iter().map(|(key, _)| *key).collect();
		let sums = || rows.iter().map(|(_, sum)| sum);
		let mut table = self
			.keys(&keys)
			.u64("calls", sums().map(|sum| sum.calls).collect())
			.u64("recorded", sums().map(|sum| sum.recorded).collect())
			.u64("errors", sums().map(|sum| sum.errors).collect())
			.i64("bytes", sums().map(|sum| sum.bytes).collect())
			.i64("time", sums().map(|sum| sum.time).collect())
			.i64("shortest", sums().map(|sum| sum.shortest).collect())
			.i64("longest", sums().map(|sum| sum.longest).collect())
			.i64("first_start", sums().map(|sum| sum.first_start).collect())
			.i64("last_stop", sums().map(|sum| sum.last_stop).collect());
		for (i, (name, needs)) in PATTERNS.into_iter().enumerate() {
			let count = |row: &(Key, Sum)| {
				let op = self.merged.ops.get(usize::from(row.0.op));
				row.1.count(i).filter(|_| op.is_some_and(|op| needs.met_by(op)))
			};
			table = table.u64_or(name, rows.iter().map(count).collect());
		}
		table
			.u64s_or("size_histogram", sums().map(|sum| Some(&sum.by_size()?.sizes[..])))
			.u64s_or("extent_histogram", sums().map(|sum| Some(&sum.by_file()?.extents[..])))
			.write(self.folder, "counters")
	}

	fn tops(&self, written: &Written) -> Result<(), PackError> {
		let keys: Vec<Key> = written.tops.iter().map(|(key, ..)| *key).collect();
		let tops = || written.tops.iter().map(|(_, top, _)| top);
		self.keys(&keys)
			.text("what", tops().map(|top| top.what.name()).collect())
			.i64("value", tops().map(|top| top.value).collect())
			.text_or("label", written.tops.iter().map(|(.., label)| label.as_deref()).collect())
			.u64("calls", tops().map(|top| top.calls).collect())
			.u64("bound", tops().map(|top| top.bound).collect())
			.write(self.folder, "tops")
	}

	fn heat(&self, written: &Written, width: i64) -> Result<(), PackError> {
		let layers: Vec<&str> = self.merged.layers().collect();
		let rows = || written.heat.iter();
		let operation = |writes| if writes { "write" } else { "read" };
		Table::default()
			.u32("process", rows().map(|(key, ..)| key.process).collect())
			.text("layer", rows().map(|(key, ..)| layers[usize::from(key.layer)]).collect())
			.text("operation", rows().map(|(key, ..)| operation(key.writes)).collect())
			.i64("start", rows().map(|(_, at, _)| at * width).collect())
			.i64("stop", rows().map(|(_, at, _)| (at + 1) * width).collect())
			.u64("calls", rows().map(|(.., bin)| bin.calls).collect())
			.i64("bytes", rows().map(|(.., bin)| bin.bytes).collect())
			.i64("time", rows().map(|(.., bin)| bin.time).collect())
			.write(self.folder, "heat")
	}

	fn hints(&self) -> Result<(), PackError> {
		let mut rows = Vec::new();
		for state in &self.merged.images {
			let process = state.processes.first().copied().unwrap_or(0);
			rows.extend(state.survey.definitions.hints.iter().map(|hint| (state, process, hint)));
		}
		let source =
			|source: u32| if source == hint_source::IN_FORCE { "in force" } else { "asked" };
		Table::default()
			.u32("process", rows.iter().map(|row| row.1).collect())
			.u32_or("object", rows.iter().map(|row| row.0.object(row.2.object)).collect())
			.u32_or("file", rows.iter().map(|row| row.0.file(row.2.object)).collect())
			.text("source", rows.iter().map(|row| source(row.2.source)).collect())
			.text("key", rows.iter().map(|row| &row.2.key).collect())
			.text("value", rows.iter().map(|row| &row.2.value).collect())
			.write(self.folder, "hints_in_force")
	}

	fn sites(&self) -> Result<(), PackError> {
		let rows = &self.merged.sites.rows;
		let resolved = self.merged.sites.resolve();
		let hex = |bytes: &[u8]| -> Option<String> {
			(!bytes.is_empty()).then(|| bytes.iter().map(|byte| format!("{byte:02x}")).collect())
		};
		let known = |text: &'r str| (!text.is_empty()).then_some(text);
		Table::default()
			.u32("site", (0..rows.len() as u32).collect())
			.text("module", rows.iter().map(|row| &row.module).collect())
			.text_or("build_id", rows.iter().map(|row| hex(&row.build_id)).collect())
			.u64("address", rows.iter().map(|row| row.offset).collect())
			.text_or("function", resolved.iter().map(|row| row.function.as_deref()).collect())
			.text_or("source", resolved.iter().map(|row| row.source.as_deref()).collect())
			.u32_or("line", resolved.iter().map(|row| row.line).collect())
			.text_or("entry", rows.iter().map(|row| known(&row.entry)).collect())
			.write(self.folder, "sites")
	}

	fn marks(&self, of_agents: Vec<MarkRow>) -> Result<(), PackError> {
		let mut rows = self.mark_rows();
		rows.extend(of_agents);
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

	fn ops(&self) -> Result<(), PackError> {
		let used: Vec<_> = self.merged.ops.iter().filter(|op| op.layer != "unknown").collect();
		Table::default()
			.text("layer", used.iter().map(|op| &op.layer).collect())
			.text("op", used.iter().map(|op| &op.name).collect())
			.text("kind", used.iter().map(|op| &op.kind).collect())
			.texts("fields", used.iter().map(|op| &op.fields[..]))
			.bool("tracked", used.iter().map(|op| op.tracked).collect())
			.bool("collective", used.iter().map(|op| op.collective).collect())
			.write(self.folder, "ops")
	}
}

/// What an op must tell for a column to be known of its calls.
#[derive(Debug, Clone, Copy)]
enum Needs {
	Nothing,
	Offset,
	Buffer,
}

impl Needs {
	fn met_by(self, op: &Op) -> bool {
		match self {
			Needs::Nothing => true,
			Needs::Offset => op.field(Target::Offset).is_some(),
			Needs::Buffer => op.alignment,
		}
	}
}

/// In the order of `PatternCounts::each`.
const PATTERNS: [(&str, Needs); 10] = [
	("sequential", Needs::Offset),
	("consecutive", Needs::Offset),
	("strided", Needs::Offset),
	("unaligned_file", Needs::Offset),
	("unaligned_memory", Needs::Buffer),
	("contiguous", Needs::Nothing),
	("holes_memory", Needs::Nothing),
	("holes_file", Needs::Nothing),
	("holes_both", Needs::Nothing),
	("switches", Needs::Nothing),
];

#[derive(Debug, Default, Clone)]
pub struct MarkRow {
	pub process: Option<u32>,
	pub stream: Option<u32>,
	pub time: Option<i64>,
	pub kind: String,
	pub detail: String,
	pub value: i64,
}

/// Ticks at which each process began. A fork's child repeats its parent's word: of those that say the same
/// only the earliest is believed, of the others the first chunk.
pub fn starts(merged: &Merged) -> Vec<u64> {
	let mut owner: HashMap<(usize, u64), u64> = HashMap::new();
	let facts: Vec<(usize, u64, Option<u64>)> = merged
		.processes
		.iter()
		.map(|row| {
			let state = &merged.images[row.image];
			(state.clock, state.start_tick(row.key.1), state.identity(row.key.1).start)
		})
		.collect();
	for &(clock, first, recorded) in &facts {
		if let Some(recorded) = recorded {
			let earliest = owner.entry((clock, recorded)).or_insert(first);
			*earliest = first.min(*earliest);
		}
	}
	let start = |&(clock, first, recorded): &(usize, u64, Option<u64>)| match recorded {
		Some(recorded) if recorded <= first && owner.get(&(clock, recorded)) == Some(&first) => {
			recorded
		}
		_ => first,
	};
	facts.iter().map(start).collect()
}

fn facts_of(
	run: &Run,
	merged: &Merged,
	times: &Times,
	row: &ProcessRow,
	start: u64,
) -> ProcessFacts {
	let state = &merged.images[row.image];
	let line = &times.lines[state.clock];
	let (survey, pid) = (&state.survey, row.key.1);
	let own = || survey.streams.iter().filter(|stream| stream.pid == pid);
	let none_missing = || own().all(|stream| stream.chunks_missing == 0);
	let whole = if survey.killed {
		run.exited(&state.image) && none_missing()
	} else {
		own().all(|stream| stream.complete)
	};
	let main = pid == state.image.pid;
	let marks = survey.definitions.marks.iter().map(|mark| mark.ticks);
	let last = own().map(|stream| stream.last_tick).chain(marks.filter(|_| main)).max();
	let last = line.ns(last.unwrap_or(start));
	ProcessFacts {
		start: line.ns(start),
		stop: last.max(state.end_of(pid).unwrap_or(last)),
		ended: match (survey.alive, whole) {
			(true, _) => "open",
			(false, true) => "clean",
			(false, false) => "killed",
		},
		events: own().map(|stream| stream.events).sum(),
		counted: own().map(|stream| stream.counted).sum(),
		chunks: own().map(|stream| stream.chunks).sum(),
		chunks_missing: own().map(|stream| stream.chunks_missing).sum(),
		chunks_skipped: if main { survey.damage.len() as u64 } else { 0 },
		stream_bytes: if main { state.image.bytes } else { 0 },
		processor_use: own().filter_map(|s| s.processor_use).reduce(ProcessorUse::plus),
	}
}

/// The traced process that a process came from: the image it replaced, else the one that forked it.
fn parents(
	run: &Run,
	merged: &Merged,
	facts: &[ProcessFacts],
	identities: &[Identity],
) -> Vec<Option<u32>> {
	let mut by_pid: HashMap<(&str, u32), Vec<usize>> = HashMap::new();
	let boot = |row: &ProcessRow| run.nodes[merged.images[row.image].image.node].boot_id.as_str();
	for (i, row) in merged.processes.iter().enumerate() {
		by_pid.entry((boot(row), row.key.1)).or_default().push(i);
	}
	let latest_before = |i: usize, pid: u32| {
		let same = by_pid.get(&(boot(&merged.processes[i]), pid))?;
		let before = same.iter().filter(|&&j| j != i && facts[j].start <= facts[i].start);
		before.max_by_key(|&&j| facts[j].start).map(|&j| merged.processes[j].process)
	};
	let parent = |i: usize| {
		let replaced = latest_before(i, merged.processes[i].key.1);
		replaced.or_else(|| latest_before(i, identities[i].parent_pid?))
	};
	(0..merged.processes.len()).map(parent).collect()
}
