//! One process image's stream files in memory: chunks found, doubles dropped, streams put together.

use std::collections::BTreeMap;
use std::path::PathBuf;

use fathom_stream::{Chunk, Reason, Segment, Skip, chunks};

use crate::error::PackError;
use crate::run::Image;

pub struct Loaded {
	pub files: Vec<(PathBuf, Vec<u8>)>,
	instance: u64,
}

/// A stream's chunks in order.
pub struct StreamChunks<'a> {
	pub id: u64,
	pub chunks: Vec<Chunk<'a>>,
	/// Index into [`Loaded::files`] of its first chunk.
	pub file: usize,
}

pub struct Content<'a> {
	/// By stream id.
	pub streams: Vec<StreamChunks<'a>>,
	/// With the file's index.
	pub skipped: Vec<(usize, Skip)>,
	pub chunks: u64,
}

impl Loaded {
	pub fn read(image: &Image) -> Result<Loaded, PackError> {
		let mut files = Vec::with_capacity(image.files.len());
		for source in &image.files {
			files.push((source.path.clone(), source.read()?));
		}
		Ok(Loaded { files, instance: image.instance })
	}

	pub fn content(&self) -> Content<'_> {
		let mut skipped = Vec::new();
		let mut by_key: BTreeMap<(u64, u64), (usize, Chunk<'_>)> = BTreeMap::new();
		for (file, (_, data)) in self.files.iter().enumerate() {
			for item in chunks(data) {
				match item {
					Segment::Skipped(skip) => skipped.push((file, skip)),
					Segment::Chunk(chunk) if chunk.header.instance != self.instance => {
						let bytes = chunk.bytes.len() as u64;
						let skip = Skip { offset: chunk.offset, bytes, reason: Reason::Foreign };
						skipped.push((file, skip));
					}
					Segment::Chunk(chunk) => keep_better(&mut by_key, file, chunk),
				}
			}
		}
		if by_key.values().any(|(_, chunk)| chunk.header.sums()) {
			by_key.retain(|_, (_, chunk)| chunk.header.sums());
		}
		let chunks = by_key.len() as u64;
		Content { streams: by_stream(by_key), skipped, chunks }
	}
}

/// The same chunk twice: one that its process sealed counts more than a copy from the ring; of two alike
/// the longer, which was written after an exec that failed.
fn keep_better<'a>(
	by_key: &mut BTreeMap<(u64, u64), (usize, Chunk<'a>)>,
	file: usize,
	chunk: Chunk<'a>,
) {
	let worth = |chunk: &Chunk<'_>| {
		(chunk.header.sums(), !chunk.header.ring_copy(), chunk.header.committed)
	};
	let key = (chunk.header.stream, chunk.header.number);
	match by_key.get(&key) {
		Some((_, before)) if worth(before) >= worth(&chunk) => {}
		_ => {
			by_key.insert(key, (file, chunk));
		}
	}
}

fn by_stream(by_key: BTreeMap<(u64, u64), (usize, Chunk<'_>)>) -> Vec<StreamChunks<'_>> {
	let mut streams: Vec<StreamChunks<'_>> = Vec::new();
	for ((id, _), (file, chunk)) in by_key {
		match streams.last_mut() {
			Some(stream) if stream.id == id => stream.chunks.push(chunk),
			_ => streams.push(StreamChunks { id, chunks: vec![chunk], file }),
		}
	}
	streams
}
