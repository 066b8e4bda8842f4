//! When a rank's calls began and ended, in ticks, and whether they can be those of one thread.

use super::recording::Calls;

/// Begin and end of each call; numbers go round, so that an end before its begin may be one behind it.
pub fn times(calls: &Calls) -> impl Iterator<Item = (u64, u64)> {
	let mut at = 0;
	calls.times.iter().map(move |&(before, behind)| {
		let took = behind.wrapping_sub(before);
		at += u64::from(before);
		let took = if took < 1 << 31 { u64::from(took) } else { 0 };
		(at, at + took)
	})
}

/// Begins and ends, where no two calls overlap without one being inside the other.
///
/// Ticks are cut off at each call, so that what follows a call with others inside may seem to begin within it, by less
/// than a tick for each of them: it is moved behind. More than that, and there were threads.
pub fn of_one_thread(calls: &Calls) -> Option<Vec<(u64, u64)>> {
	let mut spans: Vec<(u64, u64)> = Vec::with_capacity(calls.which.len());
	// The last call at each depth, the outermost first.
	let mut around: Vec<usize> = Vec::new();
	let mut moved = 0;
	for (&which, (began, ended)) in calls.which.iter().zip(times(calls)) {
		let depth = calls.signatures[which as usize].depth;
		let (mut began, mut ended) = (began + moved, ended + moved);
		if let Some(&before) = around.get(depth) {
			let late = spans[before].1.saturating_sub(began);
			if late > (spans.len() - before) as u64 {
				return None;
			}
			(began, ended, moved) = (began + late, ended + late, moved + late);
		}
		if depth > 0 {
			let outer = spans[*around.get(depth - 1)?].1;
			if began > outer {
				return None;
			}
			ended = ended.min(outer);
		}
		around.truncate(depth);
		around.push(spans.len());
		spans.push((began, ended));
	}
	Some(spans)
}
