//! Any bytes, and nearly good ones: a value or a reason, never a panic; what decodes, encodes to the same bytes.
//!
//! FATHOM_FUZZ is the number of mutants: 20,000 by default, 10,000,000 in the full test.

#![allow(clippy::unwrap_used)]

#[path = "../../stream/tests/common/splitmix.rs"]
mod splitmix;

use std::path::PathBuf;

use fathom_wire::{
	Failure, Field, HEADER, Header, Part, Pull, Reply, Request, WireError, decode, encode, expand,
};
use proptest::prelude::*;
use splitmix::{Random, mutants};

fn golden() -> Vec<Vec<u8>> {
	let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../forward/golden");
	let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
	let frames = entries.filter(|path| path.extension().is_some_and(|e| e == "frame"));
	frames.map(|path| std::fs::read(path).unwrap()).collect()
}

fn mutate(random: &mut Random, body: &mut Vec<u8>) {
	for _ in 0..random.below(4) {
		let at = random.below(body.len() + 1);
		match random.below(4) {
			0 if at < body.len() => body[at] ^= 1 << random.below(8),
			1 => body.truncate(at),
			2 => body.splice(at..at, [random.next() as u8; 3]).for_each(drop),
			_ if at < body.len() => body[at] = [0, 255, 127][random.below(3)],
			_ => {}
		}
	}
}

fn same<T: Field>(body: &[u8]) {
	if let Ok(value) = decode::<T>(body) {
		assert_eq!(encode(&value), body);
	}
}

/// Every decoder on these bytes; whether one of the messages was taken.
fn every_decoder(op: u16, body: &[u8]) -> bool {
	let request = Request::decode(op, body);
	if let Ok((request, hints, at)) = &request {
		assert_eq!(request.encode(hints), body[..*at]);
	}
	let reply = Reply::decode(op, body);
	if let Ok((reply, hints, at)) = &reply {
		assert_eq!(reply.encode(hints), body[..*at]);
	}
	same::<Failure>(body);
	same::<Pull>(body);
	if let Ok(part) = Part::decode(body) {
		let mut plain = vec![1; 3];
		let taken = expand(part.bytes, &mut plain, 4096).is_ok();
		assert!(
			plain.len() <= 3 + 4096
				&& (!taken || part.bytes[..4] == ((plain.len() - 3) as u32).to_le_bytes())
		);
	}
	request.is_ok() || reply.is_ok()
}

#[test]
fn mutants_of_golden_frames() {
	let frames = golden();
	let mutants = mutants();
	let mut random = Random::of(7);
	let mut taken = 0;
	for _ in 0..mutants {
		let frame = &frames[random.below(frames.len())];
		let op = u16::from_le_bytes([frame[6], frame[7]]);
		let mut body = frame[HEADER..].to_vec();
		mutate(&mut random, &mut body);
		taken += usize::from(every_decoder(op, &body));
	}
	assert!(taken > mutants / 10 && taken < mutants, "{taken} of {mutants} were taken");
}

#[test]
fn a_header_with_any_bit_turned_is_refused() {
	for frame in golden() {
		for bit in 0..HEADER * 8 {
			let mut head: [u8; HEADER] = frame[..HEADER].try_into().unwrap();
			head[bit / 8] ^= 1 << (bit % 8);
			assert!(Header::decode(&head).is_err(), "bit {bit}");
		}
	}
}

#[test]
fn counts_are_checked_before_memory_is_asked_for() {
	let mut body = vec![0; 32];
	body.extend(4096u32.to_le_bytes()); // so many extents, and none there
	let ended = Request::decode(fathom_wire::number::op::READ, &body);
	assert_eq!(ended.unwrap_err(), WireError::Ended("extents"));
	body[32..].copy_from_slice(&u32::MAX.to_le_bytes());
	let many = Request::decode(fathom_wire::number::op::READ, &body);
	assert!(matches!(many.unwrap_err(), WireError::TooMany("extents", ..)));
}

proptest! {
	#[test]
	fn headers_come_back(
		kind in 1u8..=4, op in 3u16.., seq in 1u64.., client in 1u64.., body in 0u32..1_114_112,
		deadline: u32, status: u32, call_stream: u64, call_seq: u64,
	) {
		let request = kind == 1;
		let header = Header {
			kind, op, seq, client, body, flags: 0, body_crc: 0,
			deadline: if request { deadline } else { 0 },
			status: if kind == 2 { status } else { 0 },
			call_stream: if request { call_stream } else { 0 },
			call_seq: if request { call_seq } else { 0 },
		};
		prop_assert_eq!(Header::decode(&header.encode()), Ok(header));
	}

	#[test]
	fn any_bytes_as_a_body(op in 0u16..70, body in proptest::collection::vec(any::<u8>(), 0..300)) {
		every_decoder(op, &body);
	}
}
