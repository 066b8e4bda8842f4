//! A run directory of a log: a new one, or one that `fathom run --strace` made.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use fathom_import::{Folder, Node, publish, shown, write};
use serde_json::json;

use crate::log::{Event, Log, events};
use crate::process::Processes;
use crate::rows::Image;
use crate::{Counts, StraceError};

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Imported {
	pub processes: usize,
	pub bytes: u64,
	pub counts: Counts,
}

fn failed(path: &Path) -> impl Fn(io::Error) -> StraceError {
	let path = shown(path);
	move |error| StraceError::File { path: path.clone(), reason: error.to_string() }
}

/// Into `run`, which must be new or `fathom run`'s. Nothing is made where the logs are none.
pub fn import(run: &Path, files: &[PathBuf]) -> Result<Imported, StraceError> {
	let named = files.first().map(|file| shown(file)).unwrap_or_default();
	let files = &logs_in(files)?;
	let mut data = Vec::new();
	for file in files {
		data.push(fs::read(file).map_err(failed(file))?);
	}
	let logs: Vec<Log<'_>> =
		files.iter().zip(&data).map(|(path, data)| Log { path, data }).collect();
	let mut counts = Counts::default();
	let events = events(&logs, &mut counts)?;
	// Not at its first call: 0 means that nobody knows.
	let first = events.iter().map(|event| event.began).min().unwrap_or(0);
	let place = Place::of(run, first.saturating_sub(1_000_000_000))?;
	let mut processes = Processes::new(&place.node, place.directory.clone(), place.command.clone());
	events.iter().for_each(|event| processes.take(event));
	add_marks(&mut processes.images, &place.node, counts);
	processes.end();
	let images: Vec<Image> =
		processes.images.into_iter().filter(|image| !image.bytes.is_empty()).collect();
	if images.is_empty() && place.new {
		return Err(StraceError::Empty(named));
	}
	let bytes = images.iter().map(|image| image.bytes.len() as u64).sum();
	let stream_images: Vec<&fathom_import::Image> = images.iter().map(|image| &**image).collect();
	let written = if place.new {
		let folder = Folder { node: &place.node, images: stream_images };
		publish(run, &[folder], "strace", describe(&images, &events))
	} else {
		write(&place.streams, &stream_images)
	};
	written.map_err(StraceError::Written)?;
	Ok(Imported { processes: images.len(), bytes, counts })
}

/// A directory stands for the files in it.
fn logs_in(named: &[PathBuf]) -> Result<Vec<PathBuf>, StraceError> {
	let mut files = Vec::new();
	for path in named {
		if !path.is_dir() {
			files.push(path.clone());
			continue;
		}
		let entries = fs::read_dir(path).map_err(failed(path))?;
		let mut inside = Vec::new();
		for entry in entries {
			inside.push(entry.map_err(failed(path))?.path());
		}
		inside.sort();
		files.extend(inside);
	}
	Ok(files)
}

/// Where streams go.
struct Place {
	new: bool,
	/// The node's folder, of a run that is there.
	streams: PathBuf,
	node: Node,
	/// Of the run's start.
	directory: Option<Vec<u8>>,
	/// With a zero byte after each word.
	command: Vec<u8>,
}

impl Place {
	fn of(run: &Path, epoch: u64) -> Result<Place, StraceError> {
		let name = run.display().to_string();
		let node = |host: &str, boot_id: &str| Node {
			host: host.to_owned(),
			boot_id: boot_id.to_owned(),
			run: name.clone(),
			epoch,
		};
		let run_json = match fs::read(run.join("run.json")) {
			Ok(run_json) => run_json,
			Err(error) if error.kind() == io::ErrorKind::NotFound => {
				let streams = PathBuf::new();
				return Ok(Place {
					new: true,
					streams,
					node: node("unknown", "strace"),
					directory: None,
					command: Vec::new(),
				});
			}
			Err(error) => return Err(failed(&run.join("run.json"))(error)),
		};
		let run_json: serde_json::Value = serde_json::from_slice(&run_json).unwrap_or_default();
		let of = |key: &str| run_json["nodes"][0][key].as_str().unwrap_or("unknown").to_owned();
		let (host, boot_id) = (of("host"), of("boot_id"));
		let words = run_json["command"].as_array().into_iter().flatten();
		let words = words.filter_map(serde_json::Value::as_str);
		Ok(Place {
			new: false,
			streams: run.join("streams").join(format!("{boot_id}-{host}")),
			node: node(&host, &boot_id),
			command: words.flat_map(|word| [word.as_bytes(), b"\0"].concat()).collect(),
			directory: run_json["directory"].as_str().map(|text| text.as_bytes().to_vec()),
		})
	}
}

/// What is not in the rows, as marks.
fn add_marks(images: &mut [Image], node: &Node, counts: Counts) {
	let limits = "recorded by strace: system calls only, no library above them; no inode, so a file is its name; times \
		are strace's, with what it costs";
	let marks = [
		(1, limits),
		(counts.refused, "lines were not understood"),
		(counts.torn, "logs end within a line"),
		(counts.unknown, "calls of io_uring and libaio: their operations are not known"),
		(counts.untimed, "calls have no duration; record with strace -T"),
	];
	let Some(image) = images.iter_mut().find(|image| image.goes_on()) else { return };
	for (count, detail) in marks.into_iter().filter(|(count, _)| *count > 0) {
		image.mark(node, "strace", detail, count);
	}
}

fn describe(images: &[Image], events: &[Event<'_>]) -> serde_json::Value {
	let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
	let commands = images.iter().map(|image| &image.command).find(|command| !command.is_empty());
	let command: Vec<String> = commands
		.map(|words| {
			words.split(|&byte| byte == 0).filter(|word| !word.is_empty()).map(text).collect()
		})
		.unwrap_or_default();
	let program = command.first().and_then(|word| word.rsplit('/').next()).unwrap_or("unknown");
	let directory = images.first().map(|image| text(&image.directory)).unwrap_or_default();
	json!({
		"recorder": "strace",
		"program": program,
		"command": command,
		"directory": directory,
		"configuration": {"layers": ["posix"], "counted": [], "layers_asked": "", "level": "call", "ranks": "", "files": []},
		"start_ns": events.iter().map(|event| event.began).min().unwrap_or(0),
		"end_ns": events.iter().map(|event| event.ended).max().unwrap_or(0),
	})
}
