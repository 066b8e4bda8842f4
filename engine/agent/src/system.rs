//! The node: processors, memory, networks, disks, pressure.

use std::collections::HashSet;

use crate::values::{BYTES, COUNT, NS, Root, Values, number, ticks};

/// Sectors of /proc/diskstats, whatever the disk's own are.
const SECTOR: u64 = 512;

pub fn sample(root: &Root, values: &mut Values) {
	processors(&root.read("proc/stat"), values);
	memory(&root.read("proc/meminfo"), values);
	networks(&root.read("proc/net/dev"), values);
	let whole: HashSet<String> = root.names("sys/block").into_iter().collect();
	disks(&root.read("proc/diskstats"), &whole, values);
	for resource in ["cpu", "io", "memory"] {
		pressure(resource, &root.read(format!("proc/pressure/{resource}")), values);
	}
	infiniband(root, values);
}

fn processors(text: &str, values: &mut Values) {
	let Some(line) = text.lines().find(|line| line.starts_with("cpu ")) else { return };
	let words: Vec<&str> = line.split_ascii_whitespace().collect();
	let sum = |columns: &[usize]| {
		ticks(
			columns
				.iter()
				.filter_map(|&column| number(&words, column))
				.fold(0, u64::saturating_add),
		)
	};
	values.add("cpu.user", NS, sum(&[1, 2]));
	values.add("cpu.system", NS, sum(&[3, 6, 7])); // with interrupts
	values.add("cpu.idle", NS, sum(&[4]));
	values.add("cpu.iowait", NS, sum(&[5]));
	values.add("cpu.steal", NS, sum(&[8]));
}

fn memory(text: &str, values: &mut Values) {
	for line in text.lines() {
		let words: Vec<&str> = line.split_ascii_whitespace().collect();
		let what = match words.first() {
			Some(&"MemTotal:") => "memory.total",
			Some(&"MemAvailable:") => "memory.available",
			Some(&"Cached:") => "memory.cached",
			Some(&"Dirty:") => "memory.dirty",
			Some(&"Writeback:") => "memory.writeback",
			_ => continue,
		};
		if let Some(kib) = number(&words, 1) {
			values.add(what, BYTES, kib.saturating_mul(1024));
		}
	}
}

fn networks(text: &str, values: &mut Values) {
	for line in text.lines() {
		let Some((name, numbers)) = line.split_once(':') else { continue };
		let words: Vec<&str> = numbers.split_ascii_whitespace().collect();
		let get = |column: usize| number(&words, column).unwrap_or(0);
		if words.len() < 12 || get(0) == 0 && get(8) == 0 {
			continue; // never used
		}
		let name = name.trim();
		values.of_device("net.rx_bytes", name, BYTES, get(0));
		values.of_device("net.tx_bytes", name, BYTES, get(8));
		values.of_device("net.rx_packets", name, COUNT, get(1));
		values.of_device("net.tx_packets", name, COUNT, get(9));
		values.of_device("net.errors", name, COUNT, get(2).saturating_add(get(10)));
		values.of_device("net.drops", name, COUNT, get(3).saturating_add(get(11)));
	}
}

/// `whole`: names of disks that are no partitions; empty: not known, all are taken.
fn disks(text: &str, whole: &HashSet<String>, values: &mut Values) {
	for line in text.lines() {
		let words: Vec<&str> = line.split_ascii_whitespace().collect();
		let Some(&name) = words.get(2) else { continue };
		let get = |column: usize| number(&words, column).unwrap_or(0);
		if get(3) == 0 && get(7) == 0 || !(whole.is_empty() || whole.contains(name)) {
			continue;
		}
		let ms = |column: usize| get(column).saturating_mul(1_000_000);
		values.of_device("disk.reads", name, COUNT, get(3));
		values.of_device("disk.read_bytes", name, BYTES, get(5).saturating_mul(SECTOR));
		values.of_device("disk.read_time", name, NS, ms(6));
		values.of_device("disk.writes", name, COUNT, get(7));
		values.of_device("disk.write_bytes", name, BYTES, get(9).saturating_mul(SECTOR));
		values.of_device("disk.write_time", name, NS, ms(10));
		values.of_device("disk.busy", name, NS, ms(12));
	}
}

