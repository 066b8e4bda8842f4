//! What each process's own I/O took since the look before: who holds the others up.

use std::path::{Path, PathBuf};

use crate::error::WatchError;
use crate::image::{Image, State};
use crate::names::{Book, Names};
use crate::sums::{Key, Sum};
use crate::target::Process;
use crate::watch::Watch;

/// One process's, between two looks.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Own {
	pub pid: u32,
	/// Of its ring.
	pub instance: u64,
	pub rank: Option<u32>,
	/// It is a forwarding server: its time is that of its store.
	pub server: bool,
	/// Of outermost I/O calls, less the communication inside them; of collective operations of MPI-IO what they call: all
	/// else in there is waiting for others.
	pub seconds: f64,
	/// Collective operations of MPI-IO that ended.
	pub collectives: u64,
}

/// A run's processes on this node, looked at from time to time.
pub struct Owns {
	watch: Watch,
}

impl Owns {
	/// `streams`: this node's folder of stream files.
	pub fn open(run: &Path, rings: PathBuf, streams: PathBuf) -> Result<Owns, WatchError> {
		Ok(Owns { watch: Watch::open(run, Some(rings))?.with_streams(streams) })
	}

	/// Of the processes that run, in no order.
	pub fn look(&mut self) -> Result<Vec<Own>, WatchError> {
		self.watch.read(false)?;
		let Watch { images, book, rate, .. } = &mut self.watch;
		let mut running_owns = Vec::new();
		for image in images.iter_mut() {
			let ticks = image.clock.ticks_per_second(rate).unwrap_or(f64::NAN);
			let running = image.state == State::Running;
			let Image { names, processes, instance, .. } = image;
			let owns = processes
				.iter_mut()
				.map(|process| Own { instance: *instance, ..own(process, names, book, ticks) });
			running_owns.extend(owns.filter(|own| running && own.seconds.is_finite()));
		}
		self.watch.forget();
		Ok(running_owns)
	}
}

fn own(process: &mut Process, names: &Names, book: &Book, ticks_per_second: f64) -> Own {
	let mut own = Own { pid: process.pid, rank: process.rank, ..Own::default() };
	let (mut ticks, mut store) = (process.owed, 0);
	for (key, sum) in process.sums.drain() {
		let Some(layer) = layer_of(names, book, key.op) else { continue };
		if matches!(layer, "server" | "disk") {
			own.server = true;
			store += if layer == "disk" { sum.ticks } else { 0 };
			continue;
		}
		if is_together(names, book, key.op) {
			own.collectives += sum.calls;
		}
		ticks += share(&key, &sum, layer, names, book);
	}
	// Communication may have ended before the call that it is inside.
	process.owed = ticks.min(0);
	let ticks = if own.server { store } else { ticks.max(0) as u64 };
	own.seconds = ticks as f64 / ticks_per_second;
	own
}

/// What these calls add to the process's own time, in ticks.
fn share(key: &Key, sum: &Sum, layer: &str, names: &Names, book: &Book) -> i64 {
	let ticks = sum.ticks as i64;
	let around = key.enclosing.checked_sub(1);
	let within = around.is_some_and(|op| is_together(names, book, op));
	match layer {
		"mpiio" if is_together(names, book, key.op) => {
			if key.inner && !within {
				-ticks
			} else {
				0
			}
		}
		"mpi" if key.inner && !within => {
			let again = around.and_then(|op| layer_of(names, book, op)) == Some("mpi");
			if again { 0 } else { -ticks }
		}
		"mpi" | "user" | "threads" | "fathom" => 0,
		_ if within => ticks,
		_ if key.inner => 0,
		_ => ticks,
	}
}

/// Do all ranks of the file make this call? How much of it is waiting, only what is called in it tells: libraries need
/// not communicate by functions that are seen.
fn is_together(names: &Names, book: &Book, op: u32) -> bool {
	let collective = names.op(op).is_some_and(|op| op.collective);
	collective && layer_of(names, book, op) == Some("mpiio")
}

fn layer_of<'b>(names: &Names, book: &'b Book, op: u32) -> Option<&'b str> {
	let number = names.op(op)?.number as usize;
	book.ops.get(number).map(|op| op.layer.as_str())
}

#[cfg(test)]
mod tests {
	use super::*;
	use fathom_stream::{OpRecord, Record, op_flag};

	const OPS: [(&str, &str); 7] = [
		("mpiio", "MPI_File_write_all"),
		("mpi", "MPI_Allreduce"),
		("mpi", "MPI_Send"),
		("posix", "pwrite"),
		("disk", "pwritev"),
		("hdf5", "H5Dwrite"),
		("mpiio", "MPI_File_write_at"),
	];

	fn named() -> (Names, Book) {
		let (mut names, mut book) = (Names::default(), Book::default());
		for (op, (layer, name)) in OPS.iter().enumerate() {
			let flags = if op == 0 { op_flag::COLLECTIVE } else { 0 };
			let (layer, name) = (layer.as_bytes(), name.as_bytes());
			let record = OpRecord { op: op as u32, layer, name, kind: b"", fields: b"", flags };
			names.take(&Record::Op(record), &mut book);
		}
		(names, book)
	}

	fn process(calls: &[(u32, u32, u64)]) -> Process {
		let mut process = Process::new(1);
		for &(op, enclosing, ticks) in calls {
			let key = Key { op, object: 0, site: 0, enclosing, inner: enclosing != 0 };
			process.sums.add(key, &Sum { calls: 1, ticks, ..Sum::default() });
		}
		process
	}

	#[test]
	fn waiting_for_others_is_not_ones_own() {
		let (names, book) = named();
		// A collective of 100, in it 60 of communication, 20 of that within another; 30 in a file. 7 on its own.
		let mut process =
			process(&[(0, 0, 100), (1, 1, 60), (2, 2, 20), (3, 1, 30), (3, 0, 7), (1, 0, 50)]);
		let own = own(&mut process, &names, &book, 1.0);
		assert_eq!((own.seconds, own.collectives, own.server), (37.0, 1, false));
	}

	#[test]
	fn of_a_collective_only_its_accesses_are_ones_own() {
		let (names, book) = named();
		// HDF5's 200, in it a collective of 150 that does not say how it waits, with 30 in a file.
		let mut one = process(&[(5, 0, 200), (0, 6, 150), (3, 1, 30)]);
		assert_eq!(own(&mut one, &names, &book, 1.0).seconds, 80.0);
		// Independent, with 20 of communication and 30 in a file.
		let mut one = process(&[(6, 0, 100), (2, 7, 20), (3, 7, 30)]);
		assert_eq!(own(&mut one, &names, &book, 1.0).seconds, 80.0);
	}

	#[test]
	fn communication_that_ends_a_look_before_its_call_is_taken_off_that() {
		let (names, book) = named();
		let mut process = process(&[(1, 7, 60), (3, 0, 10)]);
		assert_eq!(own(&mut process, &names, &book, 1.0).seconds, 0.0);
		let key = Key { op: 6, object: 0, site: 0, enclosing: 0, inner: false };
		process.sums.add(key, &Sum { calls: 1, ticks: 100, ..Sum::default() });
		assert_eq!(own(&mut process, &names, &book, 1.0).seconds, 50.0);
	}

	#[test]
	fn a_servers_time_is_its_stores() {
		let (names, book) = named();
		let own = own(&mut process(&[(4, 0, 70)]), &names, &book, 1.0);
		assert!(own.server && own.seconds == 70.0);
	}
}
