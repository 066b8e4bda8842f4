//! A store as slow as it is said to be: token buckets before each access. For showing what forwarding wins on a busy
//! file system, from a machine that has none.

use std::str::FromStr;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

/// Rates; 0: not bounded. `creates` of 4000 is what Jaguar's Spider asked its users to stay below
/// (Jones et al., footnote 1).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Rates {
	pub creates: f64,
	pub operations: f64,
	pub megabytes: f64,
	pub latency: Duration,
}

impl FromStr for Rates {
	type Err = String;

	/// `creates=4000,operations=20000,megabytes=500,latency=0.001`
	fn from_str(text: &str) -> Result<Rates, String> {
		let mut rates = Rates::default();
		for pair in text.split(',') {
			let wrong = || {
				format!("{pair}: give creates=, operations=, megabytes= (a second), latency= (s)")
			};
			let (name, value) = pair.split_once('=').ok_or_else(wrong)?;
			let value = value.parse().ok().filter(|v: &f64| *v >= 0.0).ok_or_else(wrong)?;
			match name {
				"creates" => rates.creates = value,
				"operations" => rates.operations = value,
				"megabytes" => rates.megabytes = value,
				"latency" => {
					rates.latency = Duration::try_from_secs_f64(value).map_err(|_| wrong())?;
				}
				_ => return Err(wrong()),
			}
		}
		Ok(rates)
	}
}

pub struct Throttle {
	rates: Rates,
	/// When what was asked for so far will have been served, in each bucket.
	served: Mutex<[Instant; 3]>,
}

impl Throttle {
	pub fn new(rates: Rates) -> Throttle {
		Throttle { rates, served: Mutex::new([Instant::now(); 3]) }
	}

	/// Wait until an access with so many creates and bytes is done.
	pub fn pass(&self, creates: u32, bytes: usize) {
		let now = Instant::now();
		let rates = &self.rates;
		let costs = [
			(f64::from(creates), rates.creates),
			(1.0, rates.operations),
			(bytes as f64 / 1e6, rates.megabytes),
		];
		let mut until = now;
		if let Ok(mut served) = self.served.lock() {
			for (bucket, (cost, rate)) in served.iter_mut().zip(costs) {
				if rate > 0.0 && cost > 0.0 {
					*bucket = (*bucket).max(now) + Duration::from_secs_f64(cost / rate);
					until = until.max(*bucket);
				}
			}
		}
		thread::sleep(until - now + rates.latency);
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn a_bucket_lets_through_what_its_rate_says() {
		let throttle = Throttle::new("creates=1000,megabytes=100".parse().unwrap());
		let began = Instant::now();
		(0..50).for_each(|_| throttle.pass(1, 0));
		throttle.pass(0, 5_000_000);
		let took = began.elapsed().as_secs_f64();
		assert!((0.1..0.5).contains(&took), "{took}");
	}

	#[test]
	fn what_is_no_rate_is_said() {
		assert!("creates".parse::<Rates>().unwrap_err().contains("give creates="));
		assert!("latency=-1".parse::<Rates>().is_err());
	}
}
