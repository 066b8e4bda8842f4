//! Files written in a run directory, which others may have prepared: never through a link that lies there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// A file that is this name's own; what was there before, be it a link, goes first.
pub fn create_new(path: &Path) -> io::Result<File> {
	match fs::remove_file(path) {
		Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
		_ => {}
	}
	File::create_new(path)
}

pub fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
	create_new(path)?.write_all(bytes)
}

/// A file that is there, or is made; it keeps what it has. A link, or what is no file, is refused.
pub fn open_or_create(path: &Path) -> io::Result<File> {
	let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK; // a FIFO is refused, not waited for
	let mut options = OpenOptions::new();
	options.write(true).create(true).truncate(false).custom_flags(flags.bits().cast_signed());
	let no_file = || io::Error::other("is no regular file, so it is left alone");
	let file = options.open(path).map_err(|error| {
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
