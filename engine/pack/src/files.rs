//! Which objects are the same file: by file system, inode and birth where a descriptor was seen, else by path.

use std::collections::{BTreeSet, HashMap};

use fathom_stream::{descriptor_flag, object_class};

use crate::define::{Definitions, ObjectDef};
use crate::network::NETWORK;
use crate::survey::Survey;

/// As tables name it; `unknown` for one of a later version.
pub fn class_name(class: u32) -> &'static str {
	object_class::NAMES.get(class as usize).copied().unwrap_or("unknown")
}

#[derive(Debug, Clone)]
struct Mount {
	kind: String,
	source: String,
	point: String,
}

/// A node's mount table, by device.
#[derive(Debug, Default)]
pub struct Mounts {
	by_device: HashMap<(u32, u32), Mount>,
}

impl Mounts {
	/// Parses `/proc/self/mountinfo`.
	pub fn parse(text: &str) -> Mounts {
		let mut mounts = Mounts::default();
		for line in text.lines() {
			if let Some((device, mount)) = mount_line(line) {
				mounts.by_device.entry(device).or_insert(mount);
			}
		}
		mounts
	}
}

fn mount_line(line: &str) -> Option<((u32, u32), Mount)> {
	let (left, right) = line.split_once(" - ")?;
	let mut left = left.split(' ').skip(2);
	let (major, minor) = left.next()?.split_once(':')?;
	let point = left.nth(1)?;
	let mut right = right.split(' ');
	let (kind, source) = (right.next()?.to_owned(), unescape(right.next()?));
	let device = (major.parse().ok()?, minor.parse().ok()?);
	Some((device, Mount { kind, source, point: unescape(point) }))
}

/// Blanks in the mount table are octal escapes.
fn unescape(text: &str) -> String {
	text.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
}

#[derive(Debug, Clone, Default)]
pub struct FileRow {
	pub key: String,
	pub inode: Option<u64>,
	pub birth: Option<i64>,
	pub paths: Vec<String>,
	pub mode: u32,
	pub file_system: Option<String>,
	pub mount: Option<String>,
}

impl FileRow {
	pub fn kind(&self) -> &'static str {
		match self.mode & 0o170_000 {
			0o100_000 => "regular",
			0o040_000 => "directory",
			0o010_000 => "fifo",
			0o140_000 => "socket",
			0o020_000 => "character",
			0o060_000 => "block",
			0 => "unknown",
			_ => "other",
		}
	}
}

/// Names of files that were removed, each with the other names that `rename` and `link` gave its file, by one
/// of them. A file that is made right after such a removal may get the old one's inode, and, as clocks of file
/// systems tick in milliseconds, its birth too: then the name tells the two apart.
#[derive(Debug, Default)]
pub struct RemovedNames {
	first: HashMap<String, String>,
}

impl RemovedNames {
	pub fn of<'s>(surveys: impl Iterator<Item = &'s Survey> + Clone) -> RemovedNames {
		let mut ties: HashMap<&str, Vec<&str>> = HashMap::new();
		for renamed in surveys.clone().flat_map(|survey| &survey.renamed) {
			ties.entry(&renamed.from).or_default().push(&renamed.to);
			ties.entry(&renamed.to).or_default().push(&renamed.from);
		}
		let removed: BTreeSet<&str> =
			surveys.flat_map(|survey| &survey.removed).map(String::as_str).collect();
		let mut names = RemovedNames::default();
		for first in removed {
			let mut reached = vec![first];
			while let Some(name) = reached.pop() {
				if !names.first.contains_key(name) {
					names.first.insert(name.to_owned(), first.to_owned());
					reached.extend(ties.get(name).into_iter().flatten());
				}
			}
		}
		names
	}
}

/// A node, as far as files care.
pub struct Place<'n> {
	/// Whose names these are.
	pub node: usize,
	pub boot_id: &'n str,
	pub mounts: &'n Mounts,
	pub removed: &'n RemovedNames,
}

impl Place<'_> {
	/// Of a descriptor that was asked what it is; and its mount.
	fn identity(&self, object: &ObjectDef) -> Option<(Identity, Option<&Mount>)> {
		let number = |i: usize| object.numbers.get(i).copied().unwrap_or(0);
		if !object_class::WITH_DESCRIPTOR.contains(&object.class) || number(4) == 0 {
			return None;
		}
		let (major, minor) = (number(2) as u32, number(3) as u32);
		let mount = self.mounts.by_device.get(&(major, minor));
		let key = match mount.filter(|mount| NETWORK.contains(&mount.kind.as_str())) {
			Some(mount) => format!("{}:{}", mount.kind, mount.source),
			None => format!("{}:{major}:{minor}", self.boot_id),
		};
		let removed = self.removed.first.get(&object.name).cloned();
		Some((Identity::Inode { key, inode: number(4), birth: birth(object), removed }, mount))
	}
}

