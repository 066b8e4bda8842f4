//! The file that all append to: every byte of it is a record's, or in a gap that the ledger declares.

use std::collections::BTreeMap;

use fathom_wire::Gap;

use crate::ledger::Ledger;
use crate::simulation::programs::{Fate, Record};
use crate::simulation::world::World;

pub fn check(world: &World) {
	let Some(log) = world.disk.contents("log") else { return };
	let programs = world.seats.iter().flat_map(|seat| &seat.programs);
	let records: Vec<&Record> = programs.flat_map(|program| program.records()).collect();
	say!("the log: {}\njournal: {}", String::from_utf8_lossy(&log), world.disk.journals());
	for record in &records {
		say!("{:?}: {}", record.fate, String::from_utf8_lossy(&record.bytes));
	}
	let journaled = Ledger::read(&world.disk.journals()).gaps(0, usize::MAX).0;
	check_bytes(world, &log, &records, &journaled);
	if world.is_settled {
		world.live_gaps().iter().for_each(|gaps| check_bytes(world, &log, &records, gaps));
	}
}

/// With what a server, or the next one, says of gaps.
fn check_bytes(world: &World, log: &[u8], records: &[&Record], gaps: &[Gap]) {
	say!("gaps: {gaps:?}");
	let by_bytes: BTreeMap<&[u8], &Record> =
		records.iter().map(|record| (&record.bytes[..], *record)).collect();
	let mut times: BTreeMap<&[u8], u32> = BTreeMap::new();
	let mut at = 0;
	while at < log.len() {
		let gap =
			gaps.iter().find(|gap| (gap.offset..gap.offset + gap.length).contains(&(at as u64)));
		if let Some(gap) = gap {
			at = (gap.offset + gap.length) as usize;
			continue;
		}
		let end =
			log[at..].iter().position(|byte| *byte == b'>').map_or(log.len(), |end| at + end + 1);
		let bytes = &log[at..end];
		let text = String::from_utf8_lossy(bytes);
		let record = by_bytes.get(bytes);
		let record = record.unwrap_or_else(|| panic!("no record, and no gap, at {at}: {text:?}"));
		assert_ne!(record.fate, Fate::Failed, "it was called failed, and is there at {at}: {text}");
		*times.entry(&record.bytes).or_default() += 1;
		at = end;
	}
	for record in records {
		let text = String::from_utf8_lossy(&record.bytes);
		let times = times.get(&record.bytes[..]).copied().unwrap_or(0);
		assert!(times <= 1, "{text} is there {times} times");
		let must = matches!(record.fate, Fate::Written(_)) && world.is_uncut(record);
		assert!(times == 1 || !must, "{text} is lost");
	}
}
