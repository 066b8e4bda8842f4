//! When processes that were killed died. Until then the calls lasted that were open in them.

use std::collections::HashMap;

use fathom_stream::{Decoder, Item, Record, Segment, chunks};

use crate::clock::Kind;
use crate::error::PackError;
use crate::merged::{ImageState, Merged};
use crate::run::Run;
use crate::runtime_rules::is_shell;
use crate::times::Times;

/// Process images by pid and instance.
type Key = (u32, u64);

/// Notes it in the images: of a process whose death was noted it is that; else, of one with open calls, the run's end,
/// or when an agent last looked at it. Gives how long the run lasted, launcher and all, where a process was killed, there
/// is none, or all are a script's.
pub fn find_ends(run: &Run, merged: &mut Merged, times: &Times) -> Result<Option<i64>, PackError> {
	let length = |(start, end): (i64, i64)| end - start;
	let killed = |merged: &Merged, state: &ImageState| {
		state.survey.killed && merged.clocks[state.clock].kind != Kind::Faked
	};
	let all: Vec<usize> =
		(0..merged.images.len()).filter(|&i| killed(merged, &merged.images[i])).collect();
	if merged.processes.is_empty() {
		return Ok(run.recorded_span().map(length));
	}
	let Some(span) = (!all.is_empty()).then(|| run.span()) else {
		return Ok(times.script);
	};
	let untold = |&i: &usize| run.end_of(&merged.images[i].image).is_none();
	let looks = match span {
		None if all.iter().any(untold) => last_looks(run)?,
		_ => HashMap::new(),
	};
	for i in all {
		let state = &mut merged.images[i];
		let monotonic = |ns: u64| times.monotonic[state.clock].ns(ns);
		let looked = looks.get(&(state.image.pid, state.image.instance)).copied();
		let last = span.map(|(_, end)| end.saturating_sub(times.started));
		let last = last.or_else(|| looked.map(monotonic)).filter(|_| state.survey.open);
		state.end = run.end_of(&state.image).map(monotonic).or(last);
	}
	Ok(span.map(length))
}

/// From when to when a shell's script ran, on the one node where all its processes did: what of it is not recorded is
/// before, between and behind them.
pub fn script(run: &Run, merged: &Merged) -> Result<Option<(i64, i64)>, PackError> {
	let mut nodes = merged.clock_nodes.iter();
	let first = nodes.next();
	let here = first.is_some() && nodes.all(|node| Some(node) == first);
	let is_shell = run.program().map_or(Ok(false), |program| is_shell(&program))?;
	Ok(if here && is_shell { run.span() } else { None })
}

/// When agents last sampled each process, in CLOCK_MONOTONIC of its node.
fn last_looks(run: &Run) -> Result<HashMap<Key, u64>, PackError> {
	let mut looks = HashMap::new();
	for agent in run.nodes.iter().flat_map(|node| &node.agents) {
		let data = agent.source.read()?;
		let mut series: HashMap<u32, Key> = HashMap::new();
		let mut decoder = Decoder::new();
		let whole = chunks(&data).filter_map(|segment| match segment {
			Segment::Chunk(chunk) => Some(chunk),
			Segment::Skipped(_) => None,
		});
		for chunk in whole {
			let mut rows = decoder.rows(&chunk);
			while let Some(item) = rows.next() {
				match item {
					Ok(Item::Record(Record::Series(named))) => {
						series.insert(named.series, (named.pid, named.instance));
					}
					Ok(Item::Record(Record::Samples(samples))) => {
						let keys = samples.values.iter().filter_map(|(n, _)| series.get(n));
						for key in keys {
							let last = looks.entry(*key).or_insert(samples.time);
							*last = samples.time.max(*last);
						}
					}
					_ => {}
				}
			}
		}
	}
	Ok(looks)
}
