//! A run directory: its nodes, its stream files, its settings.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use fathom_sink::{IfThere, Sink, entries, is_directory, read_file};

use crate::error::{At, PackError};
use crate::rings::{self, Named};

/// Where the tables of a run are, or will be.
pub const TABLES: &str = "tables";

/// A node's part of the streams.
#[derive(Debug, Clone, Default)]
pub struct Node {
	pub host: String,
	pub boot_id: String,
	pub kernel: Option<String>,
	/// That are online.
	pub processors: Option<u32>,
	/// Of the node's tick counter, where the node knew it.
	pub ticks_per_second: Option<f64>,
	/// A copy of its mount table.
	pub mounts: String,
	/// What its agents sampled, and what they had to say.
	pub agents: Vec<AgentFile>,
	pub agent_log: String,
	/// Whose deaths were seen, by pid and instance.
	pub ends: HashMap<(u32, u64), End>,
	/// What processes told of code that they made, by pid and instance.
	pub maps: HashMap<(u32, u64), PathBuf>,
	/// Its files came from another host, and what sent them was cut off.
	pub broken_off: bool,
}

/// How a process died.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
	/// In its node's CLOCK_MONOTONIC.
	pub ns: u64,
	/// As wait(2) gives it, where it was to be had.
	pub status: Option<i32>,
}

/// A file of its own, or one that lies in the shared files; then `path` is where it would be, RUN/sink/NODE/NAME.
#[derive(Debug, Clone)]
pub struct Source {
	pub path: PathBuf,
	shared: Option<Arc<Sink>>,
}

impl Source {
	pub fn own(path: &Path) -> Source {
		Source { path: path.to_owned(), shared: None }
	}

	pub fn read(&self) -> Result<Vec<u8>, PackError> {
		self.bytes().at(&self.path)
	}

	fn bytes(&self) -> io::Result<Vec<u8>> {
		let name = |path: &Path| path.file_name()?.to_str().map(str::to_owned);
		match (&self.shared, self.path.parent().and_then(name), name(&self.path)) {
			(Some(sink), Some(node), Some(file)) => sink.read(&node, &file),
			_ => read_file(&self.path),
		}
	}

	/// Empty where it is gone since it was listed.
	fn text(&self) -> Result<String, PackError> {
		let bytes = self.bytes().if_there().at(&self.path)?.unwrap_or_default();
		Ok(String::from_utf8_lossy(&bytes).into_owned())
	}
}

/// A file of an agent's samples, or of what the kernel did.
#[derive(Debug, Clone)]
pub struct AgentFile {
	pub source: Source,
	pub bytes: u64,
}

impl AgentFile {
	pub fn of_kernel(&self) -> bool {
		starts_with(&self.source.path, "kernel.")
	}
}

/// The stream files of one process image.
#[derive(Debug, Clone)]
pub struct Image {
	pub node: usize,
	pub pid: u32,
	pub instance: u64,
	pub files: Vec<Source>,
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
	/// Where streams share files (docs/trace-sink.md).
	pub sink: Option<Arc<Sink>>,
	/// What is no stream among them, and why: `NAME of HOST is a link, …`.
	pub odd: Vec<String>,
}

/// A node's files by name, each with its length.
type NodeFiles = BTreeMap<PathBuf, (Source, u64)>;

impl Run {
	pub fn open(path: &Path) -> Result<Run, PackError> {
		let streams = path.join("streams");
		let manifest = path.join("run.json");
		let configuration = read_file(&manifest).if_there().at(&manifest)?;
		let configuration = configuration.and_then(|bytes| String::from_utf8(bytes).ok());
		let has_streams = is_directory(&streams).at(&streams)?;
		if !has_streams && configuration.is_none() {
			return Err(PackError::NoRun(path.to_owned()));
		}
		let mut run = Run { path: path.to_owned(), configuration, ..Run::default() };
		let mut nodes: BTreeMap<String, NodeFiles> = BTreeMap::new();
		for folder in if has_streams { entries(&streams).at(&streams)? } else { Vec::new() } {
			if is_directory(&folder).at(&folder)? {
				let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
				nodes.insert(name, run.own_files(&folder)?);
			}
		}
		run.add_shared(&mut nodes)?;
		for (name, files) in &nodes {
			run.add_node(name, files)?;
		}
		Ok(run)
	}

