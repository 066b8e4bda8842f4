//! `thin`: of a node that has nothing to tell, sums of its calls stay, and the calls go.
//!
//! Each node is decided for itself, by its own processes. A process image's new file replaces the first of its files by a
//! rename, and says that the others do not count: whenever this ends, the run is whole.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use fathom_sink::{IfThere, make_directories, replace_bytes};
use fathom_stream::{Decoder, Record, Unfinished, unfinished_reason};
use rayon::prelude::*;

use crate::calls::{Out, Writing};
use crate::columns::{ArgColumns, LinkColumns};
use crate::counters::NO_OP;
use crate::define::{Op, last_name};
use crate::error::{At, PackError};
use crate::heat::Heat;
use crate::image::Loaded;
use crate::image_maps::ImageMaps;
use crate::merged::ImageState;
use crate::own::Nature;
use crate::pack::{Lock, bring_in};
use crate::plan::Plan;
use crate::process_facts::ProcessFacts;
use crate::progress::Progress;
use crate::recover::this_node;
use crate::run::Run;
use crate::staging::remove;
use crate::survey::ordinals;
use crate::survey_image::ordered;
use crate::thinned::{Note, Sums, thinned};
use crate::triggers::{COUNTED, Shown, Triggers, that_matters};
use crate::walk::{Row, State, Visitor, Walker};
use crate::whole::{Whole, survey_images, threads};
use crate::write::{Writer, stream_rows};

/// Kind of the mark of an image whose calls are gone; its value: how many.
pub const DROPPED: &str = "calls dropped";

#[derive(Debug, Clone, Default)]
pub struct Thin {
	/// Only the node that this runs on.
	pub this_node: bool,
	/// Where rings lie, when `run.json` does not say.
	pub ring: Option<PathBuf>,
	/// What else did not hold; said with the rest.
	pub besides: Option<String>,
}

/// What became of a node's calls.
#[derive(Debug, Clone)]
pub struct Decision {
	pub host: String,
	pub kept: bool,
	pub why: String,
	/// Bytes of its streams.
	pub before: u64,
	pub after: u64,
}

/// Decides for each node of a run.
pub fn thin(path: &Path, triggers: &Triggers, options: &Thin) -> Result<Vec<Decision>, PackError> {
	let run = Run::open(path)?;
	let refused = |why: &str| PackError::Data { path: path.to_owned(), reason: why.to_owned() };
	if run.imported() {
		return Err(refused("made from another tool's log; its calls stay"));
	}
	if run.sink.is_some() {
		return Err(refused("its streams lie in shared files, which are not written anew"));
	}
	let decisions = over_nodes(path, options, |nodes, node| nodes.decide(node, triggers))?;
	Ok(decisions.into_iter().flatten().collect())
}

/// Puts this node's streams into one compressed file (docs/trace-sink.md), once all processes of the run here have ended;
/// returns how many bytes they had. Where one is not as it should be, they stay.
pub fn gather(path: &Path) -> Result<u64, PackError> {
	let options = Thin { this_node: true, ..Thin::default() };
	let bytes = over_nodes(path, &options, |nodes, node| nodes.gather(node))?;
	Ok(bytes.into_iter().sum())
}

/// Asks each node of a run, once what processes that were killed left is brought in.
fn over_nodes<T: Send>(
	path: &Path,
	options: &Thin,
	ask: impl Fn(&Nodes<'_>, usize) -> Result<T, PackError> + Sync,
) -> Result<Vec<T>, PackError> {
	let _lock = Lock::take(path, true)?;
	let recovered = bring_in(path, options.ring.as_deref())?;
	let mut run = Run::open(path)?;
	if options.this_node {
		let node_folder = this_node(path)?;
		run.images
			.retain(|image| image.files.iter().all(|file| file.path.starts_with(&node_folder)));
	}
	threads(0)?.install(|| {
		let plan = Plan::new(&run, &recovered, 1, 0);
		let surveys = survey_images(&run, &plan, 0..run.images.len())?;
		let whole = Whole::new(&run, run.images.iter().cloned().zip(surveys).collect())?;
		let (tables, progress) = (run.tables(), Progress::new(false));
		let writer = whole.writer(&plan, &tables, &progress);
		let some_run = !recovered.alive.is_empty();
		let nodes = Nodes { run: &run, whole: &whole, writer: &writer, options, some_run };
		(0..run.nodes.len()).map(|node| ask(&nodes, node)).collect()
	})
}

struct Nodes<'n> {
	run: &'n Run,
	whole: &'n Whole,
	writer: &'n Writer<'n>,
	options: &'n Thin,
	/// Processes of the run, on this node.
	some_run: bool,
}

