//! Whose bytes each system call below a collective call of MPI-IO moved: links of kind `carries`, from the
//! aggregator's read or write to the calls of the ranks whose bytes it had. Below a call that posts, and the waits until it
//! is seen completed.

use fathom_stream::{Link, link_kind};
use rayon::prelude::*;

use crate::collectives::{Collectives, RankCall};
use crate::columns::LinkColumns;
use crate::marks::MarkRow;
use crate::merged::Merged;
use crate::survey::{Below, CollectiveCall};
use crate::view::{Moved, SPREAD};

/// Links of a run, at most; and places compared for one collective call.
const MOST_LINKS: usize = 4 << 20;
const MOST_COMPARED: usize = 16 << 20;
/// Collective calls that are looked at together.
const TOGETHER: usize = 4096;

#[derive(Debug, Default)]
pub struct CollectiveLinks {
	pub links: LinkColumns,
	/// Collective calls whose links were too many to be made.
	pub left_out: i64,
}

impl CollectiveLinks {
	/// For the run's log.
	pub fn mark(&self) -> Option<MarkRow> {
		let left_out = self.left_out;
		(left_out > 0).then(|| MarkRow {
			kind: "links".into(),
			detail: format!(
				"{left_out} collective calls of too many system calls: no links say whose bytes those moved"
			),
			value: left_out,
			..MarkRow::default()
		})
	}
}

/// A system call below a collective one.
#[derive(Debug, Clone, Copy)]
struct System {
	rank: usize,
	id: u64,
	start: i64,
	stop: i64,
}

/// A rank's part in a collective call.
struct Rank<'s> {
	moved: Option<Moved<'s>>,
	bytes: u64,
	/// Of its call: index of the stream in the run and seq; the stream's own id.
	id: u64,
	stream: u64,
	seq: u64,
}

struct CarriedLink {
	from: u64,
	to: u64,
	link: Link,
}

pub fn find(merged: &Merged, collectives: &Collectives) -> CollectiveLinks {
	let mut all_links = CollectiveLinks::default();
	let groups: Vec<&[RankCall]> = collectives.data_of_mpiio(merged).collect();
	for batch in groups.chunks(TOGETHER) {
		let by_collective: Vec<Option<Vec<CarriedLink>>> =
			batch.par_iter().map(|parts| of_collective(merged, parts)).collect();
		for links in by_collective {
			match links {
				Some(links) if all_links.links.len() + links.len() <= MOST_LINKS => {
					for CarriedLink { from, to, link } in links {
						all_links.links.push(from, Some(to), &link);
					}
				}
				_ => all_links.left_out += 1,
			}
		}
	}
	all_links
}

/// `None`: too much to compare, or not all of its system calls were kept.
fn of_collective(merged: &Merged, parts: &[RankCall]) -> Option<Vec<CarriedLink>> {
	let call = |part: &RankCall| &merged.images[part.image].survey.collectives[part.call];
	let lost = |part: &RankCall| {
		let waits = merged.images[part.image].survey.waits_of(call(part));
		call(part).below_lost || waits.iter().any(|wait| wait.below_lost)
	};
	if parts.iter().any(lost) {
		return None;
	}
	let ranks: Vec<Rank<'_>> =
		parts.iter().map(|part| rank(merged, part.image, call(part))).collect();
	let mut system = Vec::new();
	for (rank, part) in parts.iter().enumerate() {
		match calls_below(merged, part.image, call(part), rank) {
			Some(calls) => system.extend(calls),
			None => return Some(Vec::new()), // where one of them moved its bytes is not known
		}
	}
	if ranks.len().saturating_mul(system.len()) > MOST_COMPARED {
		return None;
	}
	system.sort_unstable_by_key(|call| (call.start, call.id));
	let mut links = Vec::new();
	for (number, rank) in ranks.iter().enumerate() {
		link_rank(rank, number, &system, &mut links);
	}
	Some(links)
}

/// Which of the system calls moved a rank's bytes? Its own, if they can have moved all; else those of all ranks.
fn link_rank(rank: &Rank<'_>, number: usize, system: &[System], links: &mut Vec<CarriedLink>) {
	let Some(moved) = rank.moved else { return };
	let (first, stop) = moved.reach();
	let system = &system[..system.partition_point(|call| call.start < stop)];
	let takes = |own: bool| {
		let overlapping = system.iter().filter(move |call| call.stop > first);
		let overlapping = overlapping.filter(move |call| !own || call.rank == number);
		let taken = overlapping.map(move |call| (call, moved.between(call.start, call.stop)));
		taken.filter(|&(_, bytes)| bytes > 0)
	};
	let all = |own: bool| takes(own).map(|(_, bytes)| bytes).sum::<u64>();
	let own = all(true) >= rank.bytes;
	// The same bytes moved twice: by which call this rank got them is not known.
	let percent = if all(own) > rank.bytes { SPREAD.min(moved.percent) } else { moved.percent };
	links.extend(takes(own).map(|(call, bytes)| CarriedLink {
		from: call.id,
		to: rank.id,
		link: Link {
			seq: 0,
			to_stream: rank.stream,
			to_seq: rank.seq,
			kind: link_kind::CARRIES,
			bytes,
			percent: u32::from(percent),
		},
	}));
}

