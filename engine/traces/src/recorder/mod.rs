//! A directory of Recorder as a run.

mod arguments;
mod bytes;
mod grammar;
mod parts;
mod patterns;
mod recording;
mod times;

use std::collections::HashMap;
use std::path::Path;

use fathom_import::{ImportedRun, ProcessIdentity};
use fathom_stream::object_class;
use serde_json::json;

use crate::Parsed;
use crate::functions::{Args, Catalog, Fields};
use crate::positions::Positions;
use crate::run_builder::{FunctionIndex, RunBuilder, When};
use arguments::{Words, bytes_of};
use patterns::Offsets;
use recording::{Calls, Recording, Signature};
use times::{of_one_thread, times};

const SEEK_SET: i64 = 0;
const SEEK_CUR: i64 = 1;
/// Of a run, in ns.
const LONGEST: f64 = (1u64 << 60) as f64;
const BARE: &str = "calls of HDF5, PnetCDF and netCDF have neither files nor bytes: those are in MPI-IO's and POSIX's inside";
const DISTANCES: &str = "ranks of several threads, whose offsets are unknown: RECORDER_INTRAPROCESS_PATTERN_RECOGNITION was 1";
const LIMITS: [&str; 5] = [
	"results are not recorded: a read or write that was short, or failed, and an open that failed, look as whole ones; \
	 bytes are those that were asked for, and positions follow them",
	"each rank's times are from the end of its own MPI_Init: how far ranks are apart is unknown; what was before \
	 MPI_Init or after MPI_Finalize is not recorded",
	"times are whole ticks from the call before: they fall behind by half a tick a call, and a pause of 2^32 ticks \
	 (429 s, if none was set) is missing from them",
	"a file is its name, and a blank in it an underscore; processes have neither number, host nor program; places in \
	 the code are not read",
	"stat of newer C libraries, mmap (by version 3), what a program starts and what was opened before MPI_Init are not \
	 recorded",
];

/// The directory as one run.
pub fn import(directory: &Path, catalog: Catalog) -> Parsed<ImportedRun> {
	let mut recording = Recording::read(directory)?;
	let mut importer = Importer::new(catalog);
	importer.builder.imported.add_host(0, "unknown");
	for number in 0..recording.ranks {
		importer.builder.imported.add_process(
			number,
			0,
			ProcessIdentity { rank: Some(number), ..ProcessIdentity::default() },
		);
		let calls = recording.rank(number)?;
		importer.rank(&recording, number, &calls)?;
	}
	importer.run(&recording);
	importer.marks(&recording);
	Ok(importer.builder.imported)
}

/// Whose a function may be, by the begin of its name.
fn layers_of(name: &str) -> &'static [&'static str] {
	match name {
		_ if name.starts_with("MPI_") => &["mpiio", "mpi"],
		_ if name.starts_with("H5") => &["hdf5"],
		_ if name.starts_with("ncmpi_") => &["pnetcdf"],
		_ if name.starts_with("nc_") => &["netcdf"],
		_ => &["posix", "stdio"],
	}
}

/// State of a rank while its calls are imported.
struct Rank<'s> {
	number: u32,
	offsets: Offsets,
	positions: Positions,
	/// By Recorder's numbers of MPI-IO's files, their objects, and of those that have a view where that begins and bytes
	/// of its unit; `None`: it has holes, or nobody knows.
	files: HashMap<&'s str, u32>,
	views: HashMap<&'s str, Option<(i64, i64)>>,
}

/// What a signature says, worked out once.
struct Shape<'s> {
	known: Option<FunctionIndex>,
	layer: &'static str,
	words: Words<'s>,
	args: Args,
	/// The object of its path; 0: none.
	file: u32,
	/// Another descriptor has the same position.
	shares: bool,
}

struct Importer {
	builder: RunBuilder,
	functions: HashMap<String, Option<FunctionIndex>>,
	/// Ranks whose threads were not told apart; those of which offsets are unknown for it.
	threaded: u64,
	unordered: u64,
	/// Calls of libraries that have neither files nor bytes.
	bare: u64,
	last: u64,
}

impl Importer {
	fn new(catalog: Catalog) -> Importer {
		let builder = RunBuilder::new(catalog);
		Importer { builder, functions: HashMap::new(), threaded: 0, unordered: 0, bare: 0, last: 0 }
	}

	/// Its calls; where they can be those of one thread they are, else nobody knows whose they are.
	fn rank(&mut self, recording: &Recording, number: u32, calls: &Calls) -> Parsed<()> {
		let threads = threads_of(calls);
		let alone = if threads.is_empty() { of_one_thread(calls) } else { None };
		self.threaded += u64::from(alone.is_none() && threads.is_empty());
		let ordered = alone.is_some() || threads.len() == 1;
		self.unordered += u64::from(recording.distances && !ordered);
		let mut rank = Rank {
			number,
			offsets: recording.offsets(number, ordered),
			positions: Positions::default(),
			files: HashMap::new(),
			views: HashMap::new(),
		};
		let ticks = 1e9 * recording.tick;
		let own = if alone.is_some() { number + 1 } else { 0 };
		let spans: Box<dyn Iterator<Item = (u64, u64)>> = match alone {
			Some(spans) => Box::new(spans.into_iter()),
			None => Box::new(times(calls)),
		};
		let mut shapes: Vec<Option<Shape<'_>>> = Vec::new();
		shapes.resize_with(calls.signatures.len(), || None);
		for (&which, (began, ended)) in calls.which.iter().zip(spans) {
			let signature = &calls.signatures[which as usize];
			let ended = ended as f64 * ticks;
			if ended > LONGEST {
				return Err(format!("rank {number} has times that cannot be"));
			}
			let when =
				When { began: (began as f64 * ticks).round() as u64, ended: ended.round() as u64 };
			self.last = self.last.max(when.ended);
			let shape = &mut shapes[which as usize];
			let shape = match shape {
				Some(shape) => &*shape,
				None => shape.insert(self.shape(signature)),
			};
			let thread = if signature.thread > 0 { signature.thread as u32 } else { own };
			self.call(&mut rank, shape, signature, when, thread)?;
		}
		Ok(())
	}

