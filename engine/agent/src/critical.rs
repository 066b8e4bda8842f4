//! Who is critical: the process that holds the others up, and the slowest server. Only those are at level `call`,
//! where the selection in force asks for that (`docs/selection.md`).

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fathom_select::Control;
use fathom_sink::random;
use fathom_watch::{Own, Owns};

use crate::error::{AgentError, At};
use crate::recorder::{Recorder, clock};
use crate::values::{COUNT, Owner, Values};

/// Long enough for some operations of each process, short enough to see most of a checkpoint.
const EPOCH: Duration = Duration::from_millis(500);
/// So many times the score of who is critical must another's be: what is near one another does not alternate.
const MARGIN: f64 = 1.25;

/// The worst of some, by scores that halve from epoch to epoch.
#[derive(Default)]
struct Worst {
	scores: HashMap<u32, f64>,
	chosen: Option<u32>,
	/// Who was worse than that in the last epoch: a delay of one operation is not enough.
	before: Option<u32>,
}

impl Worst {
	/// New scores of all that live. True: another one is the worst now.
	fn epoch(&mut self, new: &[(u32, f64)]) -> bool {
		let idle = new.iter().all(|(_, score)| *score == 0.0);
		let score = |&(pid, score): &(u32, f64)| {
			let before = self.scores.get(&pid).copied().unwrap_or(0.0);
			(pid, if idle { before } else { score + before / 2.0 })
		};
		self.scores = new.iter().map(score).collect();
		let held = self.chosen.and_then(|pid| self.scores.get(&pid)).copied();
		let worst = self.scores.iter().max_by(|a, b| a.1.total_cmp(b.1));
		let worst = worst.filter(|(_, score)| **score > held.unwrap_or(0.0) * MARGIN);
		let worse = worst.map(|(&pid, _)| pid);
		let again = !idle && std::mem::replace(&mut self.before, worse) == worse;
		let stays = self.chosen.filter(|_| held.is_some());
		let next = if again || stays.is_none() { worse.or(stays) } else { stays };
		std::mem::replace(&mut self.chosen, next) != next
	}
}

/// Looks at the node's processes for the agent, and says who is critical.
pub struct Critical {
	run: PathBuf,
	rings: PathBuf,
	/// The node's streams.
	streams: PathBuf,
	control: Control,
	budget: u64,
	next: Instant,
	steering: Option<Steering>,
}

impl Critical {
	pub fn new(run: &Path, rings: &Path, streams: &Path, budget: u64) -> Critical {
		Critical {
			run: run.to_owned(),
			rings: rings.to_owned(),
			streams: streams.to_owned(),
			control: Control::new(rings),
			budget,
			next: Instant::now(),
			steering: None,
		}
	}

	/// When the next epoch is over; `None`: nobody asks.
	pub fn next(&self) -> Option<Instant> {
		self.steering.as_ref().map(|_| self.next)
	}

	/// One epoch, if it is over. Does nothing where the selection in force does not ask who is critical.
	pub fn look_if_due(&mut self) -> Result<(), AgentError> {
		if self.next > Instant::now() {
			return Ok(());
		}
		self.next = Instant::now() + EPOCH;
		if !self.control.asks() {
			return self.end();
		}
		let steering = match &mut self.steering {
			Some(steering) => steering,
			none => {
				let owns = Owns::open(&self.run, self.rings.clone(), self.streams.clone())?;
				let recorder =
					Recorder::create(&self.streams, random().at(&self.streams)?, self.budget)?;
				none.insert(Steering::new(owns, recorder))
			}
		};
		steering.epoch(&self.control)
	}

	/// Nobody is critical any more.
	pub fn end(&mut self) -> Result<(), AgentError> {
		let Some(mut steering) = self.steering.take() else { return Ok(()) };
		steering.note(&[])?;
		steering.recorder.finish(clock())
	}
}

struct Steering {
	owns: Owns,
	recorder: Recorder,
	process: Worst,
	server: Worst,
	/// By pid, all that ever were: are they now?
	named: HashMap<u32, (Owner, bool)>,
}