	fn own_files(&mut self, folder: &Path) -> Result<NodeFiles, PackError> {
		let mut files = NodeFiles::new();
		for path in entries(folder).at(folder)? {
			let facts = fs::symlink_metadata(&path).if_there().at(&path)?;
			let Some(facts) = facts else { continue }; // made aside, and moved
			if !facts.is_file() {
				let link = facts.is_symlink();
				let reason =
					if link { "is a link, which is not followed" } else { "is no regular file" };
				self.odd.push(odd(&path, reason));
				continue;
			}
			if is_stream(&path) {
				self.newest = self.newest.max(Some(facts.modified().at(&path)?));
			}
			files.insert(path.clone(), (Source::own(&path), facts.len()));
		}
		Ok(files)
	}

	/// What lies in shared files, as the files that it would be.
	fn add_shared(&mut self, nodes: &mut BTreeMap<String, NodeFiles>) -> Result<(), PackError> {
		let folder = self.path.join("sink");
		let Some(sink) = Sink::open(&folder).at(&folder)?.map(Arc::new) else { return Ok(()) };
		for (node, files) in sink.nodes() {
			let of_node = nodes.entry(node.to_owned()).or_default();
			for (name, bytes) in files {
				let path = folder.join(node).join(name);
				let source = Source { path: path.clone(), shared: Some(Arc::clone(&sink)) };
				of_node.insert(path, (source, bytes));
			}
		}
		self.newest = self.newest.max(sink.stamp().at(&folder)?.1);
		self.sink = Some(sink);
		Ok(())
	}

	/// Where its tables are, or will be.
	pub fn tables(&self) -> PathBuf {
		self.path.join(TABLES)
	}

	/// What `run.json` says; null where it is not there, or no JSON.
	fn manifest(&self) -> serde_json::Value {
		let text = self.configuration.as_deref();
		text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
	}

	/// Where the rings of this run lie, as `run.json` says; only to look, since anybody may have written that.
	pub fn named_rings(&self) -> Option<PathBuf> {
		let json = self.manifest();
		let ring = json.get("configuration")?.get("ring")?.as_str()?;
		(!ring.is_empty()).then(|| PathBuf::from(ring))
	}

	/// The same where they are this run's own; else, as `PATH: why`, what is left alone.
	pub fn own_rings(&self) -> Result<Named, PackError> {
		let Some(named) = self.named_rings() else { return Ok(Named::Absent) };
		let json = self.manifest();
		let id = json.get("id").and_then(|id| id.as_str()).unwrap_or_default();
		rings::own(&self.path, &named, id)
	}

	/// Were only some ranks to be recorded?
	pub fn ranks_selected(&self) -> bool {
		self.manifest()["configuration"]["ranks"].as_str().is_some_and(|ranks| !ranks.is_empty())
	}

	/// Code that is not the user's own, as `fathom run --skip` or `fathom pack --skip` said.
	pub fn skipped(&self) -> Vec<String> {
		let json = self.manifest();
		let names = json["configuration"]["skip"].as_array().into_iter().flatten();
		names.filter_map(|name| Some(name.as_str()?.to_owned())).collect()
	}

	/// The program that it was told to run.
	pub fn program(&self) -> Option<String> {
		Some(self.manifest()["command"][0].as_str()?.to_owned())
	}

	/// Another tool recorded it: of a file it knows the name only, which is the same file's on all nodes.
	pub fn imported(&self) -> bool {
		self.manifest().get("recorder").is_some()
	}

	/// From its start to its end, ns since 1970, as `fathom run` or its watcher says.
	///
	/// An import has no other processes than those it tells of; an attached run has no program that it waits for.
	pub fn span(&self) -> Option<(i64, i64)> {
		let json = self.manifest();
		let other = json.get("recorder").is_some() || json.get("attached").is_some();
		json.get("end_ns").filter(|_| !other).and_then(|_| self.recorded_span())
	}

	/// The same of any run: all there is to say of one without a process.
	pub fn recorded_span(&self) -> Option<(i64, i64)> {
		let json = self.manifest();
		let start = json.get("start_ns")?.as_i64()?;
		let end = json.get("end_ns").and_then(serde_json::Value::as_i64).unwrap_or(start);
		(0 <= start && start <= end).then_some((start, end))
	}

