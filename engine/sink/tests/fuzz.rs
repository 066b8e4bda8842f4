//! Shared files and indexes with damage, half of it with checksums that fit again: no panic, and what is found lies where it says.
//!
//! FATHOM_FUZZ is the number of mutants: 20,000 by default, 10,000,000 in the full test. One in a hundred is opened as a folder.

#![allow(clippy::unwrap_used)]

#[path = "../../stream/tests/common/splitmix.rs"]
mod splitmix;

use std::fs;
use std::path::Path;

use fathom_sink::{Codec, Entry, Head, INDEX, Piece, Sink, index, read_index, scan, seal};
use splitmix::{Random, mutants};

/// Where a checksum lies in the beginning of a block and of a record of the index, and what it leaves out before the rest.
const BLOCK: (&[u8], usize, usize) = (b"FATHOMSB", 60, 64);
const RECORD: (&[u8], usize, usize) = (b"FATHOMSX", 20, 24);
const RECORD_HEADER: usize = 32;

/// Blocks of two nodes in one file, and where they lie.
fn good(random: &mut Random) -> (Vec<u8>, Vec<Entry>) {
	let (mut data, mut entries) = (Vec::new(), Vec::new());
	for number in 0..2 + random.below(4) as u64 {
		let codec = [Codec::Plain, Codec::Zstd][random.below(2)];
		let mut head =
			Head::new(1 + number % 2, number / 2, ["a", "b"][number as usize % 2], codec);
		for file in 0..random.below(3) {
			let (at, length) = (random.below(500) as u64, random.below(60) as u32);
			head.pieces.push(Piece { file: format!("{file}.fts"), at, length });
		}
		head.last = random.below(3) == 0;
		let raw = vec![7; head.pieces.iter().map(|piece| piece.length as usize).sum()];
		let (head, block) = seal(head, &raw);
		entries.push(Entry { file: "0.blocks".into(), offset: data.len() as u64, head });
		data.extend(block);
	}
	(data, entries)
}

fn mutate(random: &mut Random, bytes: &mut Vec<u8>) {
	for _ in 0..random.below(5) {
		let at = random.below(bytes.len() + 1);
		match random.below(5) {
			0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
			1 if at < bytes.len() => bytes[at] = [0, 255, 127, 128][random.below(4)],
			2 => bytes.truncate(at),
			3 => bytes.splice(at..at, [random.next() as u8; 2]).for_each(drop),
			_ => {
				let end = bytes.len().min(at + random.below(40));
				let copy = bytes[at..end].to_vec();
				bytes.splice(at..at, copy).for_each(drop);
			}
		}
	}
}

/// Checksums fit again wherever a magic is, as far as lengths say: what reads on is the parser of what they vouch for.
fn mend(bytes: &mut [u8], (magic, crc_at, rest): (&[u8], usize, usize)) {
	let word = |bytes: &[u8], at: usize| {
		u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
	};
	for at in 0..bytes.len().saturating_sub(64) {
		if !bytes[at..].starts_with(magic) {
			continue;
		}
		let length = match magic == RECORD.0 {
			true => RECORD_HEADER.saturating_add(word(bytes, at + 16)),
			false => 64usize.saturating_add(word(bytes, at + 12)),
		};
		let Some(whole) = bytes.get_mut(at..at.saturating_add(length)) else { continue };
		let crc = crc32c::crc32c_append(crc32c::crc32c(&whole[..crc_at]), &whole[rest..]);
		whole[crc_at..crc_at + 4].copy_from_slice(&crc.to_le_bytes());
	}
}

/// How many of the blocks that a scan finds can be opened.
fn scan_all(data: &[u8]) -> usize {
	let scanned = scan(data, 0..data.len() as u64).unwrap();
	let mut covered: u64 = scanned.skipped.iter().map(|gap| gap.end - gap.start).sum();
	let mut opened = 0;
	for (at, head) in &scanned.blocks {
		let from = *at as usize + head.bytes().len();
		let stored = &data[from..from + head.stored as usize];
		opened += usize::from(head.open(stored).is_ok_and(|raw| raw.len() == head.raw as usize));
		covered += head.bytes().len() as u64 + u64::from(head.stored);
	}
	assert_eq!(covered, data.len() as u64);
	opened
}

/// Everything that a reader asks of a folder.
fn open_all(folder: &Path, data: &[u8], listed: &[u8]) {
	fs::write(folder.join("0.blocks"), data).unwrap();
	fs::write(folder.join(INDEX), listed).unwrap();
	let sink = Sink::open(folder).unwrap().unwrap();
	for (node, files) in sink.nodes() {
		for name in files.keys() {
			let _ = sink.read(node, name);
		}
	}
	let _ = (sink.lost(), sink.sums());
	sink.write_index().unwrap();
	let again = Sink::open(folder).unwrap().unwrap();
	assert!(again.index_is_whole());
	assert!(again.nodes().map(|(node, _)| node).eq(sink.nodes().map(|(node, _)| node)));
}

#[test]
fn mutants_of_shared_files_and_indexes() {
	let mutants = mutants();
	let folder = std::env::temp_dir().join(format!("fathom-sink-fuzz.{}", std::process::id()));
	fs::create_dir_all(&folder).unwrap();
	let mut random = Random::of(11);
	let (mut opened, mut listed) = (0, 0);
	for mutant in 0..mutants {
		let (mut data, entries) = good(&mut random);
		let mut records: Vec<u8> = entries.chunks(2).flat_map(index).collect();
		mutate(&mut random, &mut data);
		mutate(&mut random, &mut records);
		if random.below(2) == 0 {
			mend(&mut data, BLOCK);
			mend(&mut records, BLOCK);
			mend(&mut records, RECORD);
		}
		opened += scan_all(&data);
		let (read_back, torn) = read_index(&records);
		assert!(torn as usize <= records.len());
		assert_eq!(read_index(&index(&read_back)), (read_back.clone(), 0));
		listed += read_back.len();
		if mutant % 100 == 0 {
			open_all(&folder, &data, &records);
		}
	}
	fs::remove_dir_all(&folder).unwrap();
	assert!(opened > mutants && listed > mutants / 2, "{opened} blocks, {listed} entries");
}
