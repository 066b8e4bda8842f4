//! One OSD, as long as a run lasts.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::OsdError;
use crate::ask::Daemon;
use crate::files::Files;
use crate::history::{Counted, History};
use crate::lanes::Lanes;
use crate::operation::Kind;

/// Between two questions, at least; and the share of time that answers may take: an OSD has other work.
const INTERVAL: Duration = Duration::from_secs(1);
const SHARE: u32 = 10;
/// An OSD puts an operation into its history up to a second after its end.
const LATE: Duration = Duration::from_secs(3);
const LATE_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Debug, Clone)]
pub struct Settings {
	/// The run directory.
	pub run: PathBuf,
	/// The OSD's admin socket.
	pub socket: PathBuf,
	/// Those of metadata servers.
	pub metadata: Vec<PathBuf>,
	/// What the run calls it.
	pub name: String,
}

/// Until standard input is closed; `ready` is called when what is done from then on will be seen.
pub fn run(settings: &Settings, ready: impl FnOnce()) -> Result<(), OsdError> {
	fathom_record::begin(Some(&settings.run)).map_err(OsdError::Record)?;
	let mut history = History::begin(Daemon::new(&settings.socket))?;
	let outcome = watch(settings, &mut history, ready);
	let restored = history.end();
	fathom_record::detach();
	outcome.and(restored)
}

fn watch(settings: &Settings, history: &mut History, ready: impl FnOnce()) -> Result<(), OsdError> {
	let mut watch = Watch {
		files: Files::new(&settings.metadata),
		lanes: Lanes::new(),
		reported: Counted::default(),
		since: fathom_record::moment().1,
		before: history.counted()?,
	};
	ready();
	let mut pause = INTERVAL;
	while !closed(pause) {
		let began = Instant::now();
		watch.look(history)?;
		pause = INTERVAL.max(began.elapsed() * SHARE);
	}
	let counted = watch.finish(history)?;
	fathom_record::note(&watch.summary(&settings.name, counted));
	watch.lanes.end();
	Ok(())
}

struct Watch {
	files: Files,
	lanes: Lanes,
	reported: Counted,
	/// Nanoseconds since 1970; what ended before is counted in `before`.
	since: u64,
	before: Counted,
}

impl Watch {
	fn look(&mut self, history: &mut History) -> Result<(), OsdError> {
		let mut news = history.news()?;
		news.sort_by_key(|operation| operation.began);
		self.lanes.update_clock();
		self.files.ask_again();
		for operation in news.into_iter().filter(|operation| operation.ended >= self.since) {
			let writes = operation.kind == Kind::Write;
			self.reported.operations += 1;
			self.reported.written += if writes { operation.bytes } else { 0 };
			let (file, place) = self.files.of(&operation.object, operation.at);
			self.lanes.add(operation, file, place);
		}
		Ok(())
	}

	/// The last operations, and what the OSD counted in all.
	fn finish(&mut self, history: &mut History) -> Result<Counted, OsdError> {
		let end = Instant::now() + LATE;
		loop {
			self.look(history)?;
			let now = history.counted()?;
			let counted = Counted {
				operations: now.operations - self.before.operations,
				written: now.written - self.before.written,
			};
			let all = self.reported.operations >= counted.operations
				&& self.reported.written >= counted.written;
			if all || Instant::now() >= end {
				return Ok(counted);
			}
			std::thread::sleep(LATE_INTERVAL);
		}
	}

	fn summary(&self, name: &str, counted: Counted) -> String {
		let reported = self.reported;
		format!(
			"{name}: {} operations told, {} counted; {} bytes written told, {} counted",
			reported.operations, counted.operations, reported.written, counted.written
		)
	}
}

/// Was standard input closed within this time?
fn closed(within: Duration) -> bool {
	let input = std::io::stdin();
	let mut fds = [PollFd::new(&input, PollFlags::IN)];
	let within =
		Timespec { tv_sec: within.as_secs() as i64, tv_nsec: i64::from(within.subsec_nanos()) };
	poll(&mut fds, Some(&within)).is_ok() && !fds[0].revents().is_empty()
}
