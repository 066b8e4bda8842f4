//! Where this node's rings of a run lie. `run.json` says it, and may have come from anybody: what it names is acted
//! upon only where it is this run's own. `python/fathom/run/rings.py` goes by the same rule.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use fathom_sink::IfThere;
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::error::{At, PackError};

/// Bytes of a control page, and where it names the run (docs/control-page.md).
const PAGE: usize = 4096;
const RUN: usize = 1024;
const MAGIC: &[u8] = b"FATHOMCP";

/// What there is of the folder that `run.json` of a run names for rings.
#[derive(Debug, PartialEq, Eq)]
pub enum Named {
	/// It is not there.
	Absent,
	Own(PathBuf),
	/// It is left alone, and why.
	Foreign(String),
}

/// It is the run's own if it is no link, is this user's, and its control page names this run. Of a run that was moved since,
/// or that has no page, it bears the name that `fathom run` gives it: /dev/shm/fathom.UID.ID.
pub fn own(run: &Path, path: &Path, id: &str) -> Result<Named, PackError> {
	let user = rustix::process::geteuid().as_raw();
	let foreign = |why: &str| {
		Ok(Named::Foreign(format!("{}: run.json names it for rings, but {why}", path.display())))
	};
	let Some(facts) = fs::symlink_metadata(path).if_there().at(path)? else {
		return Ok(Named::Absent);
	};
	if !path.is_absolute() || !facts.is_dir() {
		return foreign("it is no folder");
	}
	if facts.uid() != user {
		return foreign("it belongs to another user");
	}
	let page = path.join("control");
	if let Some(named) = run_of(&page, user).at(&page)? {
		let (its, ours) = (place(&named)?, place(run)?);
		if its.is_some() && its == ours {
			return Ok(Named::Own(path.to_owned()));
		}
		if its.is_some() {
			return foreign(&format!("they are of {}", named.display()));
		}
	}
	if path == Path::new(&format!("/dev/shm/fathom.{user}.{id}")) {
		return Ok(Named::Own(path.to_owned()));
	}
	foreign("no control page there is of this run")
}

/// The run that a control page names.
fn run_of(path: &Path, user: u32) -> io::Result<Option<PathBuf>> {
	let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK; // not through a link, and not for ever
	let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path);
	let file = match file {
		Err(error) if Errno::from_io_error(&error) == Some(Errno::LOOP) => return Ok(None),
		file => file.if_there()?,
	};
	let Some(file) = file else { return Ok(None) };
	let page = page(&file, user)?;
	let name = page.get(RUN..).and_then(|rest| rest.split(|byte| *byte == 0).next());
	let name = name.filter(|name| page.starts_with(MAGIC) && !name.is_empty());
	Ok(name.map(|name| PathBuf::from(std::ffi::OsStr::from_bytes(name))))
}

/// Empty where the file is no control page.
fn page(file: &File, user: u32) -> io::Result<Vec<u8>> {
	let facts = file.metadata()?;
	let mut page = Vec::with_capacity(PAGE);
	if facts.is_file() && facts.uid() == user && facts.len() == PAGE as u64 {
		file.take(PAGE as u64).read_to_end(&mut page)?;
	}
	Ok(page)
}

/// The same of two names of one directory; `None`: there is no directory.
fn place(path: &Path) -> Result<Option<(u64, u64)>, PackError> {
	let facts = fs::metadata(path).if_there().at(path)?.filter(|facts| facts.is_dir());
	Ok(facts.map(|facts| (facts.dev(), facts.ino())))
}

#[cfg(test)]
mod tests {
	use super::*;

	const ID: &str = "00000000000000ab";

	/// Why it is left alone.
	fn why(run: &Path, rings: &Path) -> String {
		match own(run, rings, ID).unwrap() {
			Named::Foreign(why) => why,
			other => panic!("{other:?}"),
		}
	}

	/// A folder that is gone afterwards.
	struct Place(PathBuf);

	impl Place {
		fn new(name: &str) -> Place {
			let path =
				std::env::temp_dir().join(format!("fathom-rings-{name}-{}", std::process::id()));
			let _ = fs::remove_dir_all(&path);
			for folder in ["mine.fathom", "other.fathom", "rings"] {
				fs::create_dir_all(path.join(folder)).unwrap();
			}
			Place(path)
		}

		fn page(&self, run: &Path) {
			let mut page = vec![0; PAGE];
			page[..MAGIC.len()].copy_from_slice(MAGIC);
			let name = run.as_os_str().as_bytes();
			page[RUN..RUN + name.len()].copy_from_slice(name);
			fs::write(self.rings().join("control"), page).unwrap();
		}

		fn rings(&self) -> PathBuf {
			self.0.join("rings")
		}

		fn run(&self) -> PathBuf {
			self.0.join("mine.fathom")
		}
	}

	impl Drop for Place {
		fn drop(&mut self) {
			let _ = fs::remove_dir_all(&self.0);
		}
	}

	#[test]
	fn a_folder_is_the_runs_by_its_page_alone() {
		let place = Place::new("page");
		let (run, rings) = (place.run(), place.rings());
		assert!(why(&run, &rings).contains("no control page"));
		place.page(&place.0.join("other.fathom"));
		assert!(why(&run, &rings).contains("other.fathom"));
		place.page(&run);
		assert_eq!(own(&run, &rings, ID).unwrap(), Named::Own(rings));
		assert_eq!(own(&run, &place.0.join("gone"), ID).unwrap(), Named::Absent);
	}

	#[test]
	fn links_are_not_followed() {
		let place = Place::new("link");
		let (run, rings, link) = (place.run(), place.rings(), place.0.join("link"));
		place.page(&run);
		std::os::unix::fs::symlink(&rings, &link).unwrap();
		assert!(why(&run, &link).contains("no folder"));
		fs::rename(rings.join("control"), place.0.join("page")).unwrap();
		std::os::unix::fs::symlink(place.0.join("page"), rings.join("control")).unwrap();
		assert!(why(&run, &rings).contains("no control page"));
	}

	#[test]
	fn a_run_that_was_moved_has_its_rings_by_their_name() {
		let place = Place::new("moved");
		let user = rustix::process::geteuid().as_raw();
		let id = format!("{:016x}", u64::from(std::process::id()) << 32);
		let rings = PathBuf::from(format!("/dev/shm/fathom.{user}.{id}"));
		fs::create_dir(&rings).unwrap();
		let (own_id, other_id) = (own(&place.run(), &rings, &id), own(&place.run(), &rings, ID));
		fs::remove_dir(&rings).unwrap();
		assert_eq!(own_id.unwrap(), Named::Own(rings));
		assert!(matches!(other_id, Ok(Named::Foreign(_))));
	}
}