	/// When this image's process died, in its node's CLOCK_MONOTONIC, where somebody watched.
	pub fn end_of(&self, image: &Image) -> Option<u64> {
		Some(self.end(image)?.ns)
	}

	/// What its process told of code that it made.
	pub fn map_of(&self, image: &Image) -> Option<&Path> {
		Some(self.nodes.get(image.node)?.maps.get(&(image.pid, image.instance))?)
	}

	fn end(&self, image: &Image) -> Option<End> {
		self.nodes.get(image.node)?.ends.get(&(image.pid, image.instance)).copied()
	}

	/// Its process exited, by whatever call: no signal ended it. `fathom run` knows that of its own child.
	pub fn exited(&self, image: &Image) -> bool {
		self.ending_signal(image) == Some(0)
	}

	/// The signal that ended its process, where that is known.
	pub fn signal(&self, image: &Image) -> Option<u32> {
		self.ending_signal(image).filter(|&signal| signal != 0)
	}

	/// 0: it exited.
	fn ending_signal(&self, image: &Image) -> Option<u32> {
		let seen = self.end(image).and_then(|end| end.status);
		seen.map_or_else(|| self.childs_signal(image), |status| u32::try_from(status & 0x7f).ok())
	}

	/// The program's end, where `fathom run` saw it and it was no success.
	pub fn failed(&self) -> Option<String> {
		let json = self.manifest();
		let exit = |how: &str| json.get("exit")?.get(how)?.as_i64().filter(|&number| number != 0);
		let status = exit("status").map(|status| format!("the program ended with status {status}"));
		status.or_else(|| Some(format!("signal {} ended the program", exit("signal")?)))
	}

	/// Where it is the program that `fathom run` started and waited for.
	fn childs_signal(&self, image: &Image) -> Option<u32> {
		let json = self.manifest();
		let exit = json.get("exit")?;
		let boot_id = json.get("nodes")?.get(0)?.get("boot_id")?.as_str()?;
		let own = json.get("pid")?.as_u64()? == u64::from(image.pid)
			&& self.nodes[image.node].boot_id == boot_id;
		let signal = exit.get("signal").map_or(Some(0), serde_json::Value::as_u64);
		signal.filter(|_| own).and_then(|signal| u32::try_from(signal).ok())
	}

	fn add_node(&mut self, name: &str, files: &NodeFiles) -> Result<(), PackError> {
		let number = self.nodes.len();
		let mut images: BTreeMap<(u64, u32), Image> = BTreeMap::new();
		let mut node = node_of(name);
		for (path, (source, bytes)) in files {
			match path.file_name().and_then(|name| name.to_str()) {
				Some("mounts") => node.mounts = source.text()?,
				Some("collected") => node.broken_off = source.text()?.starts_with("state=open"),
				Some("agent.log") => node.agent_log += &source.text()?,
				Some("node") => describe(&mut node, &source.text()?),
				Some("ends") => node.ends = ends(&source.text()?),
				Some(name) => {
					let image = name.strip_suffix(".map").and_then(image_name);
					node.maps.extend(image.map(|image| (image, path.clone())));
				}
				None => {}
			}
			if !is_stream(path) {
				continue;
			}
			let Some((pid, instance)) = stream_name(path) else {
				if is_agent(path) {
					node.agents.push(AgentFile { source: source.clone(), bytes: *bytes });
				} else {
					self.odd.push(odd(path, "is not named PID.INSTANCE.fts"));
				}
				continue;
			};
			let image = images.entry((instance, pid)).or_insert(Image {
				node: number,
				pid,
				instance,
				files: Vec::new(),
				bytes: 0,
			});
			image.files.push(source.clone());
			image.bytes += bytes;
		}
		self.images.extend(images.into_values());
		self.nodes.push(node);
		Ok(())
	}
}

fn odd(path: &Path, reason: &str) -> String {
	let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
	let node = node_of(&path.parent().map(name).unwrap_or_default());
	format!("{} of {} {reason}", name(path), node.host)
}

fn is_stream(path: &Path) -> bool {
	path.extension().is_some_and(|extension| extension == "fts")
}

