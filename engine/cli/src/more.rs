//! Commands that `make demo` leaves out: what records in other ways, and reads other tools' logs.

mod attach;
mod forward;
mod hidden;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};
use fathom_agent::{Collector, Flush, Plan, Settings, Target};
use fathom_sink::Codec;

use crate::print_line;

#[derive(Subcommand)]
pub enum More {
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
	/// Tell what the kernel does for processes: BPF programs, loaded as long as they are watched
	///
	/// What `fathom run --kernel` and `fathom attach --kernel` ask of it. It takes root, or CAP_BPF and CAP_PERFMON.
	Kernel {
		/// Whose children, and theirs, until standard input is closed
		#[arg(long, value_name = "PID", required_unless_present_any = ["process", "calls_of"])]
		parent: Option<u32>,
		/// This one and its children, until none is left, or the folder of rings is gone; may be given again
		#[arg(long, value_name = "PID", conflicts_with = "parent")]
		process: Vec<u32>,
		/// The same, with system calls: no library can be brought into it
		#[arg(long, value_name = "PID", conflicts_with = "parent")]
		calls_of: Vec<u32>,
		/// System calls, too, of programs that do not open the library
		#[arg(long, conflicts_with_all = ["process", "calls_of"])]
		calls: bool,
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
}

#[derive(Args)]
pub struct SinkWords {
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

pub fn run(command: More) -> Result<(), String> {
	match command {
		More::Watch { run, interval, once, most, ring } => {
			let interval = Duration::try_from_secs_f64(interval).unwrap_or_default();
			let interval = interval.max(Duration::from_millis(10));
			let options = fathom_watch::Options { interval, once, most, ring };
			fathom_watch::watch(&run, &options, &mut std::io::stdout())
				.map_err(|error| error.to_string())
		}
		More::Agent {
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
		More::Collect { run, listen, key, nodes } => collect(run, &listen, key, nodes),
		More::Osd { run, socket, metadata, name } => {
			let settings = fathom_osd::Settings { run, socket, metadata, name };
			// Who started us may not listen.
			fathom_osd::run(&settings, || print_line("ready").unwrap_or_default())
				.map_err(|error| error.to_string())
		}
		More::Kernel { parent, process, calls_of, calls } => kernel(&match parent {
			Some(parent) => fathom_kernel::Whose::Children { parent, calls },
			None => fathom_kernel::Whose::Processes { recorded: process, calls_of },
		}),
		More::Strace { run, files } => strace(&run, &files),
		More::Dftracer { run, files } => {
			print_report(fathom_traces::import_dftracer(&run, &files, functions()?))
		}
		More::Recorder { run, directory } => {
			print_report(fathom_traces::import_recorder(&run, &directory, functions()?))
		}
		More::ImportJsonl { run } => {
			print_report(fathom_import::import(&run, std::io::stdin().lock()))
		}
		More::Forward(options) => forward::forward(*options),
		More::ForwardStatus(options) => forward::forward_status(options),
		More::ForwardRecord(options) => forward::forward_record(&options),
		More::Attach { process, library, within, patience } => {
			attach::attach(process, library, within, patience)
		}
		More::Hidden { program, output } => hidden::hidden(&program, &output),
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

/// Who started us reads standard output to its end: the reason too.
fn kernel(whose: &fathom_kernel::Whose) -> Result<(), String> {
	let say = |line: &str| print_line(line).unwrap_or_default();
	let outcome = fathom_kernel::run(whose, say);
	outcome.map_err(|error| {
		say(&error.to_string());
		error.to_string()
	})
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
	let _alone = fathom_agent::claim(&run).map_err(|error| error.to_string())?;
	let listener = std::net::TcpListener::bind(listen).map_err(failed)?;
	let mut address = listener.local_addr().map_err(failed)?.to_string();
	if listener.local_addr().is_ok_and(|address| address.ip().is_unspecified()) {
		let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
		let port = address.rsplit(':').next().unwrap_or_default().to_owned();
		address = format!("{}:{port}", host.trim());
	}
	// Of one that is begun again by `fathom pack --collect`: on no command line.
	let told = std::env::var("FATHOM_COLLECT").ok();
	let before = told.and_then(|told| told.rsplit_once('/').map(|(_, key)| key.to_owned()));
	let key = match key.or(before).filter(|key| !key.is_empty()) {
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
