//! Servers, their clients and their disk, and the steps that a schedule takes.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use fathom_wire::{Gap, Hints};
use rustix::io::Errno;

use crate::append_owner::Asker;
use crate::ask_owner::{answer, question};
use crate::auth::Secrets;
use crate::clock::{self, simulated};
use crate::connection::Socket;
use crate::done::Done;
use crate::listen::Listeners;
use crate::server::{STOP, Server};
use crate::simulation::client::{Client, Heard};
use crate::simulation::disk::Disk;
use crate::simulation::programs::{Program, Record, check_all, some_program};
use crate::store::Data;
use crate::trouble::Trouble;
use crate::{Export, Settings};

/// Steps in which things go wrong, and then at most in which all must come to its end.
const STORM: usize = 150;
const CALM: usize = 40_000;
/// Steps in which a server has done all that it was given.
const SETTLED: usize = 60;
const LEASE: Duration = Duration::from_secs(3600);
/// Threads of a server.
const WORKERS: usize = 4;
const NOBODY: Listeners = Listeners { unix: None, tcp: None, ofi: None };

/// A client, and what it does.
pub struct Seat {
	client: Client,
	/// The server that it uses.
	server: usize,
	pub programs: Vec<Box<dyn Program>>,
	/// The step in which it is killed, if it is.
	leaves: Option<usize>,
	is_gone: bool,
}

/// One server as another's client.
struct Peer {
	from: usize,
	to: usize,
	client: Client,
	/// Who asked, for how many extents, and until when it is waited for.
	asked: BTreeMap<u64, (Asker, usize, Instant)>,
}

/// A server, or the place of one that was killed.
#[derive(Default)]
struct Place {
	server: Option<Server>,
	/// What its threads have done.
	done: Vec<Done>,
	/// Connections that their clients have left, of which it need not know.
	left: Vec<u64>,
	/// It is stopped, and sees nothing.
	stopped_until: Option<Duration>,
}

pub struct World {
	pub chance: fastrand::Rng,
	pub disk: Arc<Disk>,
	places: Vec<Place>,
	pub seats: Vec<Seat>,
	peers: Vec<Peer>,
	/// Epochs of servers that were told to end, and have written all that they had accepted.
	ended: BTreeSet<u64>,
	started: u64,
	pool: usize,
	/// How long a server waits for another.
	patience: Duration,
	/// What may happen, one of so many steps.
	kills: usize,
	breaks: usize,
	faults: bool,
	/// Clients have gone, and servers know it.
	pub is_settled: bool,
}

impl World {
	pub fn new(schedule: u64) -> World {
		simulated::begin();
		let mut chance = fastrand::Rng::with_seed(schedule);
		let disk = Disk::new(chance.bool(), *chance.choice(&[40, 400, 4 << 20]).unwrap());
		let (clients, servers) = (chance.u64(1..=3), if chance.u8(0..3) == 0 { 2 } else { 1 });
		let mut world = World {
			disk,
			places: (0..servers).map(|_| Place::default()).collect(),
			seats: Vec::new(),
			peers: Vec::new(),
			ended: BTreeSet::new(),
			started: 0,
			pool: *chance.choice(&[64, 4096, 1 << 20]).unwrap(),
			patience: Duration::from_secs(*chance.choice(&[3, 30, 300]).unwrap()),
			kills: *chance.choice(&[usize::MAX, 12, 30, 60]).unwrap(),
			breaks: *chance.choice(&[usize::MAX, 15, 40]).unwrap(),
			faults: chance.u8(0..4) == 0,
			is_settled: false,
			chance,
		};
		for id in 1..=clients {
			let server = world.chance.usize(0..servers);
			let numbers = 0..world.chance.u64(1..=2);
			let programs =
				numbers.map(|number| some_program(&mut world.chance, (id, number), servers == 1));
			let programs: Vec<_> = programs.collect();
			let mut client = Client::new(id);
			let (mut leaves, is_gone) = (None, false);
			if programs.iter().all(|program| program.only_appends()) {
				client.is_pathless = world.chance.u8(0..3) == 0;
				leaves = (world.chance.u8(0..3) == 0).then(|| world.chance.usize(0..STORM));
			}
			world.seats.push(Seat { client, server, programs, leaves, is_gone });
		}
		world
	}

