//! A run's tables are made aside and replaced as a whole; a stamp says what they were made of.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use fathom_sink::{IfThere, entries, is_directory, random, read_file, sync_directory};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::error::{At, PackError};
use crate::recover::{Recovered, boot_id};
use crate::run::{Run, TABLES};

pub const STAMP: &str = "packed";

/// What tables were made of: the same stamp means that packing again gives the same tables.
pub fn stamp(run: &Run, recovered: &Recovered) -> String {
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
pub const STAGING: &str = "tables.tmp.";
const OLD: &str = "tables.old";
/// Folders of runs that are packed in shares.
pub const SHARES: &str = "tables.shares.";
/// What is being removed.
const GONE: &str = "tables.gone.";

/// What begins so and no other packer takes, on any node: there are file systems whose locks hold on one node alone.
pub fn unique(kind: &str) -> Result<String, PackError> {
	let number = random().at(Path::new(kind))?;
	Ok(format!("{kind}{}.{number:016x}", boot_id()?))
}

/// After so long no packer of another node is at work.
const DAY: Duration = Duration::from_secs(86_400);

/// Removes what packers that were killed left, of other nodes after a day; a share that still runs may keep some of it until
/// the next pack. Where there are no locks, one of this node may still write there: it has all of it, or nothing.
pub fn remove_left(run: &Path, boot_id: &str) {
	let whole = run.join(TABLES).is_dir();
	for entry in fs::read_dir(run).into_iter().flatten().flatten() {
		let name = entry.file_name();
		let text = name.to_string_lossy();
		let left = [STAGING, SHARES, GONE].iter().find_map(|kind| text.strip_prefix(kind));
		if left.is_some_and(|of| of.starts_with(boot_id) || is_old(&entry)) {
			let _ = remove_at_once(run, &entry.path());
		} else if name == OLD && whole {
			let _ = fs::remove_dir_all(entry.path());
		}
	}
}

/// Under another name first: who writes there finds none of it any more.
fn remove_at_once(run: &Path, folder: &Path) -> Result<(), PackError> {
	let gone = run.join(unique(GONE)?);
	fs::rename(folder, &gone).at(folder)?;
	remove(&gone)
}

fn is_old(entry: &fs::DirEntry) -> bool {
	let changed = entry.metadata().and_then(|facts| facts.modified());
	changed.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > DAY))
}

const INVENTORY: &str = "tables=";

/// One line that names all files below the folder, parts of tables among them.
pub fn inventory(folder: &Path) -> Result<String, PackError> {
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
pub fn unreadable_line(modules: &[String]) -> String {
	format!("{UNREADABLE}{}\n", serde_json::json!(modules))
}

/// Were the tables made of the same streams, is none of their files gone, and can no module be read by now that could not?
pub fn fresh(tables: &Path, stamp: &str) -> Result<bool, PackError> {
	let path = tables.join(STAMP);
	let old = read_file(&path).if_there().at(&path)?.unwrap_or_default();
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

/// New tables in the place of the old ones, whole, and so after a power cut. Readers find the ones or the others.
pub fn swap(run: &Path, new: &Path) -> Result<(), PackError> {
	let place = run.join(TABLES);
	let exchanged = renameat_with(CWD, new, CWD, &place, RenameFlags::EXCHANGE).is_ok();
	let old = if exchanged { new.to_owned() } else { swap_in_two(run, new, &place)? };
	sync_directory(run).at(run)?;
	let _ = remove(&old); // who reads them still may keep some until the next pack
	Ok(())
}

/// The first time, and where a file system does not exchange: for a moment there are none.
fn swap_in_two(run: &Path, new: &Path, place: &Path) -> Result<PathBuf, PackError> {
	let old = run.join(OLD);
	remove(&old)?;
	fs::rename(place, &old).if_there().at(place)?;
	fs::rename(new, place).at(new)?;
	Ok(old)
}
