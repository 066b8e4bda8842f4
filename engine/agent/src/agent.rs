//! The agent of one node.

use std::fs::{self, File};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fathom_sink::{is_directory, random};
use fathom_stream::Clock;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::critical::Critical;
use crate::error::{AgentError, At};
use crate::osds::Osds;
use crate::recorder::{Pace, Recorder};
use crate::rings::{Rings, Watched, start_of};
use crate::send::{Sending, Sent, Target};
use crate::ship::{Plan, Shipping};
use crate::values::{BYTES, NS, Owner, Root, Values};
use crate::{lustre, process, system};

/// At most this long until new processes are noticed.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// A process that was started just now may have no ring yet.
const GRACE: Duration = Duration::from_millis(100);

#[derive(Debug, Clone)]
pub struct Settings {
	/// The run directory.
	pub run: PathBuf,
	/// The node's rings.
	pub ring: PathBuf,
	/// Time between samples; `None`: none are taken.
	pub sample: Option<Duration>,
	/// Most bytes of samples.
	pub budget: u64,
	/// A process to stay for, besides the traced ones.
	pub watch: Option<u32>,
	/// End when standard input does, whoever still runs: forwarding servers are traced, too, and end after us.
	pub leave: bool,
	/// Who started us holds the node's lock for us.
	pub locked: bool,
	/// Where the node's files are sent; `None`: nowhere.
	pub collect: Option<Target>,
	/// How the node's streams are shipped into shared files; `None`: they are files of the run.
	pub sink: Option<Plan>,
	/// Where the admin sockets of Ceph's daemons on this node are; `None`: they are not asked.
	pub ceph: Option<PathBuf>,
	/// Where the system's files are.
	pub root: PathBuf,
}

/// Stays as long as its node has traced processes, or standard input is open, or the watched process lives.
/// Ends at once where the node has an agent already.
pub fn run(settings: &Settings) -> Result<(), AgentError> {
	let rings = File::open(&settings.ring).at(&settings.ring)?;
	if !settings.locked && !fathom_pack::try_lock(&rings).at(&settings.ring)? {
		return Ok(());
	}
	let streams = if settings.sink.is_some() { &settings.ring.join("sink") } else { &settings.run };
	let folder = fathom_pack::this_node(streams)?;
	let mut agent = Agent::new(settings, &folder)?;
	let osds = settings.ceph.as_ref().map(|ceph| Osds::start(&settings.run, ceph));
	if osds.is_some() {
		say!("ready");
	}
	let shipping = match &settings.sink {
		Some(plan) => Some(Shipping::start(&settings.run, &folder, plan, random().at(&folder)?)),
		None => None,
	};
	let sending = settings.collect.clone();
	let sending = sending.map(|target| Sending::start(&settings.run, &folder, target));
	let stayed = agent.stay().and_then(|()| agent.end());
	if let Some(osds) = osds {
		osds.end();
	}
	if let (Some(sending), Some(target)) = (sending, &settings.collect) {
		report_sending(sending.finish(), &target.address, &settings.run);
	}
	if let Some(shipping) = shipping {
		say!("fathom: {}", shipping.finish(!agent.is_written(&folder)));
	}
	stayed
}

struct Agent<'s> {
	settings: &'s Settings,
	root: Root,
	rings: Rings,
	watched: Option<Watched>,
	/// Standard input is open.
	starter: bool,
	/// Who started us may wait for the end of standard output.
	awaited: bool,
	/// The last ring could not be brought in.
	failing: bool,
	samples: Option<Sampling>,
	/// `None`: it could not go on.
	critical: Option<Critical>,
}

struct Sampling {
	recorder: Recorder,
	interval: Duration,
	next: Instant,
}

impl Sampling {
	/// One round; false: it was the last.
	fn note(&mut self, now: Clock, values: Values) -> Result<bool, AgentError> {
		match self.recorder.round(now, values)? {
			Pace::Keep => {}
			Pace::Slower => {
				self.interval *= 2;
				self.recorder.slower(now, self.interval)?;
			}
			Pace::Stop => return Ok(false),
		}
		Ok(true)
	}
}

