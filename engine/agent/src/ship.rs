//! Ships a node's streams into shared files through forwarding servers (docs/trace-sink.md). What cannot be shipped goes
//! into a file of this node's own; what cannot even be written there stays in the node's memory, and that is said.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fathom_forward::{Remote, Secrets};
use fathom_sink::{Codec, Entry, Head, Records, Spool};
use fathom_wire::Handle;

/// Between two looks at what waits.
const EVERY: Duration = Duration::from_millis(250);
/// How long a server may take; then another one is asked.
const PATIENCE: Duration = Duration::from_secs(5);
/// Nodes that ship in step begin at multiples of this.
const BEAT: Duration = Duration::from_secs(1);
/// Servers that a node knows: one is enough for its bytes, the others are for when that one is gone.
const MOST_SERVERS: usize = 4;
/// Accepted blocks that may wait for a commit.
const MOST_ACCEPTED: usize = 64 << 20;

/// When blocks are shipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flush {
	/// As soon as there is enough for one.
	Full,
	/// All of them, once the high-water mark is reached, at the next beat: all nodes at once.
	Step,
	/// When the node's last process has ended; at the high-water mark all the same.
	End,
}

impl FromStr for Flush {
	type Err = String;

	fn from_str(word: &str) -> Result<Flush, String> {
		match word {
			"full" => Ok(Flush::Full),
			"step" => Ok(Flush::Step),
			"end" => Ok(Flush::End),
			_ => Err("none of full, step, end".into()),
		}
	}
}

/// What was asked for, and where to.
#[derive(Debug, Clone)]
pub struct Plan {
	pub flush: Flush,
	/// Bytes of a transfer, and of what may wait on the node.
	pub size: usize,
	pub mark: u64,
	pub nonblocking: bool,
	pub codec: Codec,
	/// As in FATHOM_FORWARD_SERVERS, FATHOM_FORWARD_PREFIX, FATHOM_FORWARD_TOKEN and FATHOM_FORWARD_MUNGE.
	pub servers: String,
	pub prefix: String,
	pub token: Option<PathBuf>,
	pub munge: Option<String>,
}

impl Plan {
	fn secrets(&self) -> Result<Secrets, String> {
		Secrets::from_options(self.token.as_deref(), self.munge.as_deref())
	}
}

/// A server and its shared file.
struct Target {
	remote: Remote,
	name: String,
	handle: Handle,
	/// Accepted, and not known to be written.
	accepted: Vec<(u64, Head, Vec<u8>)>,
}

/// A thread that ships until it is told that all is there.
pub struct Shipping {
	done: Sender<bool>,
	thread: JoinHandle<String>,
}

impl Shipping {
	/// `folder`: the node's, where its files wait.
	pub fn start(run: &Path, folder: &Path, plan: &Plan, source: u64) -> Shipping {
		let (done, wait) = channel();
		let mut ship = Ship {
			run: run.to_owned(),
			plan: plan.clone(),
			spool: Some(Spool::new(folder, source)),
			source,
			targets: VecDeque::new(),
			own: None,
			index: Some(Records::default()),
			sums: Sums::default(),
			ratio: 1.0,
			trouble: Vec::new(),
		};
		Shipping { done, thread: thread::spawn(move || ship.work(&wait)) }
	}

	/// Ships what is left, and says what came of it. `complete`: all files are as they will be; else processes go on, whose
	/// files stay.
	pub fn finish(self, complete: bool) -> String {
		let _ = self.done.send(complete);
		self.thread.join().unwrap_or_else(|_| "trace sink: it failed".into())
	}
}

#[derive(Default)]
struct Sums {
	blocks: u64,
	raw: u64,
	stored: u64,
}

struct Ship {
	run: PathBuf,
	plan: Plan,
	/// None: nothing can be shipped any more.
	spool: Option<Spool>,
	source: u64,
	/// The one that gets the next block first.
	targets: VecDeque<Target>,
	/// The file of this node alone.
	own: Option<(String, File)>,
	/// What of the index is not written yet; `None`: it cannot be written any more, and readers scan.
	index: Option<Records>,
	sums: Sums,
	/// Bytes of files to a stored byte, as it was.
	ratio: f64,
	trouble: Vec<String>,
}

impl Ship {
	fn work(&mut self, wait: &Receiver<bool>) -> String {
		self.connect();
		let complete = loop {
			match wait.recv_timeout(EVERY) {
				Err(RecvTimeoutError::Timeout) => {}
				signal => break signal.unwrap_or(false),
			}
			if let Some(all) = self.due() {
				self.round(all);
			}
		};
		let read = self.look().is_some() && self.round(true);
		if !read || !complete {
			self.spool = None; // not all of it is in blocks: it stays
		}
		self.end()
	}

