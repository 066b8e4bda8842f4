//! A run on this node while it runs: its process images as they come and go.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use fathom_pack::{Run, stream_name};

use crate::clock::{Rate, realtime};
use crate::error::WatchError;
use crate::image::{Image, Open, Shared, State};
use crate::missed::Missed;
use crate::names::Book;

pub struct Watch {
	run: PathBuf,
	rings: PathBuf,
	/// This node's stream files.
	streams: PathBuf,
	/// When that folder was last read.
	listed: Option<SystemTime>,
	pub started: Option<u64>,
	pub images: Vec<Image>,
	done: HashSet<u64>,
	ended: u64,
	killed: u64,
	pub book: Book,
	pub rate: Rate,
	pub missed: Missed,
	/// Since when nothing of the run was seen here.
	silent: Option<Instant>,
}

/// For so long a run may have no process here and not be over: launchers start one after another.
const PATIENCE: Duration = Duration::from_secs(3);

impl Watch {
	/// `rings`: where they lie, when run.json does not say.
	pub fn open(path: &Path, rings: Option<PathBuf>) -> Result<Watch, WatchError> {
		let run = Run::open(path)?;
		let json = manifest(path);
		if json.contains_key("end_ns") {
			return Err(WatchError::Over(path.to_owned()));
		}
		let rings = rings.or_else(|| run.named_rings());
		let rings = rings.ok_or_else(|| WatchError::NoRings(path.to_owned()))?;
		may_read(&rings)?;
		let word = |path| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
		let boot_id: String = word("/proc/sys/kernel/random/boot_id");
		let own = format!("{boot_id}-{}", word("/proc/sys/kernel/hostname"));
		Ok(Watch {
			run: path.canonicalize().unwrap_or_else(|_| path.to_owned()),
			rings,
			streams: path.join("streams").join(own),
			listed: None,
			started: json.get("start_ns").and_then(serde_json::Value::as_u64),
			images: Vec::new(),
			done: HashSet::new(),
			ended: 0,
			killed: 0,
			book: Book::new(run.skipped()),
			rate: Rate::default(),
			missed: Missed::default(),
			silent: None,
		})
	}

	/// Other nodes that the run has streams of.
	pub fn other_nodes(&self) -> Vec<String> {
		let Some(streams) = self.streams.parent() else { return Vec::new() };
		let folders = fs::read_dir(streams).into_iter().flatten().flatten();
		let mut hosts: Vec<String> = folders
			.map(|folder| folder.path())
			.filter(|folder| *folder != self.streams)
			.filter_map(|folder| Some(folder.file_name()?.to_str()?.get(37..)?.to_owned()))
			.collect();
		hosts.sort();
		hosts
	}

	/// The node's stream files are there, not in the run.
	pub fn with_streams(self, streams: PathBuf) -> Watch {
		Watch { streams, ..self }
	}

	/// Takes all that is new, without names. `last`: the run is over. The calls in flight, by index in [`Watch::images`].
	pub fn read(&mut self, last: bool) -> Result<Vec<(usize, Open)>, WatchError> {
		self.find_rings()?;
		self.find_files()?;
		let mut open = Vec::new();
		let shared =
			&mut Shared { book: &mut self.book, rate: &mut self.rate, missed: &mut self.missed };
		for (index, image) in self.images.iter_mut().enumerate() {
			let calls = image
				.look(shared, last)
				.map_err(|source| WatchError::Read { pid: image.pid, source })?;
			open.extend(calls.into_iter().map(|open| (index, open)));
		}
		Ok(open)
	}

	/// Forgets the images that are over. To be done after what a look gave was used.
	pub fn forget(&mut self) {
		let over = |image: &&Image| image.state != State::Running;
		self.done.extend(self.images.iter().filter(over).map(|image| image.instance));
		(self.ended, self.killed) = (self.count(State::Ended), self.count(State::Killed));
		self.images.retain(|image| image.state == State::Running);
	}

	fn note(&mut self, pid: u32, instance: u64) {
		let known = self.images.iter().any(|image| image.instance == instance);
		if !known && !self.done.contains(&instance) {
			self.images.push(Image::new(pid, instance, &self.rings, &self.streams));
		}
	}

