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
	work: Mutex<Heap<T>>,
	more: Condvar,
}

struct Heap<T> {
	work: VecDeque<(Purpose, Work<T>)>,
	over: bool,
}

impl<T> Waiting<T> {
	/// The next; none at the end.
	fn next(&self) -> Option<(Purpose, Work<T>)> {
		let mut heap = self.work.lock().ok()?;
		loop {
			match heap.work.pop_front() {
				Some(next) => return Some(next),
				None if heap.over => return None,
				None => heap = self.more.wait(heap).ok()?,
			}
		}
	}
}

/// Says that something is done: rung once until it was listened to.
struct Bell {
	event: OwnedFd,
	rung: AtomicBool,
}

impl Bell {
	fn ring(&self) {
		if !self.rung.swap(true, Ordering::SeqCst) {
			let _ = rustix::io::write(&self.event, &1u64.to_ne_bytes());
		}
	}
}

pub struct Workers<T> {
	waiting: Arc<Waiting<T>>,
	/// With when it was begun.
	done: Receiver<(Instant, T)>,
	bell: Arc<Bell>,
}

impl<T: Send + 'static> Workers<T> {
	pub fn start(count: usize, store: Arc<Store>) -> std::io::Result<Workers<T>> {
		let heap = Heap { work: VecDeque::new(), over: false };
		let waiting = Arc::new(Waiting { work: Mutex::new(heap), more: Condvar::new() });
		let (results, done) = channel();
		let event = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
		let bell = Arc::new(Bell { event, rung: AtomicBool::new(false) });
		for _ in 0..count {
			let (waiting, store) = (waiting.clone(), store.clone());
			let (results, bell) = (results.clone(), bell.clone());
			thread::Builder::new()
				.name("store".into())
				.spawn(move || work_on(&waiting, &store, &results, &bell))?;
		}
		Ok(Workers { waiting, done, bell })
	}

	/// Something to do, and for what.
	pub fn give(&self, purpose: Purpose, work: Work<T>) {
		if let Ok(mut heap) = self.waiting.work.lock() {
			heap.work.push_back((purpose, work));
		}
		self.waiting.more.notify_one();
	}

	/// To be watched for edges, as nobody reads it.
	pub fn bell(&self) -> &OwnedFd {
		&self.bell.event
	}

	/// What is done, with when it was begun.
	pub fn done(&mut self) -> Vec<(Instant, T)> {
		self.bell.rung.swap(false, Ordering::SeqCst); // before the look, so that none is missed
		self.done.try_iter().collect()
	}
}

impl<T> Drop for Workers<T> {
	fn drop(&mut self) {
		if let Ok(mut heap) = self.waiting.work.lock() {
			heap.over = true;
		}
		self.waiting.more.notify_all();
	}
}

fn work_on<T>(waiting: &Waiting<T>, store: &Store, results: &Sender<(Instant, T)>, bell: &Bell) {
	while let Some((purpose, work)) = waiting.next() {
		let began = Instant::now();
		fathom_record::works_for(purpose);
		if results.send((began, work(store))).is_err() {
			break;
		}
		bell.ring();
	}
}