	pub fn run(&mut self) {
		for step in 0..STORM {
			self.leave(step);
			self.step(true);
		}
		self.disk.fail(0, false, 0);
		for _ in 0..CALM {
			if self.is_over() {
				check_all(self);
				self.settle();
				return check_all(self);
			}
			self.step(false);
		}
		let left = |seat: &Seat| seat.programs.iter().map(|program| program.describe()).collect();
		let left: Vec<Vec<String>> = self.seats.iter().map(left).collect();
		panic!("it does not end: {left:?}");
	}

	/// No truncation was under way after it was asked for.
	pub fn is_uncut(&self, record: &Record) -> bool {
		let programs = self.seats.iter().flat_map(|seat| &seat.programs);
		programs.filter_map(|program| program.last_cut()).all(|cut| cut < record.asked)
	}

	fn is_over(&self) -> bool {
		let is_idle = |place: &Place| {
			let quiet = |server: &Server| {
				let asks = server.simulated_asks.as_ref().is_none_or(Vec::is_empty);
				asks && server.workers.waiting() == 0 && server.given_up.is_empty()
			};
			place.done.is_empty() && place.server.as_ref().is_some_and(quiet)
		};
		let ended = |seat: &Seat| {
			seat.client.pending.is_empty() && seat.programs.iter().all(|program| program.is_over())
		};
		let asked = self.peers.iter().any(|peer| !peer.asked.is_empty());
		!asked && self.places.iter().all(is_idle) && self.seats.iter().all(ended)
	}

	/// Clients that are killed in this step.
	fn leave(&mut self, step: usize) {
		for at in 0..self.seats.len() {
			if self.seats[at].leaves != Some(step) {
				continue;
			}
			say!("client {} is gone", self.seats[at].client.id);
			self.break_connection(at);
			let seat = &mut self.seats[at];
			seat.is_gone = true;
			seat.client.pending.clear();
			seat.programs.iter_mut().for_each(|program| program.leave());
		}
	}

	/// All clients have gone, then also servers that were ending, and leases have passed: what is left to do is done.
	fn settle(&mut self) {
		for at in 0..self.seats.len() {
			self.break_connection(at);
		}
		for _ in 0..6 {
			let mut steps = 0..SETTLED;
			while self.go_through() && steps.next().is_some() {}
			simulated::pass(LEASE);
		}
		self.is_settled = true;
	}

	/// False: there is nothing more to do.
	fn go_through(&mut self) -> bool {
		for place in 0..self.places.len() {
			let left = std::mem::take(&mut self.places[place].left);
			self.round(place, left);
			self.work(place);
			self.take_done(place);
		}
		for at in 0..self.peers.len() {
			self.take_asks(at);
			self.send_to_peer(at);
			self.hear_peer(at);
		}
		let waits = |place: &Place| {
			let work = place.server.as_ref().map_or(0, |server| server.workers.waiting());
			work + place.left.len() + place.done.len() > 0
		};
		let asked = self.peers.iter().any(|peer| !peer.asked.is_empty());
		asked || self.places.iter().any(waits)
	}

	/// What servers that know the end of the log say of gaps.
	pub fn live_gaps(&self) -> Vec<Vec<Gap>> {
		let servers = self.places.iter().filter_map(|place| place.server.as_ref());
		let log = self.disk.handle("log");
		servers.filter_map(|server| server.owner.gaps(log?)).collect()
	}

	fn one_in(&mut self, steps: usize) -> bool {
		steps != usize::MAX && self.chance.usize(0..steps) == 0
	}

