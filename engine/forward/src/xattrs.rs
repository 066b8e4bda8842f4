//! Extended attributes: asked for and changed by a worker, in no order with a file's data.

use std::sync::Arc;

use fathom_wire::number::{limit, xattr};
use fathom_wire::{Handle, Reply, Request, Text};
use rustix::io::Errno;

use crate::done::Done;
use crate::intents::Intent;
use crate::queue::Key;
use crate::server::Server;
use crate::store::{Object, Store};
use crate::trouble::Trouble;

impl Server {
	/// `data`: of a request that sets a value, and where in it the value begins.
	pub fn begin_xattr(
		&mut self,
		key: Key,
		handle: Handle,
		request: Request,
		(body, at): &(Vec<u8>, usize),
	) -> Result<(), Errno> {
		let object = self.object(key, handle)?;
		match request {
			Request::GetXattr { name, .. } => self.give_data(key, move |store| {
				store.get_xattr(&object, &name).map(|value| (Reply::GetXattr {}, value))
			}),
			Request::ListXattr { .. } => self.give_data(key, move |store| {
				store.list_xattr(&object).map(|names| (Reply::ListXattr {}, names))
			}),
			Request::SetXattr { name, flags, .. } => {
				let value = body[*at..].to_vec();
				if value.len() > limit::XATTR as usize {
					return Err(Errno::TOOBIG);
				}
				let intent = self.intent(key, handle);
				self.give(key, move |store| {
					set(store, &object, intent, (&name, &value, flags)).map(|()| Reply::SetXattr {})
				});
			}
			Request::RemoveXattr { name, .. } => {
				let intent = self.intent(key, handle);
				self.give(key, move |store| {
					remove(store, &object, intent, &name).map(|()| Reply::RemoveXattr {})
				});
			}
			_ => return Err(Errno::OPNOTSUPP),
		}
		Ok(())
	}

	/// Work that ends in an answer with data.
	fn give_data<F>(&mut self, key: Key, work: F)
	where
		F: FnOnce(&Store) -> Result<(Reply, Vec<u8>), Trouble> + Send + 'static,
	{
		self.do_for(key, Box::new(move |store| Done::WithData(key, work(store))));
	}
}

/// One that is to be new and is there with that value was made by the same request, before.
fn set(
	store: &Store,
	object: &Arc<Object>,
	intent: Option<Intent>,
	(name, value, flags): (&Text, &[u8], u32),
) -> Result<(), Trouble> {
	let act = || store.set_xattr(object, name, value, flags);
	let same = |errno| {
		let there = errno == Errno::EXIST && flags & xattr::CREATE != 0;
		let now = there.then(|| store.get_xattr(object, name));
		(now?.ok()? == value).then_some(())
	};
	match intent {
		Some(intent) => intent.once(None, act, |_, errno| same(errno)),
		None => act(),
	}
}

/// One that is gone was removed by the same request, before.
fn remove(
	store: &Store,
	object: &Arc<Object>,
	intent: Option<Intent>,
	name: &Text,
) -> Result<(), Trouble> {
	let act = || store.remove_xattr(object, name);
	match intent {
		Some(intent) => intent.once(None, act, |_, errno| (errno == Errno::NODATA).then_some(())),
		None => act(),
	}
}