fn is_shared(mount: Option<&Mount>) -> bool {
	mount.is_some_and(|mount| NETWORK.contains(&mount.kind.as_str()))
}

fn birth(object: &ObjectDef) -> Option<i64> {
	let number = |i: usize| object.numbers.get(i).copied().unwrap_or(0) as i64;
	let ns = number(5).saturating_mul(1_000_000_000).saturating_add(number(6));
	(ns != 0).then_some(ns)
}

#[derive(Debug, PartialEq, Eq, Hash, Clone)]
enum Identity {
	Inode {
		key: String,
		inode: u64,
		birth: Option<i64>,
		/// One of its names, if that was removed.
		removed: Option<String>,
	},
	/// On a node only.
	Path { node: usize, path: String },
}

impl Identity {
	fn key(&self) -> &str {
		match self {
			Identity::Inode { key, .. } => key,
			Identity::Path { .. } => "",
		}
	}
}

#[derive(Debug, Default)]
pub struct Files {
	pub rows: Vec<FileRow>,
	by_identity: HashMap<Identity, u32>,
	/// Latest file with that path: on a node, and anywhere where the file system is a network's.
	by_path: HashMap<(usize, String), u32>,
	by_path_anywhere: HashMap<String, u32>,
}

impl Files {
	/// Numbers the files of all descriptors of an image. To be done for all images before [`Files::of`].
	pub fn add_descriptors(&mut self, place: &Place<'_>, definitions: &Definitions) {
		let mut objects: Vec<&ObjectDef> = definitions.objects.values().collect();
		objects.sort_by_key(|object| object.number);
		for object in objects {
			let Some((identity, mount)) = place.identity(object) else { continue };
			let row = || FileRow {
				key: identity.key().to_owned(),
				inode: object.numbers.get(4).copied(),
				birth: birth(object),
				mode: object.numbers.get(1).copied().unwrap_or(0) as u32,
				file_system: mount.map(|mount| mount.kind.clone()),
				mount: mount.map(|mount| mount.point.clone()),
				..FileRow::default()
			};
			let file = match self.by_identity.get(&identity) {
				Some(&file) => file,
				None => {
					self.rows.push(row());
					let file = self.rows.len() as u32 - 1;
					self.by_identity.insert(identity, file);
					file
				}
			};
			if object.numbers.get(9).is_some_and(|flags| flags & descriptor_flag::STANDS_FOR != 0) {
				self.call(file, &object.name);
			} else {
				self.name(file, place.node, &object.name, is_shared(mount));
			}
		}
	}

	/// The names that files got after they were opened. To be done after all [`Files::add_descriptors`].
	pub fn add_renames(&mut self, place: &Place<'_>, survey: &Survey) {
		for renamed in &survey.renamed {
			let object = survey.definitions.objects.get(&renamed.object);
			let identity = object.and_then(|object| place.identity(object));
			let file = match &identity {
				Some((identity, _)) => self.by_identity.get(identity),
				None => self.by_path.get(&(place.node, renamed.from.clone())),
			};
			if let Some(&file) = file {
				let everywhere = identity.is_some_and(|(_, mount)| is_shared(mount));
				self.name(file, place.node, &renamed.to, everywhere);
			}
		}
	}

	fn name(&mut self, file: u32, node: usize, path: &str, everywhere: bool) {
		if path.is_empty() {
			return;
		}
		self.call(file, path);
		self.by_path.insert((node, path.to_owned()), file);
		if everywhere {
			self.by_path_anywhere.insert(path.to_owned(), file);
		}
	}

	/// Adds a path to the file by which it cannot be looked up.
	fn call(&mut self, file: u32, path: &str) {
		let paths = &mut self.rows[file as usize].paths;
		if !paths.iter().any(|known| known == path) {
			paths.push(path.to_owned());
		}
	}

	/// The file that an object is, or lies in: a dataset in its file, a mapping in its descriptor's.
	pub fn of(
		&mut self,
		place: &Place<'_>,
		definitions: &Definitions,
		object: &ObjectDef,
	) -> Option<u32> {
		let mut at = object;
		for _ in 0..8 {
			if let Some((identity, _)) = place.identity(at) {
				return self.by_identity.get(&identity).copied();
			}
			if object_class::PATHS.contains(&at.class) {
				return self.by_name(place.node, &at.name);
			}
			at = definitions.objects.get(&at.parent)?;
		}
		None
	}

