//! `stat`: what is in stream files, in numbers.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use fathom_pack::{Run, Source};
use fathom_sink::{entries, is_directory};
use fathom_stream::{Decoder, Item, Segment, chunks};
use serde_json::{Value, json};

#[derive(Default)]
struct Sums {
	bytes: u64,
	chunks: u64,
	rows: u64,
	unfinished: u64,
	records: u64,
	streams: HashSet<u64>,
	skipped_bytes: u64,
	damage: Vec<Value>,
}

pub fn stat(path: &Path) -> Result<(), String> {
	let files = sources(path)?;
	let mut sums = Sums::default();
	for file in &files {
		let data = file.read().map_err(|error| error.to_string())?;
		add(&mut sums, &file.path, &data);
	}
	let per_event = (sums.rows > 0).then(|| sums.bytes as f64 / sums.rows as f64);
	let value = json!({
		"files": files.len(),
		"bytes": sums.bytes,
		"streams": sums.streams.len(),
		"chunks": sums.chunks,
		"rows": sums.rows,
		"unfinished": sums.unfinished,
		"records": sums.records,
		"bytes_per_event": per_event,
		"skipped_bytes": sums.skipped_bytes,
		"damage": sums.damage,
	});
	crate::print_line(&value.to_string())
}

/// All streams of a run, be they files of their own or not; or the file that was named.
fn sources(path: &Path) -> Result<Vec<Source>, String> {
	if !is_directory(path).map_err(|error| failed(path, &error))? {
		return Ok(vec![Source::own(path)]);
	}
	let run = Run::open(path).map_err(|error| error.to_string())?;
	let agents = run.nodes.into_iter().flat_map(|node| node.agents).map(|agent| agent.source);
	Ok(run.images.into_iter().flat_map(|image| image.files).chain(agents).collect())
}

/// A run's stream files, or the one that was named.
pub fn files_of(path: &Path) -> Result<Vec<PathBuf>, String> {
	let is_run = is_directory(path).map_err(|error| failed(path, &error))?;
	if is_run { stream_files(&path.join("streams")) } else { Ok(vec![path.to_owned()]) }
}

fn stream_files(folder: &Path) -> Result<Vec<PathBuf>, String> {
	let mut files = Vec::new();
	for node in entries(folder).map_err(|error| failed(folder, &error))? {
		if is_directory(&node).map_err(|error| failed(&node, &error))? {
			let all = entries(&node).map_err(|error| failed(&node, &error))?;
			files.extend(all.into_iter().filter(|p| p.extension().is_some_and(|e| e == "fts")));
		}
	}
	Ok(files)
}

fn failed(path: &Path, error: &io::Error) -> String {
	format!("{}: {error}", path.display())
}

fn add(sums: &mut Sums, file: &Path, data: &[u8]) {
	sums.bytes += data.len() as u64;
	let mut decoder = Decoder::new();
	let mut damage = |byte: u64, bytes: u64, reason: String| {
		sums.skipped_bytes += bytes;
		sums.damage.push(json!({
			"file": file.display().to_string(), "byte": byte, "bytes": bytes, "reason": reason,
		}));
	};
	for segment in chunks(data) {
		let chunk = match segment {
			Segment::Chunk(chunk) => chunk,
			Segment::Skipped(skip) => {
				damage(skip.offset, skip.bytes, skip.reason.to_string());
				continue;
			}
		};
		sums.chunks += 1;
		sums.streams.insert(chunk.header.stream);
		let mut rows = decoder.rows(&chunk);
		while let Some(item) = rows.next() {
			match item {
				Ok(Item::Call(_)) => sums.rows += 1,
				Ok(Item::Unfinished(..)) => sums.unfinished += 1,
				Ok(Item::Record(_)) => sums.records += 1,
				Err(bad) => {
					let left = (chunk.bytes.len() - bad.byte) as u64;
					damage(chunk.offset + bad.byte as u64, left, bad.reason.to_string());
				}
			}
		}
	}
}
