//! `cargo fuzz run stream`, from engine/: any bytes as a stream file and as a ring.
#![no_main]

use fathom_stream::{Chunk, Decoder, Segment, chunks, read_ring};
use libfuzzer_sys::fuzz_target;

fn read(decoder: &mut Decoder, chunk: &Chunk<'_>) {
	let mut rows = decoder.rows(chunk);
	while rows.next().is_some() {}
}

fuzz_target!(|data: &[u8]| {
	let mut decoder = Decoder::new();
	let mut bytes = 0;
	for segment in chunks(data) {
		match segment {
			Segment::Chunk(chunk) => {
				bytes += chunk.bytes.len();
				read(&mut decoder, &chunk);
			}
			Segment::Skipped(skip) => bytes += skip.bytes as usize,
		}
	}
	assert_eq!(bytes, data.len());
	if let Ok(ring) = read_ring(data) {
		ring.chunks.iter().for_each(|chunk| read(&mut decoder, chunk));
	}
});
