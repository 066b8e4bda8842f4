//! A pack in shares: both passes over the streams done by several processes, on nodes that share the run's file system.
//!
//! All lies in one folder of the run, which its packer makes and removes: the plan, what each share's survey found, and
//! each share's parts of the tables with what they add to the small ones. What follows from all surveys everyone works
//! out alike, so nothing else has to be told. A share that is done twice is one: it appears whole, by a rename.

use std::fs;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};

use fathom_sink::{entries, write_new};
use rayon::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{At, PackError};
use crate::pack::{Whole, survey_images, threads, unique};
use crate::progress::Progress;
use crate::recover::Recovered;
use crate::run::{Image, Run};
use crate::survey::Survey;
use crate::write::{PART_ROWS, Part, TABLES_IN_PARTS, Writer, Written, make_folders};

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

/// What everyone who has a share must see alike.
#[derive(Debug, Serialize, Deserialize)]
pub struct Plan {
	engine: String,
	shares: usize,
	/// Rows of [`Survey::below`] that each image keeps.
	pub most_below: usize,
	/// Of a part of `calls`.
	pub part_rows: u64,
	/// In the order of [`Run::images`].
	images: Vec<Planned>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Planned {
	pid: u32,
	instance: u64,
	bytes: u64,
	alive: bool,
}

/// System calls inside collective ones that are remembered, in the whole run: 300 MiB.
const MOST_BELOW: usize = 8 << 20;

impl Plan {
	/// `part_rows`: as in [`crate::Options`].
	pub fn new(run: &Run, recovered: &Recovered, shares: usize, part_rows: u64) -> Plan {
		let planned = |image: &Image| Planned {
			pid: image.pid,
			instance: image.instance,
			bytes: image.bytes,
			alive: recovered.alive.contains(&(image.pid, image.instance)),
		};
		Plan {
			engine: env!("CARGO_PKG_VERSION").to_owned(),
			shares,
			most_below: MOST_BELOW / run.images.len().max(1),
			part_rows: if part_rows == 0 { PART_ROWS } else { part_rows },
			images: run.images.iter().map(planned).collect(),
		}
	}

	pub fn alive(&self, image: usize) -> bool {
		self.images[image].alive
	}

	/// Is this the run that was planned for, as seen from here?
	fn check(&self, run: &Run) -> Result<(), PackError> {
		let refuse = |reason: String| Err(PackError::Data { path: run.path.clone(), reason });
		if self.engine != env!("CARGO_PKG_VERSION") {
			let version = env!("CARGO_PKG_VERSION");
			return refuse(format!("packed by Fathom {}; this node has {version}", self.engine));
		}
		let seen = |(planned, image): &(&Planned, &Image)| {
			(planned.pid, planned.instance) == (image.pid, image.instance)
				&& planned.bytes <= image.bytes
		};
		let same = self.images.iter().zip(&run.images).filter(seen).count();
		if same != self.images.len() || same != run.images.len() {
			let all = self.images.len();
			return refuse(format!(
				"of the streams of {all} processes this node sees {same} whole"
			));
		}
		Ok(())
	}

	/// The images that a share surveys.
	fn surveyed(&self, share: usize) -> Range<usize> {
		shared(&self.images, self.shares, |image| image.bytes)[share].clone()
	}
}

/// As many neighbouring stretches as there are shares, of about the same weight.
fn shared<T>(all: &[T], shares: usize, weight: impl Fn(&T) -> u64) -> Vec<Range<usize>> {
	let mut sums = vec![0];
	for item in all {
		sums.push(sums[sums.len() - 1] + u128::from(weight(item)) + 1); // what is empty is work, too
	}
	let total = sums[all.len()];
	let nearest = |share: usize| {
		let (shares, due) = (shares as u128, total * share as u128);
		let after = sums.partition_point(|sum| sum * shares < due).min(all.len());
		let before = after.saturating_sub(1);
		let nearer = due.saturating_sub(sums[before] * shares) < sums[after] * shares - due;
		if nearer { before } else { after }
	};
	(0..shares).map(|share| nearest(share)..nearest(share + 1)).collect()
}

/// So that shares are about equal, and their threads all have something to do.
const PARTS_OF_A_SHARE: usize = 4;

/// The folder of a run that is packed in shares; it goes with this.
pub struct Folder(pub PathBuf);

/// How its name begins.
pub const SHARES: &str = "tables.shares.";

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

/// Second pass over some parts, in parallel; what they add, in their order.
pub fn write_parts(writer: &Writer<'_>, parts: &[Part]) -> Result<Written, PackError> {
	let written: Vec<Written> =
		parts.par_iter().map(|part| writer.write(part)).collect::<Result<_, _>>()?;
	let mut all = Written::default();
	written.into_iter().for_each(|part| all.add(part));
	Ok(all)
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

#[cfg(test)]
mod tests {
	use proptest::prelude::*;

	use super::*;

	proptest! {
		#[test]
		fn shares_cover_all_once_and_none_has_much_more(
			weights in prop::collection::vec(0u64..1000, 0..200), shares in 1usize..20,
		) {
			let cuts = shared(&weights, shares, |&w| w);
			prop_assert_eq!(cuts.len(), shares);
			prop_assert_eq!(cuts.iter().map(|cut| cut.start).min(), Some(0));
			prop_assert!(cuts.windows(2).all(|two| two[0].end == two[1].start));
			prop_assert_eq!(cuts.last().map(|cut| cut.end), Some(weights.len()));
			let most = weights.iter().max().copied().unwrap_or(0) + 1;
			let fair = weights.iter().map(|w| w + 1).sum::<u64>().div_ceil(shares as u64);
			for cut in cuts {
				let weight: u64 = weights[cut].iter().map(|w| w + 1).sum();
				prop_assert!(weight <= fair + most);
			}
		}
	}
}
