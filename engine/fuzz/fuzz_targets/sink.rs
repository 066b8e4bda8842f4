//! `cargo fuzz run sink`, from engine/: any bytes as a shared file and as its index.
#![no_main]

use fathom_sink::{index, read_index, scan};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
	let scanned = scan(data, 0..data.len() as u64).unwrap_or_default();
	for (at, head) in &scanned.blocks {
		let from = *at as usize + head.bytes().len();
		let _ = head.open(&data[from..from + head.stored as usize]);
	}
	let (entries, torn) = read_index(data);
	assert!(torn as usize <= data.len());
	assert_eq!(read_index(&index(&entries)), (entries, 0));
});
