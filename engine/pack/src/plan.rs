//! Which images and parts each share of a pack does.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::error::PackError;
use crate::recover::Recovered;
use crate::run::{Image, Run};
use crate::write::PART_ROWS;

/// What everyone who has a share must see alike.
#[derive(Debug, Serialize, Deserialize)]
pub struct Plan {
	engine: String,
	pub shares: usize,
	/// Rows of [`Survey::below`] that each image keeps.
	pub most_below: usize,
	/// Of a part of `calls`.
	pub part_rows: u64,
	/// In the order of [`Run::images`].
	images: Vec<Planned>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Planned {
	pid: u32,
	instance: u64,
	bytes: u64,
	alive: bool,
}

/// System calls inside collective ones that are remembered, in the whole run: 300 MiB.
const MOST_BELOW: usize = 8 << 20;

impl Plan {
	/// `part_rows`: as in [`crate::Options`].
	pub fn new(run: &Run, recovered: &Recovered, shares: usize, part_rows: u64) -> Plan {
		let planned = |image: &Image| Planned {
			pid: image.pid,
			instance: image.instance,
			bytes: image.bytes,
			alive: recovered.alive.contains(&(image.pid, image.instance)),
		};
		Plan {
			engine: env!("CARGO_PKG_VERSION").to_owned(),
			shares,
			most_below: MOST_BELOW / run.images.len().max(1),
			part_rows: if part_rows == 0 { PART_ROWS } else { part_rows },
			images: run.images.iter().map(planned).collect(),
		}
	}

	pub fn alive(&self, image: usize) -> bool {
		self.images[image].alive
	}

	/// Is this the run that was planned for, as seen from here?
	pub fn check(&self, run: &Run) -> Result<(), PackError> {
		let refuse = |reason: String| Err(PackError::Data { path: run.path.clone(), reason });
		if self.engine != env!("CARGO_PKG_VERSION") {
			let version = env!("CARGO_PKG_VERSION");
			return refuse(format!("packed by Fathom {}; this node has {version}", self.engine));
		}
		let seen = |(planned, image): &(&Planned, &Image)| {
			(planned.pid, planned.instance) == (image.pid, image.instance)
				&& planned.bytes <= image.bytes
		};
		let same = self.images.iter().zip(&run.images).filter(seen).count();
		if same != self.images.len() || same != run.images.len() {
			let all = self.images.len();
			return refuse(format!(
				"of the streams of {all} processes this node sees {same} whole"
			));
		}
		Ok(())
	}

	/// The images that a share surveys.
	pub fn surveyed(&self, share: usize) -> Range<usize> {
		shared(&self.images, self.shares, |image| image.bytes)[share].clone()
	}
}

/// As many neighbouring stretches as there are shares, of about the same weight.
pub fn shared<T>(all: &[T], shares: usize, weight: impl Fn(&T) -> u64) -> Vec<Range<usize>> {
	let mut sums = vec![0];
	for item in all {
		sums.push(sums[sums.len() - 1] + u128::from(weight(item)) + 1); // what is empty is work, too
	}
	let total = sums[all.len()];
	let nearest = |share: usize| {
		let (shares, due) = (shares as u128, total * share as u128);
		let after = sums.partition_point(|sum| sum * shares < due).min(all.len());
		let before = after.saturating_sub(1);
		let nearer = due.saturating_sub(sums[before] * shares) < sums[after] * shares - due;
		if nearer { before } else { after }
	};
	(0..shares).map(|share| nearest(share)..nearest(share + 1)).collect()
}

#[cfg(test)]
mod tests {
	use proptest::prelude::*;

	use super::*;

	proptest! {
		#[test]
		fn shares_cover_all_once_and_none_has_much_more(
			weights in prop::collection::vec(0u64..1000, 0..200), shares in 1usize..20,
		) {
			let cuts = shared(&weights, shares, |&w| w);
			prop_assert_eq!(cuts.len(), shares);
			prop_assert_eq!(cuts.iter().map(|cut| cut.start).min(), Some(0));
			prop_assert!(cuts.windows(2).all(|two| two[0].end == two[1].start));
			prop_assert_eq!(cuts.last().map(|cut| cut.end), Some(weights.len()));
			let most = weights.iter().max().copied().unwrap_or(0) + 1;
			let fair = weights.iter().map(|w| w + 1).sum::<u64>().div_ceil(shares as u64);
			for cut in cuts {
				let weight: u64 = weights[cut].iter().map(|w| w + 1).sum();
				prop_assert!(weight <= fair + most);
			}
		}
	}
}
