//! Random numbers and calls for fuzzing: the same everywhere.

use super::common::Act;

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
	pub fn next(&mut self) -> u64 {
		self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
		let mut z = self.0;
		z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
		z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
		z ^ z >> 31
	}

	pub fn below(&mut self, limit: usize) -> usize {
		(self.next() % limit.max(1) as u64) as usize
	}

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
