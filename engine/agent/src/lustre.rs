//! A Lustre client's statistics: of its mounts (llite), of its connections to object and metadata servers (osc,
//! mdc), and of its network (lnet).

use crate::values::{BYTES, COUNT, NS, Root, Values, number};

/// Where versions of Lustre have kept them.
const PLACES: [&str; 2] = ["proc/fs/lustre", "sys/kernel/debug/lustre"];
const LNET: [&str; 2] = ["proc/sys/lnet/stats", "sys/kernel/debug/lnet/stats"];

pub fn sample(root: &Root, values: &mut Values) {
	for layer in ["llite", "osc", "mdc"] {
		for place in PLACES {
			for device in root.names(format!("{place}/{layer}")) {
				let text = root.read(format!("{place}/{layer}/{device}/stats"));
				statistics(layer, &device, &text, values);
			}
		}
	}
	let lnet = LNET.iter().map(|path| root.read(path)).find(|text| !text.is_empty());
	network(&lnet.unwrap_or_default(), values);
}

/// Lines like `write_bytes 89 samples [bytes] 4096 1048576 93323264 97812390000`: how often, and where there are
/// amounts, the least, the largest, their sum and the sum of their squares, which may have run over.
fn statistics(layer: &str, device: &str, text: &str, values: &mut Values) {
	for line in text.lines() {
		let words: Vec<&str> = line.split_ascii_whitespace().collect();
		let (Some(count), Some(&"samples")) = (number(&words, 1), words.get(2)) else { continue };
		let name = words[0];
		let sum = number(&words, 6);
		values.of_device(format!("{layer}.{name}.count"), device, COUNT, count);
		match (words.get(3), sum) {
			(Some(&"[bytes]"), Some(sum)) => {
				values.of_device(format!("{layer}.{name}"), device, BYTES, sum);
			}
			(Some(&("[usec]" | "[usecs]")), Some(sum)) => {
				let ns = sum.saturating_mul(1000);
				values.of_device(format!("{layer}.{name}.time"), device, NS, ns);
			}
			(_, Some(sum)) => values.of_device(format!("{layer}.{name}"), device, COUNT, sum),
			(_, None) => {}
		}
	}
}

/// One line of eleven numbers: messages allocated, the most of them, errors; sent, received, routed, dropped;
/// bytes sent, received, routed, dropped.
fn network(text: &str, values: &mut Values) {
	let words: Vec<&str> = text.split_ascii_whitespace().collect();
	if words.len() < 11 {
		return;
	}
	let columns = [
		("lnet.errors", COUNT, 2),
		("lnet.send_count", COUNT, 3),
		("lnet.recv_count", COUNT, 4),
		("lnet.drop_count", COUNT, 6),
		("lnet.send_bytes", BYTES, 7),
		("lnet.recv_bytes", BYTES, 8),
	];
	for (what, unit, column) in columns {
		if let Some(value) = number(&words, column) {
			values.add(what, unit, value);
		}
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::values::fixture;

	#[test]
	fn a_client_up_to_2_11() {
		let sampled = fixture("old", sample);
		let mount = "scratch-ffff88105db50000";
		let target = "scratch-OST0000-osc-ffff88105db50000";
		assert_eq!(sampled[&("llite.write_bytes", mount)], (93_813_797_294_080, BYTES));
		assert_eq!(sampled[&("llite.write_bytes.count", mount)], (89_467_810, COUNT));
		assert_eq!(sampled[&("llite.open.count", mount)], (136, COUNT));
		assert!(!sampled.contains_key(&("llite.open", mount)));
		assert_eq!(sampled[&("osc.req_waittime.time", target)], (483_362_372_205_000, NS));
		assert_eq!(sampled[&("osc.req_active", target)], (1_164_349_055, COUNT));
		assert_eq!(sampled[&("osc.read_bytes", target)], (6_895_163_247_966, BYTES));
		assert_eq!(sampled[&("osc.ost_write.time", target)], (98_396_534_435_000, NS));
		assert_eq!(sampled[&("lnet.send_bytes", "")], (21_201_322_992, BYTES));
		assert_eq!(sampled[&("lnet.recv_bytes", "")], (53_029_565_353_720, BYTES));
		assert_eq!(sampled.len(), 2 + 2 + 3 + 2 * 6 + 6);
	}

	#[test]
	fn a_client_from_2_12_on() {
		let sampled = fixture("new", sample);
		let mount = "scratch-ffff9a0f12345000";
		assert_eq!(sampled[&("llite.read_bytes", mount)], (2 << 30, BYTES));
		assert_eq!(sampled[&("llite.read.time", mount)], (912_345_000, NS));
		assert_eq!(sampled[&("llite.open.time", mount)], (9_876_000, NS));
		assert_eq!(sampled[&("llite.getxattr_hits.count", mount)], (20, COUNT));
		let server = "scratch-MDT0000-mdc-ffff9a0f12345000";
		assert_eq!(sampled[&("mdc.mds_getattr.count", server)], (77, COUNT));
		assert_eq!(sampled[&("lnet.drop_count", "")], (2, COUNT));
		assert_eq!(sampled[&("lnet.errors", "")], (1, COUNT));
	}
}