impl<'s> Agent<'s> {
	fn new(settings: &'s Settings, folder: &Path) -> Result<Agent<'s>, AgentError> {
		let samples = match settings.sample {
			Some(interval) => Some(Sampling {
				recorder: Recorder::create(folder, random().at(folder)?, settings.budget)?,
				interval,
				next: Instant::now(),
			}),
			None => None,
		};
		let watch = settings.watch.and_then(|pid| Some(Watched::new(pid, start_of(pid)?)));
		Ok(Agent {
			settings,
			root: Root(settings.root.clone()),
			rings: Rings::new(&settings.ring),
			watched: watch,
			starter: true,
			awaited: true,
			failing: false,
			samples,
			critical: Some(Critical::new(
				&settings.run,
				&settings.ring,
				folder,
				settings.budget,
				settings.collect.as_ref(),
			)),
		})
	}

	fn stay(&mut self) -> Result<(), AgentError> {
		let mut since = Instant::now();
		let mut before = (true, true);
		loop {
			self.look();
			self.sample_if_due();
			self.steer(Critical::look_if_due);
			// Without its directory the run was closed, as `fathom detach` does.
			let needed = is_directory(&self.settings.ring).unwrap_or(true)
				&& (self.starter
					|| self.watched.as_ref().is_some_and(Watched::alive)
					|| (!self.settings.leave && !self.rings.processes.is_empty()));
			if before != (self.starter, needed) {
				(since, before) = (Instant::now(), (self.starter, needed));
			}
			let settled = since.elapsed() >= GRACE;
			match before {
				(false, false) if settled => return Ok(()),
				(false, true) if settled => self.detach_output()?,
				_ => {}
			}
			self.wait(if settled { LOOK_EVERY } else { GRACE });
		}
	}

	/// The program has ended, but processes that it left behind go on: nobody waits for those.
	fn detach_output(&mut self) -> Result<(), AgentError> {
		if std::mem::take(&mut self.awaited) {
			let path = Path::new("/dev/null");
			let nowhere = File::options().write(true).open(path).at(path)?;
			rustix::stdio::dup2_stdout(&nowhere).map_err(std::io::Error::from).at(path)?;
		}
		Ok(())
	}

	/// Do processes go on that write files there? Servers that record themselves do not.
	fn is_written(&self, folder: &Path) -> bool {
		let files = fs::read_dir(folder).into_iter().flatten().flatten();
		let names: Vec<_> = files.map(|file| file.file_name()).collect();
		self.rings.processes.values().any(|(ring, _)| {
			let begin = format!("{}.", ring.pid);
			names.iter().any(|name| name.to_string_lossy().starts_with(&begin))
		})
	}

	/// Brings in what dead processes left.
	fn look(&mut self) {
		let (run, ring) = (&self.settings.run, &self.settings.ring);
		// Tried again at the next look: a full disk may have room then. Said once.
		let done = match self.rings.scan() {
			Ok(true) => fathom_pack::recover(run, ring).map(|_| ()).map_err(AgentError::from),
			Ok(false) => Ok(()),
			Err(error) => Err(error).at(ring),
		};
		if let (Err(error), false) = (&done, self.failing) {
			warn!("a dead process's ring cannot be brought in: {error}");
		}
		self.failing = done.is_err();
	}

	fn steer(&mut self, what: impl Fn(&mut Critical) -> Result<(), AgentError>) {
		if let Some(Err(error)) = self.critical.as_mut().map(what) {
			warn!("who is critical stays as it is from here on: {error}");
			self.critical = None;
		}
	}

	fn sample_if_due(&mut self) {
		let now = Instant::now();
		let Some(sampling) = self.samples.as_mut().filter(|sampling| sampling.next <= now) else {
			return;
		};
		// Rounds that were missed are left out; the others keep their beat.
		while sampling.next <= now {
			sampling.next += sampling.interval;
		}
		self.sample();
	}

	/// Without samples an agent still saves tails: what stops the one does not stop the other.
	fn sample(&mut self) {
		let Some(sampling) = &mut self.samples else { return };
		let now = Clock::now();
		let mut values = Values::default();
		system::sample(&self.root, &mut values);
		lustre::sample(&self.root, &mut values);
		own_cost(&sampling.recorder, &mut values);
		for (ring, _) in self.rings.processes.values() {
			values.owner = Owner { instance: ring.instance, pid: ring.pid };
			process::sample(&self.root, ring.pid, ring.pid_start, &mut values);
		}
		match sampling.note(now, values) {
			Ok(true) => {}
			Ok(false) => self.samples = None,
			Err(error) => {
				warn!("no samples from here on: {error}");
				self.samples = None;
			}
		}
	}

	/// Until something happens, the next sample is due, or `longest` has passed.
	fn wait(&mut self, longest: Duration) {
		let sample = self.samples.as_ref().map(|sampling| sampling.next);
		let epoch = self.critical.as_ref().and_then(Critical::next);
		let due = sample.into_iter().chain(epoch).min();
		let due = due.map(|due| due.saturating_duration_since(Instant::now()));
		let wait = due.unwrap_or(longest).min(longest);
		let input = std::io::stdin();
		let mut fds: Vec<BorrowedFd<'_>> =
			self.starter.then(|| input.as_fd()).into_iter().collect();
		let processes = self.rings.processes.values().map(|(_, watched)| watched);
		let all = processes.chain(&self.watched);
		fds.extend(all.filter_map(|watched| watched.ended.as_ref()).map(AsFd::as_fd));
		let mut fds: Vec<PollFd<'_>> =
			fds.into_iter().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
		let timeout =
			Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) };
		if poll(&mut fds, Some(&timeout)).is_err() {
			return;
		}
		if self.starter && !fds[0].revents().is_empty() {
			self.starter = false; // nobody writes there: it was closed
		}
		if self.watched.as_ref().is_some_and(|watched| !watched.alive()) {
			self.watched = None;
		}
	}

	fn end(&mut self) -> Result<(), AgentError> {
		self.look();
		self.steer(Critical::end);
		self.sample();
		if let Some(sampling) = &mut self.samples {
			sampling.recorder.finish(Clock::now())?;
		}
		Ok(())
	}
}

/// For who waits for the agent, and, when nobody does, for the run's log.
fn report_sending(sent: Result<Sent, String>, address: &str, run: &Path) {
	match sent {
		Ok(Sent { files, bytes }) => {
			say!("fathom: {files} files, {bytes} bytes sent to {address}");
		}
		Err(reason) => {
			let line = format!("not sent to {address}: {reason}; all is in {}", run.display());
			say!("fathom: {line}");
			warn!("{line}");
		}
	}
}

/// What the agent itself takes.
fn own_cost(recorder: &Recorder, values: &mut Values) {
	use rustix::time::{ClockId, clock_gettime};
	let cpu = clock_gettime(ClockId::ProcessCPUTime);
	values.add("agent.cpu", NS, cpu.tv_sec as u64 * 1_000_000_000 + cpu.tv_nsec as u64);
	let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
	let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
	let kib = resident.and_then(|text| text.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
	if let Some(kib) = kib {
		values.add("agent.memory", BYTES, kib * 1024);
	}
	values.add("agent.bytes", BYTES, recorder.written);
}
