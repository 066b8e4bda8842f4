//! The small tables: one row per process, stream, file, object and the like. `docs/tables.md` says what is in them.

mod counters;
mod marks;
mod objects;
mod processes;

use std::path::Path;

use crate::collectives::CollectiveRow;
use crate::define::Identity;
use crate::error::PackError;
use crate::marks::MarkRow;
use crate::merged::{ImageState, Merged, ProcessRow};
use crate::missing::{missing, unseen_layers, without_lines};
use crate::output::Table;
use crate::process_facts::{ProcessFacts, duration};
use crate::run::Run;
use crate::sites::Modules;
use crate::times::Times;
use crate::write::Written;

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

impl Tables<'_> {
	/// Returns the modules that are there and cannot be read, each with the reason.
	pub fn write(
		&self,
		collectives: &[CollectiveRow],
		written: &Written,
		heat_width: i64,
		more: impl Iterator<Item = MarkRow>,
	) -> Result<Modules, PackError> {
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
		self.kernel_events()?;
		self.hints()?;
		let modules = self.sites()?;
		let mut marks = self.samples()?;
		marks.extend(self.missing());
		marks.extend(more);
		marks.extend(self.of_modules(&modules));
		self.marks(marks)?;
		self.ops()?;
		Ok(modules)
	}

	/// Modules that cannot be read, and libraries whose calls are not seen.
	pub fn of_modules(&self, modules: &Modules) -> Vec<MarkRow> {
		let layers: Vec<&str> = self.merged.layers().collect();
		let unseen = unseen_layers(&modules.linked, &layers);
		without_lines(&modules.unreadable).chain(unseen).collect()
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