/// What is seen of an image.
struct Seen {
	image: usize,
	/// ns of the process that spent most in I/O.
	io_time: i64,
	sums: Sums,
	shown: Shown,
}

impl Nodes<'_> {
	fn images(&self, node: usize) -> Vec<usize> {
		let all = 0..self.whole.merged.images.len();
		all.filter(|&i| self.state(i).image.node == node).collect()
	}

	/// 0: its files stay as they are.
	fn gather(&self, node: usize) -> Result<u64, PackError> {
		let images = self.images(node);
		let files = images.first().and_then(|&i| self.state(i).image.files.first());
		let Some(folder) = files.and_then(|file| file.path.parent()) else { return Ok(0) };
		let streams = self.run.path.join("streams");
		let is_told_of_code = !self.run.nodes[node].maps.is_empty();
		if self.some_run
			|| folder.parent() != Some(&streams)
			|| is_told_of_code
			|| images.iter().any(|&i| self.undecided(i).is_some())
		{
			return Ok(0);
		}
		let bytes = fathom_sink::bring_in(folder, &self.run.path, "node").at(folder)?;
		make_directories(&streams).at(&streams)?; // who looks for streams looks there
		Ok(bytes)
	}

	/// `None`: nothing of it was recorded.
	fn decide(&self, node: usize, triggers: &Triggers) -> Result<Option<Decision>, PackError> {
		let images = self.images(node);
		if images.is_empty() {
			return Ok(None);
		}
		let before = images.iter().map(|&i| self.state(i).image.bytes).sum();
		let host = self.run.nodes[node].host.clone();
		let kept =
			|why: String| Decision { host: host.clone(), kept: true, why, before, after: before };
		if let Some(why) = images.iter().find_map(|&i| self.undecided(i)) {
			return Ok(Some(kept(why)));
		}
		let seen: Result<Vec<Seen>, PackError> =
			images.par_iter().map(|&image| self.look(image)).collect();
		let seen = seen?;
		let why = match triggers.judge(&self.shown(&seen)) {
			Ok(reason) => return Ok(Some(kept(reason))),
			Err(unmet) => {
				let all = [Some(unmet), self.options.besides.clone()].into_iter().flatten();
				all.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(", ")
			}
		};
		Ok(Some(match self.drop_calls(&seen, before, &why)? {
			Ok(after) => Decision { kept: false, after, ..kept(why) },
			Err(why) => kept(why.into()),
		}))
	}

	/// Bytes of the new streams; else why there are none.
	fn drop_calls(
		&self,
		seen: &[Seen],
		before: u64,
		why: &str,
	) -> Result<Result<u64, &'static str>, PackError> {
		let files: Result<Option<Vec<_>>, PackError> =
			seen.par_iter().map(|seen| self.rewritten(seen, why)).collect();
		let Some(files) = files? else {
			return Ok(Err("some are of functions without a name"));
		};
		let left = seen.iter().zip(&files).map(|(seen, bytes)| {
			bytes.as_ref().map_or(self.state(seen.image).image.bytes, |bytes| bytes.len() as u64)
		});
		let after = left.sum();
		let none = files.iter().all(Option::is_none);
		if !none && after >= before {
			return Ok(Err("their sums would take as many bytes"));
		}
		if !none {
			remove(&self.run.tables())?; // made of what goes now
		}
		for (seen, bytes) in seen.iter().zip(&files) {
			self.replace(seen.image, bytes.as_deref())?;
		}
		Ok(if none { Err("there are none") } else { Ok(after) })
	}

	fn state(&self, image: usize) -> &ImageState {
		&self.whole.merged.images[image]
	}

	/// Of the image's processes.
	fn facts(&self, image: usize) -> impl Iterator<Item = (u32, &ProcessFacts)> {
		let rows = self.whole.merged.processes.iter().zip(&self.whole.processes);
		rows.filter(move |(row, _)| row.image == image).map(|(row, facts)| (row.process, facts))
	}

	/// `rank 3`, or the program's name.
	fn name(&self, image: usize) -> String {
		let state = self.state(image);
		let who = state.identity(state.image.pid);
		let exe = who.exe.as_deref().map(last_name);
		let program = || format!("{} ({})", exe.unwrap_or("process"), state.image.pid);
		who.rank.map_or_else(program, |rank| format!("rank {rank}"))
	}

	/// Why nothing can be said of an image: then its node's calls stay.
	fn undecided(&self, image: usize) -> Option<String> {
		let survey = &self.state(image).survey;
		let name = self.name(image);
		if survey.alive {
			return Some(format!("{name} still runs"));
		}
		if !survey.damage.is_empty() || self.facts(image).any(|(_, facts)| facts.chunks_missing > 0)
		{
			return Some(format!("the streams of {name} are damaged"));
		}
		let torn = !survey.killed && self.facts(image).any(|(_, facts)| facts.ended == "killed");
		torn.then(|| {
			format!("the streams of {name} have no end: it may run, or left its ring on its node")
		})
	}

	fn shown(&self, seen: &[Seen]) -> Shown {
		let mut shown = Shown { failed: self.run.failed(), ..Shown::default() };
		let facts = || seen.iter().flat_map(|one| self.facts(one.image)).map(|(_, facts)| facts);
		let start = facts().map(|facts| facts.start).min().unwrap_or(0);
		let lasted = facts().map(|facts| facts.stop).max().unwrap_or(0) - start;
		if let Some(most) = seen.iter().max_by_key(|one| one.io_time) {
			shown.io = (most.io_time as f64 / lasted.max(1) as f64, self.name(most.image));
		}
		for one in seen {
			for (error, calls) in &one.shown.errors {
				*shown.errors.entry(error).or_default() += calls;
			}
			shown.unfinished += one.shown.unfinished;
			shown.failed = shown.failed.or_else(|| one.shown.failed.clone());
		}
		shown
	}

	/// One image's calls, summed.
	fn look(&self, image: usize) -> Result<Seen, PackError> {
		let (state, maps) = (self.state(image), self.writer.maps(image));
		let loaded = Loaded::read(&state.image)?;
		let content = loaded.content();
		let ordinals = ordinals(&state.survey);
		let line = &self.writer.lines[state.clock];
		let mut out = Out { heat: Heat::new(self.writer.heat_width), ..Out::default() };
		let mut sums = Sums::default();
		let mut errors = BTreeMap::new();
		let mut decoder = Decoder::new();
		for (local, stream) in ordered(&content.streams).into_iter().enumerate() {
			let (mut clock, mut walker) = (line.reader(), Walker::default());
			let mut rows = stream_rows(state, &maps, &ordinals, local, line);
			let mut open: Vec<Unfinished> = Vec::new();
			for chunk in stream.chunks.iter().map(Some).chain([None]) {
				let mut full = |out: &mut Out| {
					out.calls.clear();
					(out.args, out.links) = (ArgColumns::default(), LinkColumns::default());
				};
				let writing =
					Writing { rows: &mut rows, clock: &mut clock, out: &mut out, full: &mut full };
				let (ops, errors) = (&self.whole.merged.ops[..], &mut errors);
				let mut summing = Summing { writing, maps: &maps, ops, errors, open: &mut open };
				if let Some(chunk) = chunk {
					walker.chunk(&mut decoder, chunk, &mut summing);
				} else {
					walker.finish(state.survey.alive, &mut summing);
					summing.writing.finish();
				}
			}
			let around = |seq| out.apart.get(&seq).copied().unwrap_or(NO_OP);
			sums.open.extend(open.into_iter().map(|row| (local as u32, around(row.seq), row)));
			out.apart.clear();
		}
		sums.homes = out.counters.homes();
		(sums.rows, sums.tops) = out.counters.into_rows();
		sums.heat = out.heat.into_rows();
		let killed = self.facts(image).any(|(_, facts)| facts.ended == "killed");
		let shown = Shown {
			errors,
			unfinished: sums.open.len() as u64,
			failed: killed.then(|| format!("{} did not end in order", self.name(image))),
			..Shown::default()
		};
		Ok(Seen { image, io_time: self.io_time(image, &sums), sums, shown })
	}

	/// ns of the process that spent most in its own I/O calls, all threads together.
	fn io_time(&self, image: usize, sums: &Sums) -> i64 {
		let merged = &self.whole.merged;
		let nature = |op: u16| merged.ops.get(usize::from(op)).map(|op| Nature::new(op, 0));
		let time = |process: u32| {
			let own = sums.rows.iter().filter(|(key, _)| {
				key.process == process
					&& nature(key.op).is_some_and(Nature::is_own)
					&& nature(key.enclosing).is_none_or(Nature::is_region)
					&& !merged.runtime.has(key)
			});
			own.map(|(_, sum)| sum.time).sum()
		};
		self.facts(image).map(|(process, _)| time(process)).max().unwrap_or(0)
	}

	/// The image's new file, where it has calls to drop; outer `None`: it cannot be written.
	fn rewritten(&self, seen: &Seen, why: &str) -> Result<Option<Option<Vec<u8>>>, PackError> {
		let state = self.state(seen.image);
		let calls: u64 = seen.sums.rows.iter().map(|(_, sum)| sum.recorded).sum();
		if calls == 0 {
			return Ok(Some(None));
		}
		let loaded = Loaded::read(&state.image)?;
		let detail = format!("only their sums are kept: {why} (--keep-calls-if)");
		let note = Note { kind: DROPPED, detail: &detail, value: calls };
		let line = &self.writer.lines[state.clock];
		let (merged, width) = (&self.whole.merged, self.writer.heat_width);
		let bytes = thinned(merged, state, line, width, &loaded.content(), &seen.sums, &note);
		Ok(bytes.map(Some))
	}

	/// The new file in the place of the first one; then the others go.
	fn replace(&self, image: usize, bytes: Option<&[u8]>) -> Result<(), PackError> {
		let of = &self.state(image).image;
		let Some(first) = of.files.first() else { return Ok(()) };
		let place = first.path.with_file_name(format!("{}.{:016x}.fts", of.pid, of.instance));
		if let Some(bytes) = bytes {
			replace_bytes(&place, bytes).at(&place)?;
		} else if !self.is_thin(image) {
			return Ok(());
		}
		for file in of.files.iter().filter(|file| file.path != place) {
			fs::remove_file(&file.path).if_there().at(&file.path)?;
		}
		Ok(())
	}

	/// Are its calls gone already?
	fn is_thin(&self, image: usize) -> bool {
		self.state(image).survey.definitions.marks.iter().any(|mark| mark.kind == DROPPED)
	}
}

