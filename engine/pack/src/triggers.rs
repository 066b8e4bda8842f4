//! `--keep-calls-if`: what a node's processes must show for their calls to be kept.

use std::collections::BTreeMap;

use rustix::io::Errno;

/// Errors that a program does not ask for: no room, a device or a file system that fails. What programs try on purpose
/// (no such file, no permission, try again) is left out.
const MATTER: [(Errno, &str); 12] = [
	(Errno::IO, "EIO"),
	(Errno::NOSPC, "ENOSPC"),
	(Errno::DQUOT, "EDQUOT"),
	(Errno::FBIG, "EFBIG"),
	(Errno::STALE, "ESTALE"),
	(Errno::TIMEDOUT, "ETIMEDOUT"),
	(Errno::REMOTEIO, "EREMOTEIO"),
	(Errno::UCLEAN, "EUCLEAN"),
	(Errno::SHUTDOWN, "ESHUTDOWN"),
	(Errno::NFILE, "ENFILE"),
	(Errno::MFILE, "EMFILE"),
	(Errno::NOLCK, "ENOLCK"),
];

/// The name of an error that matters.
pub fn that_matters(error: u64) -> Option<&'static str> {
	let error = i32::try_from(error).ok()?;
	MATTER.iter().find(|(errno, _)| errno.raw_os_error() == error).map(|(_, name)| *name)
}

/// Failed calls of which only the sum is known.
pub const COUNTED: &str = "an error that was only counted";

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Triggers {
	/// Percent of the run time.
	io: Option<f64>,
	errors: bool,
	unfinished: bool,
	failed: bool,
	/// Seconds that a finding is worth: whoever asks has judged it, for only the tables say.
	pub finding: Option<f64>,
}

/// What the processes of one node show.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shown {
	/// Of the process that spent most time in I/O: the share of its node's run time, and who it is.
	pub io: (f64, String),
	/// Failed calls by error.
	pub errors: BTreeMap<&'static str, u64>,
	/// Calls that were open when their process ended.
	pub unfinished: u64,
	/// The program or a process, and how it ended.
	pub failed: Option<String>,
}

impl Triggers {
	pub fn parse(text: &str) -> Result<Triggers, String> {
		let mut triggers = Triggers::default();
		for word in text.split(',') {
			match word {
				"errors" => triggers.errors = true,
				"unfinished" => triggers.unfinished = true,
				"failed" => triggers.failed = true,
				_ => triggers.amount(word)?,
			}
		}
		Ok(triggers)
	}

	/// `io>10%`, `finding>5s`
	fn amount(&mut self, word: &str) -> Result<(), String> {
		let above = |name, unit, most: f64| {
			let number: f64 = word.strip_prefix(name)?.strip_suffix(unit)?.parse().ok()?;
			(0.0..=most).contains(&number).then_some(number)
		};
		match (above("io>", '%', 100.0), above("finding>", 's', f64::MAX)) {
			(Some(percent), _) => self.io = Some(percent),
			(_, Some(seconds)) => self.finding = Some(seconds),
			_ => return Err(no_reason(word)),
		}
		Ok(())
	}

	/// Why the calls stay; as an error why they do not.
	pub fn judge(&self, shown: &Shown) -> Result<String, String> {
		let mut unmet = Vec::new();
		if let Some(limit) = self.io {
			let (share, who) = &shown.io;
			let of = if who.is_empty() { String::new() } else { format!(" of {who}") };
			let taken = format!("I/O{of} took {:.1} % of the run time", share * 100.0);
			if share * 100.0 > limit {
				return Ok(format!("{taken}, above {limit} %"));
			}
			unmet.push(format!("{taken}, not above {limit} %"));
		}
		if self.errors {
			if let Some((error, calls)) = shown.errors.iter().max_by_key(|(_, calls)| **calls) {
				return Ok(format!("{} failed with {error}", things(*calls)));
			}
			unmet.push("no call failed with an error that matters".into());
		}
		if self.unfinished {
			if shown.unfinished > 0 {
				return Ok(format!("{} never ended", things(shown.unfinished)));
			}
			unmet.push("all calls ended".into());
		}
		if self.failed {
			if let Some(how) = &shown.failed {
				return Ok(how.clone());
			}
			unmet.push("nothing failed".into());
		}
		Err(unmet.join(", "))
	}
}

fn things(calls: u64) -> String {
	format!("{calls} call{}", if calls == 1 { "" } else { "s" })
}

fn no_reason(word: &str) -> String {
	format!(
		"'{word}' is no reason to keep calls; there are io>10%, errors, unfinished, failed, finding>5s"
	)
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn words() {
		let triggers = Triggers::parse("io>2.5%,failed").unwrap_or_default();
		assert_eq!((triggers.io, triggers.failed, triggers.errors), (Some(2.5), true, false));
		assert_eq!(Triggers::parse("finding>5s,errors").unwrap_or_default().finding, Some(5.0));
		for wrong in [
			"io",
			"io>10",
			"finding>-1s",
			"finding>5",
			"finding>infs",
			"",
			"failed,",
			"io>x%",
			"io>101%",
			"fail",
			"io>10%;failed",
		] {
			assert!(Triggers::parse(wrong).is_err(), "{wrong}");
		}
	}

	#[test]
	fn the_first_reason_is_enough_and_all_that_did_not_hold_are_said() {
		let triggers = Triggers::parse("io>10%,errors,unfinished,failed").unwrap_or_default();
		let mut shown = Shown { io: (0.021, "rank 3".into()), ..Shown::default() };
		let unmet = "I/O of rank 3 took 2.1 % of the run time, not above 10 %, no call failed with an error that matters, \
		             all calls ended, nothing failed";
		assert_eq!(triggers.judge(&shown), Err(unmet.into()));
		shown.errors.insert("ENOSPC", 2);
		assert_eq!(triggers.judge(&shown), Ok("2 calls failed with ENOSPC".into()));
		assert_eq!(that_matters(28), Some("ENOSPC"));
		assert_eq!(that_matters(2), None);
	}
}
