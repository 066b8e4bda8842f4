//! All images of a run together: both passes over their streams, and what follows from the first.

use std::ops::Range;
use std::path::Path;

use rayon::prelude::*;

use crate::collective_links;
use crate::collectives::{CallNumbers, CollectiveRow, Collectives};
use crate::ends::{find_ends, script};
use crate::error::PackError;
use crate::heat;
use crate::index::Index;
use crate::merge::merge;
use crate::merged::Merged;
use crate::missing;
use crate::plan::Plan;
use crate::process_facts::{ProcessFacts, duration, facts};
use crate::progress::Progress;
use crate::recover::Recovered;
use crate::run::{Image, Run};
use crate::server_links;
use crate::survey::Survey;
use crate::survey_image::survey;
use crate::tables::Tables;
use crate::times::{Times, times};
use crate::write::{Part, Writer, Written, fill_empty, write_links};

#[derive(Debug, Clone, Default)]
pub struct Packed {
	/// The tables were up to date.
	pub fresh: bool,
	pub events: u64,
	pub processes: usize,
	pub damaged: u64,
	/// What of the run is not here, one line each.
	pub missing: Vec<String>,
	pub recovered: Recovered,
	/// Modules whose lines are not known, as they cannot be read.
	pub unreadable: Vec<String>,
}

/// So many; 0: as many as there are processors.
pub fn threads(jobs: usize) -> Result<rayon::ThreadPool, PackError> {
	let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build();
	pool.map_err(|error| PackError::Threads(error.to_string()))
}

/// First pass over some of a run's images.
pub fn survey_images(
	run: &Run,
	plan: &Plan,
	images: Range<usize>,
) -> Result<Vec<Survey>, PackError> {
	let survey_image = |i: usize| survey(&run.images[i], plan.alive(i), plan.most_below);
	images.into_par_iter().map(survey_image).collect()
}

/// What follows from the surveys of all images; the same for everyone who has them.
pub struct Whole {
	pub merged: Merged,
	collectives: Collectives,
	pub times: Times,
	lasted: Option<i64>,
	pub processes: Vec<ProcessFacts>,
	collective_rows: Vec<CollectiveRow>,
	numbers: Vec<CallNumbers>,
}

impl Whole {
	pub fn new(run: &Run, surveys: Vec<(Image, Survey)>) -> Result<Whole, PackError> {
		let mut merged = merge(run, surveys, Index::read(&run.tables())?)?;
		let collectives = Collectives::find(&merged);
		let script = script(run, &merged)?;
		let times = times(run, &merged, &collectives.sync_points(&merged), script);
		let lasted = find_ends(run, &mut merged, &times)?;
		let processes = facts(run, &merged, &times);
		let (collective_rows, numbers) = collectives.rows(&merged, &times.lines);
		Ok(Whole { merged, collectives, times, lasted, processes, collective_rows, numbers })
	}

	/// The writer of parts into `folder`.
	pub fn writer<'r>(
		&'r self,
		plan: &Plan,
		folder: &'r Path,
		progress: &'r Progress,
	) -> Writer<'r> {
		let width = heat::width(duration(&self.processes, self.lasted));
		let (lines, rows) = (&self.times.lines, plan.part_rows);
		Writer::new(&self.merged, lines, &self.numbers, folder, progress, width, rows)
	}

	/// The tables that are not in parts, and links between calls of several processes.
	pub fn finish(
		&self,
		run: &Run,
		folder: &Path,
		writer: &Writer<'_>,
		mut all: Written,
		recovered: &Recovered,
	) -> Result<Packed, PackError> {
		let (merged, times, facts) = (&self.merged, &self.times, &self.processes);
		let tables = Tables { run, merged, times, folder, facts, lasted: self.lasted };
		all.sort();
		let mut collective_links = collective_links::find(merged, &self.collectives);
		write_links(folder, "carries", &mut collective_links.links)?;
		let file_accesses = std::mem::take(&mut all.file_accesses);
		let (mut matches, unmatched) = server_links::find(merged, &writer.watched, file_accesses);
		write_links(folder, "matched", &mut matches)?;
		fill_empty(folder)?;
		let links = [collective_links.mark(), server_links::mark(unmatched)].into_iter().flatten();
		let marks = links.chain(missing::refused(&recovered.refused));
		let modules = tables.write(&self.collective_rows, &all, writer.heat_width, marks)?;
		let missing = tables.missing().into_iter().chain(tables.of_modules(&modules));
		Ok(Packed {
			fresh: false,
			events: merged.events(),
			processes: merged.processes.len(),
			missing: missing.map(|m| format!("{}: {}", m.kind, m.detail)).collect(),
			damaged: merged.images.iter().map(|state| state.survey.damage.len() as u64).sum(),
			recovered: Recovered::default(),
			unreadable: modules.unreadable.into_keys().collect(),
		})
	}
}

/// Second pass over some parts, in parallel; what they add, in their order.
pub fn write_parts(writer: &Writer<'_>, parts: &[Part]) -> Result<Written, PackError> {
	let written: Vec<Written> =
		parts.par_iter().map(|part| writer.write(part)).collect::<Result<_, _>>()?;
	let mut all = Written::default();
	written.into_iter().for_each(|part| all.add(part));
	Ok(all)
}
