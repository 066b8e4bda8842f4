//! From process images to the run: one numbering of processes, streams, files, objects, ops and sites.

use std::collections::{BTreeSet, HashMap};

use fathom_sink::IfThere;

use crate::clock::Kind;
use crate::define::{Op, ScriptLine};
use crate::error::{At, PackError};
use crate::files::{Files, Mounts, Place, RemovedNames};
use crate::index::Index;
use crate::merged::{ClockKey, ImageState, Merged, ProcessRow};
use crate::perf_map;
use crate::run::{Image, Run};
use crate::runtime::Runtime;
use crate::runtime_rules;
use crate::sites::{SiteKey, Sites};
use crate::survey::Survey;
use crate::worlds::number_worlds;

const MAX_STREAMS: u64 = 1 << 24;

pub fn merge(
	run: &Run,
	surveys: Vec<(Image, Survey)>,
	mut index: Index,
) -> Result<Merged, PackError> {
	let mut merged = Merged {
		images: Vec::new(),
		processes: Vec::new(),
		streams: HashMap::new(),
		files: Files::default(),
		ops: Vec::new(),
		op_numbers: HashMap::new(),
		sites: Sites::default(),
		clocks: Vec::new(),
		clock_nodes: Vec::new(),
		runtime: Runtime::default(),
	};
	for (image, survey) in surveys {
		merged.images.push(ImageState {
			image,
			survey,
			processes: Vec::new(),
			streams: Vec::new(),
			objects: Vec::new(),
			first_object: 0,
			sites: Vec::new(),
			selections: Vec::new(),
			first_selection: 0,
			clock: 0,
			end: None,
		});
	}
	number_worlds(&mut merged.images);
	// Ranks in order, then others as they began: neighbours in rank lie together in the tables.
	merged.images.sort_by_cached_key(|state| {
		let identity = state.identity(state.image.pid);
		let start = identity.start.unwrap_or_else(|| state.start_tick(state.image.pid));
		(identity.rank.unwrap_or(u32::MAX), state.image.node, start, state.image.instance)
	});
	number_processes(&mut merged, &mut index);
	number_streams(&mut merged, index)?;
	number_clocks(run, &mut merged);
	number_files(run, &mut merged);
	number_ops(&mut merged);
	number_sites(run, &mut merged)?;
	merged.runtime = runtime_rules::of(&merged)?;
	Ok(merged)
}

fn number_processes(merged: &mut Merged, index: &mut Index) {
	for (i, state) in merged.images.iter_mut().enumerate() {
		let pids: BTreeSet<u32> = state.survey.streams.iter().map(|stream| stream.pid).collect();
		// The image's own process first, then children of vfork.
		let own = state.image.pid;
		let order = pids.iter().copied().filter(|&pid| pid == own);
		for pid in order.chain(pids.iter().copied().filter(|&pid| pid != own)) {
			let key = (state.image.instance, pid);
			let process = index.process(key);
			merged.processes.push(ProcessRow { process, key, image: i });
		}
		state.processes = state
			.survey
			.streams
			.iter()
			.map(|stream| index.process((state.image.instance, stream.pid)))
			.collect();
	}
	merged.processes.sort_by_key(|row| row.process);
}

fn number_streams(merged: &mut Merged, mut index: Index) -> Result<(), PackError> {
	let mut next = index.streams.values().max().map_or(0, |&last| u64::from(last) + 1);
	// Image by image in the order of their processes; in each by first tick.
	let mut order: Vec<usize> = (0..merged.images.len()).collect();
	order.sort_by_key(|&i| merged.images[i].processes.iter().min().copied());
	for i in order {
		let state = &mut merged.images[i];
		let mut streams: Vec<usize> = (0..state.survey.streams.len()).collect();
		streams.sort_by_key(|&s| {
			let stream = &state.survey.streams[s];
			(state.processes[s], stream.first_tick, stream.id)
		});
		state.streams = vec![0; streams.len()];
		for s in streams {
			let id = state.survey.streams[s].id;
			let number = *index.streams.entry(id).or_insert_with(|| {
				next += 1;
				(next - 1).min(MAX_STREAMS) as u32
			});
			if next > MAX_STREAMS {
				return Err(PackError::TooManyStreams(next));
			}
			state.streams[s] = number;
		}
	}
	merged.streams = index.streams;
	Ok(())
}

