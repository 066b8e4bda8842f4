//! Random numbers for fuzzing, the same everywhere; other crates' tests include this file too.

/// How many inputs a fuzzer makes: FATHOM_FUZZ, 20,000 by default.
#[allow(dead_code, reason = "not each test that includes this file is a fuzzer")]
pub fn mutants() -> usize {
	asked("FATHOM_FUZZ").map_or(20_000, |n| n as usize)
}

#[allow(clippy::unwrap_used)]
fn asked(name: &str) -> Option<u64> {
	std::env::var(name).ok().map(|n| n.parse().unwrap())
}

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
	/// Always the same inputs, or those that FATHOM_FUZZ_SEED asks for.
	#[allow(dead_code, reason = "not each test that includes this file is a fuzzer")]
	pub fn of(test: u64) -> Random {
		Random(test ^ asked("FATHOM_FUZZ_SEED").unwrap_or(0) << 16)
	}

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
}
