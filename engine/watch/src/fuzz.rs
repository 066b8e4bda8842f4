//! Rings and files of any bytes, always the same ones, that change while they are read: nothing panics, and no
//! look goes on for ever. That no row is made up is tested on the real encoder, in `engine/encoder`.
//!
//! FATHOM_FUZZ is the number of looks times ten: 20,000 by default.
#![allow(clippy::unwrap_used)]

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use fathom_stream::{BLOCK, PAGE};

use crate::clock::Rate;
use crate::image::{Image, Shared, State};
use crate::missed::Missed;
use crate::names::Book;

#[path = "../../stream/tests/common/mod.rs"]
#[allow(dead_code)]
mod common;
#[path = "../../stream/tests/common/random.rs"]
mod random;

use common::{Encoder, INSTANCE};
use random::{Random, mutants};

/// A round's looks are 20, each ten times as long as a mutant of other fuzzers.
const LOOKS: usize = 200;

/// Chunks as a process would write them, one after another.
fn good_file(random: &mut Random) -> Vec<u8> {
	let mut encoder = Encoder::new(1 << 30);
	for _ in 0..random.below(200) + 50 {
		encoder.act(&random.act());
	}
	encoder.finish().0
}

/// A ring with those chunks, pages and tables of any bytes, and bytes that are nothing.
fn ring(random: &mut Random) -> Vec<u8> {
	let file = good_file(random);
	let mut ring = vec![0u8; PAGE];
	ring[..8].copy_from_slice(b"FATHOMRG");
	ring[8] = 1;
	ring[13] = 16;
	ring[16..24].copy_from_slice(&INSTANCE.to_le_bytes());
	ring[24..28].copy_from_slice(&std::process::id().to_le_bytes());
	for segment in fathom_stream::chunks(&file) {
		let fathom_stream::Segment::Chunk(chunk) = segment else { continue };
		let begin = ring.len();
		ring.extend(chunk.bytes);
		ring.resize(begin + BLOCK, 0);
	}
	for magic in [b"FATHOMTH", b"FATHOMCT"] {
		let begin = ring.len();
		ring.extend(magic);
		ring.extend(common::STREAM.to_le_bytes());
		ring.extend((0..BLOCK - 16).map(|_| (random.next() >> random.below(64)) as u8));
		ring[begin + 16] = random.next() as u8; // of a table: its entries in use
		ring.resize(begin + if magic == b"FATHOMTH" { PAGE } else { BLOCK }, 0);
	}
	ring
}

/// Changes a few bytes of a file, its begin more often than what is behind.
fn disturb(random: &mut Random, file: &File) {
	let length = file.metadata().unwrap().len() as usize;
	for _ in 0..random.below(6) {
		let at = random.below(length) & if random.below(2) == 0 { !(PAGE - 1) } else { !0 };
		let at = (at + random.below(160)).max(PAGE) as u64;
		let bytes: Vec<u8> = (0..random.below(12)).map(|_| random.next() as u8).collect();
		file.write_all_at(&bytes, at).unwrap();
	}
	if random.below(20) == 0 {
		file.set_len((PAGE + random.below(length)) as u64).unwrap();
	}
}

fn folder(name: &str) -> PathBuf {
	let path = std::env::temp_dir().join(format!("fathom-watch.{name}.{}", std::process::id()));
	let _ = fs::remove_dir_all(&path);
	fs::create_dir_all(&path).unwrap();
	path
}

fn look(image: &mut Image, last: bool) -> Missed {
	let (mut book, mut rate, mut missed) = (Book::default(), Rate::default(), Missed::default());
	let shared = &mut Shared { book: &mut book, rate: &mut rate, missed: &mut missed };
	let _ = image.look(shared, last); // a file that was cut just now is an error, and no more
	missed
}

#[test]
fn rings_and_files_of_any_bytes() {
	let mut random = Random::of(2026);
	let folder = folder("any");
	let name = format!("{}.{INSTANCE:016x}", std::process::id());
	let (rings, streams) =
		(folder.join(format!("{name}.ring")), folder.join(format!("{name}.fts")));
	for round in 0..mutants() / LOOKS {
		fs::write(&rings, ring(&mut random)).unwrap();
		fs::write(&streams, good_file(&mut random)).unwrap();
		let mut image = Image::new(std::process::id(), INSTANCE, &folder, &folder);
		for _ in 0..20 {
			look(&mut image, round % 2 == 0);
			disturb(&mut random, &File::options().write(true).open(&rings).unwrap());
			disturb(&mut random, &File::options().write(true).open(&streams).unwrap());
		}
	}
	fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_ring_that_changes_under_the_reader() {
	let mut random = Random::of(4711);
	let folder = folder("changes");
	let path = folder.join(format!("{}.{INSTANCE:016x}.ring", std::process::id()));
	fs::write(&path, ring(&mut random)).unwrap();
	let done = AtomicBool::new(false);
	std::thread::scope(|scope| {
		scope.spawn(|| {
			let file = File::options().write(true).open(&path).unwrap();
			while !done.load(Ordering::Relaxed) {
				disturb(&mut random, &file);
				if file.metadata().unwrap().len() < 3 * BLOCK as u64 {
					file.write_all_at(&ring(&mut random), 0).unwrap();
				}
			}
		});
		for _ in 0..mutants() / LOOKS {
			let mut image = Image::new(std::process::id(), INSTANCE, &folder, &folder);
			for _ in 0..20 {
				look(&mut image, false);
			}
		}
		done.store(true, Ordering::Relaxed);
	});
	fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_process_that_ended_without_a_trace_is_over() {
	let folder = folder("none");
	let mut image = Image::new(u32::MAX, INSTANCE, &folder, &folder);
	look(&mut image, false);
	assert_ne!(image.state, State::Running);
	fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_torn_end_is_lost_only_without_a_tail() {
	let folder = folder("torn");
	let file = good_file(&mut Random(7));
	let last = fathom_stream::chunks(&file)
		.filter_map(|segment| match segment {
			fathom_stream::Segment::Chunk(chunk) => Some(file.len() - chunk.bytes.len()),
			fathom_stream::Segment::Skipped(_) => None,
		})
		.last()
		.unwrap();
	let path = |end: &str| folder.join(format!("{}.{INSTANCE:016x}{end}", u32::MAX));
	for torn_at in [1, 100] {
		fs::write(path(".fts"), &file[..last + torn_at]).unwrap();
		for (tail, lost) in [(None, torn_at as u64), (Some(&file[last..]), 0)] {
			tail.inspect(|tail| fs::write(path(".tail.fts"), tail).unwrap());
			let missed = look(&mut Image::new(u32::MAX, INSTANCE, &folder, &folder), false);
			assert_eq!((missed.chunks, missed.bytes), (0, lost), "{torn_at} {:?}", missed.why);
		}
		fs::remove_file(path(".tail.fts")).unwrap();
	}
	fs::remove_dir_all(folder).unwrap();
}
