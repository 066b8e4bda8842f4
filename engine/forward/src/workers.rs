//! Threads for what may block: the store. What is to be done is moved to them, what came of it is moved back.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use fathom_record::Caller;

use crate::store::Store;

/// Something to do with the store.
pub type Work<T> = Box<dyn FnOnce(&Store) -> T + Send>;

pub struct Workers<T> {
	work: Sender<(Caller, Work<T>)>,
	/// With when it was begun.
	done: Receiver<(Instant, T)>,
	bell: UnixStream,
}

impl<T: Send + 'static> Workers<T> {
	pub fn start(count: usize, store: Arc<Store>) -> std::io::Result<Workers<T>> {
		let (work, queue) = channel::<(Caller, Work<T>)>();
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
					let Ok(Ok((caller, work))) = next else { break };
					let began = Instant::now();
					fathom_record::works_for(vec![caller], false);
					if results.send((began, work(&store))).is_err() {
						break;
					}
					let _ = ring.write(&[0]); // full: it rings already
				}
			})?;
		}
		Ok(Workers { work, done, bell })
	}

	/// Something to do for a client's call.
	pub fn give(&self, caller: Caller, work: Work<T>) {
		// Workers end only with this side of the channel.
		let _ = self.work.send((caller, work));
	}

	/// Readable when something is done.
	pub fn bell(&self) -> &UnixStream {
		&self.bell
	}

	/// What is done, with when it was begun.
	pub fn done(&mut self) -> Vec<(Instant, T)> {
		let mut rung = [0; 256];
		while matches!(self.bell.read(&mut rung), Ok(256)) {}
		self.done.try_iter().collect()
	}
}
