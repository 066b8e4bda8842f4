//! `fathom-engine`: what Fathom does with bytes that others wrote.

mod attach;
mod dump;
mod forward;
mod hidden;
mod select;
mod shares;
mod stat;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use fathom_agent::{Collector, Flush, Plan, Settings, Target};
use fathom_pack::{Options, PackError, Step, bench, join, pack, pack_in_shares, recover};
use fathom_sink::{Codec, Sink};

/// Reads Fathom's streams: packs a run into tables, brings in what dead processes left, shows what is in a file.
///
/// Exit status: 0, 2 when called wrongly, 3 when the data cannot be used. Damage inside streams is no error:
/// it is skipped, counted, and said in the tables `runs` and `marks`.
#[derive(Parser)]
#[command(name = "fathom-engine", version, arg_required_else_help = true)]
struct Cli {
	#[command(subcommand)]
	command: Command,
}

#[derive(Subcommand)]
enum Command {
	/// Make a run's tables, unless they are newer than its streams
	///
	/// Streams in RUN/streams become RUN/tables/*.parquet (docs/tables.md). Several readers may ask at once: one
	/// packs, the others wait for it. Rings of processes that died on this node are brought in first.
	#[command(after_help = "Example:\n  fathom-engine pack s3d.fathom --jobs 8")]
	Pack {
		/// Run directory, NAME.fathom
		run: PathBuf,
		/// Threads [default: one per processor]
		#[arg(long, default_value_t = 0, hide_default_value = true, value_name = "N")]
		jobs: usize,
		/// Pack although the tables are new enough
		#[arg(long)]
		force: bool,
		/// No progress on stderr
		#[arg(long)]
		quiet: bool,
		/// Where rings lie [default: as run.json says]
		#[arg(long, value_name = "DIR")]
		ring: Option<PathBuf>,
		/// Let others do the work, in so many shares: told on stdout, answered on stdin (engine/cli/src/shares.rs)
		#[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
		shares: Option<u32>,
	},
	/// Do one share of what `pack --shares` told
	///
	/// On any node that sees the run's directory; needs the same version.
	#[command(
		after_help = "Example:\n  fathom-engine pack-share s3d.fathom/tables.shares.4711-18ab survey 0"
	)]
	PackShare {
		/// Folder that was told, below the run's directory
		folder: PathBuf,
		/// Step that was told: survey, write
		#[arg(value_parser = shares::step)]
		step: Step,
		/// Number of the share, from 0
		number: usize,
		/// Threads [default: one per processor]
		#[arg(long, default_value_t = 0, hide_default_value = true, value_name = "N")]
		jobs: usize,
	},
	/// Bring the rings of dead processes into a run's streams
	///
	/// Each ring becomes RUN/streams/.../PID.INSTANCE.tail.fts and is removed. Rings of processes that still run
	/// are left alone. Where streams share files (docs/trace-sink.md), an index that lacks blocks is made again.
	/// Doing it twice does no harm.
	#[command(
		after_help = "Example:\n  fathom-engine recover s3d.fathom --ring /dev/shm/fathom.1000.5f3a"
	)]
	Recover {
		/// Run directory, NAME.fathom
		run: PathBuf,
		/// Where rings lie [default: as run.json says]
		#[arg(long, value_name = "DIR")]
		ring: Option<PathBuf>,
	},
	/// Stay beside a node's traced processes: take samples, bring in what killed ones leave
	///
	/// `fathom run --agent` starts one per node. It ends with the node's last traced process; at once where the node
	/// has one already. What goes wrong is written on stderr.
	#[command(
		after_help = "Example:\n  fathom-engine agent s3d.fathom --ring /dev/shm/fathom.1000.5f3a --sample 1"
	)]
	Agent {
		/// Run directory, NAME.fathom
		run: PathBuf,
		/// Where the node's rings lie
		#[arg(long, value_name = "DIR")]
		ring: PathBuf,
		/// Seconds between samples; 0: none are taken
		#[arg(long, default_value_t = 1.0, value_name = "SECONDS")]
		sample: f64,
		/// Most bytes of samples; as they are used up, samples become rarer
		#[arg(long, default_value_t = 64 << 20, value_name = "BYTES")]
		budget: u64,
		/// Stay while this process lives, too
		#[arg(long, value_name = "PID")]
		watch: Option<u32>,
		/// End when standard input is closed, whoever still runs
		#[arg(long, hide = true)]
		leave: bool,
		/// The node's lock is held by who started this
		#[arg(long, hide = true)]
		locked: bool,
		/// Send the node's files to `fathom-engine collect` there [default: FATHOM_COLLECT]
		#[arg(long, value_name = "HOST:PORT/KEY")]
		collect: Option<Target>,
		/// Ask Ceph's storage daemons on this node what they do, by their admin sockets there
		#[arg(long, value_name = "DIR")]
		ceph: Option<PathBuf>,
		/// Where the system's files are
		#[arg(long, default_value = "/", value_name = "DIR")]
		root: PathBuf,
		#[command(flatten)]
		sink: SinkWords,
	},
	/// Look at a run while it runs: a JSON object per interval
	///
	/// Reads this node's rings and stream files as they grow, until the run is over. Each call is told once.
	#[command(after_help = "Example:\n  fathom-engine watch s3d.fathom --interval 2")]
	Watch {
		/// Run directory, NAME.fathom
		run: PathBuf,
		/// Seconds between two looks
		#[arg(long, default_value_t = 1.0, value_name = "S")]
		interval: f64,
		/// One look at all that was recorded so far, then the end
		#[arg(long)]
		once: bool,
		/// Most rows of a line; the others are added up without file and line
		#[arg(long, default_value_t = 2000, value_name = "N")]
		most: usize,
		/// Where rings lie [default: as run.json says]
		#[arg(long, value_name = "DIR")]
		ring: Option<PathBuf>,
	},
	/// Take what agents of other nodes send, into one run directory
	///
	/// The first line on stdout is what agents have to be told. What came is whole after each message, whenever this
	/// is ended; an agent that comes back goes on where it was.
	#[command(after_help = "Example:\n  fathom-engine collect s3d.fathom --nodes 2")]
	Collect {
		/// Run directory, NAME.fathom; made when it is not there
		run: PathBuf,
		/// Where to listen
		#[arg(long, default_value = "0.0.0.0:0", value_name = "ADDRESS:PORT")]
		listen: String,
		/// What agents have to know [default: random]
		#[arg(long, value_name = "KEY")]
		key: Option<String>,
		/// End when as many nodes have sent all [default: go on]
		#[arg(long, value_name = "N")]
		nodes: Option<usize>,
	},
	/// Make a run of what strace wrote
	///
	/// FILE is what `strace -f -ttt -T -y -o FILE` wrote, or all files of `-ff`. RUN is made; where `fathom run --strace`
	/// made it, streams are added. A JSON object on stdout says what came of it.
	#[command(
		after_help = "Example:\n  strace -f -ttt -T -y -s 0 -o log ./program; fathom-engine strace program.fathom log"
	)]
	Strace {
		/// Run directory, NAME.fathom
		run: PathBuf,
		/// What strace wrote; a directory: all files in it
		#[arg(required = true, value_name = "FILE")]
		files: Vec<PathBuf>,
	},
	/// Make a run of what DFTracer wrote
	///
	/// On standard input: the functions of the catalog, as `fathom import` says them. A JSON object on stdout says what came of
	/// it.
	Dftracer {
		/// Run directory, NAME.fathom, that is made
		run: PathBuf,
		/// Files of one run; a directory: those in it
		#[arg(required = true, value_name = "FILE")]
		files: Vec<PathBuf>,
	},
	/// Make a run of what Recorder wrote
	///
	/// On standard input: the functions of the catalog, as `fathom import` says them. A JSON object on stdout says what came of
	/// it.
	Recorder {
		/// Run directory, NAME.fathom, that is made
		run: PathBuf,
		/// What Recorder wrote of one run
		directory: PathBuf,
	},
	/// Make a run of what a reader of another tool's log tells on standard input, line by line
	///
	/// What `fathom import` asks of it; engine/import/src/jsonl.rs has the lines. A JSON object on stdout says what came of it.
	ImportJsonl {
		/// Run directory, NAME.fathom, that is made
		run: PathBuf,
	},
	/// Do the I/O of other processes on a directory: a forwarding server
	///
	/// The first line on stdout is where it listens. SIGTERM: what was accepted is written, then it ends.
	/// docs/forwarding.md says what may be relied on.
	#[command(
		after_help = "Examples:\n  fathom-engine forward /scratch/run1 --unix /run/user/1000/f.sock\n  fathom-engine forward /scratch/run1 --tcp 127.0.0.1:0 --token ~/.fathom-token"
	)]
	Forward(Box<forward::Forward>),
	/// How forwarding servers are: a line of JSON for each
	#[command(after_help = "Example:\n  fathom-engine forward-status unix:/run/user/1000/f.sock")]
	ForwardStatus(forward::ForwardStatus),
	/// Begin to record in a forwarding server that runs, by settings on standard input: NAME=VALUE, a zero behind each, one
	/// more behind all
	///
	/// What `fathom attach` and `fathom detach` ask of it.
	ForwardRecord(forward::ForwardRecord),
	/// Ask a storage daemon of Ceph what it does, and record that into a run, until standard input is closed
	///
	/// An agent with --ceph starts one for each. "ready" on stdout: what is done from then on is seen.
	#[command(
		after_help = "Example:\n  fathom-engine osd s3d.fathom --socket /run/ceph/ceph-osd.3.asok --name osd.3"
	)]
	Osd {
		/// Run directory, NAME.fathom
		run: PathBuf,
		/// Its admin socket
		#[arg(long, value_name = "SOCKET")]
		socket: PathBuf,
		/// The admin socket of a metadata server, which knows files by their inodes; repeatable
		#[arg(long, value_name = "SOCKET")]
		metadata: Vec<PathBuf>,
		/// What the run calls it
		#[arg(long)]
		name: String,
	},
	/// Bring parts of one run, from nodes without a common file system, into one directory
	#[command(after_help = "Example:\n  fathom-engine join s3d.fathom node2/s3d.fathom")]
	Join {
		/// Run directory that gets them; made when it is not there
		into: PathBuf,
		/// Run directories of other nodes
		#[arg(required = true)]
		parts: Vec<PathBuf>,
	},
	/// Count chunks, rows, bytes per event and damage
	#[command(
		after_help = "Examples:\n  fathom-engine stat s3d.fathom\n  fathom-engine stat 4711.0123456789abcdef.fts"
	)]
	Stat {
		/// Run directory or stream file
		path: PathBuf,
	},
	/// Print a stream file's rows and records as JSON, one per line
	#[command(after_help = "Example:\n  fathom-engine dump 4711.0123456789abcdef.fts | head")]
	Dump {
		/// Stream file
		file: PathBuf,
	},
	/// Check a selection file and print what processes read of it
	///
	/// docs/selection.md has both forms. Exit status 2 and one line when something is wrong in it.
	#[command(
		after_help = "Examples:\n  fathom-engine select restart.toml --program ./s3d\n  echo '[job]' | fathom-engine select -"
	)]
	Select {
		/// Selection file (TOML); - is stdin
		file: PathBuf,
		/// Where `code` is looked for; repeatable
		#[arg(long, value_name = "FILE")]
		program: Vec<PathBuf>,
	},
	/// What has to be written into a program so that calls of libraries that were linked into it are seen
	///
	/// `fathom attach` asks this. Standard input names the functions. The answer is one line of JSON; OUTPUT is written
	/// where there is something to do (docs/hidden-format.md).
	#[command(after_help = "Example:\n  fathom-engine hidden /proc/4711/exe -o hidden < names")]
	Hidden {
		/// The program's file
		program: PathBuf,
		/// What the runtime reads
		#[arg(short, long, value_name = "FILE")]
		output: PathBuf,
	},
	/// Bring libfathom.so into a process that runs, or let it go
	///
	/// `fathom attach` and `fathom detach` ask this. Standard input has the settings, each with a zero behind it. The
	/// answer is the library's status (runtime/edges/attached.c) and the run that it names.
	#[command(hide = true)]
	Attach {
		/// Its number
		process: i32,
		/// The library; without it recording ends
		#[arg(long, value_name = "FILE")]
		library: Option<PathBuf>,
		/// Seconds for all of it
		#[arg(long, default_value_t = 60, value_name = "SECONDS")]
		within: u64,
		/// Seconds for a moment at which a thread can be borrowed
		#[arg(long, default_value_t = 5.0, value_name = "SECONDS")]
		patience: f64,
	},
	/// Put compiled lines, from standard input, in force for a node's processes; print their number
	#[command(hide = true)]
	SelectInto {
		/// Where the node's rings lie
		rings: PathBuf,
	},
	/// Measure how fast one core reads a stream file back (of a run: its largest)
	///
	/// rows_per_second is into Arrow arrays.
	#[command(
		after_help = "Example:\n  fathom-engine decode-bench 4711.0123456789abcdef.fts --repeat 5"
	)]
	DecodeBench {
		/// Run directory or stream file
		path: PathBuf,
		/// Repetitions; the best counts
		#[arg(long, default_value_t = 3, value_name = "N")]
		repeat: u32,
	},
}

