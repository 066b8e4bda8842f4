//! The programs in the kernel. They are gone with the descriptors of this process, however it ends.

use aya::maps::{Array, HashMap, MapData, RingBuf};
use aya::programs::{Program, RawTracePoint};
use aya::{Btf, Ebpf, EbpfLoader};

use crate::KernelError;
use crate::calls::{self, Wanted};
use crate::rights::TYPES;

const OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/trace.bpf.o"));

/// Each program and what it is attached to.
const NEEDED: [(&str, &str); 9] = [
	("process_forked", "sched_process_fork"),
	("process_execs", "sched_process_exec"),
	("process_exited", "sched_process_exit"),
	("pages_added", "mm_filemap_add_to_page_cache"),
	("bio_queued", "block_bio_queue"),
	("bio_split", "block_split"),
	("bio_completed", "block_bio_complete"),
	("request_issued", "block_rq_issue"),
	("request_completed", "block_rq_complete"),
];
/// Where system calls are asked for.
const OF_CALLS: [(&str, &str); 2] = [("call_entered", "sys_enter"), ("call_left", "sys_exit")];
/// Then, too; all of them, or none: a kernel may have no io_uring.
const OF_RINGS: [(&str, &str); 3] = [
	("ring_done", "io_uring_complete"),
	("ring_posted", "io_uring_submit_req"),
	("ring_made", "io_uring_create"),
];
/// One of several, by the kernel's age; or of file systems that may not be there.
const OPTIONAL: [(&str, &str); 6] = [
	("throttled_12", "balance_dirty_pages"),
	("throttled_8", "balance_dirty_pages"),
	("commit_began", "jbd2_start_commit"),
	("commit_ended", "jbd2_end_commit"),
	("fast_commit_began", "ext4_fc_commit_start"),
	("fast_commit_ended", "ext4_fc_commit_stop"),
];
/// Two ways to see the same, of which one is enough.
const INSTEAD: [(&str, &str); 1] = [("throttled_12", "throttled_8")];

/// What is asked of a process: numbers of `enum followed`.
const CHILDREN: u32 = 0;
const ALL: u32 = 1;
const NO_CALLS: u32 = 2;
/// Of its path, the last bytes.
const MOST_LIBRARY: usize = 256;

pub struct Programs {
	// Dropped, it detaches everything.
	_loaded: Ebpf,
	processes: HashMap<MapData, u32, u32>,
	lost: Array<MapData, u64>,
	library: Array<MapData, [u8; MOST_LIBRARY + 4]>,
	pub events: RingBuf<MapData>,
	/// Tracepoints that this kernel does not have.
	pub absent: Vec<&'static str>,
}

/// With all that caused it, in one line.
fn why(error: &dyn std::error::Error) -> KernelError {
	let mut text = error.to_string();
	let mut source = error.source();
	while let Some(error) = source {
		text = format!("{text}: {error}");
		source = error.source();
	}
	KernelError::Refused(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn program<'a>(loaded: &'a mut Ebpf, name: &str) -> Result<&'a mut RawTracePoint, KernelError> {
	let program: Option<&mut Program> = loaded.program_mut(name);
	let missing = || KernelError::Refused(format!("no program {name} in the engine"));
	program.ok_or_else(missing)?.try_into().map_err(|error| why(&error))
}

fn map<M: TryFrom<aya::maps::Map, Error = aya::maps::MapError>>(
	loaded: &mut Ebpf,
	name: &str,
) -> Result<M, KernelError> {
	let missing = || KernelError::Refused(format!("no map {name} in the engine"));
	M::try_from(loaded.take_map(name).ok_or_else(missing)?).map_err(|error| why(&error))
}

