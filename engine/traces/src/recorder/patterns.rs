//! Offsets that Recorder 3 wrote as patterns: a line over ranks (`a*r+b`), or the distance from the call before.

use std::collections::{BTreeSet, HashMap};

/// Functions of which ranks are compared; of pread Recorder computes the distance, and writes the offset.
const ACROSS: [&str; 10] = [
	"lseek",
	"lseek64",
	"pread",
	"pread64",
	"pwrite",
	"pwrite64",
	"MPI_File_read_at",
	"MPI_File_read_at_all",
	"MPI_File_write_at",
	"MPI_File_write_at_all",
];

pub fn is_across(function: &str) -> bool {
	ACROSS.contains(&function)
}

fn is_within(function: &str) -> bool {
	function == "MPI_File_set_view" || is_across(function) && !function.starts_with("pread")
}

/// At most 18 digits.
pub fn integer(word: &str) -> Option<i64> {
	let digits = word.strip_prefix('-').unwrap_or(word);
	let known =
		(1..=18).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
	word.parse().ok().filter(|_| known)
}

/// `a*r+b`
pub fn line(word: &str) -> Option<(i64, i64)> {
	let (each, first) = word.split_once("*r+")?;
	Some((integer(each)?, integer(first)?))
}

/// Of one rank and function: how many signatures there are, and which lines are in them.
#[derive(Default, Clone, PartialEq, Eq, Hash)]
pub struct FunctionPattern {
	pub signatures: u64,
	pub lines: BTreeSet<(i64, i64)>,
}

/// By rank and function, the `r` of a line. Recorder compares the ranks that have equally many signatures of a
/// function, and numbers these from 0.
pub fn numbers(ranks: Vec<HashMap<String, FunctionPattern>>) -> Vec<HashMap<String, i64>> {
	let mut next_number: HashMap<(String, FunctionPattern), i64> = HashMap::new();
	let mut number = |(function, pattern): (String, FunctionPattern)| {
		let next = next_number.entry((function.clone(), pattern)).or_default();
		*next += 1;
		(function, *next - 1)
	};
	ranks.into_iter().map(|rank| rank.into_iter().map(&mut number).collect()).collect()
}

/// Of one rank, whose calls are asked for in their order.
pub struct Offsets {
	numbers: HashMap<String, i64>,
	/// Distances were written.
	within: bool,
	/// Calls are in the order in which they were made.
	known: bool,
	before: HashMap<String, Option<i128>>,
}

impl Offsets {
	pub fn new(numbers: HashMap<String, i64>, within: bool, known: bool) -> Offsets {
		Offsets { numbers, within, known, before: HashMap::new() }
	}

	/// The offset that an argument of a function stands for.
	pub fn real(&mut self, function: &str, word: &str) -> Option<i64> {
		let mut at = integer(word).map(i128::from);
		if let (Some((each, first)), Some(&rank)) = (line(word), self.numbers.get(function)) {
			at = Some(i128::from(each) * i128::from(rank) + i128::from(first));
		}
		if self.within && is_within(function) {
			let before = self.before.get(function).copied().unwrap_or(Some(0));
			at = at
				.zip(before)
				.filter(|_| self.known)
				.and_then(|(at, before)| before.checked_add(at));
			self.before.insert(function.to_owned(), at);
		}
		// What has more digits is no offset.
		i64::try_from(at?).ok().filter(|at| at.unsigned_abs() < 10u64.pow(18))
	}
}
