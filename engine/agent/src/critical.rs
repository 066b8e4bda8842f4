//! Who is critical: the process that holds the others up, and the slowest server. Only those are at level `call`,
//! where the selection in force asks for that (`docs/selection.md`).

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fathom_select::Control;
use fathom_sink::random;
use fathom_stream::Clock;
use fathom_watch::{Own, Owns};

use crate::coordinator::Coordinator;
use crate::critical_path::Report;
use crate::error::{AgentError, At};
use crate::recorder::Recorder;
use crate::send::Target;
use crate::values::{COUNT, Owner, Values};

/// Long enough for some operations of each process, short enough to see most of a checkpoint.
const EPOCH: Duration = Duration::from_millis(500);
/// Looks at the node's processes for the agent, and says who is critical.
pub struct Critical {
	run: PathBuf,
	rings: PathBuf,
	/// The node's streams.
	streams: PathBuf,
	collector: Option<Target>,
	control: Control,
	budget: u64,
	next: Instant,
	steering: Option<Steering>,
}

impl Critical {
	/// `collector`: where the node's files are sent, too.
	pub fn new(
		run: &Path,
		rings: &Path,
		streams: &Path,
		budget: u64,
		collector: Option<&Target>,
	) -> Critical {
		Critical {
			collector: collector.cloned(),
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
				let coordinator =
					Coordinator::new(&self.run, &self.streams, self.collector.as_ref());
				none.insert(Steering { owns, recorder, coordinator, named: HashMap::new() })
			}
		};
		steering.epoch(&self.control)
	}

	/// Nobody is critical any more.
	pub fn end(&mut self) -> Result<(), AgentError> {
		let Some(mut steering) = self.steering.take() else { return Ok(()) };
		steering.note(&[])?;
		steering.recorder.finish(Clock::now())
	}
}

struct Steering {
	owns: Owns,
	recorder: Recorder,
	coordinator: Coordinator,
	/// By pid, all that ever were: are they now?
	named: HashMap<u32, (Owner, bool)>,
}

impl Steering {
	fn epoch(&mut self, control: &Control) -> Result<(), AgentError> {
		let owns = self.owns.look()?;
		let (servers, processes): (Vec<Own>, Vec<Own>) =
			owns.into_iter().partition(|own| own.server);
		let report = Report { processes: scores(&processes), servers: scores(&servers) };
		let pids = self.coordinator.ask(report)?;
		if let Some(trouble) = self.coordinator.trouble.take() {
			self.recorder.mark(Clock::now(), "agent", &trouble, 1)?;
		}
		if pids.len() == self.critical() && pids.iter().all(|pid| self.is_named(*pid)) {
			return Ok(());
		}
		// Calls between the two notes may be rows or not; all that begin while a note says so are.
		let stay: Vec<u32> = pids.iter().copied().filter(|pid| self.is_named(*pid)).collect();
		self.note(&stay)?;
		control.name_critical(&pids)?;
		for own in processes.iter().chain(&servers).filter(|own| pids.contains(&own.pid)) {
			let owner = Owner { instance: own.instance, pid: own.pid };
			self.named.entry(own.pid).or_insert((owner, false)).0 = owner;
			if !stay.contains(&own.pid) {
				self.recorder.mark(Clock::now(), "critical", &describe(own), u64::from(own.pid))?;
			}
		}
		self.note(&pids)
	}

	/// How many are.
	fn critical(&self) -> usize {
		self.named.values().filter(|(_, now)| *now).count()
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
		self.recorder.round(Clock::now(), values).map(drop)
	}
}

/// Time of their own for a collective operation; where there are none, in the epoch. In nanoseconds.
fn scores(owns: &[Own]) -> Vec<(u32, u64)> {
	let score = |own: &Own| own.seconds * 1e9 / own.collectives.max(1) as f64;
	owns.iter().map(|own| (own.pid, score(own) as u64)).collect()
}

fn describe(own: &Own) -> String {
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
