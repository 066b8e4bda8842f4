//! A random number generator for tests, the same in each run.

/// Gives a number below the one it is asked for. The generator is Knuth's (MMIX), of whose state the upper bits are used.
pub fn from(seed: u64) -> impl FnMut(u64) -> u64 {
	let mut state = seed;
	move |below| {
		state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
		(state >> 33) % below
	}
}
