//! A run directory that is whole or not there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use fathom_sink::{Writer, good_name};
use fathom_stream::printable;

use crate::image::{Image, Node, random};

/// A node's part of a new run.
pub struct Folder<'a> {
	pub node: &'a Node,
	pub images: Vec<&'a Image>,
}

/// A path in a line that says what is wrong.
pub fn shown(path: &Path) -> String {
	printable(&path.display().to_string())
}

fn at(path: &Path) -> impl Fn(io::Error) -> String {
	let path = shown(path);
	move |error| format!("{path}: {error}")
}

/// Streams of images into a folder.
pub fn write(folder: &Path, images: &[&Image]) -> Result<(), String> {
	fs::create_dir_all(folder).map_err(at(folder))?;
	for image in images {
		let path = folder.join(image.name());
		fs::write(&path, &image.bytes).map_err(at(&path))?;
	}
	Ok(())
}

/// Streams of nodes that have more of them than that: as many files cost far more than their bytes.
const MANY: usize = 64;

/// Where those lie.
struct Shared {
	folder: PathBuf,
	writer: Option<Writer>,
}

impl Shared {
	fn new(run: &Path) -> Shared {
		Shared { folder: run.join("sink"), writer: None }
	}

	/// Are a node's streams here now? Few are not, and those whose node has another name than a shared file knows.
	fn takes(&mut self, node: &str, images: &[&Image]) -> Result<bool, String> {
		if images.len() <= MANY || !good_name(node) {
			return Ok(false);
		}
		let failed = at(&self.folder);
		let writer = match &mut self.writer {
			Some(writer) => writer,
			none => {
				fs::create_dir_all(&self.folder).map_err(&failed)?;
				none.insert(Writer::create(&self.folder).map_err(&failed)?)
			}
		};
		let files = images.iter().map(|image| (image.name(), image.bytes.as_slice()));
		writer.add(node, files).map_err(failed)?;
		Ok(true)
	}

	fn finish(self) -> Result<(), String> {
		self.writer.map_or(Ok(()), Writer::finish).map_err(at(&self.folder))
	}
}

/// Writes a new run under another name, then renames it. `clock`: the times' source; `run_json` is completed with
/// id and nodes.
pub fn publish(
	run: &Path,
	folders: &[Folder<'_>],
	clock: &str,
	run_json: serde_json::Value,
) -> Result<(), String> {
	let mut staging = run.as_os_str().to_owned();
	staging.push(format!(".{:016x}", random()));
	let staging = PathBuf::from(staging);
	let published = fill(&staging, folders, clock, run_json)
		.and_then(|()| fs::rename(&staging, run).map_err(at(run)));
	if published.is_err() {
		// What stopped us may stop this too; the error says where.
		let _ = fs::remove_dir_all(&staging);
	}
	published
}

fn fill(
	staging: &Path,
	folders: &[Folder<'_>],
	clock: &str,
	run_json: serde_json::Value,
) -> Result<(), String> {
	let mut nodes = Vec::new();
	let mut shared = Shared::new(staging);
	for Folder { node, images } in folders {
		let Node { host, boot_id, .. } = node;
		let name = if host == "unknown" { boot_id.clone() } else { format!("{boot_id}-{host}") };
		let name = name.replace('/', "_");
		let streams = staging.join("streams").join(&name);
		let apart = if shared.takes(&name, images)? { &[] } else { images.as_slice() };
		write(&streams, apart)?;
		let path = streams.join("node");
		let text = format!("host={host}\nboot_id={boot_id}\nclock={clock}\n");
		fs::write(&path, text).map_err(at(&path))?;
		nodes.push(serde_json::json!({
			"host": host, "boot_id": boot_id, "kernel": "", "clock": clock, "tsc_hz": 0,
		}));
	}
	shared.finish()?;
	let mut whole = serde_json::json!({
		"format": 1,
		"id": format!("{:016x}", random()),
		"fathom": env!("CARGO_PKG_VERSION"),
		"job": "",
		"launcher": "",
		"environment": {},
		"nodes": nodes,
		"versions": {},
	});
	if let (Some(whole), serde_json::Value::Object(run_json)) = (whole.as_object_mut(), run_json) {
		whole.extend(run_json);
	}
	let path = staging.join("run.json");
	let text = serde_json::to_string_pretty(&whole).unwrap_or_default();
	fs::write(&path, text + "\n").map_err(at(&path))
}
