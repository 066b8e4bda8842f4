//! A run directory that is whole or not there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::image::{Image, Node, random};

/// A node's part of a new run.
pub struct Folder<'a> {
	pub node: &'a Node,
	pub images: Vec<&'a Image>,
}

/// Hostile text in a line that says what is wrong: what would end the line, or reach the terminal, is escaped.
pub fn printable(text: &str) -> String {
	let escaped = |letter: char| match letter.is_control() {
		true => letter.escape_default().to_string(),
		false => letter.to_string(),
	};
	text.chars().map(escaped).collect()
}

/// A path in such a line.
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
	for Folder { node, images } in folders {
		let Node { host, boot_id, .. } = node;
		let name = if host == "unknown" { boot_id.clone() } else { format!("{boot_id}-{host}") };
		let streams = staging.join("streams").join(name.replace('/', "_"));
		write(&streams, images)?;
		let path = streams.join("node");
		let text = format!("host={host}\nboot_id={boot_id}\nclock={clock}\n");
		fs::write(&path, text).map_err(at(&path))?;
		nodes.push(serde_json::json!({
			"host": host, "boot_id": boot_id, "kernel": "", "clock": clock, "tsc_hz": 0,
		}));
	}
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
