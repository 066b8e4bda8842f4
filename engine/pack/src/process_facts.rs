//! What each process comes to: when it ran, how it ended, what was recorded of it.

use std::collections::BTreeSet;

use fathom_stream::ThreadUse;

use crate::merged::{Merged, ProcessRow};
use crate::run::Run;
use crate::times::{Times, starts};

/// What a process comes to.
#[derive(Debug, Clone, Default)]
pub struct ProcessFacts {
	pub start: i64,
	pub stop: i64,
	pub ended: &'static str,
	pub events: u64,
	pub counted: u64,
	pub chunks: u64,
	pub chunks_missing: u64,
	pub chunks_skipped: u64,
	pub stream_bytes: u64,
	/// Of its threads with streams.
	pub thread_use: Option<ThreadUse>,
	/// Bytes that were resident at once, at most.
	pub memory_peak: Option<u64>,
	/// That ended it.
	pub signal: Option<u32>,
	/// With their versions.
	pub libraries: Option<String>,
}

fn joined(names: &BTreeSet<String>) -> Option<String> {
	let all: Vec<&str> = names.iter().map(String::as_str).collect();
	(!all.is_empty()).then(|| all.join(", "))
}

/// Of all processes.
pub fn facts(run: &Run, merged: &Merged, times: &Times) -> Vec<ProcessFacts> {
	let processes = merged.processes.iter().zip(starts(merged));
	processes.map(|(row, start)| facts_of(run, merged, times, row, start)).collect()
}

/// From time 0 to the last thing recorded; of a run of which a process was killed, or that has none, no less than it `lasted`.
pub fn duration(processes: &[ProcessFacts], lasted: Option<i64>) -> i64 {
	processes.iter().map(|facts| facts.stop).chain(lasted).max().unwrap_or(0)
}

fn facts_of(
	run: &Run,
	merged: &Merged,
	times: &Times,
	row: &ProcessRow,
	start: u64,
) -> ProcessFacts {
	let state = &merged.images[row.image];
	let line = &times.lines[state.clock];
	let (survey, pid) = (&state.survey, row.key.1);
	let own = || survey.streams.iter().filter(|stream| stream.pid == pid);
	let none_missing = || own().all(|stream| stream.chunks_missing == 0);
	let main = pid == state.image.pid;
	// A child by vfork exits, or becomes another program, before its parent goes on and may be killed.
	let whole = if survey.killed {
		(!main || run.exited(&state.image)) && none_missing()
	} else {
		own().all(|stream| stream.complete)
	};
	let marks = survey.definitions.marks.iter().map(|mark| mark.ticks);
	let last = own().map(|stream| stream.last_tick).chain(marks.filter(|_| main)).max();
	let last = line.ns(last.unwrap_or(start));
	ProcessFacts {
		start: line.ns(start),
		stop: last.max(state.end_of(pid).unwrap_or(last)),
		ended: match (survey.alive, whole) {
			(true, _) => "open",
			(false, true) => "clean",
			(false, false) => "killed",
		},
		events: own().map(|stream| stream.events).sum(),
		counted: own().map(|stream| stream.counted).sum(),
		chunks: own().map(|stream| stream.chunks).sum(),
		chunks_missing: own().map(|stream| stream.chunks_missing).sum(),
		chunks_skipped: if main { survey.damage.len() as u64 } else { 0 },
		stream_bytes: if main { state.image.bytes } else { 0 },
		thread_use: own().filter_map(|s| s.thread_use).reduce(ThreadUse::plus),
		memory_peak: survey.definitions.memory_peak.filter(|_| main),
		signal: run.signal(&state.image).filter(|_| main && survey.killed && !survey.alive),
		libraries: main.then(|| joined(&survey.definitions.libraries_used())).flatten(),
	}
}
