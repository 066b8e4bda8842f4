//! On which processors a process may run, and what its threads got of them and of storage.
#![allow(clippy::unwrap_used)]

use fathom_stream::{
	ChunkWriter, Decoder, Header, Item, ProcessRecord, Record, ThreadUse, sealed_chunk,
};

fn record<'a>(allowed: &'a [u8], quota: u32) -> ProcessRecord<'a> {
	ProcessRecord {
		parent_pid: 1,
		host: b"host",
		boot_id: b"boot",
		executable: b"/bin/x",
		command: b"x\0",
		cwd: b"/",
		run: b"/run",
		ticks_per_second: 0,
		start: 5,
		rank: 0,
		ranks: 0,
		allowed,
		quota,
	}
}

#[test]
fn what_was_written_comes_back() {
	let known = |ran, waited, read| Some(ThreadUse { ran, waited, read });
	for use_begin in [None, known(0, 0, None), known(7, 1 << 60, Some(1 << 50))] {
		for use_seal in [None, known(0, 9, Some(0))] {
			let written = Header { use_begin, use_seal, ..Header::default() };
			let mut chunk = ChunkWriter::new(&written);
			chunk.plain(&record(&[0b0001_0011, 0, 1], 3));
			let bytes = chunk.seal(0);
			let chunk = sealed_chunk(&bytes).unwrap();
			assert_eq!((chunk.header.use_begin, chunk.header.use_seal), (use_begin, use_seal));
			let mut decoder = Decoder::new();
			let mut rows = decoder.rows(&chunk);
			let Some(Ok(Item::Record(Record::Process(process)))) = rows.next() else {
				panic!("no process")
			};
			assert_eq!(process, record(&[0b0001_0011, 0, 1], 3));
			assert_eq!(process.processors().collect::<Vec<_>>(), [0, 1, 4, 16]);
		}
	}
}

#[test]
fn what_changes_at_the_seal_makes_no_other_chunk() {
	let sealed = Header { use_seal: Some(ThreadUse::default()), ..Header::default() };
	assert!(sealed.same_chunk(&Header::default()));
	let begun = Header { use_begin: Some(ThreadUse::default()), ..Header::default() };
	assert!(!begun.same_chunk(&Header::default()));
}
