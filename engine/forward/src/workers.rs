//! Threads for what may block: the store. What is to be done is moved to them, what came of it is moved back.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Instant;

use fathom_record::Purpose;
use rustix::event::EventfdFlags;

use crate::store::Store;

/// Something to do with the store.
pub type Work<T> = Box<dyn FnOnce(&Store) -> T + Send>;

/// What waits for a thread; one is woken for each.
struct Waiting<T> {
	work: Mutex<WorkQueue<T>>,
	more: Condvar,
}

struct WorkQueue<T> {
	work: VecDeque<(Purpose, Work<T>)>,
	over: bool,
}

impl<T> Waiting<T> {
	/// The next; none at the end.
	fn next(&self) -> Option<(Purpose, Work<T>)> {
		let mut queue = self.work.lock().ok()?;
		loop {
			match queue.work.pop_front() {
				Some(next) => return Some(next),
				None if queue.over => return None,
				None => queue = self.more.wait(queue).ok()?,
			}
		}
	}
}

/// Tells the server's thread that work is done; signalled once until the thread takes it.
struct Wakeup {
	event: OwnedFd,
	signalled: AtomicBool,
}

impl Wakeup {
	fn signal(&self) {
		if !self.signalled.swap(true, Ordering::SeqCst) {
			let _ = rustix::io::write(&self.event, &1u64.to_ne_bytes());
		}
	}
}

pub struct Workers<T> {
	waiting: Arc<Waiting<T>>,
	/// With when it was begun.
	done: Receiver<(Instant, T)>,
	wakeup: Arc<Wakeup>,
}

impl<T: Send + 'static> Workers<T> {
	pub fn start(count: usize, store: Arc<Store>) -> std::io::Result<Workers<T>> {
		let queue = WorkQueue { work: VecDeque::new(), over: false };
		let waiting = Arc::new(Waiting { work: Mutex::new(queue), more: Condvar::new() });
		let (results, done) = channel();
		let event = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
		let wakeup = Arc::new(Wakeup { event, signalled: AtomicBool::new(false) });
		for _ in 0..count {
			let (waiting, store) = (waiting.clone(), store.clone());
			let (results, wakeup) = (results.clone(), wakeup.clone());
			thread::Builder::new()
				.name("store".into())
				.spawn(move || work_on(&waiting, &store, &results, &wakeup))?;
		}
		Ok(Workers { waiting, done, wakeup })
	}

	/// Something to do, and for what.
	pub fn give(&self, purpose: Purpose, work: Work<T>) {
		if let Ok(mut queue) = self.waiting.work.lock() {
			queue.work.push_back((purpose, work));
		}
		self.waiting.more.notify_one();
	}

	/// How much waits for a thread.
	#[cfg(test)]
	pub fn waiting(&self) -> usize {
		self.waiting.work.lock().map_or(0, |queue| queue.work.len())
	}

	/// What a thread would do next, or later.
	#[cfg(test)]
	pub fn take(&self, at: usize) -> Option<Work<T>> {
		self.waiting.work.lock().ok()?.work.remove(at).map(|(_, work)| work)
	}

	/// To be watched for edges, as nobody reads it.
	pub fn wakeup(&self) -> &OwnedFd {
		&self.wakeup.event
	}

	/// What is done, with when it was begun.
	pub fn done(&mut self) -> Vec<(Instant, T)> {
		self.wakeup.signalled.swap(false, Ordering::SeqCst); // before the look, so that none is missed
		self.done.try_iter().collect()
	}
}

impl<T> Drop for Workers<T> {
	fn drop(&mut self) {
		if let Ok(mut queue) = self.waiting.work.lock() {
			queue.over = true;
		}
		self.waiting.more.notify_all();
	}
}

fn work_on<T>(
	waiting: &Waiting<T>,
	store: &Store,
	results: &Sender<(Instant, T)>,
	wakeup: &Wakeup,
) {
	while let Some((purpose, work)) = waiting.next() {
		let began = Instant::now();
		fathom_record::works_for(purpose);
		if results.send((began, work(store))).is_err() {
			break;
		}
		wakeup.signal();
	}
}
