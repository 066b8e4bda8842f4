//! One stream, followed from its first chunk on: every byte of rows is decoded once.

use fathom_stream::{
	Decoder, Header, Item, OpenCall, Place, Record, Unfinished, unfinished_reason,
};

use crate::tally::Tally;
use crate::target::StreamTarget;

pub struct Stream {
	/// Index in the image's processes.
	pub process: usize,
	decoder: Decoder,
	/// Of the chunk that is being read; `None`: the next one is not there yet.
	chunk: Option<(Header, Place)>,
	/// Number of that chunk.
	pub number: u64,
	/// Of its rows that were decoded.
	checksum: u32,
	/// Counter records in them.
	counters: u64,
	/// The rest of the chunk cannot be decoded.
	damaged: bool,
	/// Its last chunk was read to the end.
	pub ended: bool,
	/// The seq that the next call entered gets, as far as rows show.
	next_seq: u64,
	/// Calls that were recorded as open when the process ended.
	unfinished: Vec<u64>,
	/// The last thing known of its time.
	last_tick: u64,
	tally: Tally,
}

impl Stream {
	pub fn new(header: &Header, process: usize) -> Stream {
		Stream {
			process,
			decoder: Decoder::new(),
			chunk: None,
			number: 0,
			checksum: 0,
			counters: 0,
			damaged: false,
			ended: false,
			next_seq: 0,
			unfinished: Vec::new(),
			last_tick: 0,
			tally: Tally::new(header.base().is_some()),
		}
	}

	/// Bytes of the current chunk's rows that were taken.
	pub fn taken(&self) -> usize {
		self.chunk.as_ref().map_or(0, |(_, place)| place.bytes)
	}

	/// Counter records seen so far.
	pub fn records(&self) -> u64 {
		self.tally.tables.records
	}

	/// Is what was taken the beginning of these rows?
	pub fn continues(&self, rows: &[u8]) -> bool {
		rows.get(..self.taken()).is_some_and(|known| crc32c::crc32c(known) == self.checksum)
	}

	/// `more`: the rows of the current chunk behind those that were taken.
	pub fn rows(&mut self, header: &Header, more: &[u8], target: &mut StreamTarget<'_>) {
		let (_, place) = self.chunk.get_or_insert_with(|| (header.clone(), Place::begin(header)));
		if self.damaged {
			place.bytes += more.len();
			target.missed.bytes += more.len() as u64;
			return;
		}
		let mut rows = self.decoder.resume(header, place, more);
		while let Some(item) = rows.next() {
			match item {
				Ok(Item::Call(call)) => {
					self.tally.call(target.names, &mut target.process.sums, &call)
				}
				Ok(Item::Unfinished(call, _)) => {
					if call.reason == unfinished_reason::OPEN_AT_END {
						self.unfinished.push(call.seq);
					}
					self.tally.unfinished(target.names, &mut target.process.sums, &call);
				}
				Ok(Item::Record(Record::Counter(counter))) => {
					self.counters += 1;
					self.tally.counter(target.names, &mut target.process.sums, &counter);
				}
				Ok(Item::Record(record)) => target.record(&record),
				Err(damage) => {
					self.damaged = true;
					let good = damage.byte - usize::from(header.length) - place.bytes;
					target.missed.bytes += (more.len() - good) as u64;
					target.missed.note(damage.to_string());
				}
			}
		}
		*place = rows.place();
		self.next_seq = place.next_seq;
		self.last_tick = place.ended.max(header.begin.ticks);
		if self.damaged {
			place.bytes = header.committed as usize;
			self.tally.cut(&mut target.process.sums);
		}
		self.checksum = crc32c::crc32c_append(self.checksum, more);
	}

	/// The process's last copy of the current chunk, made before other threads ended calls that the ring has
	/// shown since. What it adds behind its rows is taken: counters, and calls that stay open.
	pub fn earlier_copy(&mut self, header: &Header, rows: &[u8], target: &mut StreamTarget<'_>) {
		let mut decoder = Decoder::new();
		let mut copy = decoder.resume(header, &Place::begin(header), rows);
		let mut counters = 0;
		while let Some(Ok(item)) = copy.next() {
			match item {
				Item::Unfinished(call, _) if self.is_open(call.seq) => {
					self.tally.unfinished(target.names, &mut target.process.sums, &call);
				}
				Item::Record(Record::Counter(counter)) => {
					counters += 1;
					if counters > self.counters {
						self.tally.counter(target.names, &mut target.process.sums, &counter);
					}
				}
				_ => {}
			}
		}
	}

	/// The current chunk is whole. `last`: of the stream.
	pub fn end_chunk(&mut self, last: bool, target: &mut StreamTarget<'_>) {
		self.begin_chunk(self.number + 1);
		if last {
			self.ended = true;
			self.tally.cut(&mut target.process.sums);
		}
	}

	/// The chunks before `number` are nowhere.
	pub fn skip_to(&mut self, number: u64, target: &mut StreamTarget<'_>) {
		target.missed.chunks += number - self.number;
		self.begin_chunk(number);
		self.tally.cut(&mut target.process.sums);
	}

	fn begin_chunk(&mut self, number: u64) {
		self.number = number;
		self.chunk = None;
		self.checksum = 0;
		self.counters = 0;
		self.damaged = false;
	}

	/// Entered, and no end is recorded.
	fn is_open(&self, seq: u64) -> bool {
		let entered = seq >= self.next_seq || self.decoder.open().contains(&seq);
		entered && !self.unfinished.contains(&seq)
	}

	pub fn table(
		&mut self,
		place: u64,
		counters: &[fathom_stream::Counter],
		target: &mut StreamTarget<'_>,
	) {
		self.tally.table(target.names, &mut target.process.sums, place, counters);
	}

	/// The calls that were open a moment after the last rows were read.
	pub fn settle(&mut self, open: &[OpenCall], target: &mut StreamTarget<'_>) {
		self.tally.settle(target.names, &mut target.process.sums, open, self.decoder.open());
	}

	/// Its process was killed with these calls open.
	pub fn killed(&mut self, open: &[OpenCall], target: &mut StreamTarget<'_>) {
		for call in Unfinished::at_end(open, self.last_tick) {
			if self.is_open(call.seq) {
				self.tally.unfinished(target.names, &mut target.process.sums, &call);
			}
		}
	}

	/// Nothing of it comes any more.
	pub fn finish(&mut self, target: &mut StreamTarget<'_>) {
		self.tally.cut(&mut target.process.sums);
	}
}
