//! Files of a node's folder as both ends of a connection see them.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use fathom_sink::good_name;

use crate::frame::FileState;

/// What a collector writes beside them.
pub const NOTE: &str = "collected";

/// Whether a file belongs to a node's part of a run. Some only grow; the others are small and may change.
pub fn is_node_file(name: &str) -> bool {
	grows(name) || matches!(name, "node" | "mounts" | "ends" | "agent.log" | "run.json")
}

/// A stream, or a copy of a map of code.
pub fn grows(name: &str) -> bool {
	name.ends_with(".fts") || name.ends_with(".map")
}

/// All files of a folder that belong to it, in order.
pub fn all(folder: &Path) -> io::Result<Vec<FileState>> {
	let mut files = Vec::new();
	for entry in fs::read_dir(folder)? {
		let name = entry?.file_name().to_string_lossy().into_owned();
		if good_name(&name) && is_node_file(&name) {
			files.push(beginning(folder, &name, u64::MAX)?);
		}
	}
	files.sort_by(|one, other| one.name.cmp(&other.name));
	Ok(files)
}

/// The first `length` bytes of a file, or all of a shorter one.
pub fn beginning(folder: &Path, name: &str, length: u64) -> io::Result<FileState> {
	let mut file = File::open(folder.join(name))?.take(length);
	let (mut size, mut crc) = (0, 0);
	let mut block = vec![0; 1 << 16];
	loop {
		match file.read(&mut block)? {
			0 => return Ok(FileState { name: name.to_owned(), size, crc }),
			got => {
				size += got as u64;
				crc = crc32c::crc32c_append(crc, &block[..got]);
			}
		}
	}
}