	fn step(&mut self, storm: bool) {
		let passes = if self.chance.u8(0..20) == 0 { 600_000 } else { self.chance.u64(0..3000) };
		simulated::pass(Duration::from_micros(passes));
		let place = self.chance.usize(0..self.places.len());
		if self.places[place].server.is_none() {
			if !storm || self.chance.bool() {
				self.start(place);
			}
		} else if storm && self.one_in(self.kills) {
			return self.end_server(place);
		}
		if storm && self.faults && self.one_in(10) {
			let (writes, journals) = (self.chance.u32(0..3), self.chance.u32(0..2));
			self.disk.fail(writes, self.chance.bool(), journals);
		}
		if storm && self.places.len() > 1 && self.one_in(60) {
			let time = Duration::from_millis(self.chance.u64(0..10_000));
			say!("server {place} is stopped for {time:?}");
			self.places[place].stopped_until = simulated::passed().map(|passed| passed + time);
		}
		let at = self.chance.usize(0..self.seats.len());
		if storm && self.one_in(self.breaks) {
			return self.break_connection(at);
		}
		match self.chance.u8(0..if self.places.len() > 1 { 16 } else { 10 }) {
			0 | 1 => self.seats[at].go_on(&mut self.chance),
			2 | 3 => self.send(at),
			4 | 5 => self.work(place),
			6 => self.take_done(place),
			7 | 8 => self.hear(at),
			10.. => self.ask_others(storm),
			_ => {
				let left = self.some_left(place);
				self.round(place, left);
			}
		}
	}

	/// Connections that a server finds left; of others it hears later.
	fn some_left(&mut self, place: usize) -> Vec<u64> {
		if self.is_stopped(place) {
			return Vec::new();
		}
		let left = &mut self.places[place].left;
		let (now, later) = left.drain(..).partition(|_| self.chance.u8(0..3) == 0);
		*left = later;
		now
	}

	fn is_stopped(&self, place: usize) -> bool {
		self.places[place].stopped_until > simulated::passed()
	}

	fn start(&mut self, place: usize) {
		say!("server {place} is started");
		let address = |number: usize| PathBuf::from(format!("/simulated/{number}"));
		let is_alone = self.places.len() == 1;
		let settings = Settings {
			export: Export::Simulated(self.disk.clone()),
			unix: (!is_alone).then(|| address(place)),
			tcp: None,
			ofi: None,
			secrets: Secrets::default(),
			name: "simulated".into(),
			workers: 0,
			pool: self.pool,
			client_pool: self.pool / 2,
			client_files: 1000,
			lease: LEASE,
			deadline: Duration::from_secs(20),
			group: (!is_alone).then(|| list().clone()),
			striping: None,
			mount: None,
			patience: self.patience,
			cache: 0,
			data: Data::Files,
			plugins: Vec::new(),
			rates: None,
		};
		self.places[place].server = Some(Server::new(settings, 1 << 20).unwrap());
		for to in (0..self.places.len()).filter(|to| *to != place) {
			self.started += 1;
			let client = Client::new(1000 + self.started);
			self.peers.push(Peer { from: place, to, client, asked: BTreeMap::new() });
		}
	}

	/// Killed, or asked to end.
	fn end_server(&mut self, place: usize) {
		if self.chance.u8(0..4) == 0 {
			say!("server {place} is told to end");
			return self.round(place, vec![STOP]);
		}
		self.collect();
		match self.chance.bool() {
			true => self.disk.kill_in(usize::MAX, true),
			false => self.disk.kill_in(self.chance.usize(0..200), false),
		}
		for _ in 0..self.chance.usize(0..6) {
			match self.chance.bool() {
				true => self.work(place),
				false => {
					let at = self.chance.usize(0..self.seats.len());
					self.serve_quietly(at, place);
				}
			}
		}
		self.disk.revive();
		if self.places.len() == 1 {
			self.disk.tear_journals(&mut self.chance); // else another server's may be among them
		}
		self.killed(place);
	}

	/// A server that is dying reads from a client; what it says is not heard any more.
	fn serve_quietly(&mut self, at: usize, place: usize) {
		let seat = &self.seats[at];
		let Some((_, number)) = seat.client.link.as_ref().filter(|_| seat.server == place) else {
			return;
		};
		if let Some(server) = &mut self.places[place].server {
			server.round(&NOBODY, vec![*number].into_iter());
		}
	}

