//! What a server begins with: its signals, its sockets, its group.

use std::fs;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fathom_ofi::Listener;

use crate::auth::Secrets;
use crate::connection::{Socket, connect_unix};
use crate::group::Group;
use crate::{Export, Settings};

/// How long a server that listens already may take to take a connection.
const LISTENS: Duration = Duration::from_secs(1);

/// Numbers of the listeners' events.
pub const UNIX: u64 = 2;
pub const TCP: u64 = 3;
pub const OFI: u64 = 4;

/// A socket that can be read once SIGTERM or SIGINT came.
pub fn stop_signals() -> Result<UnixStream, String> {
	let text = |error: io::Error| format!("signals: {error}");
	let (stop, raised) = UnixStream::pair().map_err(text)?;
	for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
		let raised = raised.try_clone().map_err(text)?;
		signal_hook::low_level::pipe::register(signal, raised).map_err(text)?;
	}
	// a file that is larger than this user's limit is an errno of one write, not the server's end
	let ignored = Arc::new(std::sync::atomic::AtomicBool::new(false));
	signal_hook::flag::register(signal_hook::consts::SIGXFSZ, ignored).map_err(text)?;
	Ok(stop)
}

/// A socket that only this user can connect to; one that a dead server left is taken over.
fn listen_unix(path: &Path) -> Result<UnixListener, String> {
	let text = |error: io::Error| format!("--unix {}: {error}", path.display());
	let probe = connect_unix(path, LISTENS);
	if probe.is_ok() || probe.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock) {
		return Err(format!("--unix {}: a server listens there", path.display()));
	}
	match fs::symlink_metadata(path) {
		Ok(facts) if facts.file_type().is_socket() => fs::remove_file(path).map_err(text)?,
		Ok(_) => {
			return Err(format!("--unix {}: there is a file that is no socket", path.display()));
		}
		Err(_) => {} // nothing there, or bind says why nothing can be
	}
	let mask = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o177));
	let listener = UnixListener::bind(path);
	rustix::process::umask(mask);
	let listener = listener.map_err(text)?;
	fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(text)?;
	listener.set_nonblocking(true).map_err(text)?;
	Ok(listener)
}

/// Where others could connect they must show who they are.
fn need_proof(option: &str, address: &str, settings: &Settings) -> Result<(), String> {
	match &settings.secrets {
		Secrets { token: None, munge: None } => {
			Err(format!("{option} {address}: others could connect; give --token FILE or --munge"))
		}
		_ => Ok(()),
	}
}

/// With the address at which clients find it.
fn listen_ofi(place: &str, settings: &Settings) -> Result<(Listener, String), String> {
	let address = place.trim_start_matches(':');
	need_proof("--ofi", address, settings)?;
	Listener::listen(place).map_err(|error| format!("--ofi {address}: {error}"))
}

fn listen_tcp(address: &str, settings: &Settings) -> Result<TcpListener, String> {
	need_proof("--tcp", address, settings)?;
	let text = |error: io::Error| format!("--tcp {address}: {error}");
	let listener = TcpListener::bind(address).map_err(text)?;
	listener.set_nonblocking(true).map_err(text)?;
	Ok(listener)
}

/// A connection of a node that vanished is found to be broken once nothing was heard of it for a lease.
pub fn ready_tcp(socket: &TcpStream, lease: Duration) -> io::Result<()> {
	use rustix::net::sockopt;
	let second = Duration::from_secs(1);
	socket.set_nonblocking(true)?;
	socket.set_nodelay(true)?;
	sockopt::set_socket_keepalive(socket, true)?;
	sockopt::set_tcp_keepidle(socket, lease.max(second))?;
	sockopt::set_tcp_keepintvl(socket, (lease / 8).max(second))?;
	Ok(sockopt::set_tcp_keepcnt(socket, 4)?)
}

/// A descriptor per client and file: as many as the system lets this user have. How many these are.
pub fn raise_descriptor_limit() -> usize {
	use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
	let limit = getrlimit(Resource::Nofile);
	let raised = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
	let current = if raised.is_ok() { limit.maximum } else { limit.current };
	current.map_or(usize::MAX, |most| most as usize)
}

/// What takes connections.
pub struct Listeners {
	pub unix: Option<UnixListener>,
	pub tcp: Option<TcpListener>,
	pub ofi: Option<(Listener, String)>,
}

impl Listeners {
	pub fn open(settings: &Settings) -> Result<Listeners, String> {
		Ok(Listeners {
			unix: settings.unix.as_deref().map(listen_unix).transpose()?,
			tcp: settings.tcp.as_deref().map(|at| listen_tcp(at, settings)).transpose()?,
			ofi: settings.ofi.as_deref().map(|at| listen_ofi(at, settings)).transpose()?,
		})
	}

	/// Each with the number of its events.
	pub fn all(&self) -> Vec<(u64, BorrowedFd<'_>)> {
		let unix = self.unix.iter().map(|listener| (UNIX, listener.as_fd()));
		let tcp = self.tcp.iter().map(|listener| (TCP, listener.as_fd()));
		let ofi = self.ofi.iter().map(|(listener, _)| (OFI, listener.as_fd()));
		unix.chain(tcp).chain(ofi).collect()
	}

	/// Where clients find them.
	pub fn addresses(&self, settings: &Settings) -> Result<Vec<String>, String> {
		let unix = settings.unix.iter().map(|path| Ok(format!("unix:{}", path.display())));
		let tcp = self.tcp.iter().map(|listener| {
			let address = listener.local_addr().map_err(|error| error.to_string())?;
			Ok(format!("tcp:{address}"))
		});
		let ofi = self.ofi.iter().map(|(_, address)| Ok(address.clone()));
		unix.chain(tcp).chain(ofi).collect()
	}

	/// A connection that waits; None: that cannot be.
	pub fn accept(&self, number: u64) -> Option<io::Result<Socket>> {
		match number {
			UNIX => self.unix.as_ref().map(|l| l.accept().map(|(socket, _)| Socket::Unix(socket))),
			TCP => self.tcp.as_ref().map(|l| l.accept().map(|(socket, _)| Socket::Tcp(socket))),
			_ => self.ofi.as_ref().map(|(l, _)| l.accept().map(Socket::Ofi)),
		}
	}
}

/// The servers that share the directory, or the one that this is before.
pub fn group(settings: &Settings) -> Result<Group, String> {
	let Some(path) = &settings.group else {
		return match &settings.export {
			Export::Server(address, secrets) => Group::before(address, secrets, &settings.name),
			_ => Ok(Group::default()),
		};
	};
	let unix = settings.unix.as_ref().map(|path| format!("unix:{}", path.display()));
	let tcp = settings.tcp.as_ref().map(|address| format!("tcp:{address}"));
	let ofi = settings.ofi.as_ref().map(|place| format!("ofi{place}"));
	let own_addresses: Vec<String> = unix.into_iter().chain(tcp).chain(ofi).collect();
	Group::read(
		path,
		&own_addresses,
		&settings.secrets,
		&settings.name,
		settings.striping.is_some(),
	)
}
