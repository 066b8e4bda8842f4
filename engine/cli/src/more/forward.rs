//! `fathom-engine forward`: what the command line says of a server.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use fathom_forward::{
	Data, Export, Munge, Rates, Secrets, Settings, Striping, record, serve, status,
};
use serde_json::{Value, json};

/// How the sides of a connection that is no Unix socket know each other.
#[derive(Args)]
struct Proofs {
	/// File (mode 0600) whose first line clients must know
	#[arg(long, value_name = "FILE")]
	token: Option<PathBuf>,
	/// Take clients of this user by munge, too; SOCKET: munged's, if it is not the usual one
	#[arg(long, value_name = "SOCKET", num_args = 0..=1)]
	munge: Option<Option<PathBuf>>,
}

impl Proofs {
	fn secrets(&self) -> Result<Secrets, String> {
		let secrets = Secrets::from_options(self.token.as_deref(), None)?;
		let munge = self.munge.as_ref().map(|socket| Munge::new(socket.as_deref())).transpose()?;
		Ok(Secrets { munge, ..secrets })
	}
}

#[derive(Args)]
pub struct Forward {
	/// Directory that is exported; cephfs:/PATH: of a CephFS, by libcephfs, without a mount; unix:PATH, tcp:HOST:PORT or
	/// ofi:HOST:PORT: what the server there exports
	export: PathBuf,
	/// Ceph's configuration [default: where Ceph looks]
	#[arg(long, value_name = "FILE")]
	ceph_conf: Option<PathBuf>,
	/// Ceph's user, client.ID
	#[arg(long, default_value = "admin", value_name = "ID")]
	ceph_id: String,
	/// File whose first line the server behind must be shown, of a path that is an address
	#[arg(long, value_name = "FILE")]
	behind_token: Option<PathBuf>,
	/// Listen on this Unix socket; only this user may connect
	#[arg(long, value_name = "PATH")]
	unix: Option<PathBuf>,
	/// Listen on TCP; needs --token or --munge
	#[arg(long, value_name = "ADDRESS:PORT")]
	tcp: Option<String>,
	/// Listen over libfabric, on its choice of provider or on +PROVIDER:ADDRESS:PORT; needs the same
	#[arg(long, value_name = "ADDRESS:PORT")]
	ofi: Option<String>,
	#[command(flatten)]
	proofs: Proofs,
	/// What the server is called in messages
	#[arg(long, default_value = "server", value_name = "NAME")]
	name: String,
	/// Threads that read and write the store
	#[arg(long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
	workers: u16,
	/// Bytes of buffers for data on its way
	#[arg(long, default_value_t = 256 << 20, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(4096..))]
	pool: u64,
	/// Bytes of them that one client may hold at once; default: half
	#[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(4096..))]
	client_pool: Option<u64>,
	/// Files that one client may have open at once
	#[arg(long, default_value_t = 65536, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
	client_files: u32,
	/// Bytes of files' blocks that are kept after they were read as a whole for small reads, where the store is slow per access; 0: none
	#[arg(long, default_value_t = 64 << 20, value_name = "BYTES")]
	cache: u64,
	/// Seconds that a client without connections is kept
	#[arg(long, default_value_t = 30.0, value_name = "S")]
	lease: f64,
	/// Seconds that a request may take which names no deadline
	#[arg(long, default_value_t = 60.0, value_name = "S")]
	deadline: f64,
	/// File that lists the servers which share the directory, an address a line, this one among them
	#[arg(long, value_name = "FILE")]
	group: Option<PathBuf>,
	/// File that lists servers which have a directory each, as --group; files are striped over them
	#[arg(long, value_name = "FILE", conflicts_with = "group")]
	stripe: Option<PathBuf>,
	/// Bytes of a stripe, of files that are made
	#[arg(long, default_value_t = 1 << 20, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..=1 << 40), requires = "stripe")]
	stripe_size: u64,
	/// Servers that a file is striped over, 0 for all
	#[arg(long, default_value_t = 0, value_name = "N", requires = "stripe")]
	stripe_count: u32,
	/// Where programs see files that are striped or in a CephFS, for names in the trace; default: the directory
	#[arg(long, value_name = "DIR")]
	mount: Option<PathBuf>,
	/// Seconds that another server may take to answer
	#[arg(long, default_value_t = 10.0, value_name = "S")]
	patience: f64,
	/// What holds the data
	#[arg(long, value_enum, default_value_t = Store::Posix)]
	store: Store,
	/// Shared library whose operations clients may call by name (fathom_fwd_plugin.h); as often as needed
	#[arg(long, value_name = "FILE", conflicts_with = "stripe")]
	plugin: Vec<PathBuf>,
	/// Make the store slow: creates=4000,operations=…,megabytes=… (a second), latency=… (s)
	#[arg(long, value_name = "RATES")]
	throttle: Option<Rates>,
	/// Record requests and what was done to the store into this run directory; default: that of FATHOM_RUN
	#[arg(long, value_name = "RUN.fathom")]
	record: Option<PathBuf>,
}

#[derive(Args)]
pub struct ForwardStatus {
	/// Servers: unix:PATH, tcp:HOST:PORT or ofi:HOST:PORT
	#[arg(required = true, value_name = "ADDRESS")]
	addresses: Vec<String>,
	#[command(flatten)]
	proofs: Proofs,
	/// Seconds that each may take to answer
	#[arg(long, default_value_t = 2.0, value_name = "S")]
	patience: f64,
}