impl Programs {
	/// Loads and attaches them; they see no process yet.
	pub fn load(with_calls: bool) -> Result<Programs, KernelError> {
		if OBJECT.is_empty() {
			return Err(KernelError::NotBuilt);
		}
		let types = Btf::parse_file(TYPES, aya::Endianness::default()).map_err(|e| why(&e))?;
		let mut loaded = EbpfLoader::new()
			.btf(Some(&types))
			.override_global("with_calls", &u32::from(with_calls), true)
			.override_global("asked_by", &rustix::process::getuid().as_raw(), true)
			.load(OBJECT)
			.map_err(|e| why(&e))?;
		let of_calls = OF_CALLS.iter().filter(|_| with_calls);
		for &(name, point) in NEEDED.iter().chain(of_calls) {
			let program = program(&mut loaded, name)?;
			program.load().map_err(|error| why(&error))?;
			program.attach(point).map_err(|error| why(&error))?;
		}
		let mut attached = Vec::new();
		for (name, point) in OPTIONAL {
			let program = program(&mut loaded, name)?;
			program.load().map_err(|error| why(&error))?;
			if !replaced(name, &attached) && program.attach(point).is_ok() {
				attached.push(name);
			}
		}
		let rings = !with_calls || attach_rings(&mut loaded)?;
		let mut wanted: Array<MapData, Wanted> = map(&mut loaded, "wanted_calls")?;
		for (number, _, of_call) in calls::all() {
			wanted.set(number, of_call, 0).map_err(|error| why(&error))?;
		}
		let absent = OPTIONAL.iter().filter(|(name, _)| !seen(name, &attached));
		let mut absent: Vec<&str> = absent.map(|(_, point)| *point).collect();
		absent.extend((!rings).then_some("io_uring"));
		Ok(Programs {
			processes: map(&mut loaded, "processes")?,
			lost: map(&mut loaded, "lost")?,
			library: map(&mut loaded, "the_library")?,
			events: map(&mut loaded, "events")?,
			absent,
			_loaded: loaded,
		})
	}

	/// From now on, what the children of this process do is told, and what theirs do.
	pub fn follow_children(&mut self, parent: u32) -> Result<(), KernelError> {
		self.processes.insert(parent, CHILDREN, 0).map_err(|error| why(&error))
	}

	/// From now on, what this process does is told, and what it starts; with `calls` its system calls, too.
	pub fn follow_process(&mut self, process: u32, calls: bool) -> Result<(), KernelError> {
		let mask = if calls { ALL } else { NO_CALLS };
		self.processes.insert(process, mask, 0).map_err(|error| why(&error))
	}

	/// Have all of them ended?
	pub fn follow_none(&self) -> bool {
		self.processes.keys().next().is_none()
	}

	/// What a program that is recorded by its library opens at its begin.
	pub fn know_library(&mut self, path: &[u8]) -> Result<(), KernelError> {
		let end = &path[path.len().saturating_sub(MOST_LIBRARY)..];
		let mut bytes = [0; MOST_LIBRARY + 4];
		bytes[..4].copy_from_slice(&(end.len() as u32).to_le_bytes());
		bytes[4..4 + end.len()].copy_from_slice(end);
		self.library.set(0, bytes, 0).map_err(|error| why(&error))
	}

	/// Events that the ring had no room for, processes that were too many, and requests whose end was not told.
	pub fn lost(&self) -> [u64; 3] {
		[0, 1, 2].map(|at| self.lost.get(&at, 0).unwrap_or(0))
	}
}

fn attach_rings(loaded: &mut Ebpf) -> Result<bool, KernelError> {
	for (name, point) in OF_RINGS {
		let program = program(loaded, name)?;
		if program.load().is_err() || program.attach(point).is_err() {
			return Ok(false);
		}
	}
	Ok(true)
}

fn replaced(name: &str, attached: &[&str]) -> bool {
	INSTEAD.iter().any(|(first, second)| *second == name && attached.contains(first))
}

/// It, or the one that stands for it.
fn seen(name: &str, attached: &[&str]) -> bool {
	let other = INSTEAD.iter().find_map(|(first, second)| match name {
		_ if name == *first => Some(second),
		_ if name == *second => Some(first),
		_ => None,
	});
	attached.contains(&name) || other.is_some_and(|other| attached.contains(other))
}
