//! What of a run is not here, as far as what is here tells.

use std::collections::{BTreeMap, BTreeSet};

use crate::define::Identity;
use crate::marks::MarkRow;
use crate::run::Run;

/// Ranges that are listed before the rest is only counted.
const MOST_RANGES: usize = 20;

/// Rows of the run's log: ranks of the job's world that left nothing, nodes whose sender broke off, files
/// that are no streams, blocks of shared files.
pub fn missing(run: &Run, processes: &[Identity]) -> Vec<MarkRow> {
	let broken = run.nodes.iter().filter(|node| node.broken_off).map(|node| MarkRow {
		kind: "missing node part".into(),
		detail: format!(
			"{} ({}): its sender did not come to its end; what came until then is here",
			node.host, node.boot_id
		),
		..MarkRow::default()
	});
	let ranks = (!run.ranks_selected()).then(|| missing_ranks(processes)).flatten();
	let lost = run.sink.iter().flat_map(|sink| sink.lost()).map(|lost| MarkRow {
		kind: "missing blocks".into(),
		detail: lost.what,
		value: lost.count as i64,
		..MarkRow::default()
	});
	let odd = run.odd.iter().map(|what| MarkRow {
		kind: "missing stream".into(),
		detail: what.clone(),
		value: 1,
		..MarkRow::default()
	});
	broken.chain(odd).chain(ranks).chain(other_worlds(processes)).chain(lost).collect()
}

/// Modules that cannot be read, a row for each reason.
pub fn without_lines(unreadable: &BTreeMap<String, String>) -> impl Iterator<Item = MarkRow> {
	let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
	for (module, reason) in unreadable {
		by_reason.entry(reason).or_default().push(module);
	}
	by_reason.into_iter().map(|(reason, modules)| {
		let more = if modules.len() > 1 { ", and other modules" } else { "" };
		MarkRow {
			kind: "unreadable".into(),
			detail: format!("{}{more}: {reason}; calls there have no lines", modules[0]),
			value: modules.len() as i64,
			..MarkRow::default()
		}
	})
}

/// Layers of which no call was seen, though their library is there: linked into the program, it is called without a slot that
/// could be pointed elsewhere. A program that calls none of it looks alike.
pub fn unseen_layers(
	linked: &BTreeSet<(String, &'static str)>,
	seen: &[&str],
) -> impl Iterator<Item = MarkRow> {
	linked.iter().filter(|(_, layer)| !seen.contains(layer)).map(|(module, layer)| MarkRow {
		kind: "linked in".into(),
		detail: format!(
			"{module} has the library of layer {layer} inside: none of its calls is seen, those below are; link the shared one"
		),
		value: 1,
		..MarkRow::default()
	})
}

/// What of the node's memory was left alone.
pub fn refused(rings: &[String]) -> impl Iterator<Item = MarkRow> {
	rings.iter().map(|ring| MarkRow {
		kind: "rings".into(),
		detail: format!("left alone: {ring}"),
		..MarkRow::default()
	})
}

/// Ranks of the run that count otherwise for MPI.
fn other_worlds(processes: &[Identity]) -> impl Iterator<Item = MarkRow> {
	let mut worlds: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
	for process in processes.iter().filter(|process| process.first_rank > 0) {
		worlds.entry(process.first_rank).or_default().extend(process.rank);
	}
	worlds.into_iter().map(|(first, ranks)| MarkRow {
		kind: "note".into(),
		detail: format!(
			"ranks {first}-{} here are 0-{} of an MPI_COMM_WORLD of their own (MPI_Comm_spawn, or another mpiexec)",
			ranks.last().unwrap_or(&first),
			ranks.last().unwrap_or(&first) - first
		),
		..MarkRow::default()
	})
}

fn missing_ranks(processes: &[Identity]) -> Option<MarkRow> {
	let world = processes.iter().filter_map(|process| process.ranks).max()?;
	let seen: BTreeSet<u32> = processes.iter().filter_map(|process| process.rank).collect();
	let absent = (u64::from(world)).saturating_sub(seen.len() as u64);
	(absent > 0 && !seen.is_empty()).then(|| MarkRow {
		kind: "missing ranks".into(),
		detail: format!("{} of {world}: nothing of them is here", ranges(&seen, world)),
		value: absent as i64,
		..MarkRow::default()
	})
}

/// Those below `world` that were not seen: `0, 4-7`.
fn ranges(seen: &BTreeSet<u32>, world: u32) -> String {
	let mut gaps = Vec::new();
	let mut next = 0;
	for end in seen.iter().copied().chain([world]) {
		if end > next {
			let last = end - 1;
			gaps.push(if last == next { next.to_string() } else { format!("{next}-{last}") });
		}
		next = end.saturating_add(1);
	}
	let more = gaps.len().saturating_sub(MOST_RANGES);
	gaps.truncate(MOST_RANGES);
	let listed = gaps.join(", ");
	if more > 0 { format!("{listed} and {more} more ranges") } else { listed }
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn gaps_are_listed_in_order() {
		let seen = |list: &[u32]| list.iter().copied().collect::<BTreeSet<u32>>();
		assert_eq!(ranges(&seen(&[0, 1, 2, 3]), 8), "4-7");
		assert_eq!(ranges(&seen(&[1, 3]), 4), "0, 2");
		assert_eq!(ranges(&seen(&[2]), 6), "0-1, 3-5");
		let even: Vec<u32> = (0..100).step_by(2).collect();
		assert!(ranges(&seen(&even), 100).ends_with("37, 39 and 30 more ranges"));
	}
}
