//! A pack in shares: both passes over the streams done by several processes, on nodes that share the run's file system.
//!
//! All lies in one folder of the run, which its packer makes and removes: the plan, what each share's survey found, and
//! each share's parts of the tables with what they add to the small ones. What follows from all surveys everyone works
//! out alike, so nothing else has to be told. A share that is done twice is one: it appears whole, by a rename.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use fathom_sink::{entries, write_new};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{At, PackError};
use crate::plan::{Plan, shared};
use crate::progress::Progress;
use crate::run::{Image, Run};
use crate::staging::{SHARES, unique};
use crate::survey::Survey;
use crate::whole::{Whole, survey_images, threads, write_parts};
use crate::write::{Part, TABLES_IN_PARTS, Written, make_folders};

/// What is done in shares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
	/// First pass: surveys of process images.
	Survey,
	/// Second pass, once all surveys are there: parts of `calls`, `args` and `links`.
	Write,
}

impl Step {
	pub fn name(self) -> &'static str {
		match self {
			Step::Survey => "survey",
			Step::Write => "write",
		}
	}
}

/// Lets other processes do the shares of a step.
pub trait ShareWorkers: Send {
	/// The number of shares.
	fn shares(&self) -> usize;
	/// Lets them begin, in this folder.
	fn begin(&mut self, step: Step, folder: &Path) -> Result<(), PackError>;
	/// Waits until all are done.
	fn end(&mut self) -> Result<(), PackError>;
}

/// So that shares are about equal, and their threads all have something to do.
const PARTS_OF_A_SHARE: usize = 4;

/// The folder of a run that is packed in shares; it goes with this.
pub struct Folder(pub PathBuf);

impl Folder {
	/// Made anew, by who has the run's lock.
	pub fn make(run: &Path, plan: &Plan) -> Result<Folder, PackError> {
		let folder = Folder(run.join(unique(SHARES)?));
		fs::create_dir(&folder.0).at(&folder.0)?;
		save(plan, &folder.0.join("plan"))?;
		Ok(folder)
	}

	/// The surveys of all shares, in the order of the run's images.
	pub fn surveys(&self, run: &Run, shares: usize) -> Result<Vec<(Image, Survey)>, PackError> {
		surveys(&self.0, run, shares)
	}

	/// Takes the parts that all shares wrote into `tables`; the sum of what they add.
	pub fn written(&self, shares: usize, tables: &Path) -> Result<Written, PackError> {
		let mut all = Written::default();
		for share in 0..shares {
			let from = self.0.join(format!("{}.{share}", Step::Write.name()));
			all.add(load(&from.join("sums"))?);
			for table in TABLES_IN_PARTS {
				let from = from.join(table);
				for part in entries(&from).at(&from)? {
					let place = tables.join(table).join(part.file_name().unwrap_or_default());
					fs::rename(&part, &place).at(&place)?;
				}
			}
		}
		Ok(all)
	}
}

impl Drop for Folder {
	fn drop(&mut self) {
		let _ = fs::remove_dir_all(&self.0);
	}
}

/// Does one share of a step, in the folder that the packer made. `jobs`: as in [`crate::Options`].
pub fn share(folder: &Path, step: Step, number: usize, jobs: usize) -> Result<(), PackError> {
	let plan: Plan = load(&folder.join("plan"))?;
	if number >= plan.shares {
		let reason = format!("no share {number}: there are {}", plan.shares);
		return Err(PackError::Data { path: folder.to_owned(), reason });
	}
	let run = Run::open(folder.parent().unwrap_or(folder))?;
	plan.check(&run)?;
	threads(jobs)?.install(|| match step {
		Step::Survey => {
			let images = plan.surveyed(number);
			let surveyed: Vec<Survey> = survey_images(&run, &plan, images)?;
			let staging = folder.join(unique("")?);
			save(&surveyed, &staging)?;
			let place = folder.join(format!("{}.{number}", step.name()));
			fs::rename(&staging, &place).at(&place)
		}
		Step::Write => write_share(folder, &run, &plan, number),
	})
}

fn write_share(folder: &Path, run: &Run, plan: &Plan, number: usize) -> Result<(), PackError> {
	let whole = Whole::new(run, surveys(folder, run, plan.shares)?)?;
	let staging = folder.join(unique("")?);
	make_folders(&staging)?;
	let progress = Progress::new(false);
	let writer = whole.writer(plan, &staging, &progress);
	let parts = writer.parts(plan.shares * PARTS_OF_A_SHARE);
	let events = |part: &Part| writer.events(part);
	let range = shared(&parts, plan.shares, events)[number].clone();
	save(&write_parts(&writer, &parts[range])?, &staging.join("sums"))?;
	let place = folder.join(format!("{}.{number}", Step::Write.name()));
	match fs::rename(&staging, &place) {
		// Another worker, thought to be gone, did it as well.
		Err(error)
			if matches!(error.kind(), ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists) =>
		{
			fs::remove_dir_all(&staging).at(&staging)
		}
		done => done.at(&place),
	}
}

fn surveys(folder: &Path, run: &Run, shares: usize) -> Result<Vec<(Image, Survey)>, PackError> {
	let mut merged: Vec<Survey> = Vec::with_capacity(run.images.len());
	for share in 0..shares {
		let path = folder.join(format!("{}.{share}", Step::Survey.name()));
		merged.extend(load::<Vec<Survey>>(&path)?);
	}
	if merged.len() != run.images.len() {
		let reason = format!("{} surveys of {} processes", merged.len(), run.images.len());
		return Err(PackError::Data { path: folder.to_owned(), reason });
	}
	Ok(run.images.iter().cloned().zip(merged).collect())
}

fn save<T: Serialize>(value: &T, path: &Path) -> Result<(), PackError> {
	let bytes = postcard::to_stdvec(value).map_err(|error| PackError::Data {
		path: path.to_owned(),
		reason: format!("cannot be put into bytes: {error}"),
	})?;
	write_new(path, &bytes).at(path)
}

fn load<T: DeserializeOwned>(path: &Path) -> Result<T, PackError> {
	let bytes = fs::read(path).at(path)?;
	postcard::from_bytes(&bytes).map_err(|error| PackError::Data {
		path: path.to_owned(),
		reason: format!("is no share of this version: {error}"),
	})
}
