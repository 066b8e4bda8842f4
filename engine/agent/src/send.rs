//! Sends a node's files to a collector as they grow. A connection that breaks is made again, and goes on where the
//! collector says that it stands; what cannot be sent stays here, and is said.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use fathom_sink::{IfThere, good_name};

use crate::frame::{self, FrameError, Message, PIECE};
use crate::node_files;

/// Between two looks at the node's files.
const EVERY: Duration = Duration::from_secs(1);
const CONNECT: Duration = Duration::from_secs(5);
const ANSWER: Duration = Duration::from_secs(30);
/// How long a collector is looked for once the node's last process has ended.
const LAST_TRIES: Duration = Duration::from_secs(20);
/// The same, when there never was one.
const FIRST_TRIES: Duration = Duration::from_secs(3);

/// `HOST:PORT/KEY`
#[derive(Debug, Clone)]
pub struct Target {
	pub address: String,
	pub key: String,
}

impl std::str::FromStr for Target {
	type Err = String;

	fn from_str(word: &str) -> Result<Target, String> {
		let (address, key) = word.split_once('/').unwrap_or((word, ""));
		let port = address.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
		if port.is_none() || key.is_empty() {
			return Err("not HOST:PORT/KEY, as `fathom pack --collect` prints it".into());
		}
		Ok(Target { address: address.to_owned(), key: key.to_owned() })
	}
}

/// A thread that sends until it is told that all is there.
pub struct Sending {
	done: Sender<()>,
	thread: JoinHandle<Result<Sent, String>>,
}

#[derive(Debug)]
pub struct Sent {
	pub files: usize,
	pub bytes: u64,
}

impl Sending {
	pub fn start(run: &Path, folder: &Path, target: Target) -> Sending {
		let (done, wait) = channel();
		let mut link = Link {
			run: run.to_owned(),
			folder: folder.to_owned(),
			target,
			known: HashMap::new(),
			stream: None,
			answered: false,
		};
		Sending { done, thread: thread::spawn(move || link.work(&wait)) }
	}

	/// All files are as they will be: sends what is left, and says what came of it.
	pub fn finish(self) -> Result<Sent, String> {
		let _ = self.done.send(());
		self.thread.join().unwrap_or_else(|_| Err("the sender failed".into()))
	}
}

/// Why a round came to nothing.
enum Problem {
	/// Another try may do.
	Again(String),
	Never(String),
}

impl From<FrameError> for Problem {
	fn from(error: FrameError) -> Self {
		Problem::Again(error.to_string())
	}
}

impl From<io::Error> for Problem {
	fn from(error: io::Error) -> Self {
		Problem::Again(error.to_string())
	}
}

struct Link {
	run: PathBuf,
	folder: PathBuf,
	target: Target,
	/// Size and, of small files, CRC of what the collector has.
	known: HashMap<String, (u64, u32)>,
	stream: Option<TcpStream>,
	/// The collector has answered once.
	answered: bool,
}