/// The reference is the clock of most processes; of equals that of the first rank.
fn number_clocks(run: &Run, merged: &mut Merged) {
	let mut uses: Vec<(ClockKey, usize, usize)> = Vec::new();
	let mut clock_of = Vec::new();
	for state in &merged.images {
		let kind = Kind::of(state.survey.clock);
		let node = &run.nodes[state.image.node];
		let key = ClockKey {
			boot_id: node.boot_id.clone(),
			kind,
			instance: if kind == Kind::Faked { state.image.instance } else { 0 },
		};
		let at = uses.iter().position(|(known, ..)| *known == key).unwrap_or_else(|| {
			uses.push((key, state.image.node, 0));
			uses.len() - 1
		});
		uses[at].2 += 1;
		clock_of.push(at);
	}
	let mut order: Vec<usize> = (0..uses.len()).collect();
	order.sort_by_key(|&at| std::cmp::Reverse(uses[at].2));
	for (state, at) in merged.images.iter_mut().zip(clock_of) {
		state.clock = order.iter().position(|&old| old == at).unwrap_or(0);
	}
	for at in order {
		merged.clocks.push(uses[at].0.clone());
		merged.clock_nodes.push(uses[at].1);
	}
}

fn number_files(run: &Run, merged: &mut Merged) {
	let mounts: Vec<Mounts> = run.nodes.iter().map(|node| Mounts::parse(&node.mounts)).collect();
	let removed = RemovedNames::of(merged.images.iter().map(|state| &state.survey));
	let by_name = run.imported();
	let place = |node: usize| Place {
		node: if by_name { 0 } else { node },
		boot_id: &run.nodes[node].boot_id,
		mounts: &mounts[node],
		removed: &removed,
	};
	for state in &merged.images {
		merged.files.add_descriptors(&place(state.image.node), &state.survey.definitions);
	}
	for state in &merged.images {
		merged.files.add_renames(&place(state.image.node), &state.survey);
	}
	let (mut objects, mut selections) = (0, 0);
	for state in &mut merged.images {
		let definitions = &state.survey.definitions;
		let mut numbers: Vec<u32> = definitions.objects.keys().copied().collect();
		numbers.sort_unstable();
		let place = place(state.image.node);
		for number in numbers {
			let object = &definitions.objects[&number];
			let file = merged.files.of(&place, definitions, object);
			state.objects.push((number, file));
		}
		state.first_object = objects;
		objects += state.objects.len() as u32;
		state.selections = definitions.selections.keys().copied().collect();
		state.selections.sort_unstable();
		state.first_selection = selections;
		selections += state.selections.len() as u32;
	}
}

fn number_ops(merged: &mut Merged) {
	let surveys = merged.images.iter().map(|state| &state.survey);
	let all: BTreeSet<&Op> = surveys.flat_map(|s| s.definitions.ops.values()).collect();
	// Op numbers are 16 bits wide in the packer; a catalog has a few hundred.
	merged.ops = all.into_iter().take(usize::from(u16::MAX) - 1).cloned().collect();
	merged.ops.push(Op::unknown());
	merged.op_numbers =
		merged.ops.iter().enumerate().map(|(i, op)| (op.clone(), i as u16)).collect();
}

/// By address, what an image's process told of the code in no file that its calls went through.
fn generated(run: &Run, state: &ImageState) -> Result<HashMap<u64, ScriptLine>, PackError> {
	let Some(map) = run.map_of(&state.image) else { return Ok(HashMap::new()) };
	let sites = state.survey.definitions.sites.values();
	let mut addresses: Vec<u64> =
		sites.filter(|site| site.module == 0 && site.offset > 0).map(|site| site.offset).collect();
	addresses.sort_unstable();
	addresses.dedup();
	Ok(perf_map::names(map, &addresses).if_there().at(map)?.unwrap_or_default())
}

fn number_sites(run: &Run, merged: &mut Merged) -> Result<(), PackError> {
	for state in &mut merged.images {
		let generated = generated(run, state)?;
		let exe = state.identity(state.image.pid).exe.unwrap_or_default();
		let definitions = &state.survey.definitions;
		let mut numbers: Vec<u32> = definitions.sites.keys().copied().collect();
		numbers.sort_unstable();
		let site_of = |number| {
			let site = definitions.sites.get(&number)?;
			if site.module == 0
				&& let Some(script) = generated.get(&site.offset)
			{
				let key = SiteKey { script: script.clone(), ..SiteKey::default() };
				return Some((key, site.caller));
			}
			let module = definitions.modules.get(&site.module);
			let module = module.map_or(("", &[][..]), |module| (&module.path, &module.build_id));
			let key = SiteKey::of(module, &exe, site.offset, &site.entry, &site.script);
			Some((key, site.caller))
		};
		for number in numbers {
			if let Some(site) = merged.sites.number(number, site_of) {
				state.sites.push((number, site));
			}
		}
	}
	Ok(())
}