	fn find_rings(&mut self) -> Result<(), WatchError> {
		let entries = match fs::read_dir(&self.rings) {
			Ok(entries) => entries,
			Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
			Err(source) => return Err(WatchError::Io { path: self.rings.clone(), source }),
		};
		for path in entries.flatten().map(|entry| entry.path()) {
			if path.extension().is_none_or(|extension| extension != "ring") {
				continue;
			}
			if let Some((pid, instance)) = stream_name(&path.with_extension("fts")) {
				self.note(pid, instance);
			}
		}
		Ok(())
	}

	fn find_files(&mut self) -> Result<(), WatchError> {
		let changed = fs::metadata(&self.streams).and_then(|facts| facts.modified()).ok();
		if changed.is_none() || changed == self.listed {
			return Ok(());
		}
		self.listed = changed;
		let io = |source| WatchError::Io { path: self.streams.clone(), source };
		let entries: Vec<_> = fs::read_dir(&self.streams).map_err(io)?.flatten().collect();
		for path in entries.into_iter().map(|entry| entry.path()) {
			if let Some((pid, instance)) = stream_name(&path) {
				self.note(pid, instance);
			}
		}
		Ok(())
	}

	/// Returns once the run has a process here, or had; an error when none comes.
	pub fn wait_for_process(&mut self) -> Result<(), WatchError> {
		loop {
			self.find_rings()?;
			if self.has_ended() || !self.is_silent() {
				return Ok(());
			}
			if self.is_gone() {
				break;
			}
			sleep(PATIENCE / 10);
		}
		let (path, hosts) = (self.run.clone(), self.other_nodes().join(", "));
		Err(if hosts.is_empty() {
			WatchError::Gone(path)
		} else {
			WatchError::Elsewhere { path, hosts }
		})
	}

	/// The command that started it says so.
	fn has_ended(&self) -> bool {
		manifest(&self.run).contains_key("end_ns")
	}

	/// Has the run ended, as far as this node can tell?
	pub fn over(&mut self) -> bool {
		self.has_ended() || self.is_gone()
	}

	/// The run is over, but a process that was killed with it may take a moment to die; one that outlives it is not
	/// waited for.
	pub fn wait_for_ends(&self) {
		let began = Instant::now();
		while began.elapsed() < PATIENCE && self.images.iter().any(Image::is_alive) {
			sleep(PATIENCE / 300);
		}
	}

	/// Nothing of the run was here for some time.
	fn is_gone(&mut self) -> bool {
		if !self.is_silent() {
			self.silent = None;
			return false;
		}
		self.silent.get_or_insert_with(Instant::now).elapsed() >= PATIENCE
	}

	fn is_silent(&self) -> bool {
		self.images.is_empty() && !self.has_process()
	}

	/// Does any process here carry the run in its environment? A launcher does, and a shell, before, between and
	/// after the programs that are recorded.
	fn has_process(&self) -> bool {
		let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
		processes
			.map(|entry| entry.path().join("environ"))
			.any(|environ| self.is_named_in(&environ))
	}

	fn is_named_in(&self, environ: &Path) -> bool {
		let content = fs::read(environ).unwrap_or_default();
		let mut words = content.split(|&byte| byte == 0);
		let Some(run) = words.find_map(|word| word.strip_prefix(b"FATHOM_RUN=")) else {
			return false;
		};
		let run = PathBuf::from(String::from_utf8_lossy(run).into_owned());
		run == self.run || run.canonicalize().is_ok_and(|run| run == self.run)
	}

	/// Processes in this state, since the beginning.
	pub fn count(&self, state: State) -> u64 {
		let before = match state {
			State::Running => 0,
			State::Ended => self.ended,
			State::Killed => self.killed,
		};
		let now = self.images.iter().filter(|image| image.state == state);
		before + now.map(|image| image.processes.len() as u64).sum::<u64>()
	}

	/// Seconds since the run began.
	pub fn age(&self) -> Option<f64> {
		self.started.map(|started| realtime().saturating_sub(started) as f64 / 1e9)
	}
}

fn manifest(run: &Path) -> HashMap<String, serde_json::Value> {
	let text = fs::read_to_string(run.join("run.json")).unwrap_or_default();
	serde_json::from_str(&text).unwrap_or_default()
}

/// Rings are their owner's only.
fn may_read(rings: &Path) -> Result<(), WatchError> {
	match fs::read_dir(rings) {
		Err(error) if error.kind() == ErrorKind::PermissionDenied => {
			let owner = fs::metadata(rings).map_or(0, |facts| facts.uid());
			Err(WatchError::NoPermission { path: rings.to_owned(), owner })
		}
		_ => Ok(()),
	}
}