/// Goes over a stream's calls for their sums; those that never ended are set apart.
struct Summing<'s, 'w, 'r, 'l> {
	writing: Writing<'w, 'r, 'l>,
	maps: &'s ImageMaps<'r>,
	ops: &'s [Op],
	errors: &'s mut BTreeMap<&'static str, u64>,
	open: &'s mut Vec<Unfinished>,
}

impl Summing<'_, '_, '_, '_> {
	/// A call of the system, or of C streams, on a file of the program.
	fn op(&self, op: Option<u32>, object: u32) -> Option<&Op> {
		let file = self.maps.objects.get(object).and_then(|(_, file)| file)?;
		let runtime = self.maps.runtime.files.get(file as usize).copied().unwrap_or(false);
		let op = self.ops.get(usize::from(self.maps.ops.get(op?)?))?;
		(!runtime && ["posix", "stdio", "aio"].contains(&op.layer.as_str())).then_some(op)
	}
}

impl Visitor for Summing<'_, '_, '_, '_> {
	fn row(&mut self, row: &Row<'_>) {
		if row.state == State::Open {
			self.writing.out.apart.insert(row.seq, NO_OP);
			let (size, offset) = row.requested.unwrap_or_default();
			self.open.push(Unfinished {
				reason: unfinished_reason::OPEN_AT_END,
				seq: row.seq,
				op: row.op.map_or(0, |op| op + 1),
				depth: 0,
				object: row.object,
				site: row.site,
				began: row.began.unwrap_or(row.ended),
				ended: row.ended,
				size,
				offset,
			});
		}
		if row.error != 0
			&& let Some(error) = that_matters(row.error)
			&& self.op(row.op, row.object).is_some()
		{
			*self.errors.entry(error).or_default() += 1;
		}
		self.writing.row(row);
	}

	fn record(&mut self, record: &Record<'_>) {
		if let Record::Counter(counter) = record
			&& counter.errors > 0
			&& let Some(op) = self.op(Some(counter.op), counter.object)
			&& ["read", "write", "sync"].contains(&op.kind.as_str())
		{
			*self.errors.entry(COUNTED).or_default() += counter.errors;
		}
		self.writing.record(record);
	}
}
