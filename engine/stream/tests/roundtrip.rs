//! What was encoded comes back; what was damaged does not come back wrong.

mod common;

use common::{Act, Encoder, decode};
use proptest::prelude::*;

fn field() -> impl Strategy<Value = i64> {
	prop_oneof![
		4 => 0..5_000_000i64,
		2 => Just(4096i64),
		1 => any::<i64>(),
		1 => Just(i64::MIN),
	]
}

fn act() -> impl Strategy<Value = Act> {
	prop_oneof![
		5 => (0..4u32, 0..6u32, 0..3000u64)
			.prop_map(|(op, object, after)| Act::Enter { op, object, after }),
		5 => (prop::collection::vec(field(), 0..9), 0..100u64, 0..1_000_000u64).prop_map(
			|(fields, error, after)| Act::Leave {
				fields,
				error: error.saturating_sub(90),
				after,
			}
		),
		1 => Just(Act::Seal),
	]
}

fn encode(acts: &[Act], start: u64) -> Encoder {
	let mut encoder = Encoder::new(start);
	acts.iter().for_each(|act| encoder.act(act));
	encoder
}

proptest! {
	#![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

	#[test]
	fn what_was_encoded_comes_back(acts in prop::collection::vec(act(), 0..400), start in 0..1u64 << 50) {
		let (file, calls) = encode(&acts, start).finish();
		let (back, skipped, damage) = decode(&file);
		prop_assert_eq!(calls, back);
		prop_assert!(skipped.is_empty());
		prop_assert_eq!(damage, 0);
	}

	#[test]
	fn damage_costs_a_chunk_and_never_a_wrong_row(
		acts in prop::collection::vec(act(), 50..300),
		at in any::<prop::sample::Index>(),
		bit in 0..8u8,
	) {
		let (mut file, calls) = encode(&acts, 1000).finish();
		let at = at.index(file.len());
		file[at] ^= 1 << bit;
		let (back, skipped, damage) = decode(&file);
		prop_assert_eq!(damage, 0);
		prop_assert_eq!(skipped.len(), 1);
		prop_assert!(back.len() <= calls.len());
		prop_assert!(back.iter().all(|row| calls.contains(row)));
	}

	#[test]
	fn a_truncated_file_keeps_its_whole_chunks(
		acts in prop::collection::vec(act(), 50..300),
		cut in any::<prop::sample::Index>(),
	) {
		let (file, calls) = encode(&acts, 1000).finish();
		let (back, ..) = decode(&file[..cut.index(file.len())]);
		prop_assert!(calls.starts_with(&back));
	}

	#[test]
	fn foreign_bytes_between_chunks_are_skipped_and_counted(
		acts in prop::collection::vec(act(), 50..200),
		junk in prop::collection::vec(any::<u8>(), 1..600),
	) {
		let (file, calls) = encode(&acts, 1000).finish();
		let mut dirty = junk.clone();
		dirty.extend(&file);
		let (back, skipped, _) = decode(&dirty);
		prop_assert_eq!(calls, back);
		prop_assert_eq!(skipped.iter().map(|skip| skip.bytes).sum::<u64>(), junk.len() as u64);
	}
}

#[test]
fn the_depth_rule_gives_parents_across_chunks() {
	let leave = || Act::Leave { fields: vec![1], error: 0, after: 10 };
	let enter = |op| Act::Enter { op, object: 1, after: 10 };
	let acts = [
		enter(1),
		enter(2),
		Act::Seal,
		enter(3),
		leave(),
		Act::Seal,
		leave(),
		enter(1),
		leave(),
		leave(),
	];
	let (file, _) = encode(&acts, 5).finish();
	let (rows, ..) = decode(&file);
	let tree: Vec<_> = rows.iter().map(|row| (row.seq, row.parent, row.depth)).collect();
	assert_eq!(tree, [(2, Some(1), 2), (1, Some(0), 1), (3, Some(0), 1), (0, None, 0)]);
}

#[test]
fn unsealed_chunks_are_no_rows_in_a_file() {
	let (mut file, _) = encode(&[], 5).finish();
	file[12] = 0; // not sealed
	let (rows, skipped, _) = decode(&file);
	assert!(rows.is_empty());
	assert_eq!(skipped[0].reason, fathom_stream::Reason::NotSealed);
}