#[derive(Args)]
struct SinkWords {
	/// Ship the node's streams into shared files, through the servers in FATHOM_FORWARD_SERVERS (docs/trace-sink.md)
	#[arg(long)]
	sink: bool,
	/// When: full, step, end
	#[arg(long, default_value = "full", value_name = "WHEN")]
	sink_flush: Flush,
	/// Bytes of a transfer
	#[arg(long, default_value_t = 1 << 20, value_name = "BYTES")]
	sink_size: usize,
	/// Bytes that may wait in the node's memory
	#[arg(long, default_value_t = 256 << 20, value_name = "BYTES")]
	sink_mark: u64,
	/// Servers answer before they have written
	#[arg(long)]
	sink_nonblocking: bool,
	/// Blocks are not compressed
	#[arg(long)]
	sink_plain: bool,
}

impl SinkWords {
	fn plan(self) -> Option<Plan> {
		let variable = |name| std::env::var(name).ok().filter(|word| !word.is_empty());
		self.sink.then(|| Plan {
			flush: self.sink_flush,
			size: self.sink_size,
			mark: self.sink_mark,
			nonblocking: self.sink_nonblocking,
			codec: if self.sink_plain { Codec::Plain } else { Codec::Zstd },
			servers: variable("FATHOM_FORWARD_SERVERS").unwrap_or_default(),
			prefix: variable("FATHOM_FORWARD_PREFIX").unwrap_or_default(),
			token: variable("FATHOM_FORWARD_TOKEN").map(PathBuf::from),
			munge: variable("FATHOM_FORWARD_MUNGE"),
		})
	}
}

