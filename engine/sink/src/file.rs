//! Files written in a run directory, which others may have prepared: never through a link that lies there.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::fs::OFlags;

/// What may not be there: only ENOENT says that it is not. Any other error of reading is one, and never an answer.
pub trait IfThere<T> {
	fn if_there(self) -> io::Result<Option<T>>;
}

impl<T> IfThere<T> for io::Result<T> {
	fn if_there(self) -> io::Result<Option<T>> {
		match self {
			Ok(value) => Ok(Some(value)),
			Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
			Err(error) => Err(error),
		}
	}
}

/// Is there a directory of this name?
pub fn is_directory(path: &Path) -> io::Result<bool> {
	Ok(fs::metadata(path).if_there()?.is_some_and(|facts| facts.is_dir()))
}

/// All that is in a directory, by name; nothing where there is none.
pub fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
	let Some(listed) = fs::read_dir(folder).if_there()? else { return Ok(Vec::new()) };
	let mut paths: Vec<PathBuf> =
		listed.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
	paths.sort();
	Ok(paths)
}

/// A file that is this name's own; what was there before, be it a link, goes first.
pub fn create_new(path: &Path) -> io::Result<File> {
	fs::remove_file(path).if_there()?;
	File::create_new(path)
}

pub fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
	create_new(path)?.write_all(bytes)
}

/// This file with what `fill` writes, whole or not at all, after a power cut too. A reader finds it or the one before.
pub fn replace<T>(path: &Path, fill: impl FnOnce(&mut File) -> io::Result<T>) -> io::Result<T> {
	let staging = staging_of(path);
	let filled = create_held(&staging).and_then(|mut file| {
		let filled = fill(&mut file)?;
		file.sync_all()?;
		fs::rename(&staging, path)?;
		Ok(filled)
	});
	if filled.is_err() {
		let _ = fs::remove_file(&staging); // the reason counts
	}
	let filled = filled?;
	sync_directory(path.parent().unwrap_or(path))?;
	Ok(filled)
}

const STAGING: &str = ".tmp";

/// A name that no other thread, process or node that writes this file at the same time takes.
fn staging_of(path: &Path) -> PathBuf {
	let mut name = path.file_name().unwrap_or_default().to_owned();
	name.push(format!(".{}{STAGING}", RandomState::new().build_hasher().finish()));
	path.with_file_name(name)
}

/// A new file that `remove_abandoned` leaves alone while it is open; where a file system has no locks, so it does all.
fn create_held(path: &Path) -> io::Result<File> {
	loop {
		let file = create_new(path)?;
		hold(&file);
		if bears(path, &file)? {
			return Ok(file); // else it was removed before it was locked
		}
	}
}

/// Locks a file that a remover has for a moment. Who has it for longer means harm, and is not waited for.
fn hold(file: &File) {
	for _ in 0..100 {
		match file.try_lock() {
			Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(10)),
			_ => return,
		}
	}
}

/// Is this name the open file's still?
fn bears(path: &Path, file: &File) -> io::Result<bool> {
	let facts = fs::symlink_metadata(path).if_there()?;
	let file = file.metadata()?;
	Ok(facts.is_some_and(|facts| facts.dev() == file.dev() && facts.ino() == file.ino()))
}

/// Removes what processes that were killed in `replace` left in this directory. What cannot be is no harm: no reader takes
/// it for anything.
pub fn remove_abandoned(folder: &Path) -> io::Result<()> {
	let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
	for path in entries(folder)? {
		let name = path.file_name().unwrap_or_default().to_string_lossy();
		let staged = name.strip_suffix(STAGING).and_then(|name| name.rsplit_once('.'));
		if staged.is_some_and(|(_, number)| digits(number))
			&& fs::symlink_metadata(&path).is_ok_and(|facts| facts.is_file())
		{
			remove_unheld(&path);
		}
	}
	Ok(())
}

/// It is locked until it is gone: a writer that has just made it then makes another.
fn remove_unheld(path: &Path) {
	if let Ok(file) = File::open(path)
		&& file.try_lock().is_ok()
		&& bears(path, &file).is_ok_and(|same| same)
	{
		let _ = fs::remove_file(path);
	}
}

/// The same of bytes that are there.
pub fn replace_bytes(path: &Path, bytes: &[u8]) -> io::Result<()> {
	replace(path, |file| file.write_all(bytes))
}

/// What names this directory holds outlives a power cut; there are file systems that cannot be asked for it.
pub fn sync_directory(path: &Path) -> io::Result<()> {
	match File::open(path)?.sync_all() {
		Err(error) if error.kind() == ErrorKind::InvalidInput => Ok(()),
		synced => synced,
	}
}

/// All below this directory outlives a power cut, but its own name.
pub fn sync_below(folder: &Path) -> io::Result<()> {
	for path in entries(folder)? {
		if is_directory(&path)? {
			sync_below(&path)?;
		} else {
			File::open(&path)?.sync_all()?;
		}
	}
	sync_directory(folder)
}

/// A directory, and those above it that are missing; their names outlive a power cut. False: it was there.
pub fn make_directories(path: &Path) -> io::Result<bool> {
	if is_directory(path)? {
		return Ok(false);
	}
	let above = path.parent().filter(|above| !above.as_os_str().is_empty());
	if let Some(above) = above {
		make_directories(above)?;
	}
	match fs::create_dir(path) {
		Err(error) if error.kind() == ErrorKind::AlreadyExists => {} // another made it
		made => made?,
	}
	sync_directory(above.unwrap_or(Path::new(".")))?;
	Ok(true)
}

