//! Random numbers and calls for fuzzing: the same everywhere.

#[path = "splitmix.rs"]
mod splitmix;

pub use splitmix::{Random, mutants};

use super::common::Act;

impl Random {
	pub fn act(&mut self) -> Act {
		match self.below(9) {
			0..=3 => Act::Enter {
				op: self.below(4) as u32,
				object: self.below(4) as u32,
				after: self.below(500) as u64,
			},
			4..=7 => Act::Leave {
				fields: (0..8).map(|_| self.next() as i64 >> self.below(64)).collect(),
				error: (self.below(10) == 0).into(),
				after: self.below(5000) as u64,
			},
			_ => Act::Seal,
		}
	}
}
