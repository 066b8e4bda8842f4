//! Recording begins and ends in a server that runs: what `fathom attach` and `detach` ask of it.

use std::path::Path;
use std::time::{Duration, Instant};

use fathom_record::{Changed, Purpose};
use fathom_wire::number::record;
use fathom_wire::{Reply, Request};
use rustix::io::Errno;

use crate::auth::Secrets;
use crate::connection::Socket;
use crate::done::Done;
use crate::limits::INLINE;
use crate::peer::{Peer, Question};
use crate::pulls::is_pulled;
use crate::queue::Key;
use crate::server::Server;

impl Server {
	/// Whoever is on the Unix socket is this server's user. A thread does it that may wait: what was recorded is written out.
	pub fn begin_record(&mut self, key: Key, begin: bool, settings: &[u8]) -> Result<(), Errno> {
		let Some(pending) = self.pending(key) else { return Ok(()) };
		let (asked_by, pulled) = (pending.connection, is_pulled(pending));
		let connection = self.connections.get(&asked_by);
		if !connection.is_some_and(|connection| matches!(connection.socket, Socket::Unix(_))) {
			return Err(Errno::PERM);
		}
		if pulled || settings.len() > INLINE {
			return Err(Errno::MSGSIZE);
		}
		let settings = settings.to_vec();
		let work = move |_: &_| {
			let (changed, run) = match begin {
				true => fathom_record::attach(&settings),
				false => fathom_record::detach(),
			};
			let reply = Reply::Record { outcome: outcome(changed), run: run.as_str().into() };
			Done::Simple(key, Ok(reply), None)
		};
		self.misc_workers.give(Purpose::default(), Box::new(work));
		Ok(())
	}
}

fn outcome(changed: Changed) -> u8 {
	match changed {
		Changed::Done => record::DONE,
		Changed::RecordedAlready => record::RECORDED_ALREADY,
		Changed::LeftOut => record::LEFT_OUT,
		Changed::NotRecorded => record::NOT_RECORDED,
	}
}

/// Has the server at this Unix socket begin by these settings, or without any end: what came of it, and the run.
pub fn record(
	socket: &Path,
	settings: Option<&[u8]>,
	patience: Duration,
) -> Result<(u8, String), String> {
	let address = format!("unix:{}", socket.display());
	let peer = Peer::new(&address, Secrets::default(), "fathom-engine forward-record")?;
	let request = Request::Record { begin: u8::from(settings.is_some()) };
	let data = [settings.unwrap_or_default()];
	let question = Question { data: &data, ..Question::of(&request) };
	let response = peer.put(question, Instant::now() + patience).map_err(|trouble| trouble.why)?;
	match response.reply {
		Reply::Record { outcome, run } => {
			Ok((outcome, String::from_utf8_lossy(&run.0).into_owned()))
		}
		_ => Err(format!("{address}: it answers something else")),
	}
}
