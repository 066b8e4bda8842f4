//! Recorder's grammars: in which order calls came, as rules that stand for each other.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::bytes::integers;
use crate::Parsed;

/// The rule that a grammar begins with.
const START: i32 = -1;

/// Symbols, each with how often it comes. Numbers below 0 are rules, others signatures of calls.
type Body = Vec<(i32, i32)>;

pub struct Grammar {
	rules: HashMap<i32, Body>,
	/// Where it lies.
	pub name: String,
}

impl Grammar {
	pub fn of(data: &[u8], name: String) -> Parsed<Grammar> {
		if !data.len().is_multiple_of(4) || data.is_empty() {
			return Err(format!("{name} breaks off"));
		}
		let words = integers(data);
		let damaged = || format!("{name} is damaged");
		let mut rules = HashMap::new();
		let mut at = 1;
		while at + 2 <= words.len() {
			let (rule, symbols) = (words[at], words[at + 1]);
			let size = usize::try_from(symbols).map_err(|_| damaged())?.saturating_mul(2);
			let body = words.get(at + 2..(at + 2).saturating_add(size)).ok_or_else(damaged)?;
			let body: Body = body.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
			if rule >= 0 || rules.insert(rule, body).is_some() {
				return Err(damaged());
			}
			at += 2 + size;
		}
		if at != words.len()
			|| rules.len() as i64 != i64::from(words[0])
			|| !rules.contains_key(&START)
		{
			return Err(damaged());
		}
		Ok(Grammar { rules, name })
	}

	/// Which of the signatures it names.
	pub fn used(&self, signatures: usize) -> BTreeSet<usize> {
		let symbols =
			self.rules.values().flatten().filter_map(|(symbol, _)| usize::try_from(*symbol).ok());
		symbols.filter(|&symbol| symbol < signatures).collect()
	}

	/// How many calls it stands for, `u64::MAX` where these are more; every rule is looked at once, those that it names
	/// first.
	pub fn length(&self, signatures: usize) -> Parsed<u64> {
		let mut lengths: HashMap<i32, u64> = HashMap::new();
		let mut within: HashSet<i32> = HashSet::new();
		let mut todo = vec![START];
		while let Some(&rule) = todo.last() {
			if lengths.contains_key(&rule) {
				todo.pop();
				continue;
			}
			let body = &self.rules[&rule];
			within.insert(rule);
			let named = body.iter().map(|(symbol, _)| *symbol);
			let missing: Vec<i32> =
				named.filter(|symbol| *symbol < 0 && !lengths.contains_key(symbol)).collect();
			if missing
				.iter()
				.any(|symbol| !self.rules.contains_key(symbol) || within.contains(symbol))
			{
				return Err(format!("{}: a rule is missing, or holds itself", self.name));
			}
			if !missing.is_empty() {
				todo.extend(missing);
				continue;
			}
			let mut length = 0u64;
			for &(symbol, repeats) in body {
				let unknown = usize::try_from(symbol).is_ok_and(|symbol| symbol >= signatures);
				let (Ok(repeats @ 1..), false) = (u64::try_from(repeats), unknown) else {
					return Err(format!("{} names a call that is not there", self.name));
				};
				let symbol_length = lengths.get(&symbol).copied().unwrap_or(1);
				length = length.saturating_add(repeats.saturating_mul(symbol_length));
			}
			lengths.insert(rule, length);
			within.remove(&rule);
			todo.pop();
		}
		Ok(lengths[&START])
	}

	/// Numbers of signatures, call by call; `length` has to be asked before.
	pub fn unfolded(&self, mut take: impl FnMut(usize)) {
		// Rules that are being read: where in its body, and how often the symbol there is still to come.
		let first = |rule: i32| self.rules[&rule].first().map_or(0, |pair| pair.1);
		let mut todo = vec![(START, 0, first(START))];
		while let Some((rule, at, often)) = todo.pop() {
			let body = &self.rules[&rule];
			let Some(&(symbol, _)) = body.get(at) else { continue };
			match usize::try_from(symbol) {
				Ok(signature) => {
					(0..often).for_each(|_| take(signature));
					todo.push((rule, at + 1, body.get(at + 1).map_or(0, |pair| pair.1)));
				}
				Err(_) => {
					todo.push(match often > 1 {
						true => (rule, at, often - 1),
						false => (rule, at + 1, body.get(at + 1).map_or(0, |pair| pair.1)),
					});
					todo.push((symbol, 0, first(symbol)));
				}
			}
		}
	}
}

#[cfg(test)]
mod tests {
	use proptest::prelude::*;

	use super::*;

	fn of(words: &[i32]) -> Parsed<Grammar> {
		let data: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
		Grammar::of(&data, "g".into())
	}

	#[test]
	fn rules_stand_for_calls() {
		let grammar = of(&[2, -1, 3, 0, 2, -2, 2, 3, 1, -2, 2, 1, 1, 2, 1]).unwrap();
		assert_eq!(grammar.length(4).unwrap(), 7);
		let mut calls = Vec::new();
		grammar.unfolded(|one| calls.push(one));
		assert_eq!(calls, [0, 0, 1, 2, 1, 2, 3]);
		assert_eq!(grammar.used(3), BTreeSet::from([0, 1, 2]));
	}

	proptest! {
		#[test]
		fn any_words_are_read_or_refused(words in prop::collection::vec(-4i32..6, 1..40)) {
			if let Ok(grammar) = of(&words)
				&& let Ok(length) = grammar.length(4)
				&& length < 100_000
			{
				let mut calls = 0;
				grammar.unfolded(|one| { assert!(one < 4); calls += 1 });
				prop_assert_eq!(calls, length);
			}
		}
	}
}
