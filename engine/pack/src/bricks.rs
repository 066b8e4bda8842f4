//! Bricks of GlusterFS: their command line says which directory each keeps, and of which volume. Which of the clients' files
//! one of theirs is, its name says: below `.glusterfs` its id, whose last half is the inode number that clients see, else the
//! path, which is the same below the brick and below the volume.

use std::collections::{HashMap, HashSet};

use crate::define::Identity;
use crate::files::FileRow;
use crate::merged::Merged;

/// What clients' file systems are called in mount tables.
const CLIENT: &str = "fuse.glusterfs";

#[derive(Debug, Default)]
pub struct Bricks {
	/// By process: when it was there from, in ticks of its image's clock.
	pub processes: HashMap<u32, (usize, u64)>,
	/// Their files, each with the clients' that it holds.
	pub files: HashMap<u32, u32>,
	/// All files of clients, each with the one that it is the same as.
	pub clients: HashMap<u32, u32>,
}

/// One brick: `directory` is its part of `volume`.
#[derive(Debug, PartialEq, Eq, Hash, Clone, Copy)]
struct Brick<'m> {
	volume: &'m str,
	directory: &'m str,
}

impl<'m> Brick<'m> {
	fn of(identity: &'m Identity) -> Option<Brick<'m>> {
		let words = &identity.command;
		let after = |option: &str| words.get(words.iter().position(|word| word == option)? + 1);
		// VOLUME.HOST.DIRECTORY; a volume's name has no dots.
		let (volume, _) = after("--volfile-id")?.split_once('.')?;
		Some(Brick { volume, directory: after("--brick-name")?.trim_end_matches('/') })
	}
}

impl Bricks {
	pub fn find(merged: &Merged) -> Bricks {
		let mut bricks = Bricks::default();
		let mut clients = None;
		for state in &merged.images {
			let identity = state.survey.definitions.identities.get(&state.image.pid);
			// The bricks of a dispersed volume have neither the clients' offsets nor their bytes.
			let Some(brick) = identity.and_then(Brick::of).filter(|_| !state.survey.dispersed)
			else {
				continue;
			};
			let begin = (state.clock, state.start_tick(state.image.pid));
			bricks.processes.extend(state.processes.iter().map(|&process| (process, begin)));
			let clients = clients.get_or_insert_with(|| Clients::new(&merged.files.rows));
			let own: HashSet<u32> = state.objects.iter().filter_map(|object| object.1).collect();
			for file in own {
				let known = clients.file_of(brick, &merged.files.rows[file as usize].paths);
				bricks.files.extend(known.map(|known| (file, known)));
			}
		}
		bricks.clients = clients.map(|clients| clients.same).unwrap_or_default();
		bricks
	}
}

/// The files that clients have of all volumes.
#[derive(Debug, Default)]
struct Clients<'m> {
	by_inode: HashMap<(&'m str, u64), u32>,
	/// None: several had this path.
	by_path: HashMap<(&'m str, String), Option<u32>>,
	/// A volume may be mounted from several hosts: the first file with that inode number is them all.
	same: HashMap<u32, u32>,
}

impl<'m> Clients<'m> {
	fn new(rows: &'m [FileRow]) -> Clients<'m> {
		let mut clients = Clients::default();
		for (file, row) in (0..).zip(rows) {
			let Some((volume, below)) = volume(row) else { continue };
			let Some(inode) = row.inode else { continue };
			let first = *clients.by_inode.entry((volume, inode)).or_insert(file);
			clients.same.insert(file, first);
			let mount = row.mount.as_deref().unwrap_or_default().trim_end_matches('/');
			for path in row.paths.iter().filter_map(|path| path.strip_prefix(mount)) {
				let known_file = clients.by_path.entry((volume, format!("{below}{path}")));
				let known_file = known_file.or_insert(Some(first));
				*known_file = known_file.filter(|known| *known == first);
			}
		}
		clients
	}

	fn file_of(&self, brick: Brick<'_>, paths: &[String]) -> Option<u32> {
		let below = || paths.iter().filter_map(|path| path.strip_prefix(brick.directory));
		if let Some(inode) = below().find_map(inode) {
			return self.by_inode.get(&(brick.volume, inode)).copied();
		}
		below().find_map(|path| *self.by_path.get(&(brick.volume, path.to_owned()))?)
	}
}

/// The volume that a client's file is on, and which directory of it is mounted: `HOST:VOLUME/DIRECTORY`, `HOST:/VOLUME`.
fn volume(row: &FileRow) -> Option<(&str, &str)> {
	let source = row.key.strip_prefix(CLIENT)?.strip_prefix(':')?;
	let (_, export) = source.rsplit_once(':')?;
	let export = export.trim_start_matches('/').trim_end_matches('/');
	Some(export.split_at(export.find('/').unwrap_or(export.len())))
}

/// Of `/.glusterfs/61/3e/613e88ae-9f8f-418a-b49f-9db53d573216`.
fn inode(path: &str) -> Option<u64> {
	let (_, id) = path.strip_prefix("/.glusterfs/")?.rsplit_once('/')?;
	let digits = id.replace('-', "");
	let half = (id.len() == 36 && digits.len() == 32).then(|| digits.get(16..))??;
	u64::from_str_radix(half, 16).ok()
}

#[cfg(test)]
mod tests {
	use super::*;

	fn client(source: &str, inode: u64, path: &str) -> FileRow {
		FileRow {
			key: format!("{CLIENT}:{source}"),
			inode: Some(inode),
			paths: vec![path.into()],
			mount: Some("/mnt/vol".into()),
			..FileRow::default()
		}
	}

	const ID: &str = "/data/b/.glusterfs/61/3e/613e88ae-9f8f-418a-b49f-9db53d573216";

	#[test]
	fn a_process_is_a_brick_by_its_command() {
		let command = "/usr/sbin/glusterfsd -s 10.0.0.1 --volfile-id vol-1.10.0.1.data-b --brick-name /data/b -p x";
		let command = command.split(' ').map(str::to_owned).collect();
		let identity = Identity { command, ..Identity::default() };
		assert_eq!(Brick::of(&identity), Some(Brick { volume: "vol-1", directory: "/data/b" }));
		assert_eq!(Brick::of(&Identity::default()), None);
	}

	#[test]
	fn a_bricks_file_is_the_clients_by_id_else_by_path() {
		let rows = [
			client("host:vol", 0xb49f_9db5_3d57_3216, "/mnt/vol/a"),
			client("host:/vol", 7, "/mnt/vol/sub/c"),
			client("host:vol/sub", 8, "/mnt/vol/d"),
			client("other:vol", 0xb49f_9db5_3d57_3216, "/mnt/vol/a"),
			client("host:more", 9, "/mnt/vol/e"),
		];
		let clients = Clients::new(&rows);
		let brick = Brick { volume: "vol", directory: "/data/b" };
		let file = |paths: &[&str]| {
			clients.file_of(brick, &paths.iter().map(|&path| path.to_owned()).collect::<Vec<_>>())
		};
		assert_eq!(file(&["/data/b/sub/c", ID]), Some(0));
		assert_eq!(file(&["/data/b/sub/c"]), Some(1));
		assert_eq!(file(&["/data/b/sub/d"]), Some(2));
		assert_eq!(file(&["/data/b/e"]), None, "of another volume");
		assert_eq!(file(&["/data/other/a"]), None);
		assert_eq!(clients.same[&3], 0);
	}

	#[test]
	fn a_path_that_two_files_had_is_none() {
		let rows = [client("h:vol", 1, "/mnt/vol/a"), client("h:vol", 2, "/mnt/vol/a")];
		let brick = Brick { volume: "vol", directory: "/data/b" };
		assert_eq!(Clients::new(&rows).file_of(brick, &["/data/b/a".into()]), None);
	}
}
