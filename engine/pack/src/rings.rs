//! Where this node's rings of a run lie. `run.json` says it, and may have come from anybody: what it names is acted
//! upon only where it is this run's own. `python/fathom/run/rings.py` goes by the same rule.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// Bytes of a control page, and where it names the run (docs/control-page.md).
const PAGE: usize = 4096;
const RUN: usize = 1024;
const MAGIC: &[u8] = b"FATHOMCP";

/// The folder that `run.json` of `run` names, if it is there and this run's; else why it is left alone.
///
/// It is no link, is this user's, and its control page names this run. Of a run that was moved since, or that has no
/// page, it bears the name that `fathom run` gives it: /dev/shm/fathom.UID.ID.
pub fn own(run: &Path, path: &Path, id: &str) -> Result<Option<PathBuf>, String> {
	let user = rustix::process::geteuid().as_raw();
	let facts = match fs::symlink_metadata(path) {
		Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
		facts => facts.map_err(|error| error.to_string())?,
	};
	if !path.is_absolute() || !facts.is_dir() {
		return Err("run.json names it for rings, but it is no folder".into());
	}
	if facts.uid() != user {
		return Err("run.json names it for rings, but it belongs to another user".into());
	}
	let named = run_of(&path.join("control"), user);
	if named.as_deref().is_some_and(|named| same(named, run)) {
		return Ok(Some(path.to_owned()));
	}
	if let Some(other) = named.filter(|named| named.is_dir()) {
		return Err(format!("run.json names it for rings, but they are of {}", other.display()));
	}
	if path == Path::new(&format!("/dev/shm/fathom.{user}.{id}")) {
		return Ok(Some(path.to_owned()));
	}
	Err("run.json names it for rings, but no control page there is of this run".into())
}

/// The run that a control page names.
fn run_of(path: &Path, user: u32) -> Option<PathBuf> {
	let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK; // not through a link, and not for ever
	let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path);
	let page = file.ok().and_then(|file| page(&file, user))?;
	let name = page.get(RUN..)?.split(|byte| *byte == 0).next()?;
	(page.starts_with(MAGIC) && !name.is_empty())
		.then(|| PathBuf::from(std::ffi::OsStr::from_bytes(name)))
}

fn page(file: &File, user: u32) -> Option<Vec<u8>> {
	let facts = file.metadata().ok()?;
	if !facts.is_file() || facts.uid() != user || facts.len() != PAGE as u64 {
		return None;
	}
	let mut page = Vec::with_capacity(PAGE);
	file.take(PAGE as u64).read_to_end(&mut page).ok()?;
	Some(page)
}

fn same(one: &Path, other: &Path) -> bool {
	let place = |path: &Path| fs::metadata(path).map(|facts| (facts.dev(), facts.ino())).ok();
	place(one).is_some() && place(one) == place(other)
}

#[cfg(test)]
mod tests {
	use super::*;

	const ID: &str = "00000000000000ab";

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
		assert!(own(&run, &rings, ID).unwrap_err().contains("no control page"));
		place.page(&place.0.join("other.fathom"));
		assert!(own(&run, &rings, ID).unwrap_err().contains("other.fathom"));
		place.page(&run);
		assert_eq!(own(&run, &rings, ID), Ok(Some(rings)));
		assert_eq!(own(&run, &place.0.join("gone"), ID), Ok(None));
	}

	#[test]
	fn links_are_not_followed() {
		let place = Place::new("link");
		let (run, rings, link) = (place.run(), place.rings(), place.0.join("link"));
		place.page(&run);
		std::os::unix::fs::symlink(&rings, &link).unwrap();
		assert!(own(&run, &link, ID).is_err());
		fs::rename(rings.join("control"), place.0.join("page")).unwrap();
		std::os::unix::fs::symlink(place.0.join("page"), rings.join("control")).unwrap();
		assert!(own(&run, &rings, ID).is_err());
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
		assert_eq!(own_id, Ok(Some(rings)));
		assert!(other_id.is_err());
	}
}
