//! Mutations of good files, always the same ones: nothing panics, and what vouches for itself is right.
//!
//! FATHOM_FUZZ is the number of mutants: 20,000 by default, 10,000,000 in the full test.

mod common;
#[path = "common/random.rs"]
mod random;

use common::{CallRow, Encoder, decode};
use random::{Random, mutants};
use std::collections::HashMap;

fn seed_file(random: &mut Random) -> (Vec<u8>, Vec<CallRow>) {
	let mut encoder = Encoder::new(1 << 30);
	for _ in 0..random.below(60) + 10 {
		encoder.act(&random.act());
		if random.below(8) == 0 {
			counted_record(random, &mut encoder);
		}
	}
	encoder.finish()
}

/// A counter, tally, heat or datatype record, or nearly one.
fn counted_record(random: &mut Random, encoder: &mut Encoder) {
	let mut payload: Vec<u8> =
		(0..random.below(90)).map(|_| random.next() as u8 >> random.below(8)).collect();
	if random.below(2) == 0 {
		payload.splice(0..0, [1, 2, 0, 9, 0, 8, 7, 1, 5, 9, 9, 2, 3, 4, 4, 1, 4]);
	}
	encoder.record([9, 9, 16, 17, 18][random.below(5)], &payload);
}

fn mutate(random: &mut Random, file: &mut Vec<u8>) {
	for _ in 0..random.below(4) + 1 {
		let at = random.below(file.len());
		match random.below(6) {
			0 => file[at] ^= 1 << random.below(8),
			1 => file[at] = random.next() as u8,
			2 => file.truncate(at),
			3 => {
				let end = (at + random.below(300)).min(file.len());
				file.drain(at..end);
			}
			4 => {
				let end = (at + random.below(300)).min(file.len());
				let copy = file[at..end].to_vec();
				let to = random.below(file.len());
				file.splice(to..to, copy);
			}
			_ => {
				let junk: Vec<u8> = (0..random.below(64)).map(|_| random.next() as u8).collect();
				file.splice(at..at, junk);
			}
		}
		if file.is_empty() {
			return;
		}
	}
}

/// Seals every chunk anew, so that nonsense is vouched for: rows may then be anything, but nothing may panic.
fn reseal(file: &mut [u8]) {
	let mut at = 0;
	while let Some(magic) = file.get(at..).and_then(|f| f.windows(8).position(|w| w == b"FATHOMCK"))
	{
		let begin = at + magic;
		at = begin + 8;
		let Some(&[a, b, c, d]) = file.get(begin + 128..begin + 132) else { return };
		let committed = u32::from_le_bytes([a, b, c, d]) as usize;
		let end = begin.saturating_add(192).saturating_add(committed);
		if end <= file.len() {
			file[begin + 132..begin + 136].fill(0);
			let crc = crc32c::crc32c(&file[begin..end]);
			file[begin + 132..begin + 136].copy_from_slice(&crc.to_le_bytes());
		}
	}
}

/// Takes a page of a ring for what it may be; it must only not panic.
fn as_ring(random: &mut Random, file: &[u8]) {
	let mut ring = vec![0u8; 4096];
	ring[..8].copy_from_slice(b"FATHOMRG");
	ring[8] = 1;
	ring[13] = 16;
	ring[16..24].copy_from_slice(&common::INSTANCE.to_le_bytes());
	ring.extend(file);
	ring.resize(ring.len().next_multiple_of(4096), 0);
	let mut page = vec![0u8; 4096];
	let magic = [b"FATHOMTH", b"FATHOMCT", b"FATHOMCD", b"FATHOMTL", b"FATHOMHT"][random.below(5)];
	page[..8].copy_from_slice(magic);
	for _ in 0..40 {
		let at = 8 + random.below(4000);
		page[at] = random.next() as u8;
	}
	if random.below(4) > 0 {
		page[24..32].copy_from_slice(&common::INSTANCE.to_le_bytes());
	}
	ring.extend(page);
	ring.truncate(ring.len() - random.below(3000));
	if let Ok(ring) = fathom_stream::read_ring(&ring) {
		let mut decoder = fathom_stream::Decoder::new();
		for chunk in &ring.chunks {
			let mut rows = decoder.rows(chunk);
			while rows.next().is_some() {}
		}
	}
}

#[test]
fn fuzz() {
	let mut random = Random::of(2026);
	let mut good = seed_file(&mut random);
	let by_seq = |rows: &[CallRow]| -> HashMap<u64, CallRow> {
		rows.iter().map(|row| (row.seq, row.clone())).collect()
	};
	let mut known = by_seq(&good.1);
	for i in 0..mutants() {
		if i % 64 == 63 {
			good = seed_file(&mut random);
			known = by_seq(&good.1);
		}
		let mut file = good.0.clone();
		mutate(&mut random, &mut file);
		if i % 2 == 0 {
			let (rows, ..) = decode(&file);
			for row in rows {
				assert!(known.get(&row.seq) == Some(&row), "mutant {i}: {row:?}");
			}
		} else {
			reseal(&mut file);
			decode(&file);
			as_ring(&mut random, &file);
		}
	}
}
