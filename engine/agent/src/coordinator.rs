//! How the agents of a job's nodes agree on who is critical: each tells one of them, or the collector, what its processes
//! took, once an epoch, and hears which of them are critical. `docs/selection.md`.

use std::fs::{self, File};
use std::io::{self, BufReader, ErrorKind, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use fathom_sink::random;

use crate::critical_path::{CriticalPath, Report};
use crate::error::{AgentError, At};
use crate::frame::{self, FrameError, Message};
use crate::send::{Target, connect, run_value};

/// Nobody waits longer for another node.
const PATIENCE: Duration = Duration::from_secs(2);
/// An agent says something in each epoch; one that does not is gone.
const SILENCE: Duration = Duration::from_secs(30);
/// Somebody is writing where it listens.
const SOON: Duration = Duration::from_millis(100);

pub struct Coordinator {
	run: PathBuf,
	/// Name of the node's folder.
	node: String,
	collector: Option<Target>,
	role: Role,
	/// Coordinators that cannot be reached, up to this one.
	lost: u32,
	/// Why this node may be ranked alone; taken by who logs it.
	pub trouble: Option<String>,
}

enum Role {
	None,
	/// This agent coordinates the others.
	Host(Arc<Mutex<CriticalPath>>),
	Member(BufReader<TcpStream>),
}

impl Coordinator {
	pub fn new(run: &Path, folder: &Path, collector: Option<&Target>) -> Coordinator {
		Coordinator {
			run: run.to_owned(),
			node: folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
			collector: collector.cloned(),
			role: Role::None,
			lost: 0,
			trouble: None,
		}
	}

	/// Which of these are critical. Where the coordinating agent is gone, another one takes its place.
	pub fn ask(&mut self, report: Report) -> Result<Vec<u32>, AgentError> {
		let mut again = false;
		loop {
			match &mut self.role {
				Role::None => self.role = self.take_role()?,
				Role::Host(critical_path) => {
					return Ok(report_here(critical_path, &self.node, report));
				}
				Role::Member(stream) => match exchange(stream, &report) {
					Ok(pids) => return Ok(pids),
					Err(error) if std::mem::replace(&mut again, true) => {
						self.lose(&error.to_string())
					}
					Err(_) => self.role = Role::None, // only the connection may be lost
				},
			}
		}
	}

	fn lose(&mut self, reason: &str) {
		self.trouble = Some(format!("the judge of all nodes is not reached: {reason}"));
		self.role = Role::None;
		match self.collector.take() {
			Some(_) => {}
			None => self.lost += 1,
		}
	}

	/// At the collector; else where the run directory says; else as the coordinating agent. A program that one launcher's command
	/// started here is on no other node.
	fn take_role(&mut self) -> Result<Role, AgentError> {
		if let Some(target) = &self.collector {
			match self.join(&[target.address.as_str()], &target.key) {
				Ok(role) => return Ok(role),
				Err(error) => self.lose(&error.to_string()),
			}
		}
		while !run_value(&self.run, "launcher").at(&self.run)?.is_empty() {
			let next = self.run.join(format!("judge.{}", self.lost + 1));
			if let Some(critical_path) = self.become_host(&next)? {
				return Ok(Role::Host(critical_path));
			}
			let text = whole_line(&next).at(&next)?;
			let words: Vec<&str> = text.split_whitespace().collect();
			match words.split_last().map(|(key, addresses)| self.join(addresses, key)) {
				Some(Ok(role)) => return Ok(role),
				Some(Err(error)) => self.lose(&error.to_string()),
				None => self.lose("its file is empty"),
			}
		}
		Ok(Role::Host(Arc::default()))
	}

	/// Coordinating agents of a run are numbered; the file of each can be made once. `None`: it is another's.
	fn become_host(&self, path: &Path) -> Result<Option<Arc<Mutex<CriticalPath>>>, AgentError> {
		let mut file = match File::options().write(true).create_new(true).mode(0o600).open(path) {
			Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(None),
			created => created.at(path)?,
		};
		let listener = TcpListener::bind("0.0.0.0:0").at(Path::new("0.0.0.0:0"))?;
		let port = listener.local_addr().at(path)?.port();
		let key = format!("{:016x}{:016x}", random().at(path)?, random().at(path)?);
		let hosts = own_addresses().into_iter().map(|host| format!("{host}:{port} "));
		file.write_all(format!("{}{key}\n", hosts.collect::<String>()).as_bytes()).at(path)?;
		let critical_path = Arc::new(Mutex::new(CriticalPath::default()));
		let (shared, job) =
			(Arc::clone(&critical_path), run_value(&self.run, "job").at(&self.run)?);
		thread::spawn(move || listen(&listener, &shared, &key, &job));
		Ok(Some(critical_path))
	}

	/// At the first of these addresses where this job's coordinating agent is.
	fn join(&self, addresses: &[&str], key: &str) -> Result<Role, FrameError> {
		let mut reason = FrameError::Magic;
		for address in addresses {
			match self.greet(address, key) {
				Ok(stream) => return Ok(Role::Member(stream)),
				Err(error) => reason = error,
			}
		}
		Err(reason)
	}

	fn greet(&self, address: &str, key: &str) -> Result<BufReader<TcpStream>, FrameError> {
		let mut stream = connect(address, PATIENCE)?;
		stream.set_nodelay(true)?;
		stream.set_read_timeout(Some(PATIENCE))?;
		stream.set_write_timeout(Some(PATIENCE))?;
		let (key, job, node) = (key.to_owned(), run_value(&self.run, "job")?, self.node.clone());
		frame::write(&mut stream, &Message::Join { key, job, node })?;
		let mut from = BufReader::new(stream);
		match frame::read(&mut from)? {
			Message::Critical(_) => Ok(from),
			Message::Refused { reason, .. } => Err(io::Error::other(reason).into()),
			_ => Err(FrameError::Magic),
		}
	}
}

fn exchange(stream: &mut BufReader<TcpStream>, report: &Report) -> Result<Vec<u32>, FrameError> {
	frame::write(stream.get_mut(), &Message::Report(report.clone()))?;
	match frame::read(stream)? {
		Message::Critical(pids) => Ok(pids),
		_ => Err(FrameError::Magic),
	}
}

/// Ranking that failed names nobody.
fn report_here(critical_path: &Mutex<CriticalPath>, node: &str, report: Report) -> Vec<u32> {
	critical_path
		.lock()
		.map(|mut critical_path| critical_path.take_report(node, report))
		.unwrap_or_default()
}

fn listen(listener: &TcpListener, critical_path: &Arc<Mutex<CriticalPath>>, key: &str, job: &str) {
	for stream in listener.incoming() {
		let Ok(stream) = stream else {
			thread::sleep(SOON); // out of descriptors: some will come back
			continue;
		};
		let (critical_path, key, job) = (Arc::clone(critical_path), key.to_owned(), job.to_owned());
		thread::spawn(move || drop(admit(stream, &critical_path, &key, &job)));
	}
}

fn admit(
	stream: TcpStream,
	critical_path: &Mutex<CriticalPath>,
	expected_key: &str,
	expected_job: &str,
) -> Result<(), FrameError> {
	stream.set_read_timeout(Some(SILENCE))?;
	stream.set_write_timeout(Some(SILENCE))?;
	let mut from = BufReader::new(stream);
	let Message::Join { key, job, node } = frame::read(&mut from)? else {
		return Err(FrameError::Magic);
	};
	if frame::same(&key, expected_key) && job == expected_job {
		return serve(&mut from, critical_path, &node);
	}
	let reason = "the key is wrong, or the job".to_owned();
	frame::write(from.get_mut(), &Message::Refused { again: false, reason })
}

/// Hears a node that was admitted until its agent ends.
pub fn serve(
	from: &mut BufReader<TcpStream>,
	critical_path: &Mutex<CriticalPath>,
	node: &str,
) -> Result<(), FrameError> {
	frame::write(from.get_mut(), &Message::Critical(Vec::new()))?;
	let ended = serve_reports(from, critical_path, node);
	critical_path
		.lock()
		.map(|mut critical_path| critical_path.remove_node(node))
		.unwrap_or_default();
	ended
}

fn serve_reports(
	from: &mut BufReader<TcpStream>,
	critical_path: &Mutex<CriticalPath>,
	node: &str,
) -> Result<(), FrameError> {
	loop {
		let Message::Report(report) = frame::read(from)? else { return Err(FrameError::Magic) };
		let pids = report_here(critical_path, node, report);
		frame::write(from.get_mut(), &Message::Critical(pids))?;
	}
}

/// What another agent made and may be writing just now.
fn whole_line(path: &Path) -> io::Result<String> {
	for _ in 0..10 {
		let text = fs::read_to_string(path)?;
		if text.ends_with('\n') {
			return Ok(text);
		}
		thread::sleep(SOON);
	}
	Ok(String::new())
}

/// Where this node may be reached: nobody can say which of its networks the others see, nor if they know its name.
fn own_addresses() -> Vec<String> {
	let routes = fs::read_to_string("/proc/net/fib_trie").unwrap_or_default();
	let mut addresses: Vec<String> = local_addresses(&routes);
	let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
	addresses.push(host.trim().to_owned());
	addresses
}

/// Of the kernel's routes: an address, and behind it that it is this host's.
fn local_addresses(routes: &str) -> Vec<String> {
	let (mut addresses, mut before) = (Vec::new(), "");
	for line in routes.lines().map(str::trim) {
		if let Some(address) = line.strip_prefix("|-- ") {
			before = address;
		} else if line == "/32 host LOCAL" && !addresses.iter().any(|one| one == before) {
			addresses.push(before.to_owned());
		}
	}
	addresses
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
	use super::*;

	#[test]
	fn addresses_of_this_host_are_told_from_networks() {
		let routes = "Main:\n  |-- 127.0.0.0\n   /8 host LOCAL\n  |-- 10.0.0.2\n   /32 host LOCAL\n  |-- 10.0.0.255\n   \
			/32 link BROADCAST\nLocal:\n  |-- 10.0.0.2\n   /32 host LOCAL\n";
		assert_eq!(local_addresses(routes), ["10.0.0.2"]);
	}

	fn of(pid: u32, ns: u64) -> Report {
		Report { processes: vec![(pid, ns)], servers: Vec::new() }
	}

	#[test]
	fn nodes_of_one_run_agree_and_another_judges_when_the_judge_is_gone() {
		let run = std::env::temp_dir().join(format!("fathom-coordinator-{}", std::process::id()));
		fs::create_dir_all(&run).unwrap();
		fs::write(run.join("run.json"), r#"{"launcher": "slurm", "job": "7"}"#).unwrap();
		let mut nodes = ["a", "b", "c"]
			.map(|name| Coordinator::new(&run, &Path::new("streams").join(name), None));
		let epoch = |nodes: &mut [Coordinator], took: u64| {
			let ask =
				|(i, node): (usize, &mut Coordinator)| node.ask(of(7, took + i as u64)).unwrap();
			nodes.iter_mut().enumerate().map(ask).collect::<Vec<_>>()
		};
		(0..3).for_each(|_| drop(epoch(&mut nodes, 0)));
		assert_eq!(epoch(&mut nodes, 0), [vec![], vec![], vec![7]]);
		assert!(matches!(nodes[0].role, Role::Host(_)) && !run.join("judge.2").exists());
		let Role::Member(stream) = &nodes[1].role else { panic!("it sits nowhere") };
		stream.get_ref().shutdown(std::net::Shutdown::Both).unwrap();
		fs::write(run.join("judge.1"), "127.0.0.1:1 key\n").unwrap();
		(0..3).for_each(|_| drop(epoch(&mut nodes[1..2], 0)));
		assert_eq!(epoch(&mut nodes[1..2], 1), [vec![7]]);
		assert!(matches!(nodes[1].role, Role::Host(_)) && nodes[1].trouble.is_some());
		fs::remove_dir_all(&run).unwrap();
	}

	#[test]
	fn who_does_not_know_the_key_is_refused() {
		let listener = TcpListener::bind("127.0.0.1:0").unwrap();
		let address = listener.local_addr().unwrap().to_string();
		thread::spawn(move || listen(&listener, &Arc::default(), "key", ""));
		let coordinator = Coordinator::new(Path::new("nowhere"), Path::new("n"), None);
		assert!(coordinator.greet(&address, "key").is_ok());
		assert!(matches!(coordinator.greet(&address, "kez"), Err(FrameError::Io(_))));
	}
}
