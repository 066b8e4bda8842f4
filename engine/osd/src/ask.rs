//! Ceph's admin sockets: a command as JSON and a zero byte, then the answer's length and the answer.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::OsdError;

/// A daemon that is busy answers late; one that hangs, never.
const PATIENCE: Duration = Duration::from_secs(10);
/// Answers are some MiB at most.
const LARGEST: u32 = 1 << 30;

#[derive(Debug, Clone)]
pub struct Daemon {
	socket: PathBuf,
}

impl Daemon {
	pub fn new(socket: &Path) -> Daemon {
		Daemon { socket: socket.to_owned() }
	}

	pub fn ask(&self, command: &Value) -> Result<Value, OsdError> {
		let text = self.exchange(command).map_err(|error| self.failed(&error.to_string()))?;
		// Some answers are no JSON: "No such inode".
		Ok(serde_json::from_slice(&text).unwrap_or(Value::Null))
	}

	pub fn failed(&self, reason: &str) -> OsdError {
		OsdError::Socket { socket: self.socket.display().to_string(), reason: reason.to_owned() }
	}

	fn exchange(&self, command: &Value) -> std::io::Result<Vec<u8>> {
		let mut stream = UnixStream::connect(&self.socket)?;
		stream.set_read_timeout(Some(PATIENCE))?;
		stream.set_write_timeout(Some(PATIENCE))?;
		stream.write_all(format!("{command}\0").as_bytes())?;
		let mut length = [0; 4];
		stream.read_exact(&mut length)?;
		let length = u32::from_be_bytes(length);
		if length > LARGEST {
			return Err(std::io::Error::other(format!("an answer of {length} bytes")));
		}
		let mut answer = Vec::new();
		stream.take(u64::from(length)).read_to_end(&mut answer)?;
		Ok(answer)
	}

	/// A setting as it is now.
	pub fn setting(&self, name: &str) -> Result<String, OsdError> {
		let reply = self.ask(&json!({"prefix": "config get", "var": name}))?;
		let value = reply.get(name).and_then(Value::as_str).map(str::to_owned);
		value.ok_or_else(|| self.failed(&format!("it says nothing of its setting {name}")))
	}

	pub fn set(&self, name: &str, value: &str) -> Result<(), OsdError> {
		self.ask(&json!({"prefix": "config set", "var": name, "val": [value]})).map(|_| ())
	}
}
