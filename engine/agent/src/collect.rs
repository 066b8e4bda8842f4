//! The other end: takes what agents send, into one run directory.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, TryLockError};
use std::io::{BufReader, Seek, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use fathom_sink::{
	IfThere, entries, good_name, make_directories, open_or_create, replace_bytes, sync_below,
};

use crate::coordinator;
use crate::critical_path::CriticalPath;
use crate::error::{AgentError, At};
use crate::frame::{self, FileState, FrameError, Message};
use crate::node_files;
use crate::send::run_value;
use crate::strangers::{self, Strangers};

/// An agent says something every few seconds; one that does not is gone.
const SILENCE: Duration = Duration::from_secs(30);
/// Longest wait for the end of a connection that another one replaces.
const TAKE_OVER: Duration = Duration::from_secs(5);

/// An agent that has no answer asks sooner.
const ASKED_AGAIN: Duration = Duration::from_secs(2);
/// Out of descriptors or threads: some will come back.
const MORE_COME_BACK: Duration = Duration::from_millis(100);
/// Strangers that are told of: whoever reaches the port could fill the log.
const TOLD: usize = 20;

/// Where and what a collector takes.
#[derive(Debug, Clone)]
pub struct Collector {
	/// The run directory; made when it is not there.
	pub run: PathBuf,
	/// What agents must know.
	pub key: String,
	/// End after as many nodes are whole.
	pub nodes: Option<usize>,
}

/// What became of one connection.
#[derive(Debug)]
enum Outcome {
	Whole {
		node: String,
		files: usize,
		bytes: u64,
	},
	Broken {
		node: String,
		reason: String,
	},
	Refused {
		node: String,
		reason: String,
	},
	/// It ended before it had said who it is, or did not know the key.
	Stranger {
		peer: String,
		reason: String,
	},
	/// It sent no files, but agreed on who is critical.
	Left,
}

struct Shared {
	settings: Collector,
	/// The job whose parts these are; run.json or the first agent says.
	job: Mutex<Option<String>>,
	/// Nodes that have a connection, and the way to end it.
	busy: Mutex<HashMap<String, TcpStream>>,
	strangers: Strangers,
	/// Of who is critical, for nodes that ask.
	critical_path: Mutex<CriticalPath>,
	/// Held by the one that looks whose run.json the run has, and replaces it.
	run_json: Mutex<()>,
}

/// The run is this collector's while the file is open: two would both append to a node's files.
pub fn claim(run: &Path) -> Result<File, AgentError> {
	make_directories(run).at(run)?;
	let path = run.join(".collect.lock");
	let file = open_or_create(&path).at(&path)?;
	match file.try_lock() {
		Err(TryLockError::WouldBlock) => Err(AgentError::Collected(run.to_owned())),
		_ => Ok(file), // where there are no locks, it is not known
	}
}

/// Takes connections until all nodes asked for are whole.
pub fn collect(listener: &TcpListener, settings: Collector) -> Result<(), AgentError> {
	let streams = settings.run.join("streams");
	make_directories(&streams).at(&streams)?;
	let job = run_value(&settings.run, "job").at(&settings.run)?; // of one that was ended
	let shared = Arc::new(Shared {
		settings,
		job: Mutex::new(Some(job).filter(|job| !job.is_empty())),
		busy: Mutex::default(),
		strangers: Strangers::default(),
		critical_path: Mutex::default(),
		run_json: Mutex::default(),
	});
	let (done, outcomes) = channel();
	let listening = listener.try_clone().at(Path::new("listen"))?;
	let accepting = Arc::clone(&shared);
	thread::spawn(move || accept(&listening, &accepting, &done));
	let mut whole = whole_nodes(&streams).at(&streams)?;
	let mut strangers = 0;
	loop {
		match outcomes.recv_timeout(ASKED_AGAIN) {
			Ok(outcome) => {
				strangers += usize::from(matches!(outcome, Outcome::Stranger { .. }));
				say(&outcome, strangers);
				match outcome {
					Outcome::Whole { node, .. } => whole.insert(node),
					Outcome::Broken { node, .. } => whole.remove(&node),
					Outcome::Refused { .. } | Outcome::Stranger { .. } | Outcome::Left => false,
				};
				if shared.are_enough(&whole) {
					return Ok(());
				}
			}
			// A collector that was killed may not have told the last of them: its agent asks again.
			Err(RecvTimeoutError::Timeout) if shared.are_enough(&whole) => return Ok(()),
			Err(RecvTimeoutError::Timeout) => {}
			Err(RecvTimeoutError::Disconnected) => return Ok(()),
		}
	}
}

fn say(outcome: &Outcome, strangers: usize) {
	match outcome {
		Outcome::Whole { node, files, bytes } => {
			warn!("fathom-engine: {node}: whole, {files} files, {bytes} bytes");
		}
		Outcome::Broken { node, reason } | Outcome::Refused { node, reason } => {
			warn!("fathom-engine: {node}: {reason}");
		}
		Outcome::Stranger { peer, reason } if strangers <= TOLD => {
			let last =
				if strangers == TOLD { "; of more of this kind nothing is said" } else { "" };
			warn!("fathom-engine: {peer}: {reason}{last}");
		}
		Outcome::Stranger { .. } | Outcome::Left => {}
	}
}

impl Shared {
	/// As many as were asked for are whole, and no more comes of them.
	fn are_enough(&self, whole: &HashSet<String>) -> bool {
		let Ok(busy) = self.busy.lock() else { return false };
		let ended = whole.iter().filter(|node| !busy.contains_key(*node)).count();
		self.settings.nodes.is_some_and(|wanted| ended >= wanted)
	}
}

/// Nodes that have sent all to a collector before this one.
fn whole_nodes(streams: &Path) -> std::io::Result<HashSet<String>> {
	let mut whole = HashSet::new();
	for folder in entries(streams)? {
		let text = fs::read(folder.join(node_files::NOTE)).if_there()?.unwrap_or_default();
		if text.starts_with(WHOLE.as_bytes()) {
			whole.extend(folder.file_name().map(|name| name.to_string_lossy().into_owned()));
		}
	}
	Ok(whole)
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>, done: &Sender<Outcome>) {
	for (number, stream) in (0..).zip(listener.incoming()) {
		let begun = stream.and_then(|stream| {
			shared.strangers.enter(number, &stream)?;
			let (shared, done) = (Arc::clone(shared), done.clone());
			thread::Builder::new().spawn(move || {
				let _ = done.send(attend(&shared, stream, number));
			})
		});
		if begun.is_err() {
			shared.strangers.leave(number);
			shared.strangers.end_oldest();
			thread::sleep(MORE_COME_BACK);
		}
	}
}

fn attend(shared: &Shared, stream: TcpStream, number: u64) -> Outcome {
	let peer = stream.peer_addr().map_or_else(|_| "?".into(), |peer| peer.to_string());
	let mut connection = Connection { shared, stream, number, node: None };
	let served = connection.serve(&peer);
	shared.strangers.leave(number);
	let node = connection.leave();
	served.unwrap_or_else(|error| match node {
		Some(node) => Outcome::Broken { node, reason: broken(&error) },
		None => Outcome::Stranger { peer, reason: broken(&error) },
	})
}

fn broken(error: &FrameError) -> String {
	format!("the connection broke: {error}; what came is kept")
}

struct Connection<'s> {
	shared: &'s Shared,
	stream: TcpStream,
	number: u64,
	node: Option<String>,
}

