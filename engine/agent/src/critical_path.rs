//! The critical path of a job: which process and which server hold the others up, by the reports of all nodes' agents.

use std::collections::HashMap;

use crate::critical_rank::{CriticalRank, Process};

/// What the processes of one node took in an epoch: pids and nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
	pub processes: Vec<(u32, u64)>,
	pub servers: Vec<(u32, u64)>,
}

#[derive(Default)]
pub struct CriticalPath {
	/// By the names of their folders.
	nodes: HashMap<String, Node>,
	/// Nodes that ever were.
	known: u32,
	process: CriticalRank,
	server: CriticalRank,
}

struct Node {
	number: u32,
	report: Report,
	/// Not ranked yet.
	new: bool,
}

impl CriticalPath {
	/// A node's report of an epoch. Returns which of its processes are critical. An epoch is ranked when all
	/// nodes have reported it; a node that has not is ranked by its last report, once another goes ahead.
	pub fn take_report(&mut self, node: &str, report: Report) -> Vec<u32> {
		if self.nodes.get(node).is_some_and(|node| node.new) {
			self.rank_all();
		}
		let known = &mut self.known;
		let place = self.nodes.entry(node.to_owned()).or_insert_with(|| {
			*known += 1;
			Node { number: *known, report: Report::default(), new: true }
		});
		(place.report, place.new) = (report, true);
		let number = place.number;
		if self.nodes.values().all(|node| node.new) {
			self.rank_all();
		}
		let chosen = [self.process.chosen, self.server.chosen].into_iter().flatten();
		chosen.filter(|(node, _)| *node == number).map(|(_, pid)| pid).collect()
	}

	/// Its agent has ended.
	pub fn remove_node(&mut self, node: &str) {
		self.nodes.remove(node);
	}

	fn rank_all(&mut self) {
		self.nodes.values_mut().for_each(|node| node.new = false);
		self.process.epoch(&self.scores(|report| &report.processes));
		self.server.epoch(&self.scores(|report| &report.servers));
	}

	fn scores(&self, of: impl Fn(&Report) -> &Vec<(u32, u64)>) -> Vec<(Process, f64)> {
		let all = self.nodes.values().flat_map(|node| {
			of(&node.report).iter().map(|&(pid, ns)| ((node.number, pid), ns as f64))
		});
		all.collect()
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	fn of(scores: &[(u32, u64)]) -> Report {
		Report { processes: scores.to_vec(), servers: Vec::new() }
	}

	#[test]
	fn one_of_all_nodes_is_critical_and_another_when_it_is_slower() {
		let mut critical_path = CriticalPath::default();
		let mut epoch = |one: u64, two: u64| {
			(
				critical_path.take_report("one", of(&[(7, 1), (8, one)])),
				critical_path.take_report("two", of(&[(7, two)])),
			)
		};
		// Its own node is judged first, alone; to change takes two epochs.
		(0..2).for_each(|_| drop(epoch(5, 90)));
		assert_eq!(epoch(5, 90), (vec![], vec![7]));
		assert_eq!(epoch(0, 0), (vec![], vec![7]), "idle");
		let later: Vec<_> = (0..5).map(|_| epoch(90, 5)).collect();
		assert_eq!(later[4], (vec![8], vec![]));
	}

	#[test]
	fn a_node_that_is_silent_or_gone_keeps_nobody_waiting() {
		let mut critical_path = CriticalPath::default();
		critical_path.take_report("silent", of(&[(7, 9)]));
		for _ in 0..3 {
			critical_path.take_report("one", of(&[(8, 50)]));
		}
		assert_eq!(critical_path.take_report("one", of(&[(8, 50)])), [8]);
		critical_path.remove_node("one");
		assert_eq!(critical_path.take_report("silent", of(&[(7, 1)])), [7]);
	}

	#[test]
	fn a_server_is_judged_apart() {
		let mut critical_path = CriticalPath::default();
		let report = Report { processes: vec![(1, 5), (2, 9)], servers: vec![(3, 1), (4, 2)] };
		assert_eq!(critical_path.take_report("one", report), [2, 4]);
	}
}
