//! `fathom-engine`: what Fathom does with bytes that others wrote.

mod dump;
#[cfg(feature = "everything")]
mod more;
mod select;
mod shares;
mod stat;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use fathom_pack::{
	Decision, Named, Options, PackError, Step, Thin, Triggers, bench, check_jobs, gather, join,
	pack, pack_in_shares, recover, thin,
};
use fathom_sink::Sink;

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
	/// Drop the calls of nodes whose processes show none of some reasons to keep them
	///
	/// Sums of the calls stay. Each node is decided for itself, and a line on stderr says how. Being stopped in the middle,
	/// or doing it twice, does no harm.
	#[command(after_help = "Example:\n  fathom-engine thin s3d.fathom --keep-if 'io>10%,failed'")]
	Thin {
		/// Run directory, NAME.fathom
		run: PathBuf,
		/// Reasons, comma-separated: io>PERCENT%, errors, unfinished, failed; of findings `--besides` says what came out
		#[arg(long, value_name = "LIST", value_parser = Triggers::parse)]
		keep_if: Triggers,
		/// Only the node that this runs on
		#[arg(long)]
		this_node: bool,
		/// What else did not hold, to be said with the rest
		#[arg(long, value_name = "TEXT")]
		besides: Option<String>,
		/// Where rings lie [default: as run.json says]
		#[arg(long, value_name = "DIR")]
		ring: Option<PathBuf>,
	},
	/// Put this node's streams into one compressed file
	///
	/// Where a process of the run still lives here they are left as they are. Being stopped in the middle, or doing it twice,
	/// does no harm.
	#[command(after_help = "Example:\n  fathom-engine gather s3d.fathom")]
	Gather {
		/// Run directory, NAME.fathom
		run: PathBuf,
	},
	/// Check reasons to keep calls: prints `wrong` and why, or `finding` and the seconds above which one is a reason
	#[command(after_help = "Example:\n  fathom-engine reasons 'io>10%,finding>5s'")]
	Reasons {
		/// Comma-separated: io>PERCENT%, errors, unfinished, failed, finding>SECONDSs
		list: String,
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
	#[cfg(feature = "everything")]
	#[command(flatten)]
	More(more::More),
}

fn main() -> ExitCode {
	let cli = match Cli::try_parse() {
		Ok(cli) => cli,
		Err(error) => {
			let _ = error.print();
			if cfg!(not(feature = "everything")) && error.kind() == ErrorKind::InvalidSubcommand {
				say("made by `make demo`, which leaves commands out; `make build` makes all");
			}
			return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
		}
	};
	if let Command::Select { file, program } = &cli.command {
		return select::select(file, program);
	}
	match run(cli.command) {
		Ok(()) => ExitCode::SUCCESS,
		Err(message) => {
			say(&message);
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
					say(&format!(
						"damaged stretches of streams that are left out: {}; table marks names them",
						packed.damaged
					));
				}
				packed.missing.iter().for_each(|line| say(line));
			}
			Ok(())
		}
		Command::PackShare { folder, step, number, jobs } => {
			fathom_pack::share(&folder, step, number, jobs).map_err(text)
		}
		Command::Gather { run } => {
			gather(&run).map_err(text)?;
			Ok(())
		}
		Command::Reasons { list } => {
			match Triggers::parse(&list) {
				Ok(Triggers { finding: Some(seconds), .. }) => {
					fathom_stream::say!("finding {seconds}");
				}
				Ok(_) => {}
				Err(why) => fathom_stream::say!("wrong {why}"),
			}
			Ok(())
		}
		Command::Thin { run, keep_if, this_node, besides, ring } => {
			for decision in
				thin(&run, &keep_if, &Thin { this_node, ring, besides }).map_err(text)?
			{
				let Decision { host, kept, why, before, after } = decision;
				say(&match kept {
					true => format!("{host}: calls kept: {why}"),
					false => format!("{host}: calls dropped, {before} bytes are {after}: {why}"),
				});
			}
			Ok(())
		}
		Command::Recover { run, ring } => bring_in(&run, ring),
		Command::Stat { path } => stat::stat(&path),
		Command::Join { into, parts } => {
			let all = std::iter::once(&into).chain(&parts);
			check_jobs(all.map(PathBuf::as_path)).map_err(text)?; // before anything is brought
			for part in &parts {
				let joined = join(&into, part).map_err(text)?;
				warn_refused(&joined.refused);
				let value = serde_json::json!({
					"part": part.display().to_string(), "nodes": joined.nodes,
					"files": joined.files, "bytes": joined.bytes,
				});
				print_line(&value.to_string())?;
			}
			Ok(())
		}
		Command::Dump { file } => dump::dump(&file),
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
		#[cfg(feature = "everything")]
		Command::More(command) => more::run(command),
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
	match opened.own_rings().map_err(|error| error.to_string())? {
		Named::Own(_) | Named::Absent => Ok(named),
		Named::Foreign(why) => Err(why),
	}
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
		say(&format!("left alone: {ring}"));
	}
}

/// One line on stderr. Where it cannot be written nobody can be told, and the status stays.
fn say(line: &str) {
	fathom_stream::warn!("fathom-engine: {line}");
}

/// One line on stdout; a reader that went away is no error.
fn print_line(line: &str) -> Result<(), String> {
	use std::io::Write;
	match writeln!(std::io::stdout(), "{line}") {
		Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.to_string()),
		_ => Ok(()),
	}
}
