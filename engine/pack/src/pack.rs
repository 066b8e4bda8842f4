//! `pack`: streams into tables, once, however many readers ask.

use std::fs::File;
use std::path::{Path, PathBuf};

use fathom_sink::{open_or_create, sync_below, write_new};

use crate::error::{At, PackError, try_lock};
use crate::plan::Plan;
use crate::progress::Progress;
use crate::recover::{self, Recovered, boot_id};
use crate::run::Run;
use crate::shares::{Folder, ShareWorkers, Step};
use crate::staging::{
	STAGING, STAMP, fresh, inventory, remove, remove_left, stamp, swap, unique, unreadable_line,
};
use crate::whole::{Packed, Whole, survey_images, threads, write_parts};
use crate::write::make_folders;

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
