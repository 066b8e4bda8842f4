//! The run's time: a line from ticks to nanoseconds since the run's start for every clock.

use std::collections::HashMap;

use fathom_stream::Clock;

use crate::clock::{Correction, Kind, Line, realtime_offset};
use crate::merged::{Merged, ProcessRow};
use crate::run::Run;
use crate::sync::{Aligned, Passage, align};

/// ns by which what a process did last may lie behind its script's end: clocks are read one after the other.
const SLACK: i64 = 10_000_000;

pub struct Times {
	/// By clock.
	pub lines: Vec<Line>,
	/// By clock: from its node's CLOCK_MONOTONIC, ns.
	pub monotonic: Vec<Line>,
	pub aligned: Vec<Aligned>,
	/// Time 0, ns since 1970.
	pub started: i64,
	/// How long the script ran that the processes are of, where it is one.
	pub script: Option<i64>,
}

/// The passages of one collective call that ranks wait in for each other.
pub type SyncPoint = Vec<Member>;

#[derive(Debug, Clone, Copy)]
pub struct Member {
	pub clock: usize,
	pub began: u64,
	pub ended: u64,
}

/// `script`: from when to when the script ran that the processes are of, where it is one; ns since 1970.
pub fn times(
	run: &Run,
	merged: &Merged,
	sync_points: &[SyncPoint],
	script: Option<(i64, i64)>,
) -> Times {
	let local: Vec<Line> =
		(0..merged.clocks.len()).map(|clock| local_line(run, merged, clock)).collect();
	let ticks = starts(merged);
	let start = |lines: &[Line]| {
		let began =
			|(row, &tick): (&ProcessRow, &u64)| lines[merged.images[row.image].clock].ns(tick);
		merged.processes.iter().zip(&ticks).map(began).min().unwrap_or(0)
	};
	let base = start(&local);
	let by = |shift: i64| Correction { shift, ..Correction::default() };
	let local: Vec<Line> = local.iter().map(|line| line.corrected(&by(-base))).collect();
	let passages: Vec<Vec<Passage>> = sync_points
		.iter()
		.map(|sync_point| {
			let passage = |member: &Member| Passage {
				clock: member.clock,
				enter: local[member.clock].ns(member.began),
				leave: local[member.clock].ns(member.ended),
			};
			sync_point.iter().map(passage).collect()
		})
		.collect();
	let aligned = align(local.len(), &passages, (0, span(merged, &local)));
	let lines: Vec<Line> = local
		.iter()
		.zip(&aligned)
		.map(|(line, alignment)| line.corrected(&alignment.correction))
		.collect();
	let first = start(&lines);
	// A clock that was set tells nothing.
	let script = script.filter(|&(began, ended)| {
		let last = base.saturating_add(span(merged, &lines));
		began <= base.saturating_add(first) && last <= ended.saturating_add(SLACK)
	});
	let zero = script.map_or(first, |(began, _)| began.saturating_sub(base));
	let lines = lines.iter().map(|line| line.corrected(&by(-zero))).collect();
	let monotonic = aligned.iter().enumerate().map(|(clock, alignment)| {
		let shift = realtime_offset(&samples(merged, clock)) - base;
		let line = Line::identity().corrected(&by(shift));
		line.corrected(&alignment.correction).corrected(&by(-zero))
	});
	let recorded = run.recorded_span().filter(|_| merged.processes.is_empty());
	let started = recorded.map_or(base.saturating_add(zero), |(start, _)| start);
	let script = script.map(|(began, ended)| ended - began);
	Times { monotonic: monotonic.collect(), lines, aligned, started, script }
}

fn span(merged: &Merged, lines: &[Line]) -> i64 {
	let ends = merged.images.iter().flat_map(|state| {
		state.survey.streams.iter().map(|stream| lines[state.clock].ns(stream.last_tick))
	});
	ends.max().unwrap_or(0)
}

fn samples(merged: &Merged, clock: usize) -> Vec<Clock> {
	let own = merged.images.iter().filter(|state| state.clock == clock);
	own.flat_map(|state| state.survey.samples.iter().copied()).collect()
}

/// Ticks to the node's own real-time clock.
fn local_line(run: &Run, merged: &Merged, clock: usize) -> Line {
	let images_of_clock = || merged.images.iter().filter(|state| state.clock == clock);
	let samples = samples(merged, clock);
	let line = match merged.clocks[clock].kind {
		Kind::Ticks => {
			let node = run.nodes.get(merged.clock_nodes[clock]);
			let ticks_per_second = images_of_clock().find_map(|state| {
				let identities = state.survey.definitions.identities.values();
				identities.map(|who| who.ticks_per_second as f64).find(|&hz| hz > 0.0)
			});
			Line::fit(&samples, node.and_then(|node| node.ticks_per_second).or(ticks_per_second))
		}
		Kind::Monotonic | Kind::Faked => Line::identity(),
	};
	line.corrected(&Correction { shift: realtime_offset(&samples), ..Correction::default() })
}

/// Ticks at which each process began. A fork's child repeats its parent's word: of those that say the same
/// only the earliest is believed, of the others the first chunk.
pub fn starts(merged: &Merged) -> Vec<u64> {
	let mut owner: HashMap<(usize, u64), u64> = HashMap::new();
	let facts: Vec<(usize, u64, Option<u64>)> = merged
		.processes
		.iter()
		.map(|row| {
			let state = &merged.images[row.image];
			(state.clock, state.start_tick(row.key.1), state.identity(row.key.1).start)
		})
		.collect();
	for &(clock, first, recorded) in &facts {
		if let Some(recorded) = recorded {
			let earliest = owner.entry((clock, recorded)).or_insert(first);
			*earliest = first.min(*earliest);
		}
	}
	let start = |&(clock, first, recorded): &(usize, u64, Option<u64>)| match recorded {
		Some(recorded) if recorded <= first && owner.get(&(clock, recorded)) == Some(&first) => {
			recorded
		}
		_ => first,
	};
	facts.iter().map(start).collect()
}
