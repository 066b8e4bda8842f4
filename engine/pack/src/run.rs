//! A run directory: its nodes, its stream files, its settings.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::error::{At, PackError};

/// A node's part of the streams.
#[derive(Debug, Clone, Default)]
pub struct Node {
	pub host: String,
	pub boot_id: String,
	pub kernel: Option<String>,
	/// Of the node's tick counter, where the node knew it.
	pub ticks_per_second: Option<f64>,
	/// A copy of its mount table.
	pub mounts: String,
	/// What its agents sampled, and what they had to say.
	pub agents: Vec<AgentFile>,
	pub agent_log: String,
	/// Its files came from another host, and what sent them was cut off.
	pub broken_off: bool,
}

/// A file of samples.
#[derive(Debug, Clone)]
pub struct AgentFile {
	pub path: PathBuf,
	pub bytes: u64,
}

/// The stream files of one process image.
#[derive(Debug, Clone)]
pub struct Image {
	pub node: usize,
	pub pid: u32,
	pub instance: u64,
	pub files: Vec<PathBuf>,
	pub bytes: u64,
}

#[derive(Debug, Default)]
pub struct Run {
	pub path: PathBuf,
	pub nodes: Vec<Node>,
	pub images: Vec<Image>,
	/// `run.json`, verbatim.
	pub configuration: Option<String>,
	pub newest: Option<SystemTime>,
}

impl Run {
	pub fn open(path: &Path) -> Result<Run, PackError> {
		let streams = path.join("streams");
		let configuration = fs::read_to_string(path.join("run.json")).ok();
		if !streams.is_dir() && configuration.is_none() {
			return Err(PackError::NoRun(path.to_owned()));
		}
		let mut run = Run { path: path.to_owned(), configuration, ..Run::default() };
		if streams.is_dir() {
			for folder in sorted_entries(&streams)? {
				if folder.is_dir() {
					run.add_node(&folder)?;
				}
			}
		}
		Ok(run)
	}

	/// Where the rings of this run lie, as `run.json` says.
	pub fn ring_directory(&self) -> Option<PathBuf> {
		let json: serde_json::Value = serde_json::from_str(self.configuration.as_deref()?).ok()?;
		let ring = json.get("configuration")?.get("ring")?.as_str()?;
		(!ring.is_empty()).then(|| PathBuf::from(ring))
	}

	/// Were only some ranks to be recorded?
	pub fn ranks_selected(&self) -> bool {
		let json = self.configuration.as_deref().and_then(|text| serde_json::from_str(text).ok());
		let ranks = |json: &serde_json::Value| {
			Some(!json.get("configuration")?.get("ranks")?.as_str()?.is_empty())
		};
		json.as_ref().and_then(ranks).unwrap_or(false)
	}

	fn add_node(&mut self, folder: &Path) -> Result<(), PackError> {
		let node = self.nodes.len();
		let mut images: BTreeMap<(u64, u32), Image> = BTreeMap::new();
		let mut agents = Vec::new();
		for file in sorted_entries(folder)? {
			if file.extension().is_none_or(|extension| extension != "fts") {
				continue;
			}
			let facts = fs::metadata(&file).at(&file)?;
			if let Ok(time) = facts.modified() {
				self.newest = self.newest.max(Some(time));
			}
			let Some((pid, instance)) = stream_name(&file) else {
				agents.push(AgentFile { path: file, bytes: facts.len() });
				continue;
			};
			let image = images.entry((instance, pid)).or_insert(Image {
				node,
				pid,
				instance,
				files: Vec::new(),
				bytes: 0,
			});
			image.files.push(file);
			image.bytes += facts.len();
		}
		self.images.extend(images.into_values());
		agents.retain(|agent| is_agent(&agent.path));
		self.nodes.push(Node { agents, ..read_node(folder) });
		Ok(())
	}
}

fn sorted_entries(folder: &Path) -> Result<Vec<PathBuf>, PackError> {
	let mut entries = Vec::new();
	for entry in fs::read_dir(folder).at(folder)? {
		entries.push(entry.at(folder)?.path());
	}
	entries.sort();
	Ok(entries)
}

/// `<pid>.<instance>.fts`, or `<pid>.<instance>.tail.fts` from a ring.
pub fn stream_name(path: &Path) -> Option<(u32, u64)> {
	let name = path.file_name()?.to_str()?.strip_suffix(".fts")?;
	let name = name.strip_suffix(".tail").unwrap_or(name);
	let (pid, instance) = name.split_once('.')?;
	Some((pid.parse().ok()?, u64::from_str_radix(instance, 16).ok()?))
}

/// `agent.<instance>.fts`
fn is_agent(path: &Path) -> bool {
	path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("agent."))
}

fn read_node(folder: &Path) -> Node {
	let name = folder.file_name().unwrap_or_default().to_string_lossy();
	// A boot id is 36 characters; a host may hold dashes.
	let (boot_id, host) = match (name.get(..36), name.get(37..)) {
		(Some(boot_id), Some(host)) => (boot_id, host),
		_ => name.split_once('-').unwrap_or((&name, "")),
	};
	let mut node = Node {
		host: host.to_owned(),
		boot_id: boot_id.to_owned(),
		mounts: fs::read_to_string(folder.join("mounts")).unwrap_or_default(),
		broken_off: fs::read_to_string(folder.join("collected"))
			.is_ok_and(|text| text.starts_with("state=open")),
		agent_log: fs::read_to_string(folder.join("agent.log")).unwrap_or_default(),
		..Node::default()
	};
	for line in fs::read_to_string(folder.join("node")).unwrap_or_default().lines() {
		match line.split_once('=') {
			Some(("host", value)) => node.host = value.to_owned(),
			Some(("boot_id", value)) => node.boot_id = value.to_owned(),
			Some(("kernel", value)) => node.kernel = Some(value.to_owned()),
			Some(("tsc_hz", value)) => {
				node.ticks_per_second = value.parse().ok().filter(|hz: &f64| *hz > 0.0);
			}
			_ => {}
		}
	}
	node
}
