//! What the numbers of a process image mean in the run: its ops, objects, sites and selections.

use std::collections::HashMap;

use fathom_stream::Selection;

use crate::columns::{CallRow, has};
use crate::counters::{Access, Moves};
use crate::define::{MAX_TARGETS, Op, Target};
use crate::own::Nature;
use crate::runtime::Runtime;
use crate::server_links::Watched;
use crate::shape::shape;

/// Numbers of a process image to numbers of the run: mostly small and dense.
#[derive(Debug, Default)]
pub struct Map<V> {
	dense: Vec<Option<V>>,
	sparse: HashMap<u32, V>,
}

impl<V: Copy> Map<V> {
	const DENSE: u32 = 1 << 20;

	pub fn insert(&mut self, key: u32, value: V) {
		if key >= Self::DENSE {
			self.sparse.insert(key, value);
			return;
		}
		let index = key as usize;
		if self.dense.len() <= index {
			self.dense.resize(index + 1, None);
		}
		self.dense[index] = Some(value);
	}

	#[inline]
	pub fn get(&self, key: u32) -> Option<V> {
		match self.dense.get(key as usize) {
			Some(value) => *value,
			None => self.sparse.get(&key).copied(),
		}
	}
}

/// An op's fields: where each goes.
#[derive(Debug, Clone)]
pub struct FieldPlan {
	pub targets: [Target; MAX_TARGETS],
	/// Number of each field's name in `args`.
	pub names: [u16; MAX_TARGETS],
	pub tracked: bool,
	pub has_offset: bool,
	pub has_size: bool,
	pub moves: Option<Moves>,
	nature: Nature,
	pub beside: bool,
	/// The field that says how many pieces of memory a call moves.
	pub pieces: Option<usize>,
}

impl FieldPlan {
	/// `layer`: number of the op's layer.
	pub fn new(op: &Op, layer: u8, arg_name: impl Fn(&str) -> u16) -> FieldPlan {
		let mut names = [0; MAX_TARGETS];
		for (number, field) in names.iter_mut().zip(&op.fields) {
			*number = arg_name(field);
		}
		FieldPlan {
			targets: op.targets,
			names,
			tracked: op.tracked,
			has_offset: op.field(Target::Offset).is_some(),
			has_size: op.field(Target::Size).is_some(),
			moves: op.direction.map(|direction| Moves { direction, layer }),
			nature: Nature::new(op, layer),
			beside: op.beside,
			pieces: op.pieces,
		}
	}
}

/// What a process image's numbers mean in the run.
pub struct ImageMaps<'r> {
	pub ops: Map<u16>,
	pub unknown_op: u16,
	pub plans: &'r [FieldPlan],
	/// Object and its file.
	pub objects: Map<(u32, Option<u32>)>,
	pub sites: Map<u32>,
	pub selections: Map<u32>,
	/// In the order of their numbers in the run, from this one on.
	pub first_selection: u32,
	pub shapes: Vec<&'r Selection>,
	/// By stream (of the survey) and seq.
	pub collectives: HashMap<(u32, u64), u32>,
	pub arg_names: &'r HashMap<String, u16>,
	/// Streams of the whole run: random id to index.
	pub streams: &'r HashMap<u64, u32>,
	pub watched: &'r Watched,
	pub runtime: &'r Runtime,
}

impl ImageMaps<'_> {
	#[inline]
	pub fn nature(&self, op: u16) -> Nature {
		self.plans.get(usize::from(op)).map_or(Nature::UNKNOWN, |plan| plan.nature)
	}

	#[inline]
	pub fn access(&self, call: &CallRow) -> Access {
		let known = |bit, value: i64| (call.valid & bit != 0 && value >= 0).then_some(value);
		let (requested, moved) = (known(has::SIZE, call.size), known(has::BYTES, call.bytes));
		let offset = known(has::OFFSET, call.offset);
		let amount = moved.or(requested);
		let selection = call
			.if_has(has::SELECTION, call.selection)
			.and_then(|n| self.shapes.get(n.checked_sub(self.first_selection)? as usize).copied());
		Access {
			size: requested.or(moved),
			amount,
			offset,
			shape: shape(selection, offset, amount.unwrap_or(0)),
			pieces: call.pieces,
		}
	}
}
