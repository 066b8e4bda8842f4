//! What the first pass over a process image gives: what it names, how much there is, and what ties it to others.
//! Nothing of its calls is kept but the collective ones and, with several threads, when outermost ones began.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use fathom_stream::{Clock, ThreadUse};
use serde::{Deserialize, Serialize};

use crate::counters::Direction;
use crate::define::{self, Definitions};

#[derive(Debug, Serialize, Deserialize)]
pub struct StreamSurvey {
	pub id: u64,
	pub pid: u32,
	pub tid: u32,
	pub side: bool,
	pub base_stream: u64,
	pub events: u64,
	pub chunks: u64,
	pub chunks_missing: u64,
	pub complete: bool,
	pub first_tick: u64,
	pub last_tick: u64,
	pub file: usize,
	/// When outermost calls began; only where other streams of the process have some too.
	pub roots: Vec<u64>,
	/// Of a side stream: their seqs.
	pub root_seqs: Vec<u64>,
	pub counted: u64,
	/// What the kernel gave its thread from the first to the last that is known of it.
	pub thread_use: Option<ThreadUse>,
}

/// A call that all ranks of a group make together.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CollectiveCall {
	/// Index into [`Survey::streams`].
	pub stream: u32,
	pub seq: u64,
	pub op: u32,
	pub object: u32,
	/// The object that has the group.
	pub holder: u32,
	pub ordinal: u64,
	pub began: u64,
	pub ended: u64,
	pub bytes: Option<i64>,
	pub size: Option<i64>,
	pub failed: bool,
	/// Its process ended in it.
	pub open: bool,
	pub offset: Option<i64>,
	/// The offset that the program gave is its view's first byte.
	pub at_start: bool,
	/// The image's own number of the view in force; 0: every byte.
	pub selection: u32,
	/// Of an MPI-IO call that moves data.
	pub direction: Option<Direction>,
	/// Range of [`Survey::below`].
	pub below: Range<u32>,
	/// There were more than are kept.
	pub below_lost: bool,
	/// A post: it may end after the call does.
	pub posts: bool,
	/// The seq of the call of its thread that saw it completed.
	pub completed: Option<u64>,
}

/// A wait or test of MPI-IO in which data moved: what was posted before it went on.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Wait {
	/// Index into [`Survey::streams`].
	pub stream: u32,
	pub seq: u64,
	/// Range of [`Survey::below`].
	pub below: Range<u32>,
	/// There were more than are kept.
	pub below_lost: bool,
}

/// A read or write of POSIX inside a collective call of MPI-IO or a wait for one; or a request of asynchronous I/O.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Below {
	pub seq: u64,
	pub object: u32,
	pub direction: Direction,
	pub offset: Option<i64>,
	pub bytes: i64,
}

/// Which call of its thread a signal handler's outermost call was made in.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Interrupted {
	/// Index into [`Survey::streams`].
	pub stream: u32,
	pub seq: u64,
	pub depth: u32,
	pub op: Option<u32>,
	/// Ordinal of the outermost call around it, in its stream.
	pub root: u64,
	pub began: u64,
	pub duration: u64,
}

/// A call that gave a file another name.
#[derive(Debug, Serialize, Deserialize)]
pub struct Renamed {
	/// The descriptor that this image last opened by the old name; 0: none.
	pub object: u32,
	pub from: String,
	pub to: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Damaged {
	pub file: String,
	pub byte: u64,
	pub bytes: u64,
	pub reason: String,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Survey {
	pub streams: Vec<StreamSurvey>,
	pub definitions: Definitions,
	pub clock: u8,
	pub samples: Vec<Clock>,
	pub collectives: Vec<CollectiveCall>,
	/// What the collective calls of MPI-IO and the waits are made of, each one's together.
	pub below: Vec<Below>,
	/// By stream and seq.
	pub waits: Vec<Wait>,
	/// Key: side stream's index and its call's seq.
	pub interrupted: HashMap<(u32, u64), Interrupted>,
	/// Names of textual arguments.
	pub text_names: BTreeSet<String>,
	pub damage: Vec<Damaged>,
	pub renamed: Vec<Renamed>,
	/// Paths that were removed.
	pub removed: HashSet<String>,
	/// Sockets, pipes and queues of events, each with the sites of its calls.
	pub nameless: BTreeSet<(u32, u32)>,
	/// The same of calls that are not there any more, each with the name of a module.
	pub used_by: BTreeSet<(u32, String)>,
	/// It keeps fragments of a dispersed volume of GlusterFS.
	pub dispersed: bool,
	pub chunks: u64,
	/// The image's ring was recovered: it did not end in order.
	pub killed: bool,
	/// Calls were open when its process ended.
	pub open: bool,
	pub alive: bool,
}

impl Survey {
	/// Sockets, pipes and queues of events, each with the name of a module that used it.
	pub fn users(&self) -> impl Iterator<Item = (u32, &str)> {
		let Definitions { sites, modules, .. } = &self.definitions;
		let module = |site| modules.get(&sites.get(site)?.module);
		let seen = self.nameless.iter().filter_map(move |(object, site)| {
			module(site).map(|module| (*object, define::last_name(&module.path)))
		});
		let seen: BTreeSet<(u32, &str)> = seen.collect();
		seen.into_iter().chain(self.used_by.iter().map(|(object, name)| (*object, name.as_str())))
	}

	pub fn events(&self) -> u64 {
		self.streams.iter().map(|stream| stream.events).sum()
	}

	/// The waits in which a posted call can have moved its bytes: those of its thread up to the one that saw it completed.
	pub fn waits_of(&self, call: &CollectiveCall) -> &[Wait] {
		let until = |seq| self.waits.partition_point(|w| (w.stream, w.seq) <= (call.stream, seq));
		call.completed.map_or(&[], |last| &self.waits[until(call.seq)..until(last.max(call.seq))])
	}
}

/// For each stream, the ordinals in its process of its outermost calls, in the stream's order. `None`: the
/// process has this one stream, and they count from 0.
pub fn ordinals(survey: &Survey) -> Vec<Option<Vec<u32>>> {
	let mut result: Vec<Option<Vec<u32>>> = survey.streams.iter().map(|_| None).collect();
	let mut by_pid: HashMap<u32, Vec<(u64, u32, u32)>> = HashMap::new();
	for (index, stream) in survey.streams.iter().enumerate() {
		if !stream.roots.is_empty() {
			result[index] = Some(vec![0; stream.roots.len()]);
		}
		for (n, &began) in stream.roots.iter().enumerate() {
			let seq = stream.root_seqs.get(n).copied();
			let inside =
				seq.is_some_and(|seq| survey.interrupted.contains_key(&(index as u32, seq)));
			if !inside {
				by_pid.entry(stream.pid).or_default().push((began, index as u32, n as u32));
			}
		}
	}
	for roots in by_pid.values_mut() {
		roots.sort_unstable();
		for (ordinal, &(_, stream, n)) in roots.iter().enumerate() {
			if let Some(list) = &mut result[stream as usize] {
				list[n as usize] = ordinal as u32;
			}
		}
	}
	result
}
