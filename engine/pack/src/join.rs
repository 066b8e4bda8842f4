//! Parts of one run, from nodes that shared no file system, brought into one directory.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use fathom_sink::{create_new, write_new};

use crate::error::{At, PackError};
use crate::recover::recover_own;
use crate::run::Run;

/// What a join did.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Joined {
	/// Folders of nodes that were not there.
	pub nodes: usize,
	pub files: usize,
	pub bytes: u64,
}

/// Copies what `part` has of its nodes into `into`, which is made when it is not there. Doing it twice does no harm: a
/// file that is there already stays, and the longer of two streams counts.
pub fn join(into: &Path, part: &Path) -> Result<Joined, PackError> {
	let into_job = job(&into.join("run.json"));
	let part_job = job(&part.join("run.json"));
	if let (Some(into_job), Some(part_job)) = (&into_job, &part_job)
		&& into_job != part_job
	{
		let reason = format!("is of another job than {} ({part_job}, {into_job})", into.display());
		return Err(PackError::Data { path: part.to_owned(), reason });
	}
	recover_own(&Run::open(part)?)?;
	let mut joined = Joined::default();
	let streams = into.join("streams");
	fs::create_dir_all(&streams).at(&streams)?;
	let manifest = part.join("run.json");
	if manifest.exists() && !into.join("run.json").exists() {
		bring(&manifest, &into.join("run.json"), &mut joined)?;
	}
	for node in folders(&part.join("streams"))? {
		let to = streams.join(node.file_name().unwrap_or_default());
		joined.nodes += usize::from(!to.exists());
		fs::create_dir_all(&to).at(&to)?;
		for file in files(&node)? {
			bring(&file, &to.join(file.file_name().unwrap_or_default()), &mut joined)?;
		}
		if manifest.exists() && !to.join("run.json").exists() {
			bring(&manifest, &to.join("run.json"), &mut joined)?;
		}
	}
	bring_shared(&Run::open(part)?, &streams, &mut joined)?;
	Ok(joined)
}

/// Files that lie in shared ones become files of their own: another part's shared files bear the same names.
fn bring_shared(part: &Run, streams: &Path, joined: &mut Joined) -> Result<(), PackError> {
	let Some(sink) = &part.sink else { return Ok(()) };
	for (node, files) in sink.nodes() {
		let to = streams.join(node);
		joined.nodes += usize::from(!to.exists());
		fs::create_dir_all(&to).at(&to)?;
		for name in files.keys() {
			let staging = to.join(format!("{name}.shared.tmp"));
			write_new(&staging, &sink.read(node, name).at(&part.path)?).at(&staging)?;
			bring(&staging, &to.join(name), joined)?;
			fs::remove_file(&staging).at(&staging)?;
		}
	}
	Ok(())
}

/// What the parts of one job have in common; hydra's have nothing.
fn job(path: &Path) -> Option<String> {
	let json: serde_json::Value = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
	let job = json.get("job")?.as_str()?;
	(!job.is_empty()).then(|| job.to_owned())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, PackError> {
	let mut paths = Vec::new();
	if folder.is_dir() {
		for entry in fs::read_dir(folder).at(folder)? {
			paths.push(entry.at(folder)?.path());
		}
	}
	paths.sort();
	Ok(paths)
}

fn folders(folder: &Path) -> Result<Vec<PathBuf>, PackError> {
	Ok(entries(folder)?.into_iter().filter(|path| path.is_dir()).collect())
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, PackError> {
	let whole = |path: &PathBuf| path.extension().is_none_or(|extension| extension != "tmp");
	Ok(entries(folder)?.into_iter().filter(|path| path.is_file() && whole(path)).collect())
}

/// Copies a file that is not there, or of which only the beginning is there.
fn bring(from: &Path, to: &Path, joined: &mut Joined) -> Result<(), PackError> {
	if to.exists() {
		let stream = to.extension().is_some_and(|extension| extension == "fts");
		let (into_bytes, from_bytes) = (length(to)?, length(from)?);
		if !stream || (into_bytes == from_bytes && begins_alike(from, to).at(from)?) {
			return Ok(());
		}
		if !begins_alike(from, to).at(from)? {
			let reason = format!("differs from {}", to.display());
			return Err(PackError::Data { path: from.to_owned(), reason });
		}
		if into_bytes >= from_bytes {
			return Ok(());
		}
	}
	let staging = to.with_extension("join.tmp");
	let (mut source, mut copy) = (File::open(from).at(from)?, create_new(&staging).at(&staging)?);
	joined.bytes += io::copy(&mut source, &mut copy).at(from)?;
	fs::rename(&staging, to).at(to)?;
	joined.files += 1;
	Ok(())
}

fn length(path: &Path) -> Result<u64, PackError> {
	Ok(fs::metadata(path).at(path)?.len())
}

/// Is the shorter one the other's beginning?
fn begins_alike(left: &Path, right: &Path) -> io::Result<bool> {
	let (mut left, mut right) = (File::open(left)?, File::open(right)?);
	let (mut a, mut b) = (vec![0; 1 << 16], vec![0; 1 << 16]);
	loop {
		let (left_bytes, right_bytes) = (fill(&mut left, &mut a)?, fill(&mut right, &mut b)?);
		let common = left_bytes.min(right_bytes);
		if a[..common] != b[..common] {
			return Ok(false);
		}
		if common < a.len() {
			return Ok(true);
		}
	}
}

fn fill(file: &mut File, block: &mut [u8]) -> io::Result<usize> {
	let mut filled = 0;
	while filled < block.len() {
		match file.read(&mut block[filled..])? {
			0 => break,
			got => filled += got,
		}
	}
	Ok(filled)
}
