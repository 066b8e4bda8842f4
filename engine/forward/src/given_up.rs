//! Questions to the owner of a file's end that had no answer in time. It may have handed out extents for them, or may yet:
//! it is told, as soon as it answers again, that nobody writes them, and once more what became of others.

use std::collections::VecDeque;

use fathom_wire::Handle;
use fathom_wire::number::reserve;

use crate::append_owner::{Asker, OwnerRequest};
use crate::server::Server;

#[derive(Default)]
pub struct GivenUp {
	/// The oldest first; one at a time, so that an owner that stays away takes one thread only.
	waiting: VecDeque<(Handle, OwnerRequest)>,
	asking: bool,
}

impl GivenUp {
	#[cfg(test)]
	pub fn is_empty(&self) -> bool {
		self.waiting.is_empty() && !self.asking
	}
}

impl Server {
	/// What an owner was asked may have been done; its asker has been told that it was not answered.
	pub fn give_up_at_owner(&mut self, handle: Handle, request: OwnerRequest) {
		let flags = request.flags | reserve::GIVEN_UP;
		self.given_up.waiting.push_back((handle, OwnerRequest { flags, ..request }));
	}

	/// The next is told, if it is time.
	pub fn tell_given_up(&mut self) {
		if self.given_up.asking {
			return;
		}
		let Some((handle, request)) = self.given_up.waiting.pop_front() else { return };
		self.given_up.asking = true;
		self.ask_owner(handle, Asker::GivenUp(handle, request.clone()), request);
	}

	pub fn given_up_answered(&mut self, handle: Handle, request: OwnerRequest, knows: bool) {
		self.given_up.asking = false;
		if knows {
			return self.tell_given_up();
		}
		self.given_up.waiting.push_back((handle, request));
	}
}