impl Steering {
	fn new(owns: Owns, recorder: Recorder) -> Steering {
		let (process, server) = Default::default();
		Steering { owns, recorder, process, server, named: HashMap::new() }
	}

	fn epoch(&mut self, control: &Control) -> Result<(), AgentError> {
		let owns = self.owns.look()?;
		let (servers, processes): (Vec<Own>, Vec<Own>) =
			owns.into_iter().partition(|own| own.server);
		let another = self.process.epoch(&scores(&processes));
		if !self.server.epoch(&scores(&servers)) && !another {
			return Ok(());
		}
		let chosen = [self.process.chosen, self.server.chosen];
		let pids: Vec<u32> = chosen.into_iter().flatten().collect();
		// Calls between the two notes may be rows or not; all that begin while a note says so are.
		let stay: Vec<u32> = pids.iter().copied().filter(|pid| self.is_named(*pid)).collect();
		self.note(&stay)?;
		control.name_critical(&pids)?;
		for own in processes.iter().chain(&servers).filter(|own| pids.contains(&own.pid)) {
			let owner = Owner { instance: own.instance, pid: own.pid };
			self.named.entry(own.pid).or_insert((owner, false)).0 = owner;
			if !stay.contains(&own.pid) {
				self.recorder.mark(clock(), "critical", &said(own), u64::from(own.pid))?;
			}
		}
		self.note(&pids)
	}

	fn is_named(&self, pid: u32) -> bool {
		self.named.get(&pid).is_some_and(|(_, now)| *now)
	}

	/// From here on these are critical, and no others.
	fn note(&mut self, pids: &[u32]) -> Result<(), AgentError> {
		let mut values = Values::default();
		for (pid, (owner, now)) in &mut self.named {
			*now = pids.contains(pid);
			values.owner = *owner;
			values.add("critical", COUNT, u64::from(*now));
		}
		self.recorder.round(clock(), values).map(drop)
	}
}

/// Time of their own for a collective operation; where there are none, in the epoch.
fn scores(owns: &[Own]) -> Vec<(u32, f64)> {
	owns.iter().map(|own| (own.pid, own.seconds / own.collectives.max(1) as f64)).collect()
}

fn said(own: &Own) -> String {
	let Own { pid, seconds, collectives, .. } = own;
	let ms = seconds * 1e3;
	match (own.rank, own.server, collectives) {
		(_, true, _) => format!("server, process {pid}: {ms:.1} ms at its store"),
		(Some(rank), _, 0) => format!("rank {rank}, process {pid}: {ms:.1} ms of I/O"),
		(Some(rank), _, n) => {
			format!("rank {rank}, process {pid}: {ms:.1} ms of its own in {n} collective calls")
		}
		(None, _, _) => format!("process {pid}: {ms:.1} ms of I/O"),
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	/// Who is chosen after each epoch of scores.
	fn chosen(epochs: &[[f64; 3]]) -> Vec<Option<u32>> {
		let mut worst = Worst::default();
		let numbered = |scores: &[f64; 3]| -> Vec<(u32, f64)> {
			scores.iter().enumerate().map(|(pid, score)| (pid as u32, *score)).collect()
		};
		let step = |scores| {
			worst.epoch(&numbered(scores));
			worst.chosen
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
		let found = chosen(&epochs);
		assert!(found.iter().all(|one| one.is_some() && *one == found[0]), "{found:?}");
	}

	#[test]
	fn who_stops_being_slow_is_left_when_another_is_a_quarter_worse() {
		let mut epochs = vec![[1.0, 4.0, 1.0]; 3];
		epochs.extend([[1.0, 0.1, 2.0]; 5]);
		let found = chosen(&epochs);
		assert_eq!((found[2], found[7]), (Some(1), Some(2)));
	}

	#[test]
	fn who_has_ended_is_nobody() {
		let mut worst = Worst::default();
		assert!(worst.epoch(&[(1, 5.0), (2, 1.0)]));
		assert!(worst.epoch(&[(2, 0.0)]));
		assert_eq!(worst.chosen, Some(2));
		assert!(worst.epoch(&[]));
		assert_eq!(worst.chosen, None);
	}
}