/// A file that is there, or is made; it keeps what it has. A link, or what is no file, is refused.
pub fn open_or_create(path: &Path) -> io::Result<File> {
	regular(path, OpenOptions::new().write(true).create(true).truncate(false))
}

/// A file of a run, to be read. A link, which may lead to any file of the reader's, or what is no file, is refused.
pub fn open_file(path: &Path) -> io::Result<File> {
	regular(path, OpenOptions::new().read(true))
}

/// All of it.
pub fn read_file(path: &Path) -> io::Result<Vec<u8>> {
	let mut content = Vec::new();
	open_file(path)?.read_to_end(&mut content)?;
	Ok(content)
}

fn regular(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
	let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK; // a FIFO is refused, not waited for
	let no_file = || io::Error::other("is no regular file, so it is left alone");
	let file = options.custom_flags(flags.bits().cast_signed()).open(path).map_err(|error| {
		if fs::symlink_metadata(path).is_ok_and(|facts| !facts.is_file()) {
			no_file()
		} else {
			error
		}
	})?;
	if file.metadata()?.is_file() { Ok(file) } else { Err(no_file()) }
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn only_what_is_not_there_is_absent() {
		let failed = |errno: rustix::io::Errno| io::Result::<()>::Err(errno.into()).if_there();
		use rustix::io::Errno;
		assert!(matches!(failed(Errno::NOENT), Ok(None)));
		for errno in [Errno::ACCESS, Errno::IO, Errno::MFILE, Errno::NOTDIR, Errno::NOMEM] {
			assert_eq!(failed(errno).unwrap_err().raw_os_error(), Some(errno.raw_os_error()));
		}
		assert_eq!(entries(Path::new("/proc/self/none")).unwrap(), Vec::<PathBuf>::new());
		assert!(entries(Path::new("/proc/self/stat")).is_err());
		assert!(is_directory(Path::new("/proc/self/stat/none")).is_err());
	}

	#[test]
	fn what_killed_writers_left_goes_and_a_living_ones_stays() {
		let folder = std::env::temp_dir().join(format!("fathom-left-{}", std::process::id()));
		fs::create_dir_all(&folder).unwrap();
		for name in ["node.77.tmp", "1.a.shared.tmp", "x.tmp", "77.tmp"] {
			fs::write(folder.join(name), "left").unwrap();
		}
		let during = replace(&folder.join("node"), |file| {
			remove_abandoned(&folder)?;
			file.write_all(b"whole")?;
			entries(&folder)
		});
		let (during, after) = (during.unwrap(), entries(&folder).unwrap());
		let text = fs::read_to_string(folder.join("node")).unwrap();
		fs::remove_dir_all(&folder).unwrap();
		assert_eq!(during.len(), 4, "{during:?}");
		let names = after.iter().map(|path| path.file_name().unwrap().to_str().unwrap());
		assert_eq!(names.collect::<Vec<_>>(), ["1.a.shared.tmp", "77.tmp", "node", "x.tmp"]);
		assert_eq!(text, "whole");
	}

	#[test]
	fn writers_of_one_file_do_not_meet() {
		let folder = std::env::temp_dir().join(format!("fathom-meet-{}", std::process::id()));
		fs::create_dir_all(&folder).unwrap();
		let path = folder.join("file");
		let write = |byte: u8| (0..100).try_for_each(|_| replace_bytes(&path, &[byte; 100]));
		let written: Vec<_> = thread::scope(|scope| {
			let writers: Vec<_> = (0..4).map(|byte| scope.spawn(move || write(byte))).collect();
			writers.into_iter().map(|writer| writer.join().unwrap()).collect()
		});
		let (text, names) = (fs::read(&path).unwrap(), entries(&folder).unwrap());
		fs::remove_dir_all(&folder).unwrap();
		assert!(written.iter().all(Result::is_ok), "{written:?}");
		assert!(text.len() == 100 && text.iter().all(|byte| *byte == text[0]));
		assert_eq!(names, [path]);
	}

	#[test]
	fn a_file_that_is_being_made_is_not_removed() {
		let folder = std::env::temp_dir().join(format!("fathom-remove-{}", std::process::id()));
		fs::create_dir_all(&folder).unwrap();
		let staging = folder.join("file.1.tmp");
		let write = || {
			(0..20_000).try_for_each(|_| {
				let _held = create_held(&staging)?;
				fs::rename(&staging, folder.join("file"))
			})
		};
		let written = thread::scope(|scope| {
			let writer = scope.spawn(write);
			while !writer.is_finished() {
				remove_unheld(&staging);
			}
			writer.join().unwrap()
		});
		fs::remove_dir_all(&folder).unwrap();
		assert!(written.is_ok(), "{written:?}");
	}

	#[test]
	fn what_a_link_leads_to_stays_as_it_is() {
		let name = format!("fathom-file-{}", std::process::id());
		let folder = std::env::temp_dir().join(name);
		fs::create_dir_all(&folder).unwrap();
		let (precious, link) = (folder.join("precious"), folder.join("link"));
		fs::write(&precious, "precious").unwrap();
		std::os::unix::fs::symlink(&precious, &link).unwrap();
		let refused = open_or_create(&link).unwrap_err().to_string();
		write_new(&link, b"new").unwrap();
		let texts = [&precious, &link].map(|path| fs::read_to_string(path).unwrap());
		open_or_create(&link).unwrap().write_all(b"kep").unwrap();
		let content = fs::read_to_string(&link).unwrap();
		fs::remove_dir_all(&folder).unwrap();
		assert!(refused.contains("no regular file"), "{refused}");
		assert_eq!(texts, ["precious", "new"]);
		assert_eq!(content, "kep");
	}
}