fn rank<'m>(merged: &'m Merged, image: usize, call: &CollectiveCall) -> Rank<'m> {
	let state = &merged.images[image];
	let bytes = call.bytes.filter(|&bytes| bytes >= 0).or(call.size);
	let bytes = bytes.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0);
	let view = state.survey.definitions.selections.get(&call.selection);
	let known = bytes > 0 && !call.failed && (call.selection == 0 || view.is_some());
	let moved = known.then(|| Moved::new(view, call.offset, call.at_start, bytes)).flatten();
	let stream = call.stream as usize;
	Rank {
		moved,
		bytes,
		id: u64::from(state.streams[stream]) << 40 | call.seq,
		stream: state.survey.streams[stream].id,
		seq: call.seq,
	}
}

/// The system calls on the same file, in the same direction. `None`: of one the place is not known, or a post was not
/// seen to end.
fn calls_below(
	merged: &Merged,
	image: usize,
	call: &CollectiveCall,
	rank: usize,
) -> Option<Vec<System>> {
	let state = &merged.images[image];
	let file = state.file(call.object);
	let stream = u64::from(state.streams[call.stream as usize]) << 40;
	if call.posts && call.completed.is_none() {
		return None;
	}
	let waits = state.survey.waits_of(call).iter().map(|wait| &wait.below);
	let stretches = std::iter::once(&call.below).chain(waits);
	let below = stretches.flat_map(|at| &state.survey.below[at.start as usize..at.end as usize]);
	let same = |below: &&Below| {
		Some(below.direction) == call.direction && state.file(below.object) == file
	};
	below
		.filter(same)
		.map(|below| {
			let start = below.offset?;
			Some(System {
				rank,
				id: stream | below.seq,
				start,
				stop: start.checked_add(below.bytes)?,
			})
		})
		.collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
	use super::*;
	use fathom_stream::{Selection, selection_form};
	use proptest::prelude::*;

	/// Of rank `rank` of `ranks`: every `ranks`-th stretch of `each` bytes.
	fn stripes(rank: u64, ranks: u64, each: u64) -> Selection {
		Selection {
			selection: 1,
			form: selection_form::BYTES,
			exact: true,
			rank: 1,
			displacement: 0,
			unit: 1,
			period: ranks * each,
			total: each,
			bounds: vec![rank * each, each],
			hash: 0,
			blocks: 1,
			block: vec![rank * each, each],
			span: 0,
			parts: Vec::new(),
		}
	}

	fn rank(view: &Selection, bytes: u64) -> Rank<'_> {
		let moved = Moved::new(Some(view), Some(view.block[0] as i64), false, bytes);
		Rank { moved, bytes, id: 0, stream: 0, seq: 0 }
	}

	proptest! {
		#[test]
		fn each_byte_is_carried_by_the_call_that_moved_it(
			ranks in 1u64..6, each in 1u64..9, rounds in 1u64..9,
			cuts in prop::collection::btree_set(1i64..300, 0..12),
			owners in prop::collection::vec(0usize..6, 13),
		) {
			let views: Vec<Selection> = (0..ranks).map(|r| stripes(r, ranks, each)).collect();
			let end = (ranks * each * rounds) as i64;
			let mut edges: Vec<i64> = cuts.into_iter().filter(|&cut| cut < end).collect();
			edges.insert(0, 0);
			edges.push(end);
			let system: Vec<System> = edges
				.windows(2)
				.zip(&owners)
				.enumerate()
				.map(|(i, (edge, &owner))| System {
					rank: owner % ranks as usize,
					id: i as u64,
					start: edge[0],
					stop: edge[1],
				})
				.collect();
			for (number, view) in views.iter().enumerate() {
				let mut links = Vec::new();
				link_rank(&rank(view, each * rounds), number, &system, &mut links);
				let sum: u64 = links.iter().map(|link| link.link.bytes).sum();
				prop_assert_eq!(sum, each * rounds);
				for call in &system {
					let mine = |at: &i64| *at as u64 / each % ranks == number as u64;
					let counted = (call.start..call.stop).filter(mine).count() as u64;
					let linked: u64 = links
						.iter()
						.filter(|link| link.from == call.id)
						.map(|link| link.link.bytes)
						.sum();
					prop_assert_eq!(linked, counted);
				}
				prop_assert!(links.iter().all(|link| link.link.percent == 100));
			}
		}
	}

	#[test]
	fn bytes_moved_twice_are_not_sure_and_own_calls_go_first() {
		let view = stripes(0, 2, 4);
		let call = |rank, id| System { rank, id, start: 0, stop: 16 };
		let links = |number, system: &[System]| {
			let mut links = Vec::new();
			link_rank(&rank(&view, 8), number, system, &mut links);
			links.iter().map(|m| (m.from, m.link.bytes, m.link.percent)).collect::<Vec<_>>()
		};
		let both = [call(0, 7), call(1, 8)];
		assert_eq!(links(0, &both), vec![(7, 8, 100)]);
		assert_eq!(links(2, &both), vec![(7, 8, 50), (8, 8, 50)]);
	}
}
