//! The control page of a node's rings, changed while processes read it: `docs/control-page.md`.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::compile::CRITICAL;
use crate::map::Page;

const GATE: usize = 16;
const GENERATION: usize = 24;
const SELECTION: usize = 40;
const RING_GATE: usize = 64;

#[derive(Debug, thiserror::Error)]
#[error("{path}: {source}")]
pub struct ControlError {
	pub path: PathBuf,
	pub source: io::Error,
}

/// A node's folder of rings.
pub struct Control {
	rings: PathBuf,
}

/// An error with its place.
trait At<T> {
	fn at(self, path: &Path) -> Result<T, ControlError>;
}

impl<T> At<T> for io::Result<T> {
	fn at(self, path: &Path) -> Result<T, ControlError> {
		self.map_err(|source| ControlError { path: path.to_owned(), source })
	}
}

impl Control {
	pub fn new(rings: &Path) -> Control {
		Control { rings: rings.to_owned() }
	}

	/// Puts a compiled selection in force; returns its number.
	pub fn change(&self, compiled: &str) -> Result<u64, ControlError> {
		let _alone = self.lock()?;
		self.put(&self.page()?, compiled)
	}

	/// Does the selection in force ask which processes are critical?
	pub fn asks(&self) -> bool {
		let Ok(page) = self.page() else { return false };
		self.text(&page).is_some_and(|text| is_steered(&text))
	}

	/// Names these as critical in the selection in force, where it asks for that. False: it does not.
	pub fn name_critical(&self, pids: &[u32]) -> Result<bool, ControlError> {
		let _alone = self.lock()?;
		let page = self.page()?;
		let Some(text) = self.text(&page).filter(|text| is_steered(text)) else { return Ok(false) };
		self.put(&page, &renamed(&text, pids))?;
		Ok(true)
	}

	fn page(&self) -> Result<Page, ControlError> {
		let path = self.rings.join("control");
		Page::open(&path, *b"FATHOMCP").at(&path)
	}

	fn file(&self, number: u64) -> PathBuf {
		self.rings.join(format!("selection.{number}"))
	}

	/// The compiled selection in force; `None`: levels and layers of the page are.
	fn text(&self, page: &Page) -> Option<String> {
		fs::read_to_string(self.file(page.get(SELECTION))).ok()
	}

	/// Held until the file is closed.
	fn lock(&self) -> Result<File, ControlError> {
		let path = self.rings.join("select.lock");
		let file = File::options().write(true).create(true).truncate(false).open(&path);
		let file = file.at(&path)?;
		flock(&file, FlockOperation::LockExclusive).map_err(io::Error::from).at(&path)?;
		Ok(file)
	}

	fn put(&self, page: &Page, compiled: &str) -> Result<u64, ControlError> {
		let number = page.get(GENERATION) + 1;
		let (path, temporary) =
			(self.file(number), self.rings.join(format!("selection.{number}.new")));
		fs::write(&temporary, compiled).at(&temporary)?;
		fs::rename(&temporary, &path).at(&path)?;
		page.set(SELECTION, number);
		page.set(GENERATION, number);
		page.set(GATE, 0);
		for other in self.others()? {
			let end = other.extension().unwrap_or_default();
			if end == "ring" || end == "exec" {
				// Every process looks at the page before its next call; a ring may be gone, or not made yet.
				let _ = Page::open(&other, *b"FATHOMRG").map(|ring| ring.set(RING_GATE, 0));
			} else if other.file_stem().is_some_and(|stem| stem == "selection") && other != path {
				let _ = fs::remove_file(&other);
			}
		}
		Ok(number)
	}

	fn others(&self) -> Result<Vec<PathBuf>, ControlError> {
		let entries = fs::read_dir(&self.rings).at(&self.rings)?;
		Ok(entries.flatten().map(|entry| entry.path()).collect())
	}
}

fn is_steered(text: &str) -> bool {
	text.lines().any(|line| line.starts_with(CRITICAL))
}

/// The same selection with these processes as critical.
fn renamed(text: &str, pids: &[u32]) -> String {
	let names: Vec<String> = pids.iter().map(|pid| format!("{CRITICAL}{pid}\n")).collect();
	let named = if names.is_empty() { format!("{CRITICAL}none\n") } else { names.concat() };
	let mut out = String::new();
	let mut before = false; // lines of one key stand together
	for line in text.lines() {
		let is_name = line.starts_with(CRITICAL);
		if !is_name {
			out.extend([line, "\n"]);
		} else if !before {
			out.push_str(&named);
		}
		before = is_name;
	}
	out
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
	use super::*;

	#[test]
	fn only_the_lines_of_critical_processes_change() {
		let text = "fathom-selection 2\ntable file\ntable call\nranks 0\ncritical none\nfile *\n";
		let two = renamed(text, &[4711, 12]);
		assert_eq!(two, text.replace("critical none", "critical 4711\ncritical 12"));
		assert_eq!(renamed(&two, &[]), text);
	}

	#[test]
	fn a_selection_that_does_not_ask_stays() {
		let folder = std::env::temp_dir().join(format!("fathom-control-{}", std::process::id()));
		fs::create_dir_all(&folder).unwrap();
		let mut page = vec![0; 4096];
		page[..8].copy_from_slice(b"FATHOMCP");
		fs::write(folder.join("control"), page).unwrap();
		let control = Control::new(&folder);
		assert!(!control.asks() && !control.name_critical(&[1]).unwrap());
		assert_eq!(control.change("fathom-selection 1\ntable job\n").unwrap(), 1);
		assert!(!control.asks() && !control.name_critical(&[1]).unwrap());
		assert_eq!(control.change("table call\ncritical none\n").unwrap(), 2);
		assert!(control.asks() && control.name_critical(&[1]).unwrap());
		let text = fs::read_to_string(folder.join("selection.3")).unwrap();
		assert_eq!(text, "table call\ncritical 1\n");
		assert!(!folder.join("selection.2").exists());
		fs::remove_dir_all(&folder).unwrap();
	}
}