	fn killed(&mut self, place: usize) {
		say!("server {place} is gone");
		self.places[place] = Place::default();
		for seat in self.seats.iter_mut().filter(|seat| seat.server == place) {
			match self.chance.bool() {
				true => seat.client.hang_up(),
				false => seat.client.end(),
			}
		}
		for peer in &mut self.peers {
			match peer.from == place {
				// its connection ends
				true => {
					self.places[peer.to].left.extend(peer.client.link.as_ref().map(|link| link.1))
				}
				false => peer.client.hang_up(),
			}
		}
		self.peers.retain(|peer| peer.from != place);
	}

	fn break_connection(&mut self, at: usize) {
		let seat = &mut self.seats[at];
		let number = seat.client.link.as_ref().map(|(_, number)| *number);
		self.places[seat.server].left.extend(number);
		seat.client.hang_up();
	}

	fn collect(&mut self) {
		self.seats.iter_mut().for_each(|seat| seat.client.collect());
		self.peers.iter_mut().for_each(|peer| peer.client.collect());
	}

	/// What has come at these connections of a server, and what follows.
	fn round(&mut self, place: usize, events: Vec<u64>) {
		if self.is_stopped(place) {
			return;
		}
		let Some(server) = &mut self.places[place].server else { return };
		let over = server.round(&NOBODY, events.into_iter());
		if over {
			server.end_store().unwrap();
			let failed = server.clients.values().any(|client| client.may_not_know());
			if server.count.accepted > 0 && !failed {
				self.ended.insert(server.epoch);
			}
		}
		self.collect();
		if over {
			self.killed(place);
		}
	}

	fn send(&mut self, at: usize) {
		let seat = &mut self.seats[at];
		if seat.is_gone {
			return;
		}
		let Some(server) = &mut self.places[seat.server].server else { return };
		let number = write(&mut seat.client, server, None, &mut self.chance);
		let place = seat.server;
		if self.chance.u8(0..4) > 0 {
			self.round(place, vec![number]);
		}
	}

	/// One of the server's threads does something.
	fn work(&mut self, place: usize) {
		if self.is_stopped(place) {
			return;
		}
		let Place { server: Some(server), done, .. } = &mut self.places[place] else { return };
		let waiting = server.workers.waiting().min(WORKERS);
		if waiting == 0 {
			return;
		}
		if let Some(work) = server.workers.take(self.chance.usize(0..waiting)) {
			done.push(work(&server.store));
		}
	}

	fn take_done(&mut self, place: usize) {
		if self.is_stopped(place) {
			return;
		}
		let Place { server: Some(server), done, .. } = &mut self.places[place] else { return };
		self.disk.know_journals();
		for done in done.drain(..) {
			server.begun(&done, clock::now());
			server.finish(done);
			server.finish_inline();
		}
		self.round(place, Vec::new());
	}

	fn hear(&mut self, at: usize) {
		let seat = &mut self.seats[at];
		if seat.client.has_mail() {
			let Some(heard) = seat.client.hear() else { return };
			for program in &mut seat.programs {
				program.hear(&mut seat.client, &heard);
			}
			if let Heard::Connected { lost, .. } = heard {
				let is_false = lost.is_some_and(|epoch| self.ended.contains(&epoch));
				assert!(!is_false, "what an orderly end has written is called lost");
				seat.client.resume();
			}
		} else if let Some((_, number)) = &seat.client.link {
			let (place, number) = (seat.server, *number);
			self.round(place, vec![number]);
		}
	}

	/// One server asks another, hears of it, or waits no longer.
	fn ask_others(&mut self, storm: bool) {
		if self.peers.is_empty() {
			return;
		}
		let at = self.chance.usize(0..self.peers.len());
		self.take_asks(at);
		match self.chance.u8(0..4) {
			0 if storm && self.one_in(self.breaks) => self.hang_up_peer(at),
			0 | 1 => self.send_to_peer(at),
			2 => self.hear_peer(at),
			_ => self.give_up(at),
		}
	}

