//! `pack`: streams into tables, once, however many readers ask.

use std::fs::{self, File};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use fathom_sink::{
	IfThere, entries, is_directory, open_or_create, random, sync_below, sync_directory, write_new,
};
use rayon::prelude::*;

use crate::collective_links;
use crate::collectives::{CallNumbers, CollectiveRow, Collectives};
use crate::ends::find_ends;
use crate::error::{At, PackError, try_lock};
use crate::heat;
use crate::index::Index;
use crate::merge::{Merged, merge};
use crate::missing;
use crate::process_facts::{ProcessFacts, duration, facts};
use crate::progress::Progress;
use crate::recover::{self, Recovered, boot_id};
use crate::run::{Image, Run, TABLES};
use crate::server_links;
use crate::shares::{Folder, Plan, SHARES, ShareWorkers, Step, write_parts};
use crate::survey::{Survey, survey};
use crate::tables::Tables;
use crate::times::{Times, times};
use crate::write::{Writer, Written, fill_empty, make_folders, write_links};

#[derive(Debug, Clone, Default)]
pub struct Options {
	/// Threads; 0: as many as there are processors.
	pub jobs: usize,
	/// Also when the tables are newer than the streams.
	pub force: bool,
	pub quiet: bool,
	/// Where rings lie, when `run.json` does not say.
	pub ring: Option<PathBuf>,
	/// Rows of a part of `calls`; 0: as many as serve readers.
	pub part_rows: u64,
}

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

