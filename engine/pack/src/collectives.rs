//! Calls of several ranks that are one operation: joined by group, open and ordinal.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::clock::Line;
use crate::merged::Merged;
use crate::times::{Member, SyncPoint};

/// The same at every rank by local counting alone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
	layer: String,
	group_hash: u64,
	open_ordinal: u32,
	ordinal: u64,
}

/// One rank's call.
#[derive(Debug, Clone, Copy)]
pub struct RankCall {
	pub image: usize,
	/// Index into the survey's collectives.
	pub call: usize,
}

/// Of one image's collective calls, by stream (of the survey) and seq.
pub type CallNumbers = HashMap<(u32, u64), u32>;

#[derive(Debug, Default)]
pub struct Collectives {
	groups: Vec<(Key, Vec<RankCall>)>,
}

#[derive(Debug, Clone, Default)]
pub struct CollectiveRow {
	pub layer: String,
	pub op: String,
	pub file: Option<u32>,
	pub group_hash: u64,
	pub open_ordinal: u32,
	pub ordinal: u64,
	pub expected: u32,
	pub seen: u32,
	pub agreed: bool,
	pub first_enter: i64,
	pub last_enter: i64,
	pub first_leave: i64,
	pub last_leave: i64,
	pub bytes: Option<i64>,
}

impl Collectives {
	pub fn find(merged: &Merged) -> Collectives {
		let mut groups: BTreeMap<Key, Vec<RankCall>> = BTreeMap::new();
		for (image, state) in merged.images.iter().enumerate() {
			let definitions = &state.survey.definitions;
			for (call, collective) in state.survey.collectives.iter().enumerate() {
				let Some(group) = definitions.groups.get(&collective.holder) else { continue };
				let Some(op) = definitions.ops.get(&collective.op) else { continue };
				let key = Key {
					layer: op.layer.clone(),
					group_hash: group.hash,
					open_ordinal: group.ordinal,
					ordinal: collective.ordinal,
				};
				groups.entry(key).or_default().push(RankCall { image, call });
			}
		}
		Collectives { groups: groups.into_iter().collect() }
	}

	/// Reads or writes of MPI-IO, the same at all ranks seen: the parts of each.
	pub fn data_of_mpiio<'c>(&'c self, merged: &'c Merged) -> impl Iterator<Item = &'c [RankCall]> {
		let direction =
			|part: &RankCall| merged.images[part.image].survey.collectives[part.call].direction;
		self.groups.iter().map(|(_, parts)| &parts[..]).filter(move |parts| {
			let first = parts.first().and_then(direction);
			first.is_some() && parts.iter().all(|part| direction(part) == first)
		})
	}

	/// Opens: the calls in which ranks surely wait for each other, so that they can set clocks.
	pub fn sync_points(&self, merged: &Merged) -> Vec<SyncPoint> {
		let mut sync_points = Vec::new();
		for (_, parts) in &self.groups {
			let several = parts
				.iter()
				.any(|part| merged.images[part.image].clock != merged.images[parts[0].image].clock);
			let opens = parts.iter().all(|part| {
				let survey = &merged.images[part.image].survey;
				let op = survey.definitions.ops.get(&survey.collectives[part.call].op);
				op.is_some_and(|op| op.kind == "open")
			});
			if several && opens {
				let member = |part: &RankCall| {
					let state = &merged.images[part.image];
					let call = &state.survey.collectives[part.call];
					Member { clock: state.clock, began: call.began, ended: call.ended }
				};
				sync_points.push(parts.iter().map(member).collect());
			}
		}
		sync_points
	}

	/// Rows in the order of their first enter, and for each image the number of each of its calls.
	pub fn rows(&self, merged: &Merged, lines: &[Line]) -> (Vec<CollectiveRow>, Vec<CallNumbers>) {
		let mut rows: Vec<(CollectiveRow, &[RankCall])> = self
			.groups
			.iter()
			.map(|(key, parts)| (row(key, parts, merged, lines), &parts[..]))
			.collect();
		rows.sort_by_key(|(row, _)| {
			(row.first_enter, row.group_hash, row.open_ordinal, row.ordinal)
		});
		let mut numbers: Vec<CallNumbers> = vec![HashMap::new(); merged.images.len()];
		for (number, (_, parts)) in rows.iter().enumerate() {
			for part in *parts {
				let call = &merged.images[part.image].survey.collectives[part.call];
				numbers[part.image].insert((call.stream, call.seq), number as u32);
			}
		}
		(rows.into_iter().map(|(row, _)| row).collect(), numbers)
	}
}

fn row(key: &Key, parts: &[RankCall], merged: &Merged, lines: &[Line]) -> CollectiveRow {
	let mut row = CollectiveRow {
		layer: key.layer.clone(),
		group_hash: key.group_hash,
		open_ordinal: key.open_ordinal,
		ordinal: key.ordinal,
		agreed: true,
		first_enter: i64::MAX,
		first_leave: i64::MAX,
		last_enter: i64::MIN,
		last_leave: i64::MIN,
		..CollectiveRow::default()
	};
	let mut ranks = BTreeSet::new();
	for (i, part) in parts.iter().enumerate() {
		let state = &merged.images[part.image];
		let call = &state.survey.collectives[part.call];
		let definitions = &state.survey.definitions;
		let op = definitions.ops.get(&call.op).map_or("", |op| &op.name);
		let file = state.file(call.object);
		if i == 0 {
			row.op = op.to_owned();
			row.file = file;
		}
		row.agreed &= row.op == op && row.file == file;
		if let Some(group) = definitions.groups.get(&call.holder) {
			row.expected = row.expected.max(group.size);
			ranks.insert(group.own);
		}
		let enter = lines[state.clock].ns(call.began);
		let pid = state.survey.streams[call.stream as usize].pid;
		let end = state.end_of(pid).filter(|_| call.open);
		let leave = lines[state.clock].ns(call.ended).max(end.unwrap_or(enter));
		row.first_enter = row.first_enter.min(enter);
		row.last_enter = row.last_enter.max(enter);
		row.first_leave = row.first_leave.min(leave);
		row.last_leave = row.last_leave.max(leave);
		if let Some(bytes) = call.bytes.filter(|&bytes| bytes >= 0) {
			row.bytes = Some(row.bytes.unwrap_or(0).saturating_add(bytes));
		}
	}
	row.seen = ranks.len() as u32;
	row
}
