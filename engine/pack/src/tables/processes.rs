//! Tables `processes` and `streams`.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use fathom_stream::ThreadUse;

use super::Tables;
use crate::define::Identity;
use crate::error::PackError;
use crate::merged::{ImageState, Merged, ProcessRow};
use crate::output::Table;
use crate::process_facts::ProcessFacts;
use crate::run::Run;

fn memory_peak(facts: &ProcessFacts) -> Option<i64> {
	i64::try_from(facts.memory_peak?).ok()
}

impl Tables<'_> {
	pub fn processes(&self) -> Result<(), PackError> {
		let rows = &self.merged.processes;
		let identities = self.identities();
		let parents = parents(self.run, self.merged, self.facts, &identities);
		let facts = self.facts;
		let own = |get: fn(&ProcessFacts) -> u64| facts.iter().map(get).collect::<Vec<u64>>();
		let small = |get: fn(&ProcessFacts) -> u64| {
			facts.iter().map(|f| u32::try_from(get(f)).unwrap_or(u32::MAX)).collect::<Vec<u32>>()
		};
		let signed = |value: Option<u32>| value.and_then(|value| i32::try_from(value).ok());
		let thread_use = |get: fn(ThreadUse) -> Option<u64>| {
			let known = |f: &ProcessFacts| i64::try_from(get(f.thread_use?)?).ok();
			facts.iter().map(known).collect::<Vec<Option<i64>>>()
		};
		Table::default()
			.u32("process", rows.iter().map(|row| row.process).collect())
			.u64("instance", rows.iter().map(|row| row.key.0).collect())
			.u32("pid", rows.iter().map(|row| row.key.1).collect())
			.u32_or("parent", parents)
			.u32_or("parent_pid", identities.iter().map(|identity| identity.parent_pid).collect())
			.u32("node", rows.iter().map(|row| self.state(row).image.node as u32).collect())
			.u32("clock", rows.iter().map(|row| self.state(row).clock as u32).collect())
			.text_or("exe", identities.iter().map(|identity| identity.exe.as_deref()).collect())
			.texts("command", identities.iter().map(|identity| &identity.command[..]))
			.text_or("cwd", identities.iter().map(|identity| identity.cwd.as_deref()).collect())
			.i32_or("rank", identities.iter().map(|identity| signed(identity.rank)).collect())
			.i32_or("ranks", identities.iter().map(|identity| signed(identity.ranks)).collect())
			.text_or("mpi", identities.iter().map(|identity| identity.mpi.as_deref()).collect())
			.i64("start", facts.iter().map(|f| f.start).collect())
			.i64("stop", facts.iter().map(|f| f.stop).collect())
			.text("ended", facts.iter().map(|f| f.ended).collect())
			.u64("events", own(|f| f.events))
			.u64("counted", own(|f| f.counted))
			.u32("chunks", small(|f| f.chunks))
			.u32("chunks_skipped", small(|f| f.chunks_skipped))
			.u32("chunks_missing", small(|f| f.chunks_missing))
			.u64("stream_bytes", own(|f| f.stream_bytes))
			.text_or("allowed", identities.iter().map(|of| of.allowed.as_deref()).collect())
			.u32_or(
				"allowed_processors",
				identities.iter().map(|of| of.allowed_processors).collect(),
			)
			.i64_or("processor_time", thread_use(|known| Some(known.ran)))
			.i64_or("processor_wait", thread_use(|known| Some(known.waited)))
			.i64_or("storage_read", thread_use(|known| known.read))
			.i64_or("memory_peak", facts.iter().map(memory_peak).collect())
			.u32_or("signal", facts.iter().map(|f| f.signal).collect())
			.text_or("libraries", facts.iter().map(|f| f.libraries.as_deref()).collect())
			.write(self.folder, "processes")
	}

	pub fn streams(&self) -> Result<(), PackError> {
		// By index; with the image, and the place in its survey.
		let mut all: BTreeMap<u32, (&ImageState, usize)> = BTreeMap::new();
		for state in &self.merged.images {
			for (i, &number) in state.streams.iter().enumerate() {
				all.insert(number, (state, i));
			}
		}
		let stream_rows = || all.values().map(|(state, i)| (*state, *i, &state.survey.streams[*i]));
		let base = |state: &ImageState, i: usize| {
			let inside = state.survey.interrupted.iter().find(|(key, _)| key.0 as usize == i)?.1;
			Some(u64::from(state.streams[inside.stream as usize]) << 40 | inside.seq)
		};
		let waited = |of: Option<ThreadUse>| i64::try_from(of?.waited).ok();
		let path = |state: &ImageState, file: usize| {
			let path = state.image.files.get(file).map(|source| source.path.as_path());
			let path = path.unwrap_or(Path::new(""));
			path.strip_prefix(&self.run.path).unwrap_or(path).to_string_lossy().into_owned()
		};
		Table::default()
			.u32("stream", all.keys().copied().collect())
			.u64("id", stream_rows().map(|(_, _, s)| s.id).collect())
			.u32("process", stream_rows().map(|(state, i, _)| state.processes[i]).collect())
			.u32("tid", stream_rows().map(|(_, _, s)| s.tid).collect())
			.bool("side", stream_rows().map(|(_, _, s)| s.side).collect())
			.u64_or("base_call", stream_rows().map(|(state, i, _)| base(state, i)).collect())
			.u64("events", stream_rows().map(|(_, _, s)| s.events).collect())
			.u32("chunks", stream_rows().map(|(_, _, s)| s.chunks as u32).collect())
			.u32("chunks_missing", stream_rows().map(|(_, _, s)| s.chunks_missing as u32).collect())
			.bool("complete", stream_rows().map(|(_, _, s)| s.complete).collect())
			.text("path", stream_rows().map(|(state, _, s)| path(state, s.file)).collect())
			.i64_or("processor_wait", stream_rows().map(|(_, _, s)| waited(s.thread_use)).collect())
			.write(self.folder, "streams")
	}
}

/// The traced process that a process came from: the image it replaced, else the one that forked it.
fn parents(
	run: &Run,
	merged: &Merged,
	facts: &[ProcessFacts],
	identities: &[Identity],
) -> Vec<Option<u32>> {
	let mut by_pid: HashMap<(&str, u32), Vec<usize>> = HashMap::new();
	let boot = |row: &ProcessRow| run.nodes[merged.images[row.image].image.node].boot_id.as_str();
	for (i, row) in merged.processes.iter().enumerate() {
		by_pid.entry((boot(row), row.key.1)).or_default().push(i);
	}
	let latest_before = |i: usize, pid: u32| {
		let same = by_pid.get(&(boot(&merged.processes[i]), pid))?;
		let before = same.iter().filter(|&&j| j != i && facts[j].start <= facts[i].start);
		before.max_by_key(|&&j| facts[j].start).map(|&j| merged.processes[j].process)
	};
	let parent = |i: usize| {
		let replaced = latest_before(i, merged.processes[i].key.1);
		replaced.or_else(|| latest_before(i, identities[i].parent_pid?))
	};
	(0..merged.processes.len()).map(parent).collect()
}