	fn by_name(&mut self, node: usize, path: &str) -> Option<u32> {
		if path.is_empty() {
			return None;
		}
		let known = self.by_path.get(&(node, path.to_owned()));
		if let Some(file) = known.or_else(|| self.by_path_anywhere.get(path)) {
			return Some(*file);
		}
		let identity = Identity::Path { node, path: path.to_owned() };
		Some(*self.by_identity.entry(identity).or_insert_with(|| {
			self.rows.push(FileRow { paths: vec![path.to_owned()], ..FileRow::default() });
			self.rows.len() as u32 - 1
		}))
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::survey::Renamed;

	const TABLE: &str = "\
36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
37 35 0:45 / /scratch rw shared:7 - ceph mon1,mon2:/ rw";

	fn descriptor(number: u32, name: &str, device: (u64, u64), inode: u64) -> ObjectDef {
		ObjectDef {
			stream: 1,
			number,
			class: object_class::DESCRIPTOR,
			parent: 0,
			created_by: 0,
			name: name.into(),
			numbers: vec![3, 0o100_644, device.0, device.1, inode, 0, 0, 0, 0, 0],
		}
	}

	#[test]
	fn a_network_file_is_one_on_all_nodes_and_a_local_one_is_not() {
		let mounts = Mounts::parse(TABLE);
		let removed = RemovedNames::default();
		let mut files = Files::default();
		for node in 0..2 {
			let mut definitions = Definitions::default();
			definitions.objects.insert(1, descriptor(1, "/scratch/a", (0, 45), 7));
			definitions.objects.insert(2, descriptor(2, "/mnt 2/b", (98, 0), 7));
			let boot_id = format!("boot{node}");
			let place = Place { node, boot_id: &boot_id, mounts: &mounts, removed: &removed };
			files.add_descriptors(&place, &definitions);
		}
		assert_eq!(files.rows.len(), 3);
		assert_eq!(files.rows[0].key, "ceph:mon1,mon2:/");
		assert_eq!(files.rows[1].mount.as_deref(), Some("/mnt 2"));
	}

	#[test]
	fn an_mpi_file_is_the_descriptors_file() {
		let mounts = Mounts::default();
		let mut definitions = Definitions::default();
		definitions.objects.insert(1, descriptor(1, "/tmp/f", (8, 1), 9));
		let mpi = ObjectDef {
			class: object_class::MPI_FILE,
			number: 2,
			numbers: vec![0, 4],
			..descriptor(2, "/tmp/f", (0, 0), 0)
		};
		let mut files = Files::default();
		let removed = RemovedNames::default();
		let place = Place { node: 0, boot_id: "b", mounts: &mounts, removed: &removed };
		files.add_descriptors(&place, &definitions);
		assert_eq!(files.of(&place, &definitions, &mpi), Some(0));
	}

	#[test]
	fn a_path_is_that_of_the_file_not_of_what_holds_bytes_of_it() {
		let mut definitions = Definitions::default();
		definitions.objects.insert(1, descriptor(1, "/m/f", (8, 1), 9));
		let mut part = descriptor(2, "/m/f", (8, 1), 10);
		part.numbers[9] = descriptor_flag::STANDS_FOR;
		definitions.objects.insert(2, part);
		let named = ObjectDef { class: object_class::PATH, ..descriptor(3, "/m/f", (0, 0), 0) };
		let (mounts, removed) = (Mounts::default(), RemovedNames::default());
		let place = Place { node: 0, boot_id: "b", mounts: &mounts, removed: &removed };
		let mut files = Files::default();
		files.add_descriptors(&place, &definitions);
		assert_eq!(files.of(&place, &definitions, &named), Some(0));
		assert_eq!(files.rows[1].paths, ["/m/f"]);
	}

	#[test]
	fn an_inode_that_is_used_again_at_once_is_another_file() {
		let mounts = Mounts::default();
		let mut definitions = Definitions::default();
		for (number, name) in (1..).zip(["/t/lock", "/t/data", "/t/part", "/t/final"]) {
			let inode = if number < 3 { 7 } else { 8 };
			definitions.objects.insert(number, descriptor(number, name, (8, 1), inode));
		}
		let renamed =
			|from: &str, to: &str| Renamed { object: 0, from: from.into(), to: to.into() };
		let survey = Survey {
			removed: ["/t/lock".to_owned(), "/t/final".to_owned()].into(),
			renamed: vec![renamed("/t/part", "/t/final")],
			..Survey::default()
		};
		let removed = RemovedNames::of([&survey].into_iter());
		let place = Place { node: 0, boot_id: "b", mounts: &mounts, removed: &removed };
		let mut files = Files::default();
		files.add_descriptors(&place, &definitions);
		let paths: Vec<_> = files.rows.iter().map(|file| file.paths.join(" ")).collect();
		assert_eq!(paths, ["/t/lock", "/t/data", "/t/part /t/final"]);
	}
}