	fn shape<'s>(&mut self, signature: &'s Signature) -> Shape<'s> {
		let known = self.function(&signature.function);
		let layer = known.map_or("", |known| self.builder.of(known).layer);
		let words = Words::of(signature, layer);
		let args = words.args();
		let file = match (layer, words.path()) {
			("" | "mpiio", _) | (_, None) => 0,
			(_, Some(path)) => self.builder.object_number(object_class::PATH, path),
		};
		let shares = matches!(signature.function.as_str(), "dup" | "dup2");
		Shape { known, layer, words, args, file, shares }
	}

	fn call<'s>(
		&mut self,
		rank: &mut Rank<'s>,
		shape: &Shape<'s>,
		signature: &Signature,
		when: When,
		thread: u32,
	) -> Parsed<()> {
		if shape.shares || thread == 0 {
			rank.positions.forked();
		}
		let Some(known) = shape.known else {
			self.builder.left_out(format!("calls of {}", signature.function));
			return Ok(());
		};
		let offset = shape.words.text("offset");
		let offset = offset.and_then(|word| rank.offsets.real(&signature.function, word));
		let (file, fields) = match shape.layer {
			"mpiio" => self.mpiio(rank, shape, &signature.function, offset),
			_ => (shape.file, self.below(rank, shape, known, offset, thread)),
		};
		self.bare += u64::from(matches!(shape.layer, "hdf5" | "pnetcdf" | "netcdf"));
		// Results are not recorded: no call failed, as far as anybody knows.
		self.builder.call((rank.number, thread), known, file, when, (fields, 0))
	}

	/// Fields of a call of POSIX, of C's streams, or of a library on top.
	fn below(
		&self,
		rank: &mut Rank<'_>,
		shape: &Shape<'_>,
		known: FunctionIndex,
		offset: Option<i64>,
		thread: u32,
	) -> Fields {
		let mut args = Args { offset, any: shape.args.any || offset.is_some(), ..shape.args };
		if let (Some(whence), Some(offset), None, "posix") =
			(args.whence, offset, args.count, shape.layer)
		{
			let begin = match whence {
				SEEK_SET => Some(0),
				SEEK_CUR => rank.positions.at(shape.file),
				_ => None,
			};
			args.ret = begin.map(|begin| begin.saturating_add(offset));
		}
		self.builder.of(known).fields_and_error((shape.file, thread), &args, &mut rank.positions).0
	}

	/// The file and the fields.
	fn mpiio<'s>(
		&mut self,
		rank: &mut Rank<'s>,
		shape: &Shape<'s>,
		name: &str,
		offset: Option<i64>,
	) -> (u32, Fields) {
		let words = &shape.words;
		let file = words.text("file").unwrap_or_default();
		if let Some(path) = words.text("path") {
			let object = self.builder.object_number(object_class::MPI_FILE, path);
			rank.files.insert(file, object);
			rank.views.remove(file);
		}
		let object = rank.files.get(file).copied().unwrap_or(0);
		if name == "MPI_File_set_view" {
			let (unit, pattern) = (words.text("unit"), words.text("pattern"));
			let each = unit.and_then(bytes_of).filter(|_| unit == pattern);
			rank.views.insert(file, offset.zip(each));
		}
		let each = words.text("type").and_then(bytes_of);
		let Some((each, count)) = each.zip(words.number("count")) else {
			return (object, Fields::amode(&shape.args));
		};
		let size = each.saturating_mul(count.max(0));
		let view = rank.views.get(file).copied().unwrap_or(Some((0, 1)));
		let place = |((begin, unit), offset): ((i64, i64), i64)| {
			begin.saturating_add(unit.saturating_mul(offset))
		};
		(object, Fields::data(size, view.zip(offset).map(place), size))
	}

	/// Which one of Fathom's catalog a name is.
	fn function(&mut self, name: &str) -> Option<FunctionIndex> {
		if let Some(&known) = self.functions.get(name) {
			return known;
		}
		let known = self.builder.function(layers_of(name), name);
		self.functions.insert(name.to_owned(), known);
		known
	}

	fn run(&mut self, recording: &Recording) {
		let start = (recording.start * 1e9).round() as u64;
		let more = json!({
			"processes": recording.ranks, "ranks": true, "program": "unknown", "command": [], "directory": "",
			"versions": {"recorder": recording.version},
		});
		self.builder.run("recorder", (start, start.saturating_add(self.last)), more);
	}

	/// What the tables lack.
	fn marks(&mut self, recording: &Recording) {
		let threads = format!(
			"ranks with calls of several threads, not told apart: {} was not 1",
			recording.layout.threads
		);
		let mut limits: Vec<(String, u64)> =
			LIMITS.iter().map(|limit| ((*limit).to_owned(), 1)).collect();
		limits.push((threads, self.threaded));
		limits.push((DISTANCES.to_owned(), self.unordered));
		limits.push((BARE.to_owned(), self.bare));
		self.builder.marks(limits);
	}
}

/// Threads that its calls name.
fn threads_of(calls: &Calls) -> std::collections::HashSet<u64> {
	let mut used = vec![false; calls.signatures.len()];
	calls.which.iter().for_each(|&which| used[which as usize] = true);
	let named = calls.signatures.iter().zip(used).filter(|(_, used)| *used);
	named.map(|(signature, _)| signature.thread).filter(|&thread| thread > 0).collect()
}
