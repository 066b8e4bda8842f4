//! Worlds of MPI: several jobs of one run, or what `MPI_Comm_spawn` started. Ranks count from 0 in each; those of one that runs
//! while an earlier one does are counted on from it, so that a rank of the run is one.

use std::collections::{BTreeMap, HashMap};

use crate::define::Identity;
use crate::merged::ImageState;

/// World of an image: its number in the order of their starts, and what is added to its ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct World {
	number: usize,
	first: u32,
}

/// What of an image tells its world.
struct Member<'i> {
	image: usize,
	size: u32,
	rank: u32,
	/// Node and process: what an exec replaces is the same rank.
	process: (usize, u32),
	/// Ticks mean the same in the images of a boot.
	boot: &'i str,
	start: u64,
	last: u64,
}

pub fn number_worlds(images: &mut [ImageState]) {
	let members = members(images);
	let worlds = worlds(&members);
	if worlds.len() < 2 {
		return;
	}
	let placed = place(&members, &worlds);
	let size = |world: &Vec<usize>| members[world[0]].size;
	let ends = placed.iter().zip(&worlds).map(|(world, of)| world.first.saturating_add(size(of)));
	let total = ends.max().filter(|_| placed.iter().any(|world| world.first > 0));
	let mut of: HashMap<usize, World> = HashMap::new();
	for (world, list) in placed.iter().zip(&worlds) {
		of.extend(list.iter().map(|&at| (members[at].image, *world)));
	}
	drop(members);
	inherit(images, &mut of);
	for (image, world) in of {
		renumber(&mut images[image], world, total);
	}
}

fn identity_of(state: &ImageState) -> Option<&Identity> {
	state.survey.definitions.identities.get(&state.image.pid)
}

/// Images whose process MPI gave a rank; not those of a fork, which has its parent's.
fn members(images: &[ImageState]) -> Vec<Member<'_>> {
	let process = |state: &ImageState| (state.image.node, state.image.pid);
	let ranks: HashMap<(usize, u32), Option<u32>> = images
		.iter()
		.map(|state| (process(state), identity_of(state).and_then(|identity| identity.rank)))
		.collect();
	let member = |(image, state)| {
		let identity = identity_of(state)?;
		let (rank, size) = (identity.rank?, identity.ranks?);
		let parent = (state.image.node, identity.parent_pid.unwrap_or(0));
		if identity.mpi.is_none() || ranks.get(&parent) == Some(&Some(rank)) {
			return None;
		}
		let last = state.survey.streams.iter().map(|stream| stream.last_tick).max().unwrap_or(0);
		let start = state.start_tick(state.image.pid);
		Some(Member {
			image,
			size,
			rank,
			process: process(state),
			boot: &identity.boot_id,
			start,
			last,
		})
	};
	images.iter().enumerate().filter_map(member).collect()
}

/// The n-th process of each rank, of those of one size, are the n-th world of that size; in the order of their starts.
fn worlds(members: &[Member<'_>]) -> Vec<Vec<usize>> {
	let mut order: Vec<usize> = (0..members.len()).collect();
	order.sort_by_key(|&at| (members[at].start, members[at].image));
	let mut seen: HashMap<(u32, u32), Vec<(usize, u32)>> = HashMap::new();
	let mut by_occurrence: BTreeMap<(u32, usize), Vec<usize>> = BTreeMap::new();
	for at in order {
		let member = &members[at];
		let processes = seen.entry((member.size, member.rank)).or_default();
		let known = processes.iter().position(|&process| process == member.process);
		let occurrence = known.unwrap_or_else(|| {
			processes.push(member.process);
			processes.len() - 1
		});
		by_occurrence.entry((member.size, occurrence)).or_default().push(at);
	}
	let mut worlds: Vec<Vec<usize>> = by_occurrence.into_values().collect();
	worlds.sort_by_key(|world| world.iter().map(|&at| members[at].start).min());
	worlds
}

/// Behind all earlier worlds that still ran, on any node, when it began.
fn place(members: &[Member<'_>], worlds: &[Vec<usize>]) -> Vec<World> {
	let mut spans: Vec<HashMap<&str, (u64, u64)>> = Vec::new();
	let mut placed: Vec<World> = Vec::new();
	for (number, world) in worlds.iter().enumerate() {
		let mut spans_by_boot: HashMap<&str, (u64, u64)> = HashMap::new();
		for member in world.iter().map(|&at| &members[at]) {
			let span = spans_by_boot.entry(member.boot).or_insert((member.start, member.last));
			*span = (span.0.min(member.start), span.1.max(member.last));
		}
		let meets = |(boot, &(start, last)): (&&str, &(u64, u64))| {
			spans_by_boot.get(boot).is_some_and(|span| span.0 < last && start < span.1)
		};
		let earlier = placed.iter().zip(worlds).zip(&spans);
		let behind = earlier.filter(|(_, spans)| spans.iter().any(meets));
		let ends = behind.map(|((at, list), _)| at.first.saturating_add(members[list[0]].size));
		placed.push(World { number, first: ends.max().unwrap_or(0) });
		spans.push(spans_by_boot);
	}
	placed
}

/// What a rank starts is of its world too, where it has its rank from it.
fn inherit(images: &[ImageState], of: &mut HashMap<usize, World>) {
	let by_process: HashMap<(usize, u32), usize> =
		(0..images.len()).map(|i| ((images[i].image.node, images[i].image.pid), i)).collect();
	loop {
		let before = of.len();
		for (i, state) in images.iter().enumerate() {
			let Some(identity) = identity_of(state).filter(|identity| identity.rank.is_some())
			else {
				continue;
			};
			let parent = by_process.get(&(state.image.node, identity.parent_pid.unwrap_or(0)));
			if let Some(&world) = parent.and_then(|parent| of.get(parent)) {
				of.entry(i).or_insert(world);
			}
		}
		if of.len() == before {
			return;
		}
	}
}

fn renumber(state: &mut ImageState, world: World, total: Option<u32>) {
	for identity in state.survey.definitions.identities.values_mut() {
		identity.rank = identity.rank.map(|rank| rank.saturating_add(world.first));
		identity.first_rank = world.first;
		identity.ranks = total.or(identity.ranks);
	}
	for group in state.survey.definitions.groups.values_mut() {
		// Groups of two worlds may have the same ranks.
		group.hash ^= (world.number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
		for member in &mut group.members {
			*member = member.saturating_add(world.first);
		}
	}
}