fn main() -> ExitCode {
	let cli = match Cli::try_parse() {
		Ok(cli) => cli,
		Err(error) => {
			let _ = error.print();
			return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
		}
	};
	if let Command::Select { file, program } = &cli.command {
		return select::select(file, program);
	}
	match run(cli.command) {
		Ok(()) => ExitCode::SUCCESS,
		Err(message) => {
			eprintln!("fathom-engine: {}", fathom_import::printable(&message));
			ExitCode::from(3)
		}
	}
}

fn run(command: Command) -> Result<(), String> {
	let text = |error: PackError| error.to_string();
	match command {
		Command::Pack { run, jobs, force, quiet, ring, shares } => {
			let options = Options { jobs, force, quiet, ring, ..Options::default() };
			let packed = match shares {
				None => pack(&run, &options),
				Some(shares) => {
					pack_in_shares(&run, &options, &mut shares::StdioShares::new(shares))
				}
			};
			let packed = packed.map_err(text)?;
			warn_refused(&packed.recovered.refused);
			if !quiet && !packed.fresh {
				if packed.damaged > 0 {
					eprintln!(
						"fathom-engine: damaged stretches of streams that are left out: {}; table marks names them",
						packed.damaged
					);
				}
				packed.missing.iter().for_each(|line| eprintln!("fathom-engine: {line}"));
			}
			Ok(())
		}
		Command::PackShare { folder, step, number, jobs } => {
			fathom_pack::share(&folder, step, number, jobs).map_err(text)
		}
		Command::Recover { run, ring } => bring_in(&run, ring),
		Command::Watch { run, interval, once, most, ring } => {
			let interval = Duration::try_from_secs_f64(interval).unwrap_or_default();
			let interval = interval.max(Duration::from_millis(10));
			let options = fathom_watch::Options { interval, once, most, ring };
			fathom_watch::watch(&run, &options, &mut std::io::stdout())
				.map_err(|error| error.to_string())
		}
		Command::Stat { path } => stat::stat(&path),
		Command::Agent {
			run,
			ring,
			sample,
			budget,
			watch,
			leave,
			locked,
			collect,
			ceph,
			root,
			sink,
		} => {
			let sample = interval(sample)?;
			let collect = match (collect, std::env::var("FATHOM_COLLECT")) {
				(None, Ok(word)) => Some(word.parse().map_err(|e| format!("FATHOM_COLLECT: {e}"))?),
				(given, _) => given,
			};
			let sink = sink.plan();
			let settings = Settings {
				run,
				ring,
				sample,
				budget,
				watch,
				leave,
				locked,
				collect,
				sink,
				ceph,
				root,
			};
			fathom_agent::run(&settings).map_err(|error| error.to_string())
		}
		Command::Collect { run, listen, key, nodes } => collect(run, &listen, key, nodes),
		Command::Osd { run, socket, metadata, name } => {
			let settings = fathom_osd::Settings { run, socket, metadata, name };
			// Who started us may not listen.
			fathom_osd::run(&settings, || print_line("ready").unwrap_or_default())
				.map_err(|error| error.to_string())
		}
		Command::Strace { run, files } => strace(&run, &files),
		Command::Dftracer { run, files } => {
			print_report(fathom_traces::import_dftracer(&run, &files, functions()?))
		}
		Command::Recorder { run, directory } => {
			print_report(fathom_traces::import_recorder(&run, &directory, functions()?))
		}
		Command::ImportJsonl { run } => {
			print_report(fathom_import::import(&run, std::io::stdin().lock()))
		}
		Command::Forward(options) => forward::forward(*options),
		Command::ForwardStatus(options) => forward::forward_status(options),
		Command::ForwardRecord(options) => forward::forward_record(&options),
		Command::Join { into, parts } => {
			for part in &parts {
				let joined = join(&into, part).map_err(text)?;
				let value = serde_json::json!({
					"part": part.display().to_string(), "nodes": joined.nodes,
					"files": joined.files, "bytes": joined.bytes,
				});
				print_line(&value.to_string())?;
			}
			Ok(())
		}
		Command::Dump { file } => dump::dump(&file),
		Command::Attach { process, library, within, patience } => {
			attach::attach(process, library, within, patience)
		}
		Command::Hidden { program, output } => hidden::hidden(&program, &output),
		Command::Select { .. } => Ok(()), // has statuses of its own
		Command::SelectInto { rings } => select::select_into(&rings),
		Command::DecodeBench { path, repeat } => {
			let files = stat::files_of(&path)?;
			let file =
				files.iter().max_by_key(|file| std::fs::metadata(file).map_or(0, |f| f.len()));
			let file = file.ok_or_else(|| format!("{}: no stream file", path.display()))?;
			let rates = bench(file, repeat.max(1)).map_err(text)?;
			let events = rates.events.max(1) as f64;
			let value = serde_json::json!({
				"file": file.display().to_string(),
				"events": rates.events,
				"rows_per_second": rates.arrow * 1e6,
				"stream_bytes_per_event": rates.stream_bytes as f64 / events,
				"table_bytes_per_event": rates.table_bytes as f64 / events,
				"decode_million_per_second": rates.decode,
				"arrow_million_per_second": rates.arrow,
				"parquet_million_per_second": rates.parquet,
			});
			print_line(&value.to_string())
		}
	}
}

