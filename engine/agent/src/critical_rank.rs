//! Ranks processes epoch by epoch, and chooses the slowest.

use std::collections::HashMap;

/// A process of the job: the node's number, and its pid there.
pub type Process = (u32, u32);

/// So many times the score of who is critical must another's be: what is near one another does not alternate.
const MARGIN: f64 = 1.25;

/// The slowest of some processes, by scores that halve from epoch to epoch.
#[derive(Default)]
pub struct CriticalRank {
	scores: HashMap<Process, f64>,
	pub chosen: Option<Process>,
	/// Who was worse than that in the last epoch: a delay of one operation is not enough.
	before: Option<Process>,
}

impl CriticalRank {
	/// New scores of all that live.
	pub fn epoch(&mut self, new: &[(Process, f64)]) {
		let idle = new.iter().all(|(_, score)| *score == 0.0);
		let score = |&(process, score): &(Process, f64)| {
			let before = self.scores.get(&process).copied().unwrap_or(0.0);
			(process, if idle { before } else { score + before / 2.0 })
		};
		self.scores = new.iter().map(score).collect();
		let current = self.chosen.and_then(|process| self.scores.get(&process)).copied();
		let slowest = self.scores.iter().max_by(|a, b| a.1.total_cmp(b.1));
		let slowest = slowest.filter(|(_, score)| **score > current.unwrap_or(0.0) * MARGIN);
		let slower = slowest.map(|(&process, _)| process);
		let again = !idle && std::mem::replace(&mut self.before, slower) == slower;
		let stays = self.chosen.filter(|_| current.is_some());
		self.chosen = if again || stays.is_none() { slower.or(stays) } else { stays };
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	/// Who is chosen after each epoch of scores.
	fn chosen(epochs: &[[f64; 3]]) -> Vec<Option<u32>> {
		let mut critical_rank = CriticalRank::default();
		let numbered = |scores: &[f64; 3]| -> Vec<(Process, f64)> {
			scores.iter().enumerate().map(|(pid, score)| ((0, pid as u32), *score)).collect()
		};
		let step = |scores| {
			critical_rank.epoch(&numbered(scores));
			critical_rank.chosen.map(|(_, pid)| pid)
		};
		epochs.iter().map(step).collect()
	}

	#[test]
	fn the_slowest_is_found_at_once_and_kept_while_the_store_is_idle() {
		let slow = [1.0, 9.0, 1.0];
		let epochs = [[0.0; 3], slow, [0.0; 3], [0.0; 3], [0.1, 0.9, 0.1], [9.0, 1.0, 1.0]];
		let expected = [None, Some(1), Some(1), Some(1), Some(1), Some(1)];
		assert_eq!(chosen(&epochs), expected);
	}

	#[test]
	fn one_delay_changes_nothing_two_do() {
		let usual = [1.0, 4.0, 1.0];
		let delayed = [9.0, 4.0, 1.0];
		assert_eq!(chosen(&[usual, usual, delayed, usual, usual])[4], Some(1));
		assert_eq!(chosen(&[usual, usual, delayed, delayed])[3], Some(0));
	}

	#[test]
	fn those_that_are_alike_do_not_alternate() {
		let epochs: Vec<_> = (0..20).map(|n| [1.0 + 0.1 * f64::from(n % 3), 1.1, 1.2]).collect();
		let winners = chosen(&epochs);
		assert!(winners.iter().all(|one| one.is_some() && *one == winners[0]), "{winners:?}");
	}

	#[test]
	fn who_stops_being_slow_is_left_when_another_is_a_quarter_worse() {
		let mut epochs = vec![[1.0, 4.0, 1.0]; 3];
		epochs.extend([[1.0, 0.1, 2.0]; 5]);
		let winners = chosen(&epochs);
		assert_eq!((winners[2], winners[7]), (Some(1), Some(2)));
	}

	#[test]
	fn who_has_ended_is_nobody() {
		let mut critical_rank = CriticalRank::default();
		critical_rank.epoch(&[((0, 1), 5.0), ((0, 2), 1.0)]);
		assert_eq!(critical_rank.chosen, Some((0, 1)));
		critical_rank.epoch(&[((0, 2), 0.0)]);
		assert_eq!(critical_rank.chosen, Some((0, 2)));
		critical_rank.epoch(&[]);
		assert_eq!(critical_rank.chosen, None);
	}
}