impl Link {
	fn work(&mut self, wait: &Receiver<()>) -> Result<Sent, String> {
		while wait.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
			match self.round() {
				Ok(()) => {}
				Err(Problem::Again(_)) => self.stream = None,
				Err(Problem::Never(reason)) => return Err(reason),
			}
		}
		let tries = if self.answered { LAST_TRIES } else { FIRST_TRIES };
		let end = Instant::now() + tries;
		loop {
			match self.round().and_then(|()| self.check()) {
				Ok(sent) => return Ok(sent),
				Err(Problem::Never(reason)) => return Err(reason),
				Err(Problem::Again(reason)) if Instant::now() >= end => return Err(reason),
				Err(Problem::Again(_)) => self.stream = None,
			}
			thread::sleep(EVERY / 2);
		}
	}

	/// Sends what is new.
	fn round(&mut self) -> Result<(), Problem> {
		let mut stream = match self.stream.take() {
			Some(stream) => stream,
			None => self.connect()?,
		};
		let mut quiet = true;
		for (name, path) in self.files()? {
			quiet &= if node_files::grows(&name) {
				self.send_more(&mut stream, &name, &path)?
			} else {
				self.send_whole(&mut stream, &name, &path)?
			};
		}
		if quiet {
			frame::write(&mut stream, &Message::Alive)?;
		}
		self.stream = Some(stream);
		Ok(())
	}

	/// The node's files, and the run's run.json, by the names that they have at the collector.
	fn files(&self) -> Result<Vec<(String, PathBuf)>, Problem> {
		let mut files = vec![("run.json".to_owned(), self.run.join("run.json"))];
		for entry in fs::read_dir(&self.folder)? {
			let entry = entry?;
			let name = entry.file_name().to_string_lossy().into_owned();
			if good_name(&name) && node_files::is_node_file(&name) && name != "run.json" {
				files.push((name, entry.path()));
			}
		}
		Ok(files)
	}

	/// More of a stream; true: there was none.
	fn send_more(&mut self, to: &mut TcpStream, name: &str, path: &Path) -> Result<bool, Problem> {
		let mut file = File::open(path)?;
		let mut offset = self.known.get(name).map_or(0, |known| known.0);
		file.seek(SeekFrom::Start(offset))?;
		let mut quiet = self.known.contains_key(name);
		loop {
			let mut bytes = Vec::new();
			(&mut file).take(PIECE as u64).read_to_end(&mut bytes)?;
			if bytes.is_empty() && quiet {
				return Ok(true);
			}
			let got = bytes.len() as u64;
			frame::write(to, &Message::Data { name: name.to_owned(), offset, bytes })?;
			offset += got;
			self.known.insert(name.to_owned(), (offset, 0));
			quiet = false;
			if got < PIECE as u64 {
				return Ok(false);
			}
		}
	}

	/// A small file, when it is not as it was; true: it is.
	fn send_whole(&mut self, to: &mut TcpStream, name: &str, path: &Path) -> Result<bool, Problem> {
		let Some(bytes) = fs::read(path).if_there()? else { return Ok(true) };
		let now = (bytes.len() as u64, crc32c::crc32c(&bytes));
		if self.known.get(name) == Some(&now) {
			return Ok(true);
		}
		frame::write(to, &Message::Replace { name: name.to_owned(), bytes })?;
		self.known.insert(name.to_owned(), now);
		Ok(false)
	}

	fn connect(&mut self) -> Result<TcpStream, Problem> {
		let stream = connect(&self.target.address, CONNECT)?;
		self.greet(stream)
	}

	/// Says who this is; hears what the collector has. What differs here is sent anew.
	fn greet(&mut self, mut stream: TcpStream) -> Result<TcpStream, Problem> {
		stream.set_nodelay(true)?;
		stream.set_write_timeout(Some(ANSWER))?;
		stream.set_read_timeout(Some(ANSWER))?;
		let node = self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
		let key = self.target.key.clone();
		frame::write(
			&mut stream,
			&Message::Hello { key, job: run_value(&self.run, "job")?, node },
		)?;
		let have = match frame::read(&mut BufReader::new(&stream))? {
			Message::Have(have) => have,
			Message::Refused { again: false, reason } => return Err(Problem::Never(reason)),
			Message::Refused { again: true, reason } => return Err(Problem::Again(reason)),
			_ => return Err(FrameError::Magic.into()),
		};
		self.answered = true;
		self.known.clear();
		for remote in have {
			let folder = if remote.name == "run.json" { &self.run } else { &self.folder };
			let local = node_files::beginning(folder, &remote.name, remote.size);
			if local.is_ok_and(|local| local == remote) {
				let crc = if node_files::grows(&remote.name) { 0 } else { remote.crc };
				self.known.insert(remote.name, (remote.size, crc));
			}
		}
		Ok(stream)
	}

	/// Has the collector all files as they are here?
	fn check(&mut self) -> Result<Sent, Problem> {
		let Some(mut stream) = self.stream.take() else {
			return Err(Problem::Again("not connected".into()));
		};
		let mut expected = node_files::all(&self.folder)?;
		expected.retain(|file| file.name != "run.json");
		expected.extend(node_files::beginning(&self.run, "run.json", u64::MAX).if_there()?);
		let (files, bytes) = (expected.len(), expected.iter().map(|file| file.size).sum());
		frame::write(&mut stream, &Message::Whole(expected))?;
		match frame::read(&mut BufReader::new(&stream))? {
			Message::Checked(wrong) if wrong.is_empty() => Ok(Sent { files, bytes }),
			Message::Checked(wrong) => {
				Err(Problem::Again(format!("{} files arrived otherwise", wrong.len())))
			}
			_ => Err(FrameError::Magic.into()),
		}
	}
}

/// `HOST:PORT`, at any of the host's addresses.
pub fn connect(address: &str, patience: Duration) -> io::Result<TcpStream> {
	let mut reason = io::Error::other("no such host");
	for address in address.to_socket_addrs()? {
		match TcpStream::connect_timeout(&address, patience) {
			Ok(stream) => return Ok(stream),
			Err(error) => reason = error,
		}
	}
	Err(reason)
}

/// What run.json says of this. Parts of one job have `job` in common.
pub fn run_value(run: &Path, key: &str) -> io::Result<String> {
	let text = fs::read(run.join("run.json")).if_there()?.unwrap_or_default();
	let json: Option<serde_json::Value> = serde_json::from_slice(&text).ok();
	let value = json.as_ref().and_then(|json| json.get(key)?.as_str());
	Ok(value.unwrap_or_default().to_owned())
}