/// The functions of the catalog, which whoever imports a trace says on standard input.
fn functions() -> Result<fathom_traces::Catalog, String> {
	let catalog = std::io::read_to_string(std::io::stdin()).map_err(|error| error.to_string())?;
	fathom_traces::Catalog::of(&catalog)
}

fn print_report(
	report: Result<fathom_import::ImportReport, impl std::fmt::Display>,
) -> Result<(), String> {
	let report = report.map_err(|error| error.to_string())?;
	let value = serde_json::json!({"processes": report.processes, "bytes": report.bytes});
	print_line(&value.to_string())
}

fn strace(run: &Path, files: &[PathBuf]) -> Result<(), String> {
	let report = fathom_strace::import(run, files).map_err(|error| error.to_string())?;
	let counts = report.counts;
	print_line(
		&serde_json::json!({
			"processes": report.processes, "bytes": report.bytes, "refused": counts.refused,
			"torn": counts.torn, "unknown": counts.unknown, "untimed": counts.untimed,
		})
		.to_string(),
	)
}

fn collect(
	run: PathBuf,
	listen: &str,
	key: Option<String>,
	nodes: Option<usize>,
) -> Result<(), String> {
	let failed = |error: std::io::Error| format!("--listen {listen}: {error}");
	let listener = std::net::TcpListener::bind(listen).map_err(failed)?;
	let mut address = listener.local_addr().map_err(failed)?.to_string();
	if listener.local_addr().is_ok_and(|address| address.ip().is_unspecified()) {
		let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
		let port = address.rsplit(':').next().unwrap_or_default().to_owned();
		address = format!("{}:{port}", host.trim());
	}
	let key = match key {
		Some(key) => key,
		None => format!("{:016x}", fathom_sink::random().map_err(|error| error.to_string())?),
	};
	print_line(&format!("{address}/{key}"))?;
	let settings = Collector { run, key, nodes };
	fathom_agent::collect(&listener, settings).map_err(|error| error.to_string())
}

