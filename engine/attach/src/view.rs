//! What was looked up in a process before any of its threads was stopped.

use crate::AttachError;
use crate::image::{Image, images};
use crate::locks::{self, C_LIBRARIES};
use crate::machine::RETURNS;
use crate::memory::{Mapping, Memory, mappings};

const LIBRARY: &[&str] = &["libfathom.so", "libfathom.so (deleted)"];
/// What loads a library; and what a C library before 2.34 has for itself, with the flag that says that it is meant.
const LOADING: &[(&str, u64)] = &[("dlopen", NOW), ("__libc_dlopen_mode", NOW | 0x8000_0000)];
const NOW: u64 = libc::RTLD_NOW as u64;

#[derive(Debug)]
pub struct View {
	pub process: i32,
	pub memory: Memory,
	pub mappings: Vec<Mapping>,
	pub images: Vec<Image>,
	/// A function that loads a library of a name, and the flags that it takes.
	pub loading: (u64, u64),
	/// Code that ends a signal handler, as if nothing had been called.
	pub returns: u64,
}

impl View {
	pub fn of(process: i32) -> Result<View, AttachError> {
		let memory = Memory::open(process).map_err(|error| refusal(&error))?;
		let mappings = mappings(process).map_err(|error| refusal(&error))?;
		let wanted = |name: &str| {
			locks::is_wanted(name) || LOADING.iter().any(|&(loading, _)| loading == name)
		};
		let images = images(process, &memory, &mappings, &wanted);
		let loading = loading(&images).ok_or(AttachError::NoLoader)?;
		let returns = returns(&images, &mappings, &memory).ok_or(AttachError::NoLoader)?;
		Ok(View { process, memory, mappings, images, loading, returns })
	}

	/// Where the library lies by now.
	pub fn library(&self) -> Result<Option<u64>, AttachError> {
		let mappings = mappings(self.process).map_err(|error| refusal(&error))?;
		let first = mappings.iter().find(|mapping| {
			let name = mapping.path.file_name().and_then(|name| name.to_str());
			mapping.offset == 0 && name.is_some_and(|name| LIBRARY.contains(&name))
		});
		Ok(first.map(|mapping| mapping.begin))
	}
}

fn refusal(error: &std::io::Error) -> AttachError {
	match error.raw_os_error() {
		Some(libc::EACCES | libc::EPERM) => AttachError::Forbidden,
		_ => AttachError::Ended,
	}
}

fn loading(images: &[Image]) -> Option<(u64, u64)> {
	let libraries = || images.iter().filter(|image| image.is_named(&["libc", "libdl"]));
	LOADING.iter().find_map(|&(name, flags)| {
		libraries().find_map(|image| Some((image.function(name)?, flags)))
	})
}

fn returns(images: &[Image], mappings: &[Mapping], memory: &Memory) -> Option<u64> {
	let of_libraries = mappings.iter().filter(|mapping| {
		let image = images.iter().find(|image| image.holds(mapping.begin));
		mapping.executable && image.is_some_and(|image| image.is_named(C_LIBRARIES))
	});
	of_libraries.filter_map(|code| place_of(code, memory)).next()
}

fn place_of(code: &Mapping, memory: &Memory) -> Option<u64> {
	let bytes = memory.read(code.begin, (code.end - code.begin) as usize).ok()?;
	let offset =
		RETURNS.iter().find_map(|wanted| bytes.windows(wanted.len()).position(|at| at == *wanted));
	offset.map(|at| code.begin + at as u64)
}
