//! What could not be read: counts, and the first reasons.

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Missed {
	/// Chunks that are neither in a ring nor in a file.
	pub chunks: u64,
	/// Bytes that are no rows.
	pub bytes: u64,
	/// The first few, in words.
	pub why: Vec<String>,
}

impl Missed {
	const WORDS: usize = 8;

	pub fn note(&mut self, why: String) {
		if self.why.len() < Self::WORDS {
			self.why.push(why);
		}
	}
}