	fn hang_up_peer(&mut self, at: usize) {
		let peer = &mut self.peers[at];
		self.places[peer.to].left.extend(peer.client.link.as_ref().map(|link| link.1));
		peer.client.hang_up();
	}

	/// What a server wants of others.
	fn take_asks(&mut self, at: usize) {
		let peer = &mut self.peers[at];
		let Some(server) = &mut self.places[peer.from].server else { return };
		for (_, id, asker, ask) in server.simulated_asks.iter_mut().flat_map(std::mem::take) {
			let count = ask.wanted.len();
			let request = question(id, &asker, ask);
			let seq = peer.client.ask(request, b"", (0, Hints::default()), &[]);
			peer.asked.insert(seq, (asker, count, clock::now() + self.patience));
		}
	}

	fn send_to_peer(&mut self, at: usize) {
		let peer = &mut self.peers[at];
		let Some(server) = &mut self.places[peer.to].server else { return };
		let number = write(&mut peer.client, server, Some(""), &mut self.chance);
		let to = peer.to;
		if self.chance.u8(0..4) > 0 {
			self.round(to, vec![number]);
		}
	}

	fn hear_peer(&mut self, at: usize) {
		let peer = &mut self.peers[at];
		if !peer.client.has_mail() {
			let (to, number) = (peer.to, peer.client.link.as_ref().map(|link| link.1));
			return self.round(to, number.into_iter().collect());
		}
		let heard = peer.client.hear();
		match heard {
			Some(Heard::Connected { .. }) => peer.client.resume(),
			Some(Heard::Answer { seq, answer: told }) => {
				let Some((asker, count, _)) = peer.asked.remove(&seq) else { return };
				let told = match told {
					Ok((reply, _)) => answer(count, reply, false),
					Err(errno) => Err(Errno::from_raw_os_error(errno as i32).into()),
				};
				self.answered(at, Done::Asked(asker, told));
			}
			None => {}
		}
	}

	/// An owner that has not answered in time; the request may still lie before it.
	fn give_up(&mut self, at: usize) {
		let peer = &mut self.peers[at];
		let late = peer.asked.iter().find(|(_, asked)| asked.2 < clock::now());
		let Some(seq) = late.map(|(seq, _)| *seq) else { return };
		let Some((asker, ..)) = peer.asked.remove(&seq) else { return };
		peer.client.pending.remove(&seq);
		self.hang_up_peer(at);
		let trouble = Trouble { again: true, ..Trouble::from(Errno::TIMEDOUT) };
		self.answered(at, Done::Asked(asker, Err(trouble)));
	}

	fn answered(&mut self, at: usize, done: Done) {
		let from = self.peers[at].from;
		self.places[from].done.push(done);
	}
}

/// So many frames leave for a server, by a new connection if there is none: its number.
fn write(
	client: &mut Client,
	server: &mut Server,
	list: Option<&str>,
	chance: &mut fastrand::Rng,
) -> u64 {
	if client.link.is_none() {
		let (own, theirs) = UnixStream::pair().unwrap();
		client.connect(own, server.next_connection, list);
		server.greet_later(Socket::Unix(theirs));
	}
	client.write(chance.usize(1..4));
	client.link.as_ref().map_or(0, |(_, number)| *number)
}

/// The file that lists two servers.
fn list() -> &'static PathBuf {
	static LIST: OnceLock<PathBuf> = OnceLock::new();
	LIST.get_or_init(|| {
		let path = std::env::temp_dir().join(format!("fathom-simulated-{}", std::process::id()));
		std::fs::write(&path, "unix:/simulated/0\nunix:/simulated/1\n").unwrap();
		path
	})
}

impl Seat {
	fn go_on(&mut self, chance: &mut fastrand::Rng) {
		if self.is_gone {
			return;
		}
		let at = chance.usize(0..self.programs.len());
		self.programs[at].go_on(&mut self.client, chance);
	}
}
