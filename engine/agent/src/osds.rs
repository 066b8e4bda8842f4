//! Beside an agent, one process for each storage daemon (OSD) of Ceph on this node: `fathom-engine osd`. A process each,
//! since a recorder's rows are those of one server.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

pub struct Osds {
	started: Vec<Child>,
}

impl Osds {
	/// Returns when all of them look; what fails is said on stderr, and the run goes on without.
	pub fn start(run: &Path, sockets: &Path) -> Osds {
		let all = admin_sockets(sockets);
		let of = |kind: &str| -> Vec<(String, PathBuf)> {
			all.iter().filter_map(|path| Some((daemon_name(path, kind)?, path.clone()))).collect()
		};
		let metadata: Vec<PathBuf> = of("mds.").into_iter().map(|(_, path)| path).collect();
		let mut started = Vec::new();
		for (name, socket) in of("osd.") {
			match start_one(run, &name, &socket, &metadata) {
				Ok(child) => started.push(child),
				Err(error) => warn!("{name} is not asked: {error}"),
			}
		}
		for child in &mut started {
			let output = child.stdout.take().map(BufReader::new);
			// Nothing: it has said on stderr why it ended.
			let _ = output.and_then(|mut output| output.read_line(&mut String::new()).ok());
		}
		Osds { started }
	}

	/// They tell the last of it, and what was set is as it was.
	pub fn end(self) {
		let mut started = self.started;
		started.iter_mut().for_each(|child| drop(child.stdin.take()));
		for mut child in started {
			let _ = child.wait();
		}
	}
}

fn start_one(
	run: &Path,
	name: &str,
	socket: &Path,
	metadata: &[PathBuf],
) -> std::io::Result<Child> {
	let mut command = Command::new(std::env::current_exe()?);
	command.arg("osd").arg(run).arg("--socket").arg(socket).args(["--name", name]);
	for socket in metadata {
		command.arg("--metadata").arg(socket);
	}
	command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()
}

/// In the directory, or one below: where several clusters have one each.
fn admin_sockets(directory: &Path) -> Vec<PathBuf> {
	let entries = |path: &Path| -> Vec<PathBuf> {
		fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
	};
	let mut all = entries(directory);
	let below: Vec<PathBuf> = all.iter().filter(|path| path.is_dir()).cloned().collect();
	all.extend(below.iter().flat_map(|path| entries(path)));
	all.sort();
	all
}

/// `osd.3` of `osd.3.asok`, and of `ceph-osd.3.asok`, where the cluster's name is before it.
fn daemon_name(path: &Path, kind: &str) -> Option<String> {
	let name = path.file_name()?.to_str()?.strip_suffix(".asok")?;
	let at = name.find(kind).filter(|&at| at == 0 || name.as_bytes()[at - 1] == b'-')?;
	Some(name[at..].to_owned())
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn daemons_are_known_by_their_sockets() {
		let name = |path: &str, kind| daemon_name(Path::new(path), kind);
		assert_eq!(name("/run/ceph/ceph-osd.12.asok", "osd."), Some("osd.12".into()));
		assert_eq!(name("/tmp/osd.0.asok", "osd."), Some("osd.0".into()));
		assert_eq!(name("/run/ceph/ceph-mds.a.asok", "osd."), None);
		assert_eq!(name("/run/ceph/ceph-mds.a.asok", "mds."), Some("mds.a".into()));
		assert_eq!(name("/run/ceph/osd.0.pid", "osd."), None);
	}
}
