//! A run's process images under one numbering: what `merge.rs` gives.

use std::collections::HashMap;

use crate::clock::Kind;
use crate::define::{Identity, Op};
use crate::files::Files;
use crate::index::ProcessKey;
use crate::run::Image;
use crate::runtime::Runtime;
use crate::sites::Sites;
use crate::survey::Survey;

/// One image with its survey and the run's numbers for what it names.
pub struct ImageState {
	pub image: Image,
	pub survey: Survey,
	/// Run's process of each stream of the survey.
	pub processes: Vec<u32>,
	/// Run's index of each stream of the survey.
	pub streams: Vec<u32>,
	/// Object numbers in order, with their files; the first is the run's object `first_object`.
	pub objects: Vec<(u32, Option<u32>)>,
	pub first_object: u32,
	pub sites: Vec<(u32, u32)>,
	pub selections: Vec<u32>,
	pub first_selection: u32,
	pub clock: usize,
	/// When its process was killed, in the run's time, where that is known and matters.
	pub end: Option<i64>,
}

impl ImageState {
	pub fn object(&self, number: u32) -> Option<u32> {
		let at = self.objects.binary_search_by_key(&number, |object| object.0).ok()?;
		Some(self.first_object + at as u32)
	}

	pub fn file(&self, number: u32) -> Option<u32> {
		let at = self.objects.binary_search_by_key(&number, |object| object.0).ok()?;
		self.objects[at].1
	}

	pub fn stream_of(&self, id: u64) -> Option<usize> {
		self.survey.streams.iter().position(|stream| stream.id == id)
	}

	/// The same of one of its processes: a child of vfork that runs on its memory dies by itself.
	pub fn end_of(&self, pid: u32) -> Option<i64> {
		self.end.filter(|_| self.image.pid == pid)
	}

	pub fn identity(&self, pid: u32) -> Identity {
		self.survey.definitions.identities.get(&pid).cloned().unwrap_or_default()
	}

	/// Ticks at which a process of this image began: its own word, unless that is its parent's (a fork's
	/// child), else its first chunk.
	pub fn start_tick(&self, pid: u32) -> u64 {
		let first = self.survey.streams.iter().filter(|stream| stream.pid == pid);
		first.map(|stream| stream.first_tick).min().unwrap_or(0)
	}
}

/// A clock that several images share.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ClockKey {
	pub boot_id: String,
	pub kind: Kind,
	/// Faked clocks are each process's own.
	pub instance: u64,
}

pub struct ProcessRow {
	pub process: u32,
	pub key: ProcessKey,
	/// Index into [`Merged::images`].
	pub image: usize,
}

pub struct Merged {
	pub images: Vec<ImageState>,
	/// By number; numbers of earlier packs whose streams are gone are missing.
	pub processes: Vec<ProcessRow>,
	pub streams: HashMap<u64, u32>,
	pub files: Files,
	pub ops: Vec<Op>,
	pub op_numbers: HashMap<Op, u16>,
	pub sites: Sites,
	pub clocks: Vec<ClockKey>,
	/// Node of each clock.
	pub clock_nodes: Vec<usize>,
	pub runtime: Runtime,
}

impl Merged {
	/// Recorded calls.
	pub fn events(&self) -> u64 {
		self.images.iter().map(|state| state.survey.events()).sum()
	}

	/// Names of the layers, in the order of their numbers.
	pub fn layers(&self) -> impl Iterator<Item = &str> {
		let mut before = None;
		let names = self.ops.iter().map(|op| op.layer.as_str());
		names.filter(move |name| before.replace(*name) != Some(*name)) // ops are sorted by layer
	}
}
