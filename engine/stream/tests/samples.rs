//! An agent's samples: what was written comes back, and a damaged chunk costs no other.

use fathom_stream::{ChunkWriter, Decoder, Header, Item, Record, Samples, Segment, Series, chunks};
use proptest::prelude::*;

#[derive(Debug, Clone)]
struct Named {
	instance: u64,
	pid: u32,
	texts: [Vec<u8>; 3],
}

fn named() -> impl Strategy<Value = Named> {
	let text = || prop::collection::vec(any::<u8>(), 0..40);
	(any::<u64>(), any::<u32>(), [text(), text(), text()])
		.prop_map(|(instance, pid, texts)| Named { instance, pid, texts })
}

fn values() -> impl Strategy<Value = Samples> {
	let pairs = prop::collection::btree_map(any::<u32>(), any::<i64>(), 0..60);
	(any::<u64>(), pairs)
		.prop_map(|(time, pairs)| Samples { time, values: pairs.into_iter().collect() })
}

fn series(number: usize, named: &Named) -> Series<'_> {
	let [what, device, unit] = &named.texts;
	Series { series: number as u32, instance: named.instance, pid: named.pid, what, device, unit }
}

fn file(names: &[Named], rounds: &[Samples]) -> Vec<u8> {
	let mut file = Vec::new();
	for (number, round) in rounds.iter().enumerate() {
		let header = Header { number: number as u64, clock: 1, ..Header::default() };
		let mut chunk = ChunkWriter::new(&header);
		if number == 0 {
			names.iter().enumerate().for_each(|(i, named)| chunk.plain(&series(i, named)));
		}
		chunk.samples(round);
		file.extend(chunk.seal(0));
	}
	file
}

fn read(data: &[u8]) -> (Vec<String>, Vec<Samples>, u64) {
	let (mut names, mut rounds, mut skipped) = (Vec::new(), Vec::new(), 0);
	let mut decoder = Decoder::new();
	for segment in chunks(data) {
		match segment {
			Segment::Skipped(skip) => skipped += skip.bytes,
			Segment::Chunk(chunk) => {
				let mut rows = decoder.rows(&chunk);
				while let Some(item) = rows.next() {
					match item.map_err(|damage| damage.to_string()) {
						Ok(Item::Record(Record::Series(series))) => {
							names.push(format!("{series:?}"))
						}
						Ok(Item::Record(Record::Samples(samples))) => rounds.push(samples),
						other => panic!("{other:?} was not written"),
					}
				}
			}
		}
	}
	(names, rounds, skipped)
}

proptest! {
	#[test]
	fn what_was_written_comes_back(
		names in prop::collection::vec(named(), 0..20),
		rounds in prop::collection::vec(values(), 1..20),
	) {
		let (back, values, skipped) = read(&file(&names, &rounds));
		let written: Vec<_> =
			names.iter().enumerate().map(|(i, n)| format!("{:?}", series(i, n))).collect();
		prop_assert_eq!(back, written);
		prop_assert_eq!(values, rounds);
		prop_assert_eq!(skipped, 0);
	}

	#[test]
	fn a_torn_end_keeps_all_rounds_before_it(
		rounds in prop::collection::vec(values(), 1..20),
		cut in any::<prop::sample::Index>(),
	) {
		let file = file(&[], &rounds);
		let cut = cut.index(file.len());
		let (_, values, skipped) = read(&file[..cut]);
		prop_assert!(rounds.starts_with(&values));
		prop_assert_eq!(skipped > 0, !values.iter().map(|v| one(v).len()).sum::<usize>().eq(&cut));
	}

	#[test]
	fn a_damaged_byte_costs_one_round(
		rounds in prop::collection::vec(values(), 2..10),
		at in any::<prop::sample::Index>(),
		bit in 0u8..8,
	) {
		let mut file = file(&[], &rounds);
		let at = at.index(file.len());
		file[at] ^= 1u8 << bit;
		let (_, values, _) = read(&file);
		prop_assert_eq!(values.len(), rounds.len() - 1);
		prop_assert!(values.iter().all(|value| rounds.contains(value)));
	}
}

/// One round's chunk; its length depends on nothing else.
fn one(round: &Samples) -> Vec<u8> {
	file(&[], std::slice::from_ref(round))
}
