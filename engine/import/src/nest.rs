//! Calls of a process that are known by their times only: which lies in which, and what ran side by side.

use std::cmp::Reverse;

/// A call as far as its place matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
	pub began: u64,
	pub ended: u64,
	/// Of its layer: what is higher calls what is lower.
	pub height: u8,
	/// What it is about: only what is about the same lies in each other. `None`: all these calls are of one thread, where
	/// times alone tell it.
	pub about: Option<u32>,
}

impl Span {
	/// Does `inner`, which began no earlier and while this was open, lie in it?
	fn holds(&self, inner: &Span) -> bool {
		let above = match inner.about {
			Some(_) => self.height > inner.height && self.about == inner.about,
			None => (self.height, inner.began) > (inner.height, self.began),
		};
		above && self.ended >= inner.ended
	}
}

/// Calls one after another or within each other: (which, calls around it), in the order of their begins.
#[derive(Debug, Default)]
pub struct Lane {
	pub calls: Vec<(usize, u32)>,
	open: Vec<usize>,
}

/// Every call in one lane, the first where it lies in a call that may hold it, else where nothing runs.
pub fn lanes(spans: &[Span]) -> Vec<Lane> {
	let mut order: Vec<usize> = (0..spans.len()).collect();
	order.sort_by_key(|&at| {
		let span = spans[at];
		// Of calls that begin at once the higher ones; of one layer those before that took no time.
		(span.began, Reverse(span.height), span.began != span.ended, Reverse(span.ended))
	});
	let mut lanes: Vec<Lane> = Vec::new();
	for at in order {
		let span = spans[at];
		for lane in &mut lanes {
			while lane.open.last().is_some_and(|&open| spans[open].ended <= span.began) {
				lane.open.pop();
			}
		}
		let holds = |lane: &Lane| lane.open.last().is_some_and(|&open| spans[open].holds(&span));
		let place = lanes.iter().position(holds);
		let place = place.or_else(|| lanes.iter().position(|lane| lane.open.is_empty()));
		let place = place.unwrap_or_else(|| {
			lanes.push(Lane::default());
			lanes.len() - 1
		});
		let lane = &mut lanes[place];
		lane.calls.push((at, lane.open.len() as u32));
		lane.open.push(at);
	}
	lanes
}

impl Lane {
	/// Outermost calls with what is in them, each as (which, calls around it) in the order in which they end.
	pub fn trees(&self) -> impl Iterator<Item = Vec<(usize, u32)>> {
		self.calls.chunk_by(|_, next| next.1 > 0).map(|tree| {
			let mut ended = Vec::with_capacity(tree.len());
			let mut open: Vec<(usize, u32)> = Vec::new();
			for &call in tree {
				while let Some(inner) = open.pop_if(|inner| inner.1 >= call.1) {
					ended.push(inner);
				}
				open.push(call);
			}
			ended.extend(open.into_iter().rev());
			ended
		})
	}
}

#[cfg(test)]
mod tests {
	use proptest::prelude::*;

	use super::*;

	fn span(began: u64, ended: u64, height: u8, about: u32) -> Span {
		Span { began, ended, height, about: Some(about) }
	}

	#[test]
	fn what_lies_in_a_higher_call_about_the_same_is_inside() {
		let spans = [span(0, 10, 2, 1), span(1, 4, 1, 1), span(5, 9, 1, 1), span(2, 3, 1, 2)];
		let lanes = lanes(&spans);
		assert_eq!(lanes[0].calls, [(0, 0), (1, 1), (2, 1)]);
		assert_eq!(lanes[1].calls, [(3, 0)]);
		let trees: Vec<_> = lanes[0].trees().collect();
		assert_eq!(trees, [vec![(1, 1), (2, 1), (0, 0)]]);
	}

	#[test]
	fn on_one_thread_times_tell_what_is_inside() {
		let span = |began, ended, height| Span { began, ended, height, about: None };
		let spans = [span(0, 9, 4), span(1, 8, 4), span(1, 3, 1), span(3, 3, 1), span(8, 9, 1)];
		let lanes = lanes(&spans);
		assert_eq!(lanes.len(), 1);
		assert_eq!(lanes[0].calls, [(0, 0), (1, 1), (2, 2), (3, 2), (4, 1)]);
	}

	#[test]
	fn what_took_no_time_is_before_what_begins_then() {
		let span = |began, ended| Span { began, ended, height: 1, about: None };
		let lanes = lanes(&[span(5, 8), span(5, 5), span(8, 9)]);
		assert_eq!(lanes[0].calls, [(1, 0), (0, 0), (2, 0)]);
	}

	proptest! {
		#[test]
		fn every_call_is_in_one_lane_and_rows_end_in_order(
			calls in prop::collection::vec((0u64..50, 0u64..20, 0u8..3, 0u32..2), 0..60),
			known in any::<bool>(),
		) {
			let to_span = |(began, took, height, about)| {
				Span { began, ended: began + took, height, about: (!known).then_some(about) }
			};
			let spans: Vec<Span> = calls.into_iter().map(to_span).collect();
			let mut seen = vec![0; spans.len()];
			for lane in lanes(&spans) {
				let mut before = 0;
				for tree in lane.trees() {
					let (root, depth) = tree[tree.len() - 1];
					prop_assert_eq!(depth, 0);
					prop_assert!(spans[root].began >= before);
					for &(at, depth) in &tree {
						seen[at] += 1;
						prop_assert!(spans[at].ended >= before);
						let (inner, outer) = (spans[at].height, spans[root].height);
						prop_assert!(depth == 0 || inner < outer || (known && inner == outer));
						before = spans[at].ended;
					}
				}
			}
			prop_assert!(seen.iter().all(|&times| times == 1));
		}
	}
}
