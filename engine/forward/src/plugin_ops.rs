//! Operations that plug-ins offer: asked for by name, done by threads of their own, so that none holds up the store's.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use fathom_plugin::{Given, Operation};
use fathom_record::Purpose;
use fathom_wire::number::limit;
use fathom_wire::{Extent, Handle, Reply, Text};
use rustix::io::Errno;

use crate::Settings;
use crate::client::Doing;
use crate::clock;
use crate::done::Done;
use crate::pulls::is_pulled;
use crate::queue::{Access, Key};
use crate::server::Server;
use crate::store::{Object, Store};
use crate::traced::is_operation;
use crate::trouble::Trouble;
use crate::workers::Workers;

/// An operation, and its number in the trace.
pub struct PluginOp {
	operation: Operation,
	pub traced: Option<u32>,
}

/// The operations of all plug-ins, and the threads that run them.
pub struct PluginOps {
	by_name: BTreeMap<String, Arc<PluginOp>>,
	/// None: nothing is offered.
	pub workers: Option<Workers<Done>>,
}

/// A call that is not done.
pub struct PluginCall {
	pub plugin_op: Arc<PluginOp>,
	given: Vec<u8>,
	room: usize,
}

impl PluginOps {
	pub fn load(settings: &Settings, store: &Arc<Store>) -> Result<PluginOps, String> {
		let mut by_name = BTreeMap::new();
		for (name, operation) in fathom_plugin::load(&settings.plugins, is_operation)? {
			let text = CString::new(name.as_str()).map_err(|error| error.to_string())?;
			let traced = fathom_record::new_op(&text);
			by_name.insert(name, Arc::new(PluginOp { operation, traced }));
		}
		let workers =
			(!by_name.is_empty()).then(|| Workers::start(settings.workers, store.clone()));
		let workers = workers.transpose().map_err(|error: io::Error| error.to_string())?;
		Ok(PluginOps { by_name, workers })
	}

	pub fn names(&self) -> Vec<&str> {
		self.by_name.keys().map(String::as_str).collect()
	}
}

impl Server {
	pub fn begin_call(
		&mut self,
		key: Key,
		(handle, name, room): (Handle, &Text, u32),
		(body, at): (Vec<u8>, usize),
	) -> Result<(), Errno> {
		let name = String::from_utf8_lossy(&name.0).into_owned();
		let Some(plugin_op) = self.plugin_ops.by_name.get(&name).cloned() else {
			let nosys = Errno::NOSYS.raw_os_error() as u32;
			self.fail_with(key, nosys, (0, 0), &self.unknown(&name));
			return Ok(());
		};
		let most = limit::CALL as usize;
		let (given, room) = (&body[at..], room as usize);
		if given.len() > most || room > most || self.pending(key).is_some_and(|p| is_pulled(p)) {
			return Err(Errno::MSGSIZE);
		}
		let call = PluginCall { plugin_op, given: given.to_vec(), room };
		self.set_doing(key, Doing::PluginCall(call));
		self.count.calls += 1;
		if handle == Handle::ROOT {
			self.run_call(key, None);
			return Ok(());
		}
		self.object(key, handle)?;
		let whole = Extent { offset: 0, length: i64::MAX as u64 };
		self.enqueue(key, handle, Access::Read, vec![whole]);
		Ok(())
	}

	fn unknown(&self, name: &str) -> String {
		match &self.plugin_ops.names()[..] {
			[] => format!("no operation '{name}': this server has no plug-in (--plugin)"),
			names => format!("no operation '{name}'; there are {}", names.join(", ")),
		}
	}

	/// It is its turn.
	pub fn run_call(&mut self, key: Key, object: Option<Arc<Object>>) {
		let Some(pending) = self.pending(key) else { return };
		let due = pending.due;
		let Doing::PluginCall(call) = &mut pending.doing else { return };
		let (plugin_op, room) = (call.plugin_op.clone(), call.room);
		let given = std::mem::take(&mut call.given);
		let work = move |store: &Store| {
			let answer = run(store, &plugin_op.operation, object.as_deref(), &given, room, due);
			Done::WithData(key, answer.map(|answer| (Reply::Call {}, answer)))
		};
		if let Some(workers) = &self.plugin_ops.workers {
			workers.give(Purpose::default(), Box::new(work));
		}
	}
}

fn run(
	store: &Store,
	operation: &Operation,
	object: Option<&Object>,
	bytes: &[u8],
	room: usize,
	due: Instant,
) -> Result<Vec<u8>, Trouble> {
	let left = due.saturating_duration_since(clock::now());
	if left.is_zero() {
		let why = format!("operation '{}' was not begun", operation.name);
		return Err(Trouble::new(Errno::TIMEDOUT, why));
	}
	let file = object.map(|object| store.readable(object)).transpose()?;
	let given = Given { bytes, directory: store.directory()?, file, left, room };
	operation.run(&given).map_err(|failed| {
		Trouble::new(failed.errno, format!("operation '{}': {}", operation.name, failed.why))
	})
}