/// `<pid>.<instance>.fts`, `<pid>.<instance>.<number>.fts` of one that may not make long files, or
/// `<pid>.<instance>.tail.fts` from a ring.
pub fn stream_name(path: &Path) -> Option<(u32, u64)> {
	let name = path.file_name()?.to_str()?.strip_suffix(".fts")?;
	match name.split('.').nth(2) {
		Some(part) if part == "tail" || part.parse::<u32>().is_ok() => {
			image_name(&name[..name.len() - part.len() - 1])
		}
		_ => image_name(name),
	}
}

/// `<pid>.<instance>`
fn image_name(name: &str) -> Option<(u32, u64)> {
	let (pid, instance) = name.split_once('.')?;
	Some((pid.parse().ok()?, u64::from_str_radix(instance, 16).ok()?))
}

/// `agent.<instance>.fts`, `kernel.<instance>.fts`
fn is_agent(path: &Path) -> bool {
	starts_with(path, "agent.") || starts_with(path, "kernel.")
}

fn starts_with(path: &Path, word: &str) -> bool {
	path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(word))
}

/// What the name of a node's folder says.
fn node_of(name: &str) -> Node {
	// A boot id is 36 characters; a host may hold dashes.
	let (boot_id, host) = match (name.get(..36), name.get(37..)) {
		(Some(boot_id), Some(host)) => (boot_id, host),
		_ => name.split_once('-').unwrap_or((name, "")),
	};
	Node { host: host.to_owned(), boot_id: boot_id.to_owned(), ..Node::default() }
}

/// What the file `ends` says: `<pid>.<instance> <ns>`, and the status if it is known, in each line.
fn ends(text: &str) -> HashMap<(u32, u64), End> {
	let end = |line: &str| {
		let mut words = line.split(' ');
		let (name, ns) = (words.next()?, words.next()?);
		let status = words.next().and_then(|word| word.parse().ok());
		Some((image_name(name)?, End { ns: ns.parse().ok()?, status }))
	};
	text.lines().filter_map(end).collect()
}

/// How many numbers a list as `0-3,8` has.
fn how_many(list: &str) -> Option<u32> {
	let count = |part: &str| {
		let (first, last) = part.split_once('-').unwrap_or((part, part));
		let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
		last.checked_sub(first)?.checked_add(1)
	};
	list.split(',').map(count).sum()
}

/// What the file `node` says.
fn describe(node: &mut Node, text: &str) {
	for line in text.lines() {
		match line.split_once('=') {
			Some(("host", value)) => node.host = value.to_owned(),
			Some(("boot_id", value)) => node.boot_id = value.to_owned(),
			Some(("kernel", value)) => node.kernel = Some(value.to_owned()),
			Some(("processors", value)) => node.processors = how_many(value),
			Some(("tsc_hz", value)) => {
				node.ticks_per_second = value.parse().ok().filter(|hz: &f64| *hz > 0.0);
			}
			_ => {}
		}
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn names_of_stream_files() {
		let image = Some((7, 0xab));
		for name in ["7.00ab.fts", "7.00ab.1.fts", "7.00ab.12.fts", "7.00ab.tail.fts"] {
			assert_eq!(stream_name(Path::new(name)), image, "{name}");
		}
		for name in ["agent.00ab.fts", "7.fts", "7.00ab.x.fts", "7.00ab.1.2.fts", "7.00ab.ring"] {
			assert_eq!(stream_name(Path::new(name)), None, "{name}");
		}
	}

	#[test]
	fn lists_of_processors() {
		for (list, count) in [("0", 1), ("0-1", 2), ("0-3,8", 5), ("0,2,4-7", 6)] {
			assert_eq!(how_many(list), Some(count), "{list}");
		}
		for list in ["", "x", "3-1", "0,", "0-4294967295"] {
			assert_eq!(how_many(list), None, "{list}");
		}
	}

	#[test]
	fn how_processes_ended() {
		let by_process = ends("7.ab 100\n8.ab 200 1024\n9.ab 300 9\n\n1.0 x\n");
		let end = |pid| by_process.get(&(pid, 0xab)).map(|end| (end.ns, end.status));
		assert_eq!(end(7), Some((100, None)));
		assert_eq!(end(8), Some((200, Some(4 << 8))));
		assert_eq!(end(9), Some((300, Some(9))));
		assert_eq!(by_process.len(), 3);
	}
}