	/// Servers that answer, with their shared files.
	fn connect(&mut self) {
		let path = match self.exported() {
			Ok(path) => path,
			Err(reason) => return self.trouble.push(reason),
		};
		let secrets = match self.plan.secrets() {
			Ok(secrets) => secrets,
			Err(reason) => return self.trouble.push(reason),
		};
		let all: Vec<String> = self.plan.servers.split(';').map(str::to_owned).collect();
		let first = self.source as usize % all.len();
		for number in (0..all.len().min(MOST_SERVERS)).map(|i| (first + i) % all.len()) {
			let connected =
				target(&all[number], secrets.clone(), &path, &format!("{number}.blocks"));
			match connected {
				Ok(target) => self.targets.push_back(target),
				Err(reason) => self.trouble.push(reason),
			}
		}
	}

	/// The run's folder of shared files, from the directory on that servers export.
	fn exported(&self) -> Result<String, String> {
		let run = self.run.canonicalize().map_err(|e| format!("{}: {e}", self.run.display()))?;
		let prefixes = self.plan.prefix.split(':');
		let below = prefixes.filter_map(|prefix| {
			let root = Path::new(prefix).canonicalize().ok()?;
			Some(run.strip_prefix(root).ok()?.join("sink").to_string_lossy().into_owned())
		});
		below.min_by_key(String::len).ok_or_else(|| {
			format!("{} is not below {}, which the servers export", run.display(), self.plan.prefix)
		})
	}

	/// How many bytes wait.
	fn look(&mut self) -> Option<u64> {
		let looked = self.spool.as_mut()?.look();
		looked.map_err(|error| self.unreadable(&error)).ok()
	}

	fn unreadable(&mut self, error: &io::Error) {
		self.trouble.push(format!("what waits cannot be read: {error}"));
	}

	/// Is there something to ship now, and is it all, or what is whole?
	fn due(&mut self) -> Option<bool> {
		let full = self.look()? >= self.plan.mark;
		match self.plan.flush {
			Flush::Full => Some(false),
			Flush::Step if full => {
				let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
				thread::sleep(BEAT - Duration::from_nanos(u64::from(now.subsec_nanos())));
				self.look().map(|_| true)
			}
			Flush::End if full => Some(true),
			_ => None,
		}
	}

	/// Blocks of what was seen to wait; false: it cannot be read.
	fn round(&mut self, all: bool) -> bool {
		let mut read = Ok(());
		while read.is_ok() {
			// What is stored should be a transfer's size; how far it shrinks is known from the blocks before.
			let size = (self.plan.size as f64 * self.ratio) as usize;
			let Some(spool) = &mut self.spool else { return false };
			match spool.block(size, all, self.plan.codec) {
				Ok(Some((head, block))) => {
					self.ratio = (f64::from(head.raw) / block.len() as f64).clamp(1.0, 16.0);
					self.ship(head, block);
				}
				Ok(None) => break,
				Err(error) => read = Err(error),
			}
		}
		self.commit();
		read.map_err(|error| self.unreadable(&error)).is_ok()
	}

	/// One block, by the next server that takes it.
	fn ship(&mut self, head: Head, block: Vec<u8>) {
		while let Some(mut target) = self.targets.pop_front() {
			match target.remote.append(target.handle, &block, self.plan.nonblocking) {
				Ok(offset) if self.plan.nonblocking => {
					target.accepted.push((offset, head, block));
					let waits: usize = target.accepted.iter().map(|(_, _, b)| b.len()).sum();
					self.targets.push_back(target);
					if waits > MOST_ACCEPTED {
						self.commit();
					}
					return;
				}
				Ok(offset) => {
					self.safe(target.name.clone(), offset, head, block.len());
					return self.targets.push_back(target);
				}
				Err(reason) => self.lost(target, reason),
			}
		}
		self.keep(head, block);
	}

	/// A server that does not do what it should is asked no more; what it had only accepted goes to others.
	fn lost(&mut self, target: Target, reason: String) {
		self.trouble.push(reason);
		for (_, head, block) in target.accepted {
			self.ship(head, block);
		}
	}

	/// Waits until what was accepted is written; what failed is shipped again.
	fn commit(&mut self) {
		for _ in 0..self.targets.len() {
			let Some(mut target) = self.targets.pop_front() else { return };
			if target.accepted.is_empty() {
				self.targets.push_back(target);
				continue;
			}
			match target.remote.commit(target.handle) {
				Ok(failed) if failed.is_empty() => {
					for (offset, head, block) in std::mem::take(&mut target.accepted) {
						self.safe(target.name.clone(), offset, head, block.len());
					}
					self.targets.push_back(target);
				}
				Ok(failed) => {
					let why = io::Error::from_raw_os_error(failed[0].errno as i32);
					let reason = format!("{}: {} ranges failed: {why}", target.name, failed.len());
					self.lost(target, reason);
				}
				Err(reason) => self.lost(target, reason),
			}
		}
	}

