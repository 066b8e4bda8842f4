//! Parts of one run, from nodes that shared no file system, brought into one directory.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use fathom_sink::{IfThere, entries, make_directories, open_file, read_file, replace};

use crate::error::{At, PackError};
use crate::pack::Lock;
use crate::recover::{recover_own, remove_staged};
use crate::run::Run;

/// What a join did.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Joined {
	/// Folders of nodes that were not there.
	pub nodes: usize,
	pub files: usize,
	pub bytes: u64,
	/// Rings of the part that cannot be read, and why.
	pub refused: Vec<String>,
}

/// Copies what `part` has of its nodes into `into`, which is made when it is not there. Doing it twice does no harm: a
/// file that is there already stays, and the longer of two streams counts.
pub fn join(into: &Path, part: &Path) -> Result<Joined, PackError> {
	check_jobs([into, part])?;
	remove_staged(into)?;
	let refused = recover_own(&Run::open(part)?)?.refused;
	let mut joined = Joined { refused, ..Joined::default() };
	let streams = into.join("streams");
	make_directories(&streams).at(&streams)?;
	let manifest = part.join("run.json");
	let has_manifest = manifest.try_exists().at(&manifest)?;
	if has_manifest {
		let _alone = Lock::take(into, true)?; // another part may be joined at once, of another job
		check_jobs([into, part])?;
		bring(&manifest, &into.join("run.json"), &mut joined)?;
	}
	for node in folders(&part.join("streams"))? {
		let to = streams.join(node.file_name().unwrap_or_default());
		joined.nodes += usize::from(make_directories(&to).at(&to)?);
		for file in files(&node)? {
			bring(&file, &to.join(file.file_name().unwrap_or_default()), &mut joined)?;
		}
		if has_manifest {
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
		joined.nodes += usize::from(make_directories(&to).at(&to)?);
		for name in files.keys() {
			let bytes = sink.read(node, name).at(&part.path)?;
			let source = Source {
				path: &part.path,
				bytes: bytes.len() as u64,
				open: || Ok(bytes.as_slice()),
			};
			bring_from(&source, &to.join(name), joined)?;
		}
	}
	Ok(())
}

/// Errors: these are parts of two jobs.
pub fn check_jobs<'p>(parts: impl IntoIterator<Item = &'p Path>) -> Result<(), PackError> {
	let mut first: Option<(&Path, String)> = None;
	for part in parts {
		let Some(job) = job(&part.join("run.json"))? else { continue };
		match &first {
			Some((of, other)) if *other != job => {
				let reason = format!("is of another job than {} ({job}, {other})", of.display());
				return Err(PackError::Data { path: part.to_owned(), reason });
			}
			Some(_) => {}
			None => first = Some((part, job)),
		}
	}
	Ok(())
}

/// What the parts of one job have in common; hydra's have nothing.
fn job(path: &Path) -> Result<Option<String>, PackError> {
	let text = read_file(path).if_there().at(path)?.unwrap_or_default();
	let json: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
	let job = json.get("job").and_then(|job| job.as_str()).unwrap_or_default();
	Ok((!job.is_empty()).then(|| job.to_owned()))
}

fn folders(folder: &Path) -> Result<Vec<PathBuf>, PackError> {
	of_kind(folder, fs::Metadata::is_dir)
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, PackError> {
	let whole = |path: &PathBuf| path.extension().is_none_or(|extension| extension != "tmp");
	Ok(of_kind(folder, fs::Metadata::is_file)?.into_iter().filter(whole).collect())
}

fn of_kind(folder: &Path, kind: fn(&fs::Metadata) -> bool) -> Result<Vec<PathBuf>, PackError> {
	let mut paths = Vec::new();
	for path in entries(folder).at(folder)? {
		let facts = fs::symlink_metadata(&path).if_there().at(&path)?;
		if facts.as_ref().is_some_and(fs::Metadata::is_symlink) {
			let reason = "is a link, which is not followed".to_owned();
			return Err(PackError::Data { path, reason });
		}
		if facts.is_some_and(|facts| kind(&facts)) {
			paths.push(path);
		}
	}
	Ok(paths)
}

fn bring(from: &Path, to: &Path, joined: &mut Joined) -> Result<(), PackError> {
	let source = Source { path: from, bytes: length(from)?, open: || open_file(from) };
	bring_from(&source, to, joined)
}

/// What is copied: where it comes from, how long it is, and the way to read it once more.
struct Source<'p, F> {
	path: &'p Path,
	bytes: u64,
	open: F,
}

/// Copies a file that is not there, or of which only the beginning is there.
fn bring_from<R: Read>(
	from: &Source<'_, impl Fn() -> io::Result<R>>,
	to: &Path,
	joined: &mut Joined,
) -> Result<(), PackError> {
	let open = || (from.open)().at(from.path);
	if to.try_exists().at(to)? {
		let stream = to.extension().is_some_and(|extension| extension == "fts");
		if !stream {
			return Ok(());
		}
		if !begins_alike(open()?, File::open(to).at(to)?).at(from.path)? {
			let reason = format!("differs from {}", to.display());
			return Err(PackError::Data { path: from.path.to_owned(), reason });
		}
		if length(to)? >= from.bytes {
			return Ok(());
		}
	}
	let mut source = open()?;
	joined.bytes += replace(to, |copy| io::copy(&mut source, copy)).at(to)?;
	joined.files += 1;
	Ok(())
}

fn length(path: &Path) -> Result<u64, PackError> {
	Ok(fs::metadata(path).at(path)?.len())
}

/// Is the shorter one the other's beginning?
fn begins_alike(mut left: impl Read, mut right: impl Read) -> io::Result<bool> {
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

fn fill(file: &mut impl Read, block: &mut [u8]) -> io::Result<usize> {
	let mut filled = 0;
	while filled < block.len() {
		match file.read(&mut block[filled..])? {
			0 => break,
			got => filled += got,
		}
	}
	Ok(filled)
}