#[derive(Args)]
pub struct ForwardRecord {
	/// The server's Unix socket
	socket: PathBuf,
	/// End instead: what was recorded is written out
	#[arg(long)]
	end: bool,
	/// Seconds that it may take to answer
	#[arg(long, default_value_t = 60.0, value_name = "S")]
	patience: f64,
}

#[derive(Clone, Copy, ValueEnum)]
enum Store {
	/// The files of the directory
	Posix,
	/// Nothing: data is dropped, names are kept
	Null,
}

pub fn forward(options: Forward) -> Result<(), String> {
	if options.unix.is_none() && options.tcp.is_none() && options.ofi.is_none() {
		let ways = "--unix PATH, --tcp ADDRESS:PORT or --ofi ADDRESS:PORT";
		return Err(format!("nowhere to listen: give {ways}"));
	}
	let secrets = options.proofs.secrets()?;
	let export = exported(&options, &secrets)?;
	let mount = match export {
		Export::Directory(_) if options.stripe.is_none() => None,
		Export::Server(..) => options.mount,
		_ => Some(options.mount.unwrap_or(options.export)),
	};
	let settings = Settings {
		mount,
		export,
		unix: options.unix,
		tcp: options.tcp,
		ofi: options.ofi.map(|at| if at.starts_with('+') { at } else { format!(":{at}") }),
		secrets,
		name: options.name,
		workers: usize::from(options.workers),
		pool: options.pool as usize,
		client_pool: options.client_pool.unwrap_or(options.pool / 2) as usize,
		client_files: options.client_files as usize,
		cache: options.cache as usize,
		lease: seconds("lease", options.lease)?,
		deadline: seconds("deadline", options.deadline)?,
		striping: options.stripe.as_ref().map(|_| Striping {
			size: options.stripe_size,
			count: options.stripe_count,
			first: None,
		}),
		group: options.group.or(options.stripe),
		patience: seconds("patience", options.patience)?,
		data: match options.store {
			Store::Posix => Data::Files,
			Store::Null => Data::Nothing,
		},
		plugins: options.plugin,
		rates: options.throttle,
	};
	fathom_record::begin(options.record.as_deref())?;
	let served = serve(settings, |addresses| {
		let _ = crate::print_line(addresses);
	});
	fathom_record::detach();
	served
}

/// What is exported; what it cannot be together with is refused.
fn exported(options: &Forward, secrets: &Secrets) -> Result<Export, String> {
	let text = options.export.to_string_lossy();
	let export = match text.split_once(':') {
		Some(("cephfs", path)) if path.is_empty() || path.starts_with('/') => {
			let (conf, id) = (options.ceph_conf.clone(), options.ceph_id.clone());
			Export::Cephfs { path: Path::new("/").join(path), conf, id }
		}
		Some(("cephfs", _)) => return Err(format!("{text}: give cephfs:/PATH")),
		Some((kind, _)) if ["unix", "tcp", "ofi"].contains(&kind) || kind.starts_with("ofi+") => {
			let shown = Secrets::from_options(options.behind_token.as_deref(), None)?;
			Export::Server(text.to_string(), Secrets { munge: secrets.munge.clone(), ..shown })
		}
		_ => return Ok(Export::Directory(options.export.clone())),
	};
	let behind = matches!(export, Export::Server(..));
	let not = match () {
		() if options.stripe.is_some() && behind => "--stripe needs a directory of this machine",
		() if options.stripe.is_some() => "CephFS stripes by itself, without --stripe",
		() if options.group.is_some() && behind => "--group goes with a directory that all see",
		() if !options.plugin.is_empty() => "a plug-in needs a directory of this machine",
		() if matches!(options.store, Store::Null) => "--store null goes with a directory",
		() if options.throttle.is_some() && behind => "--throttle is for that server",
		() => return Ok(export),
	};
	Err(format!("{text}: {not}"))
}

/// One line of JSON per server: what it says of itself, or `error`.
pub fn forward_status(options: ForwardStatus) -> Result<(), String> {
	let secrets = options.proofs.secrets()?;
	let patience = seconds("patience", options.patience)?;
	for address in &options.addresses {
		let answered = status(address, secrets.clone(), patience);
		let parsed = answered.and_then(|text| {
			serde_json::from_str::<Value>(&text).map_err(|error| format!("its answer: {error}"))
		});
		let line = parsed.unwrap_or_else(|error| json!({ "error": error }));
		crate::print_line(&line.to_string())?;
	}
	Ok(())
}

/// The settings are on standard input. Prints `[outcome, run]`: section `record` of the protocol.
pub fn forward_record(options: &ForwardRecord) -> Result<(), String> {
	let patience = seconds("patience", options.patience)?;
	let mut settings = Vec::new();
	if !options.end {
		let read = std::io::stdin().read_to_end(&mut settings);
		read.map_err(|error| format!("standard input: {error}"))?;
	}
	let answer = record(&options.socket, (!options.end).then_some(&settings[..]), patience)?;
	crate::print_line(&json!(answer).to_string())
}

fn seconds(name: &str, value: f64) -> Result<Duration, String> {
	let length = Duration::try_from_secs_f64(value).ok();
	let long = length.filter(|length| (1..=86_400_000).contains(&length.as_millis()));
	long.ok_or_else(|| format!("--{name} {value}: give seconds, 0.001 to 86400"))
}
