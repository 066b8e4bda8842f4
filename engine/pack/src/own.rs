//! What a call is to the program's own call around it: columns `own`, `own_duration`, `topmost`, `alone` of `calls`.

use crate::columns::{CallRow, has};
use crate::define::Op;

/// What an op is where nothing but regions is around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
	/// A region, or a wait for threads: what it holds may be the program's own.
	Region,
	/// No I/O of the program's, nor is what it holds.
	Aside,
	Own,
}

impl Role {
	fn of(layer: &str, kind: &str) -> Role {
		match (layer, kind) {
			("user" | "threads", _) => Role::Region,
			("fathom" | "server" | "disk", _) | (_, "comm") => Role::Aside,
			_ => Role::Own,
		}
	}
}

/// What counts of an op.
#[derive(Debug, Clone, Copy)]
pub struct Nature {
	role: Role,
	/// A bit for its layer.
	layer: u64,
	/// Its layer reaches the storage.
	storage: bool,
}

impl Nature {
	pub const UNKNOWN: Nature = Nature { role: Role::Own, layer: 0, storage: false };

	/// `layer`: number of the op's layer.
	pub fn new(op: &Op, layer: u8) -> Nature {
		Nature {
			role: Role::of(&op.layer, &op.kind),
			layer: 1u64.checked_shl(u32::from(layer)).unwrap_or(0),
			storage: matches!(op.layer.as_str(), "posix" | "stdio" | "aio"),
		}
	}

	/// Is it the program's own where nothing but regions is around it?
	pub fn is_own(self) -> bool {
		self.role == Role::Own
	}

	/// May what it holds be the program's own?
	pub fn is_region(self) -> bool {
		self.role == Role::Region
	}

	/// Bits of an own call's row.
	#[inline]
	pub fn outermost(self) -> u16 {
		let request = self.storage && self.role == Role::Own;
		has::TOPMOST | if request { has::REQUEST | has::ALONE } else { 0 }
	}
}

/// What is around the calls directly inside a call.
#[derive(Debug, Clone, Copy)]
enum Around {
	Regions,
	Aside,
	/// Place of the own call; layers from it down, and whether one of them reaches the storage.
	Own(usize, u64, bool),
}

/// The calls of one tree, parents first.
#[derive(Debug, Default)]
pub struct Tree {
	around: Vec<Around>,
	/// Own call and place of the last request.
	request: Option<(usize, usize)>,
}

impl Tree {
	/// Call `i`; `above`: the place of its parent, `stream`: upper bits of its id.
	pub fn add(
		&mut self,
		calls: &mut [CallRow],
		i: usize,
		above: Option<usize>,
		stream: u64,
		nature: Nature,
	) {
		let call = calls[i];
		let around = match above {
			Some(above) => self.around[above],
			// Interrupted by a signal, or its parent is lost: what is around it is not known here.
			None if call.valid & has::PARENT != 0 => Around::Aside,
			None if call.depth > 0 && nature.role != Role::Region => Around::Aside,
			None => Around::Regions,
		};
		calls[i].valid |= has::TOPMOST;
		let inside = match (around, nature.role) {
			(Around::Regions, Role::Region) => Around::Regions,
			(Around::Regions, Role::Own) => {
				calls[i].valid |= nature.outermost();
				Around::Own(i, nature.layer, nature.storage)
			}
			(Around::Own(own, layers, stored), _) => {
				calls[i].own = stream | calls[own].seq;
				calls[i].own_duration = calls[own].duration;
				calls[i].valid |= has::OWN;
				if layers & nature.layer != 0 {
					calls[i].valid &= !has::TOPMOST;
				}
				if nature.storage && !stored {
					self.request(calls, own, i);
				}
				Around::Own(own, layers | nature.layer, stored || nature.storage)
			}
			_ => Around::Aside,
		};
		self.around.push(inside);
	}

	/// Call `i` reaches the storage for an own call: alone, unless another did before.
	fn request(&mut self, calls: &mut [CallRow], own: usize, i: usize) {
		calls[i].valid |= has::REQUEST;
		match self.request {
			Some((before, at)) if before == own => calls[at].valid &= !has::ALONE,
			_ => calls[i].valid |= has::ALONE,
		}
		self.request = Some((own, i));
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	/// Own call of a POSIX call inside a call of this layer.
	fn own_inside(layer: &str, kind: &str) -> Option<u64> {
		let nature = |layer, kind| Nature { role: Role::of(layer, kind), layer: 0, storage: true };
		let inner = CallRow { seq: 8, depth: 1, valid: has::PARENT, ..CallRow::default() };
		let mut calls = [CallRow { seq: 7, ..CallRow::default() }, inner];
		let mut tree = Tree::default();
		tree.add(&mut calls, 0, None, 0, nature(layer, kind));
		tree.add(&mut calls, 1, Some(0), 0, nature("posix", "write"));
		(calls[1].valid & has::OWN != 0).then_some(calls[1].own)
	}

	#[test]
	fn what_servers_do_is_not_the_programs_own() {
		assert_eq!(own_inside("mpiio", "write"), Some(7));
		assert_eq!(own_inside("user", "region"), None);
		assert_eq!(own_inside("server", "write"), None);
		assert_eq!(own_inside("mpi", "comm"), None);
	}
}