	/// No server takes it: into the file of this node alone.
	fn keep(&mut self, head: Head, block: Vec<u8>) {
		if self.spool.is_none() {
			return; // what could not be written is still where it was
		}
		let written = self.own_file().and_then(|(name, file)| {
			let offset = file.stream_position()?;
			file.write_all(&block)?;
			Ok((name.clone(), offset))
		});
		match written {
			Ok((name, offset)) => self.safe(name, offset, head, block.len()),
			Err(error) => {
				self.trouble.push(format!("{}: {error}", self.run.join("sink").display()));
				self.spool = None;
			}
		}
	}

	fn own_file(&mut self) -> io::Result<&mut (String, File)> {
		if self.own.is_none() {
			let name = format!("own-{:016x}.blocks", self.source);
			let folder = self.run.join("sink");
			fs::create_dir_all(&folder)?;
			self.own = Some((name.clone(), File::create_new(folder.join(name))?));
		}
		self.own.as_mut().ok_or_else(|| io::ErrorKind::NotFound.into())
	}

	/// The block is in that file.
	fn safe(&mut self, file: String, offset: u64, head: Head, length: usize) {
		self.sums.blocks += 1;
		self.sums.raw += u64::from(head.raw);
		self.sums.stored += length as u64;
		if let Some(Err(error)) = self.spool.as_mut().map(|spool| spool.safe(&head)) {
			self.trouble.push(format!("memory that cannot be given back: {error}"));
		}
		let record = self.index.as_mut().and_then(|index| index.add(&Entry { file, offset, head }));
		record.into_iter().for_each(|record| self.write_index(&record));
	}

	fn end(&mut self) -> String {
		if let Some(spool) = &mut self.spool {
			let (head, block) = spool.last();
			self.ship(head, block);
			self.commit();
		}
		let record = self.index.as_mut().and_then(Records::rest);
		record.into_iter().for_each(|record| self.write_index(&record));
		let summary = self.summary();
		match self.spool.take().map(Spool::remove) {
			Some(Err(error)) => format!("{summary}; what was shipped cannot be removed: {error}"),
			_ => summary,
		}
	}

	/// By the first server for all nodes, so that records do not meet. Without it, readers scan.
	fn write_index(&mut self, record: &[u8]) {
		let own = self.targets.iter().find(|target| target.name == "0.blocks");
		let written = match (own, self.targets.is_empty()) {
			(_, true) => return self.index = None,
			(Some(target), _) => self.index_by(&target.remote, record),
			(None, _) => self.first().and_then(|remote| self.index_by(&remote, record)),
		};
		if let Err(reason) = written {
			self.trouble.push(format!("the index ends early: {reason}"));
			self.index = None;
		}
	}

	fn first(&self) -> Result<Remote, String> {
		let secrets = self.plan.secrets()?;
		let address = self.plan.servers.split(';').next().unwrap_or_default();
		Remote::new(address, secrets, "trace sink", PATIENCE)
	}

	fn index_by(&self, remote: &Remote, record: &[u8]) -> Result<(), String> {
		let handle = remote.open(&format!("{}/{}", self.exported()?, fathom_sink::INDEX))?;
		remote.append(handle, record, false).map(drop)
	}

	fn summary(&mut self) -> String {
		let Sums { blocks, raw, stored } = self.sums;
		let mut text = format!("trace sink: {blocks} blocks, {raw} bytes of streams in {stored}");
		self.trouble.dedup();
		let mut trouble = std::mem::take(&mut self.trouble);
		let more = trouble.len().saturating_sub(3);
		trouble.truncate(3);
		if !trouble.is_empty() {
			text += &format!("; {}", trouble.join("; "));
		}
		if more > 0 {
			text += &format!("; {more} more");
		}
		match (&self.spool, &self.own) {
			(None, _) => {
				text += "; the rest stays in this node's memory: fathom pack --recover brings it in"
			}
			(_, Some((name, _))) => text += &format!("; the rest is in sink/{name}"),
			_ => {}
		}
		text
	}
}

fn target(address: &str, secrets: Secrets, path: &str, name: &str) -> Result<Target, String> {
	let remote = Remote::new(address, secrets, "trace sink", PATIENCE)?;
	remote.directory(path)?;
	let handle = remote.open(&format!("{path}/{name}"))?;
	Ok(Target { remote, name: name.to_owned(), handle, accepted: Vec::new() })
}
