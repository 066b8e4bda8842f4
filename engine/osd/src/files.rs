//! Whose an object is: CephFS names them INODE.NUMBER; a metadata server knows the inode's path and layout, and
//! where it is mounted here, the path leads to the file that programs know.

use std::collections::HashMap;
use std::fs;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use fathom_record::Stripes;
use rustix::fs::{Mode, OFlags, fstat, open};
use serde_json::{Value, json};

use crate::ask::Daemon;
use crate::layout::Layout;

#[derive(Debug, Clone, Copy)]
struct Known {
	/// The recorder's number for the file; 0: it is not mounted here.
	file: u32,
	layout: Layout,
}

pub struct Files {
	metadata: Vec<Daemon>,
	/// Files that a metadata server has forgotten, too: until the next round.
	known: HashMap<u64, Option<Known>>,
}

impl Files {
	/// Metadata servers by their sockets.
	pub fn new(sockets: &[PathBuf]) -> Files {
		Files {
			metadata: sockets.iter().map(|socket| Daemon::new(socket)).collect(),
			known: HashMap::new(),
		}
	}

	/// What was not known may be by now.
	pub fn ask_again(&mut self) {
		self.known.retain(|_, known| known.is_some());
	}

	/// The file of an object and where in it the bytes lie that the object has from `at` on.
	pub fn of(&mut self, object: &str, at: Option<i64>) -> (u32, Option<Stripes>) {
		let Some((inode, number)) = parts(object) else { return (0, None) };
		let metadata = &self.metadata;
		let known = self.known.entry(inode).or_insert_with(|| look(metadata, inode));
		match known {
			Some(known) => (known.file, at.and_then(|at| known.layout.place(number, at))),
			None => (0, None),
		}
	}
}

/// `100000001f6.00000002`: inode and number.
fn parts(object: &str) -> Option<(u64, i64)> {
	let (inode, number) = object.split_once('.')?;
	let number = (number.len() == 8).then(|| u32::from_str_radix(number, 16).ok()).flatten()?;
	Some((u64::from_str_radix(inode, 16).ok()?, i64::from(number)))
}

fn look(metadata: &[Daemon], inode: u64) -> Option<Known> {
	let reply = metadata.iter().find_map(|daemon| {
		let reply = daemon.ask(&json!({"prefix": "dump inode", "number": inode})).ok()?;
		(reply.get("ino").and_then(Value::as_u64) == Some(inode)).then_some(reply)
	})?;
	let layout = Layout::read(reply.get("layout")?)?;
	let path = reply.get("path").and_then(Value::as_str).unwrap_or_default();
	Some(Known { file: mounted(path, inode).unwrap_or(0), layout })
}

/// The file at a path of the file system, where a mount of this node has it.
fn mounted(path: &str, inode: u64) -> Option<u32> {
	let table = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
	let is_ceph = |kind: &str| kind == "ceph" || kind.starts_with("fuse.ceph");
	let points = table.lines().filter_map(|line| {
		let mut words = line.split(' ').skip(1);
		let (point, kind) = (words.next()?, words.next()?);
		is_ceph(kind).then(|| point.replace("\\040", " "))
	});
	points.into_iter().find_map(|point| {
		let path = Path::new(&point).join(path.trim_start_matches('/'));
		let file =
			open(&path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()).ok()?;
		let same = fstat(&file).is_ok_and(|status| status.st_ino == inode);
		same.then(|| fathom_record::file_number(file.as_fd()))
	})
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn objects_of_files_have_inode_and_number() {
		assert_eq!(parts("100000001f6.0000000a"), Some((0x100_0000_01f6, 10)));
		assert_eq!(parts("mds0_openfiles.0"), None);
		assert_eq!(parts("1.00000000.inode"), None);
	}
}