impl Connection<'_> {
	fn serve(&mut self, peer: &str) -> Result<Outcome, FrameError> {
		self.stream.set_write_timeout(Some(SILENCE))?;
		let (key, job, node, joins) = match frame::read(&mut strangers::greeting(&self.stream))? {
			Message::Hello { key, job, node } => (key, job, node, false),
			Message::Join { key, job, node } => (key, job, node, true),
			_ => return Err(FrameError::Magic),
		};
		if !frame::same(&key, &self.shared.settings.key) {
			let reason = self.refuse(false, "the key is wrong".into())?;
			return Ok(Outcome::Stranger { peer: peer.into(), reason });
		}
		self.shared.strangers.leave(self.number);
		let admitted = self.admit(&job, &node);
		let alone = |()| if joins { Ok(()) } else { self.take_over(&node) };
		if let Err((again, reason)) = admitted.and_then(alone) {
			let reason = self.refuse(again, reason)?;
			return Ok(Outcome::Refused { node, reason });
		}
		self.stream.set_read_timeout(Some(SILENCE))?;
		let mut from = BufReader::new(self.stream.try_clone()?);
		if joins {
			let _ = coordinator::serve(&mut from, &self.shared.critical_path, &node); // its agent ended
			return Ok(Outcome::Left);
		}
		let folder = self.shared.settings.run.join("streams").join(&node);
		make_directories(&folder)?;
		note(&folder, "state=open\n")?;
		let have = node_files::all(&folder)?;
		frame::write(&mut self.stream, &Message::Have(have))?;
		loop {
			match frame::read(&mut from)? {
				Message::Data { name, offset, bytes } => append(&folder, &name, offset, &bytes)?,
				Message::Replace { name, bytes } => self.replace(&folder, &name, &bytes)?,
				Message::Alive => {}
				Message::Whole(expected) => {
					let wrong = differing(&folder, &expected)?;
					let (files, bytes) = (expected.len(), expected.iter().map(|f| f.size).sum());
					if wrong.is_empty() {
						sync_below(&folder)?; // the node may remove its own once it hears this
						note(&folder, &format!("{WHOLE}\nfiles={files}\nbytes={bytes}\n"))?;
					}
					frame::write(&mut self.stream, &Message::Checked(wrong.clone()))?;
					if wrong.is_empty() {
						return Ok(Outcome::Whole { node, files, bytes });
					}
				}
				_ => return Err(FrameError::Type(0)),
			}
		}
	}

	/// Tells it why, and whether it may try again; what the log says of it.
	fn refuse(&mut self, again: bool, reason: String) -> Result<String, FrameError> {
		let said = format!("refused: {reason}");
		frame::write(&mut self.stream, &Message::Refused { again, reason })?;
		Ok(said)
	}

	/// Is it an agent of this job? Else: may it try again, and why not.
	fn admit(&self, job: &str, node: &str) -> Result<(), (bool, String)> {
		if !good_name(node) {
			return Err((false, format!("{node:?} is no name of a node's folder")));
		}
		if let Ok(mut known) = self.shared.job.lock() {
			let known = known.get_or_insert_with(|| job.to_owned());
			if known != job {
				return Err((false, format!("job {job:?} is another than {known:?}")));
			}
		}
		Ok(())
	}

	/// A node has one agent: an older connection is one that broke and does not know it yet.
	fn take_over(&mut self, node: &str) -> Result<(), (bool, String)> {
		let own = self.stream.try_clone().map_err(|error| (true, error.to_string()))?;
		let end = Instant::now() + TAKE_OVER;
		while Instant::now() < end {
			if let Ok(mut busy) = self.shared.busy.lock() {
				let Some(older) = busy.get(node) else {
					busy.insert(node.to_owned(), own);
					self.node = Some(node.to_owned());
					return Ok(());
				};
				let _ = older.shutdown(Shutdown::Both); // ended already: what is wanted
			}
			thread::sleep(Duration::from_millis(10));
		}
		Err((true, "this node has another connection".into()))
	}

	/// The node that it was of, which may have another now.
	fn leave(&mut self) -> Option<String> {
		let node = self.node.take()?;
		if let Ok(mut busy) = self.shared.busy.lock() {
			busy.remove(&node);
		}
		Some(node)
	}

	/// A node's run.json is the run's too, unless another's is there. That one first: what the node's folder has, no agent
	/// sends again.
	fn replace(&self, folder: &Path, name: &str, bytes: &[u8]) -> Result<(), FrameError> {
		check_name(name)?;
		if name == "run.json" {
			let _alone = self.shared.run_json.lock();
			let own = self.shared.settings.run.join(name);
			let there = fs::read(&own).if_there()?;
			if there.is_none_or(|there| run_id(&there) == run_id(bytes)) {
				replace_bytes(&own, bytes)?;
			}
		}
		Ok(replace_bytes(&folder.join(name), bytes)?)
	}
}