/// Lines like `some avg10=0.00 avg60=0.00 avg300=0.00 total=12345`, in µs.
fn pressure(resource: &str, text: &str, values: &mut Values) {
	for line in text.lines() {
		let mut words = line.split_ascii_whitespace();
		let Some(share) = words.next() else { continue };
		let total = words.find_map(|word| word.strip_prefix("total=")?.parse::<u64>().ok());
		// Of processors, all tasks waiting for one means nothing; newer kernels print zeros.
		if let (Some(total), false) = (total, resource == "cpu" && share == "full") {
			let what = format!("pressure.{resource}.{share}");
			values.of_device(what, "", NS, total.saturating_mul(1000));
		}
	}
}

/// Ports count words of four bytes.
fn infiniband(root: &Root, values: &mut Values) {
	let adapters = "sys/class/infiniband";
	for adapter in root.names(adapters) {
		for port in root.names(format!("{adapters}/{adapter}/ports")) {
			let device = format!("{adapter}/{port}");
			let counters = [
				("infiniband.rx_bytes", "port_rcv_data"),
				("infiniband.tx_bytes", "port_xmit_data"),
			];
			for (what, file) in counters {
				let path = format!("{adapters}/{adapter}/ports/{port}/counters/{file}");
				if let Ok(count) = root.read(path).trim().parse::<u64>() {
					values.of_device(what, &device, BYTES, count.saturating_mul(4));
				}
			}
		}
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::values::fixture;

	proptest::proptest! {
		#[test]
		fn any_text_is_survived(text in "([a-z:]{0,5}[ \t]*[0-9\n=-]{0,25}){0,30}", any in ".{0,200}") {
			let mut values = Values::default();
			for text in [text, any] {
				processors(&format!("cpu {text}"), &mut values);
				memory(&text, &mut values);
				memory(&format!("MemTotal: {text}"), &mut values);
				networks(&text, &mut values);
				disks(&text, &HashSet::new(), &mut values);
				pressure("io", &text, &mut values);
			}
		}
	}

	#[test]
	fn a_node() {
		let sampled = fixture("new", sample);
		assert_eq!(sampled[&("cpu.user", "")], ((10_132_153 + 290_696) * 10_000_000, NS));
		assert_eq!(sampled[&("cpu.system", "")], ((3_084_719 + 25_195) * 10_000_000, NS));
		assert_eq!(sampled[&("cpu.iowait", "")], (16_683 * 10_000_000, NS));
		assert_eq!(sampled[&("memory.dirty", "")], (12_345 * 1024, BYTES));
		assert_eq!(sampled[&("net.rx_bytes", "eth0")], (1_215_645_251, BYTES));
		assert_eq!(sampled[&("net.tx_bytes", "eth0")], (1_782_404_882, BYTES));
		assert_eq!(sampled[&("net.errors", "eth0")], (4, COUNT));
		assert_eq!(sampled[&("net.drops", "eth0")], (6, COUNT));
		assert_eq!(sampled[&("net.rx_packets", "ib0")], (42, COUNT));
		assert!(!sampled.contains_key(&("net.rx_bytes", "eth1")), "never used");
		assert_eq!(sampled[&("disk.read_bytes", "sda")], (1_813_402 * 512, BYTES));
		assert_eq!(sampled[&("disk.write_bytes", "sda")], (9_316_496 * 512, BYTES));
		assert_eq!(sampled[&("disk.writes", "sda")], (134_331, COUNT));
		assert_eq!(sampled[&("disk.write_time", "sda")], (298_401_000_000, NS));
		assert_eq!(sampled[&("disk.busy", "nvme0n1")], (4_000_000, NS));
		assert!(!sampled.contains_key(&("disk.reads", "sda1")), "a partition");
		assert_eq!(sampled[&("pressure.io.some", "")], (96_294_709_000, NS));
		assert_eq!(sampled[&("pressure.io.full", "")], (35_929_831_000, NS));
		assert!(!sampled.contains_key(&("pressure.cpu.full", "")));
		assert_eq!(sampled[&("infiniband.rx_bytes", "mlx5_0/1")], (4000, BYTES));
		assert_eq!(sampled[&("infiniband.tx_bytes", "mlx5_0/1")], (1000, BYTES));
	}
}