/// Holds the run's lock while it lives.
pub struct Lock(#[allow(dead_code)] File); // the lock goes when the file is closed

impl Lock {
	pub fn take(run: &Path, quiet: bool) -> Result<Lock, PackError> {
		let path = run.join(".pack.lock");
		let file = open_or_create(&path).at(&path)?;
		if !try_lock(&file).at(&path)? {
			if !quiet {
				warn!("fathom-engine: another reader packs {}, waiting", run.display());
			}
			file.lock().at(&path)?;
		}
		Ok(Lock(file))
	}
}

/// Makes a run's tables, unless they are up to date.
pub fn pack(path: &Path, options: &Options) -> Result<Packed, PackError> {
	pack_by(path, options, None)
}

/// The same, where `workers` do both passes over the streams.
pub fn pack_in_shares(
	path: &Path,
	options: &Options,
	workers: &mut dyn ShareWorkers,
) -> Result<Packed, PackError> {
	pack_by(path, options, Some(workers))
}

fn pack_by(
	path: &Path,
	options: &Options,
	workers: Option<&mut dyn ShareWorkers>,
) -> Result<Packed, PackError> {
	Run::open(path)?; // before a lock file is made in a directory that is no run
	let _lock = Lock::take(path, options.quiet)?;
	threads(options.jobs)?.install(|| pack_locked(path, options, workers))
}

/// So many; 0: as many as there are processors.
pub fn threads(jobs: usize) -> Result<rayon::ThreadPool, PackError> {
	let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build();
	pool.map_err(|error| PackError::Threads(error.to_string()))
}

/// What dead processes left, from these rings or those that `run.json` names.
pub fn bring_in(path: &Path, rings: Option<&Path>) -> Result<Recovered, PackError> {
	match rings {
		Some(rings) => recover::recover(path, rings),
		None => recover::recover_own(&Run::open(path)?),
	}
}

fn pack_locked(
	path: &Path,
	options: &Options,
	workers: Option<&mut dyn ShareWorkers>,
) -> Result<Packed, PackError> {
	let recovered = bring_in(path, options.ring.as_deref())?;
	let run = Run::open(path)?;
	let tables = run.tables();
	let stamp = stamp(&run, &recovered);
	remove_left(path, &boot_id()?);
	if !options.force && fresh(&tables, &stamp)? {
		return Ok(Packed { fresh: true, recovered, ..Packed::default() });
	}
	let staging = path.join(unique(STAGING)?);
	make_folders(&staging)?;
	let written = write_tables(&run, &staging, options, &recovered, workers);
	if written.is_err() {
		let _ = remove(&staging); // the reason counts, and the next pack removes it too
	}
	let packed = Packed { recovered, ..written? };
	let stamp = stamp + &unreadable_line(&packed.unreadable) + &inventory(&staging)?;
	write_new(&staging.join(STAMP), stamp.as_bytes()).at(&staging)?;
	sync_below(&staging).at(&staging)?;
	swap(path, &staging)?;
	Ok(packed)
}

fn write_tables(
	run: &Run,
	folder: &Path,
	options: &Options,
	recovered: &Recovered,
	workers: Option<&mut dyn ShareWorkers>,
) -> Result<Packed, PackError> {
	let progress = Progress::new(!options.quiet);
	let Some(workers) = workers else {
		let plan = Plan::new(run, recovered, 1, options.part_rows);
		let surveys = survey_images(run, &plan, 0..run.images.len())?;
		let whole = Whole::new(run, run.images.iter().cloned().zip(surveys).collect())?;
		let writer = whole.writer(&plan, folder, &progress);
		progress.expect(whole.merged.events());
		let written = write_parts(&writer, &writer.parts(1))?;
		return whole.finish(run, folder, &writer, written, recovered);
	};
	let shares = workers.shares();
	let plan = Plan::new(run, recovered, shares, options.part_rows);
	let shared = Folder::make(&run.path, &plan)?;
	workers.begin(Step::Survey, &shared.0)?;
	workers.end()?;
	workers.begin(Step::Write, &shared.0)?;
	let whole = Whole::new(run, shared.surveys(run, shares)?)?; // while they write
	let writer = whole.writer(&plan, folder, &progress);
	workers.end()?;
	whole.finish(run, folder, &writer, shared.written(shares, folder)?, recovered)
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
		let times = times(run, &merged, &collectives.sync_points(&merged));
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
	fn finish(
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

const STAMP: &str = "packed";

/// What tables were made of: the same stamp means that packing again gives the same tables.
fn stamp(run: &Run, recovered: &Recovered) -> String {
	let agents = || run.nodes.iter().flat_map(|node| &node.agents).map(|agent| agent.bytes);
	let bytes = run.images.iter().map(|image| image.bytes).chain(agents()).sum::<u64>();
	let files = run.images.iter().map(|image| image.files.len()).sum::<usize>() + agents().count();
	let newest = run.newest.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
	format!(
		"engine={}\nfiles={files}\nbytes={bytes}\nnewest={}\nalive={}\nrefused={}\nsaid={}\nends={}\nend={}\n",
		env!("CARGO_PKG_VERSION"),
		newest.unwrap_or_default().as_nanos(),
		recovered.alive.len(),
		recovered.refused.len(),
		run.nodes
			.iter()
			.map(|node| node.agent_log.len() + usize::from(node.broken_off))
			.sum::<usize>(),
		run.nodes.iter().map(|node| node.ends.len()).sum::<usize>(),
		run.span().map_or(0, |(_, end)| end),
	)
}

/// Tables that are being made, and those that they replace.
const STAGING: &str = "tables.tmp.";
const OLD: &str = "tables.old";

/// What begins so and no other packer takes, on any node: there are file systems whose locks hold on one node alone.
pub fn unique(kind: &str) -> Result<String, PackError> {
	let number = random().at(Path::new(kind))?;
	Ok(format!("{kind}{}.{number:016x}", boot_id()?))
}

/// After so long no packer of another node is at work.
const DAY: Duration = Duration::from_secs(86_400);

/// Removes what packers that were killed left, of other nodes after a day; a share that still runs may keep some of it until
/// the next pack.
fn remove_left(run: &Path, boot_id: &str) {
	let whole = run.join(TABLES).is_dir();
	for entry in fs::read_dir(run).into_iter().flatten().flatten() {
		let name = entry.file_name();
		let text = name.to_string_lossy();
		let left = [STAGING, SHARES].iter().find_map(|kind| text.strip_prefix(kind));
		let abandoned = left.is_some_and(|of| of.starts_with(boot_id) || is_old(&entry));
		if abandoned || (name == OLD && whole) {
			let _ = fs::remove_dir_all(entry.path());
		}
	}
}

fn is_old(entry: &fs::DirEntry) -> bool {
	let changed = entry.metadata().and_then(|facts| facts.modified());
	changed.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > DAY))
}

const INVENTORY: &str = "tables=";

/// One line that names all files below the folder, parts of tables among them.
fn inventory(folder: &Path) -> Result<String, PackError> {
	let mut names = Vec::new();
	for path in entries(folder).at(folder)? {
		let is_folder = is_directory(&path).at(&path)?;
		let files = if is_folder { entries(&path).at(&path)? } else { vec![path] };
		let name = |file: &PathBuf| Some(file.strip_prefix(folder).ok()?.to_str()?.to_owned());
		names.extend(files.iter().filter_map(name));
	}
	names.sort_unstable();
	Ok(format!("{INVENTORY}{}\n", names.join(" ")))
}

const UNREADABLE: &str = "unreadable=";

/// One line that names modules which could not be read, as JSON.
fn unreadable_line(modules: &[String]) -> String {
	format!("{UNREADABLE}{}\n", serde_json::json!(modules))
}

/// Were the tables made of the same streams, is none of their files gone, and can no module be read by now that could not?
fn fresh(tables: &Path, stamp: &str) -> Result<bool, PackError> {
	let path = tables.join(STAMP);
	let old = fs::read(&path).if_there().at(&path)?.unwrap_or_default();
	let old = String::from_utf8_lossy(&old);
	let lines = old.strip_prefix(stamp).and_then(|rest| rest.split_once('\n'));
	let Some((unreadable, names)) = lines else { return Ok(false) };
	let modules = unreadable.strip_prefix(UNREADABLE).unwrap_or_default();
	let modules: Vec<PathBuf> = serde_json::from_str(modules).unwrap_or_default();
	let names = names.trim_end().strip_prefix(INVENTORY).unwrap_or_default();
	Ok(modules.iter().all(|module| File::open(module).is_err())
		&& names.split_whitespace().all(|name| tables.join(name).is_file()))
}

pub fn remove(path: &Path) -> Result<(), PackError> {
	fs::remove_dir_all(path).if_there().at(path).map(|_| ())
}

/// New tables in the place of the old ones, whole, and so after a power cut.
fn swap(run: &Path, new: &Path) -> Result<(), PackError> {
	let (place, old) = (run.join(TABLES), run.join(OLD));
	remove(&old)?;
	fs::rename(&place, &old).if_there().at(&place)?;
	fs::rename(new, &place).at(new)?;
	sync_directory(run).at(run)?;
	let _ = remove(&old); // who reads them still may keep some until the next pack
	Ok(())
}
