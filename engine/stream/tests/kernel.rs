//! What the kernel did: what was written comes back.

use fathom_stream::{ChunkWriter, Decoder, Header, Item, KernelEvent, Record, Segment, chunks};
use proptest::prelude::*;

fn event() -> impl Strategy<Value = KernelEvent> {
	(any::<[u32; 4]>(), any::<[u64; 6]>()).prop_map(|(words, longs)| {
		let ([kind, pid, tid, device], [began, ended, inode, at, bytes, queued]) = (words, longs);
		KernelEvent { kind, pid, tid, device, began, ended, inode, at, bytes, queued }
	})
}

proptest! {
	#[test]
	fn what_was_written_comes_back(events in prop::collection::vec(event(), 0..50)) {
		let mut writer = ChunkWriter::new(&Header { clock: 1, ..Header::default() });
		events.iter().for_each(|event| writer.plain(event));
		let file = writer.seal(0);
		let mut back = Vec::new();
		let mut decoder = Decoder::new();
		for segment in chunks(&file) {
			let Segment::Chunk(chunk) = segment else { panic!("{segment:?}") };
			let mut rows = decoder.rows(&chunk);
			while let Some(item) = rows.next() {
				let Ok(Item::Record(Record::Kernel(event))) = item else { panic!("{item:?}") };
				back.push(event);
			}
		}
		prop_assert_eq!(back, events);
	}
}
