//! Threads for what may block: the store. What is to be done is moved to them, what came of it is moved back.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::store::Store;

/// Something to do with the store.
pub type Work<T> = Box<dyn FnOnce(&Store) -> T + Send>;

pub struct Workers<T> {
	work: Sender<Work<T>>,
	done: Receiver<T>,
	bell: UnixStream,
}

impl<T: Send + 'static> Workers<T> {
	pub fn start(count: usize, store: Arc<Store>) -> std::io::Result<Workers<T>> {
		let (work, queue) = channel::<Work<T>>();
		let (results, done) = channel();
		let queue = Arc::new(Mutex::new(queue));
		let (bell, ring) = UnixStream::pair()?;
		bell.set_nonblocking(true)?;
		ring.set_nonblocking(true)?;
		for _ in 0..count {
			let (queue, store, results) = (queue.clone(), store.clone(), results.clone());
			let mut ring = ring.try_clone()?;
			thread::Builder::new().name("store".into()).spawn(move || {
				loop {
					let next = queue.lock().map(|queue| queue.recv());
					let Ok(Ok(work)) = next else { break };
					if results.send(work(&store)).is_err() {
						break;
					}
					let _ = ring.write(&[0]); // full: it rings already
				}
			})?;
		}
		Ok(Workers { work, done, bell })
	}

	pub fn give(&self, work: Work<T>) {
		// Workers end only with this side of the channel.
		let _ = self.work.send(work);
	}

	/// Readable when something is done.
	pub fn bell(&self) -> &UnixStream {
		&self.bell
	}

	pub fn done(&mut self) -> Vec<T> {
		let mut rung = [0; 256];
		while matches!(self.bell.read(&mut rung), Ok(256)) {}
		self.done.try_iter().collect()
	}
}