/// Seconds between samples; `None`: there are none.
fn interval(seconds: f64) -> Result<Option<Duration>, String> {
	const SHORTEST: f64 = 0.001;
	let length = Duration::try_from_secs_f64(seconds).ok();
	match length {
		Some(Duration::ZERO) => Ok(None),
		Some(length) if seconds >= SHORTEST => Ok(Some(length)),
		_ => Err(format!("--sample: {seconds}: give seconds from {SHORTEST} on, or 0 for none")),
	}
}

fn bring_in(run: &std::path::Path, ring: Option<PathBuf>) -> Result<(), String> {
	// A killed process may have left nothing but its ring: with --ring the directory may be empty.
	let rings = match ring {
		Some(rings) if run.is_dir() => rings,
		_ => named_rings(run)?,
	};
	let recovered = recover(run, &rings).map_err(|error| error.to_string())?;
	warn_refused(&recovered.refused);
	let index = make_index(run)?;
	let mut value = serde_json::json!({
		"processes": recovered.processes,
		"chunks": recovered.chunks,
		"unfinished": recovered.unfinished,
		"alive": recovered.alive.len(),
		"refused": recovered.refused.len(),
	});
	if let Some(index) = index {
		value["index"] = index;
	}
	print_line(&value.to_string())
}

fn named_rings(run: &std::path::Path) -> Result<PathBuf, String> {
	let opened = fathom_pack::Run::open(run).map_err(|error| error.to_string())?;
	let named = opened.named_rings();
	let named =
		named.ok_or_else(|| format!("{}: run.json names no rings, give --ring", run.display()))?;
	Ok(opened.own_rings()?.unwrap_or(named))
}

/// Of streams that share files: makes their index again where it lacks blocks, and says how it was.
fn make_index(run: &std::path::Path) -> Result<Option<serde_json::Value>, String> {
	let folder = run.join("sink");
	let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
	let Some(sink) = Sink::open(&folder).map_err(failed)? else { return Ok(None) };
	if !sink.index_is_whole() {
		sink.write_index().map_err(failed)?;
	}
	let (blocks, bytes) = sink.sums();
	let report = &sink.report;
	Ok(Some(serde_json::json!({
		"blocks": blocks, "bytes": bytes, "found": report.scanned, "torn": report.index_torn,
		"skipped": report.skipped,
		"lost": sink.lost().into_iter().map(|lost| lost.what).collect::<Vec<_>>(),
	})))
}

fn warn_refused(refused: &[String]) {
	for ring in refused {
		eprintln!("fathom-engine: left alone: {ring}");
	}
}

/// One line on stdout; a reader that went away is no error.
fn print_line(line: &str) -> Result<(), String> {
	use std::io::Write;
	match writeln!(std::io::stdout(), "{line}") {
		Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.to_string()),
		_ => Ok(()),
	}
}
