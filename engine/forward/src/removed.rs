//! Files that have lost their names.

use std::os::fd::OwnedFd;
use std::sync::Mutex;

use fathom_wire::Handle;

use crate::layout::Layout;
use crate::object::Object;

/// Files that were removed.
#[derive(Default)]
pub struct Removed {
	/// Striped ones of which nothing but the name by their id is left: their data is to be freed.
	unfreed: Mutex<Vec<(Handle, Layout)>>,
	/// Those without any name: they take room as long as they are open.
	nameless: Mutex<Vec<Handle>>,
}

impl Removed {
	/// A file that has just lost a name.
	pub fn check(&self, file: Option<OwnedFd>) {
		let Some(file) = file else { return };
		let Ok((object, attr)) = Object::of(file) else { return };
		if attr.mode & 0o170_000 != 0o100_000 {
			return; // a removed directory takes no room, and may be somebody's working directory
		}
		if attr.nlink == 0
			&& let Ok(mut nameless) = self.nameless.lock()
		{
			nameless.push(object.handle);
		}
		if attr.nlink != 1 || attr.size > 4096 {
			return;
		}
		let mut text = [0; 4096];
		let read = object.reading().and_then(|file| rustix::io::pread(file, &mut text, 0));
		let layout = read.map(|bytes| String::from_utf8_lossy(&text[..bytes]).parse());
		if let (Ok(Ok(layout)), Ok(mut unfreed)) = (layout, self.unfreed.lock()) {
			unfreed.push((object.handle, layout));
		}
	}

	/// A file that was made without a name.
	pub fn note_nameless(&self, object: &Object) {
		if let Ok(mut nameless) = self.nameless.lock() {
			nameless.push(object.handle);
		}
	}

	pub fn take(&self) -> Vec<(Handle, Layout)> {
		self.unfreed.lock().map(|mut unfreed| std::mem::take(&mut *unfreed)).unwrap_or_default()
	}

	pub fn take_nameless(&self) -> Vec<Handle> {
		self.nameless.lock().map(|mut lost| std::mem::take(&mut *lost)).unwrap_or_default()
	}
}