fn run_id(manifest: &[u8]) -> Option<String> {
	let json: serde_json::Value = serde_json::from_slice(manifest).ok()?;
	Some(json.get("id")?.as_str()?.to_owned())
}

fn check_name(name: &str) -> Result<(), FrameError> {
	if good_name(name) && node_files::is_node_file(name) {
		return Ok(());
	}
	Err(std::io::Error::other(format!("{name:?} is no file of a node's")).into())
}

fn append(folder: &Path, name: &str, offset: u64, bytes: &[u8]) -> Result<(), FrameError> {
	check_name(name)?;
	let path = folder.join(name);
	let mut file = open_or_create(&path)?;
	let size = file.metadata()?.len();
	if offset == 0 && size > 0 {
		file.set_len(0)?;
	} else if offset != size {
		let reason = format!("{name}: {offset} is not where it ends, {size} is");
		return Err(std::io::Error::other(reason).into());
	}
	file.seek(std::io::SeekFrom::End(0))?;
	Ok(file.write_all(bytes)?)
}

/// How the note of a node begins whose agent has said that it was all.
const WHOLE: &str = "state=whole";

/// What readers are told of this node: `state=open` while its agent has not said that it was all.
fn note(folder: &Path, text: &str) -> std::io::Result<()> {
	replace_bytes(&folder.join(node_files::NOTE), text.as_bytes())
}

fn differing(folder: &Path, expected: &[FileState]) -> std::io::Result<Vec<String>> {
	let have = node_files::all(folder)?;
	let wrong = expected.iter().filter(|file| !have.contains(file));
	Ok(wrong.map(|file| file.name.clone()).collect())
}
