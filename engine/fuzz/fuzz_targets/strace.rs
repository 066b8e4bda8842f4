//! `cargo fuzz run strace`, from engine/: any bytes as a log of strace; what comes of it is streams without damage.
#![no_main]

use fathom_stream::{Decoder, Segment, chunks};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
	let Ok(streams) = fathom_strace::streams_of(data) else { return };
	for stream in &streams {
		let mut decoder = Decoder::new();
		for segment in chunks(stream) {
			let Segment::Chunk(chunk) = segment else { panic!("{segment:?}") };
			let mut rows = decoder.rows(&chunk);
			while let Some(row) = rows.next() {
				assert!(row.is_ok(), "{row:?}");
			}
		}
	}
});
