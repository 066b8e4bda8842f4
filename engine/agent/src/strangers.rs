//! Connections that have not said the key: whoever reaches the port can make them, so all of them together get little.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::net::{Shutdown, TcpStream};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// So many at once; one more ends the one that has waited longest.
const MOST: usize = 64;
/// For the whole greeting, however its bytes come.
const GREETING: Duration = Duration::from_secs(10);
/// More than a key and two names take.
const GREETING_BYTES: u64 = 16 << 10;

/// Those that wait, the oldest first, by number.
#[derive(Default)]
pub struct Strangers(Mutex<VecDeque<(u64, TcpStream)>>);

impl Strangers {
	pub fn enter(&self, number: u64, stream: &TcpStream) -> io::Result<()> {
		let stream = stream.try_clone()?;
		if let Ok(mut waiting) = self.0.lock() {
			if waiting.len() == MOST {
				end(waiting.pop_front());
			}
			waiting.push_back((number, stream));
		}
		Ok(())
	}

	/// It has said the key, or is gone.
	pub fn leave(&self, number: u64) {
		if let Ok(mut waiting) = self.0.lock() {
			waiting.retain(|(other, _)| *other != number);
		}
	}

	/// What it had is free for the next.
	pub fn end_oldest(&self) {
		if let Ok(mut waiting) = self.0.lock() {
			end(waiting.pop_front());
		}
	}
}

fn end(stranger: Option<(u64, TcpStream)>) {
	if let Some((_, stream)) = stranger {
		let _ = stream.shutdown(Shutdown::Both); // ended already: what is wanted
	}
}

/// The bytes of a greeting; they end with its time.
pub fn greeting(stream: &TcpStream) -> impl Read + '_ {
	Until { stream, end: Instant::now() + GREETING }.take(GREETING_BYTES)
}

struct Until<'s> {
	stream: &'s TcpStream,
	end: Instant,
}

impl Read for Until<'_> {
	fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
		let left = self.end.saturating_duration_since(Instant::now());
		if left.is_zero() {
			return Err(io::ErrorKind::TimedOut.into());
		}
		self.stream.set_read_timeout(Some(left))?;
		self.stream.read(into)
	}
}
