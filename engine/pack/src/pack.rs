//! `pack`: streams into tables, once, however many readers ask.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use rayon::prelude::*;

use crate::carries;
use crate::collectives::Collectives;
use crate::error::{At, PackError};
use crate::heat;
use crate::index::Index;
use crate::matched;
use crate::merge::merge;
use crate::progress::Progress;
use crate::recover::{self, Recovered};
use crate::run::{Image, Run};
use crate::survey::{Survey, survey};
use crate::tables::Tables;
use crate::times::times;
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
}

/// Holds the run's lock while it lives.
struct Lock(#[allow(dead_code)] File); // the lock goes when the file is closed

impl Lock {
	fn take(run: &Path, quiet: bool) -> Result<Lock, PackError> {
		let path = run.join(".pack.lock");
		let file = File::create(&path).at(&path)?;
		if file.try_lock().is_err() {
			if !quiet {
				eprintln!("fathom-engine: another reader packs {}, waiting", run.display());
			}
			file.lock().at(&path)?;
		}
		Ok(Lock(file))
	}
}

pub fn pack(path: &Path, options: &Options) -> Result<Packed, PackError> {
	Run::open(path)?; // before a lock file is made in a directory that is no run
	let _lock = Lock::take(path, options.quiet)?;
	let pool = rayon::ThreadPoolBuilder::new().num_threads(options.jobs).build();
	let pool = pool.map_err(|error| PackError::Threads(error.to_string()))?;
	pool.install(|| pack_locked(path, options))
}

fn pack_locked(path: &Path, options: &Options) -> Result<Packed, PackError> {
	let rings = options.ring.clone().or_else(|| Run::open(path).ok()?.ring_directory());
	let recovered = match &rings {
		Some(rings) => recover::recover(path, rings)?,
		None => Recovered::default(),
	};
	let run = Run::open(path)?;
	let tables = path.join("tables");
	let stamp = stamp(&run, &recovered);
	if !options.force && fresh(&tables, &stamp) {
		return Ok(Packed { fresh: true, recovered, ..Packed::default() });
	}
	let aside = path.join("tables.tmp");
	remove(&aside)?;
	make_folders(&aside)?;
	let mut packed = write_tables(&run, &aside, &tables, options, &recovered)?;
	packed.recovered = recovered;
	fs::write(aside.join(STAMP), stamp + &inventory(&aside)?).at(&aside)?;
	swap(&aside, &tables, &path.join("tables.old"))?;
	Ok(packed)
}

fn write_tables(
	run: &Run,
	folder: &Path,
	earlier: &Path,
	options: &Options,
	recovered: &Recovered,
) -> Result<Packed, PackError> {
	let progress = Progress::new(!options.quiet);
	let alive = |image: &Image| recovered.alive.contains(&(image.pid, image.instance));
	let most_below = MOST_BELOW / run.images.len().max(1);
	let surveys: Vec<(Image, Survey)> = run
		.images
		.par_iter()
		.map(|image| Ok((image.clone(), survey(image, alive(image), most_below)?)))
		.collect::<Result<_, PackError>>()?;
	let merged = merge(run, surveys, Index::read(earlier))?;
	let collectives = Collectives::find(&merged);
	let times = times(run, &merged, &collectives.meetings(&merged));
	let (collective_rows, numbers) = collectives.rows(&merged, &times.lines);
	let events = merged.images.iter().map(|state| state.survey.events()).sum();
	progress.expect(events);
	let tables = Tables::new(run, &merged, &times, folder);
	let width = heat::width(tables.duration());
	let writer = Writer::new(&merged, &times.lines, &numbers, folder, &progress, width);
	let parts = writer.parts();
	let written: Vec<_> =
		parts.par_iter().map(|part| writer.write(part)).collect::<Result<_, PackError>>()?;
	let mut all = Written::default();
	written.into_iter().for_each(|part| all.add(part));
	all.sort();
	let mut carries = carries::find(&merged, &collectives);
	write_links(folder, "carries", &mut carries.links)?;
	let meeting = std::mem::take(&mut all.meeting);
	let (mut matches, unmatched) = matched::find(&merged, &writer.watched, meeting);
	write_links(folder, "matched", &mut matches)?;
	fill_empty(folder)?;
	tables.write(&collective_rows, &all, width, &[carries.mark(), matched::mark(unmatched)])?;
	Ok(Packed {
		fresh: false,
		events,
		processes: merged.processes.len(),
		missing: tables
			.missing()
			.into_iter()
			.map(|m| format!("{}: {}", m.kind, m.detail))
			.collect(),
		damaged: merged.images.iter().map(|state| state.survey.damage.len() as u64).sum(),
		recovered: Recovered::default(),
	})
}

/// System calls inside collective ones that are remembered, in the whole run: 300 MiB.
const MOST_BELOW: usize = 8 << 20;

const STAMP: &str = "packed";

/// What tables were made of: the same stamp means that packing again gives the same tables.
fn stamp(run: &Run, recovered: &Recovered) -> String {
	let agents = || run.nodes.iter().flat_map(|node| &node.agents).map(|agent| agent.bytes);
	let bytes = run.images.iter().map(|image| image.bytes).chain(agents()).sum::<u64>();
	let files = run.images.iter().map(|image| image.files.len()).sum::<usize>() + agents().count();
	let newest = run.newest.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
	format!(
		"engine={}\nfiles={files}\nbytes={bytes}\nnewest={}\nalive={}\nsaid={}\n",
		env!("CARGO_PKG_VERSION"),
		newest.unwrap_or_default().as_nanos(),
		recovered.alive.len(),
		run.nodes
			.iter()
			.map(|node| node.agent_log.len() + usize::from(node.broken_off))
			.sum::<usize>(),
	)
}

const INVENTORY: &str = "tables=";

/// One line that names all files below the folder, parts of tables among them.
fn inventory(folder: &Path) -> Result<String, PackError> {
	let mut names = Vec::new();
	for path in entries(folder)? {
		let files = if path.is_dir() { entries(&path)? } else { vec![path] };
		let name = |file: &PathBuf| Some(file.strip_prefix(folder).ok()?.to_str()?.to_owned());
		names.extend(files.iter().filter_map(name));
	}
	names.sort_unstable();
	Ok(format!("{INVENTORY}{}\n", names.join(" ")))
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, PackError> {
	fs::read_dir(folder).at(folder)?.map(|entry| Ok(entry.at(folder)?.path())).collect()
}

/// Were the tables made of the same streams, and is none of their files gone?
fn fresh(tables: &Path, stamp: &str) -> bool {
	let Ok(old) = fs::read_to_string(tables.join(STAMP)) else { return false };
	let Some(rest) = old.strip_prefix(stamp) else { return false };
	let names = rest.trim_end().strip_prefix(INVENTORY).unwrap_or_default();
	names.split_whitespace().all(|name| tables.join(name).is_file())
}

fn remove(path: &Path) -> Result<(), PackError> {
	match fs::remove_dir_all(path) {
		Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error).at(path),
		_ => Ok(()),
	}
}

/// New tables in the place of the old ones, whole.
fn swap(new: &Path, place: &Path, old: &Path) -> Result<(), PackError> {
	remove(old)?;
	if place.exists() {
		fs::rename(place, old).at(place)?;
	}
	fs::rename(new, place).at(new)?;
	remove(old)
}
