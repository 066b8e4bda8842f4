//! Blocks of files that are kept after they were read as a whole, where the store is slow per access: small reads that lie
//! together, of one client or of many, become one access to the store. docs/forwarding.md says what may be relied on.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use fathom_wire::{Attr, Extent, Handle, Time};

use crate::Map;
use crate::clock;
use crate::queue::Key;

/// Bytes of a block, at a multiple of which it begins: whole stripes of the file systems that are slow per access.
pub const BLOCK: u64 = 1 << 20;
/// What something else than this server changed is seen after so long, also without an open.
const FRESH: Duration = Duration::from_secs(5);
/// A file that was changed so shortly before it was looked at may be changed again within a tick of its clock.
const SETTLED: Duration = Duration::from_secs(2);
/// Blocks of a file of which it is remembered that a small read was in them.
const TOUCHED: usize = 64;
/// Files that are known without any block.
const FILES: usize = 4096;
/// Blocks that there must be room for, so that what is read ahead does not push out what is being used.
const AHEAD: usize = 4;
/// Reads from a block after which the next block is read ahead.
const REGULAR: u32 = 3;

#[derive(Default)]
pub struct Cache {
	/// Bytes of blocks at most; 0: nothing is kept.
	most: usize,
	bytes: usize,
	/// Blocks that are being read.
	filling: usize,
	clock: u64,
	files: Map<Handle, File>,
	pub hits: u64,
	pub hit_bytes: u64,
	pub fills: u64,
}

#[derive(Default)]
struct File {
	/// Size, and times of change, that the blocks are of.
	stamp: Option<(u64, Time, Time)>,
	blocks: BTreeMap<u64, Block>,
	filling: BTreeMap<u64, Filling>,
	touched: VecDeque<u64>,
}

struct Block {
	/// Shorter at the end of the file.
	data: Vec<u8>,
	read: Instant,
	used: u64,
	hits: u32,
}

struct Filling {
	waiting: Vec<Key>,
	/// Written to meanwhile: what is read may be older.
	stale: bool,
}

/// How a small read gets its bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum ReadPlan {
	/// It has its bytes; the block behind them is to be read too.
	Hit(Option<u64>),
	/// It goes on when a block is there, which is to be read if it is not being read.
	Wait(Option<u64>),
	/// It is read from the store.
	Direct,
}

impl Cache {
	pub fn new(most: usize) -> Cache {
		Cache { most, ..Cache::default() }
	}

	pub fn bytes(&self) -> usize {
		self.bytes
	}

	/// A small read begins.
	pub fn read(
		&mut self,
		key: Key,
		handle: Handle,
		parts: &[Extent],
		into: &mut [u8],
	) -> ReadPlan {
		let blocks = |part: &Extent| part.offset / BLOCK..=part.end().max(1).div_ceil(BLOCK) - 1;
		let wanted = || parts.iter().filter(|part| part.length > 0).flat_map(blocks);
		if self.most < BLOCK as usize || wanted().next().is_none() {
			return ReadPlan::Direct;
		}
		self.drop_old(&handle);
		let file = self.files.entry(handle).or_default();
		if let Some(missing) = wanted().find(|block| !file.blocks.contains_key(block)) {
			if let Some(filling) = file.filling.get_mut(&missing) {
				if filling.stale {
					return ReadPlan::Direct;
				}
				filling.waiting.push(key);
				return ReadPlan::Wait(None);
			}
			let again = file.touched.contains(&missing);
			file.touch(missing);
			let fill = if again { self.fill(handle, missing, vec![key], 1) } else { None };
			return fill.map_or(ReadPlan::Direct, |block| ReadPlan::Wait(Some(block)));
		}
		let mut rest = into;
		for part in parts {
			let (now, later) = rest.split_at_mut(part.length as usize);
			if !file.copy(part, now) {
				return ReadPlan::Direct; // it meets the end of the file
			}
			rest = later;
		}
		self.hits += 1;
		self.hit_bytes += parts.iter().map(|part| part.length).sum::<u64>();
		let last = wanted().max().unwrap_or(0);
		ReadPlan::Hit(self.used(handle, last))
	}

	/// A block was read from; whether the next one is to be read too.
	fn used(&mut self, handle: Handle, block: u64) -> Option<u64> {
		self.clock += 1;
		let file = self.files.get_mut(&handle)?;
		let cached = file.blocks.get_mut(&block)?;
		cached.used = self.clock;
		cached.hits += 1;
		let whole = cached.data.len() as u64 == BLOCK;
		let (hits, next) = (cached.hits, block + 1);
		let is_present = file.blocks.contains_key(&next) || file.filling.contains_key(&next);
		let wanted = hits == REGULAR && whole && !is_present;
		if wanted { self.fill(handle, next, Vec::new(), AHEAD) } else { None }
	}

	/// A block is to be read, if there is room for so many more.
	fn fill(&mut self, handle: Handle, block: u64, waiting: Vec<Key>, room: usize) -> Option<u64> {
		if (self.filling + room) * BLOCK as usize > self.most {
			return None;
		}
		self.filling += 1;
		self.fills += 1;
		self.make_room();
		let file = self.files.entry(handle).or_default();
		file.filling.insert(block, Filling { waiting, stale: false });
		Some(block)
	}

	/// Who waits for a block.
	pub fn waiting(&self, handle: &Handle, block: u64) -> Vec<Key> {
		let filling = self.files.get(handle).and_then(|file| file.filling.get(&block));
		filling.map(|filling| filling.waiting.clone()).unwrap_or_default()
	}

	/// A block was read, or could not be: who waits for it, and whether it is kept.
	pub fn filled(
		&mut self,
		handle: Handle,
		block: u64,
		data: Option<Vec<u8>>,
	) -> (Vec<Key>, bool) {
		let Some(file) = self.files.get_mut(&handle) else { return (Vec::new(), false) };
		let Some(filling) = file.filling.remove(&block) else { return (Vec::new(), false) };
		self.filling -= 1;
		let retained = data.filter(|data| !filling.stale && !data.is_empty());
		let is_retained = retained.is_some();
		if let Some(data) = retained {
			self.clock += 1;
			self.bytes += data.len();
			let read = Block { data, read: clock::now(), used: self.clock, hits: 0 };
			file.blocks.insert(block, read);
			self.make_room();
		}
		self.forget_empty(&handle);
		(filling.waiting, is_retained)
	}

	/// These bytes were written, or may be. What is shorter than a block may have become longer.
	pub fn written(&mut self, handle: Handle, extents: &[Extent]) {
		let touches = |block: u64| {
			let (from, to) = (block * BLOCK, (block + 1) * BLOCK);
			extents.iter().any(|e| e.length > 0 && e.offset < to && from < e.end())
		};
		let lost =
			|block: &u64, cached: &Block| touches(*block) || (cached.data.len() as u64) < BLOCK;
		self.lose(&handle, lost, touches);
		if let Some(file) = self.files.get_mut(&handle) {
			file.touched.retain(|block| !touches(*block));
		}
	}

	/// Nothing that is known of the file's data holds any more.
	pub fn changed(&mut self, handle: Handle) {
		self.lose(&handle, |_, _| true, |_| true);
	}

	/// A client opens a file, which has these attributes: it sees what others closed before.
	pub fn opened(&mut self, handle: Handle, attr: &Attr, now: Time) {
		let file = self.files.entry(handle).or_default();
		let stamp = Some((attr.size, attr.mtime.clone(), attr.ctime.clone()));
		let settled = now.seconds - attr.ctime.seconds > SETTLED.as_secs() as i64;
		if !settled || file.stamp != stamp {
			file.stamp = stamp;
			self.changed(handle);
		}
		self.forget_empty(&handle);
	}

	fn drop_old(&mut self, handle: &Handle) {
		self.lose(handle, |_, cached| clock::since(cached.read) > FRESH, |_| false);
	}

	/// Blocks that are not kept any more, and those of what is being read that will not be.
	fn lose(
		&mut self,
		handle: &Handle,
		lost: impl Fn(&u64, &Block) -> bool,
		stale: impl Fn(u64) -> bool,
	) {
		let Some(file) = self.files.get_mut(handle) else { return };
		let bytes = &mut self.bytes;
		file.blocks.retain(|block, cached| {
			let keep = !lost(block, cached);
			*bytes -= if keep { 0 } else { cached.data.len() };
			keep
		});
		for (block, filling) in &mut file.filling {
			filling.stale |= stale(*block);
		}
	}

	/// What was not used for longest goes.
	fn make_room(&mut self) {
		while self.bytes + self.filling * BLOCK as usize > self.most {
			let blocks = self.files.iter().flat_map(|(handle, file)| {
				file.blocks.iter().map(|(block, cached)| (cached.used, *handle, *block))
			});
			let Some((_, handle, block)) = blocks.min() else { return };
			self.lose(&handle, |number, _| *number == block, |_| false);
		}
	}

	/// A file of which nothing is kept is known as long as it is one of not too many.
	fn forget_empty(&mut self, handle: &Handle) {
		let empty = |file: &File| file.blocks.is_empty() && file.filling.is_empty();
		if self.files.len() > FILES && self.files.get(handle).is_some_and(empty) {
			self.files.retain(|_, file| !empty(file));
		}
	}
}

impl File {
	/// A small read was in this block, and it was not there.
	fn touch(&mut self, block: u64) {
		self.touched.retain(|touched| *touched != block);
		self.touched.push_back(block);
		if self.touched.len() > TOUCHED {
			self.touched.pop_front();
		}
	}

	/// The bytes of an extent, all of whose blocks are there. False: the file ends before.
	fn copy(&self, part: &Extent, into: &mut [u8]) -> bool {
		let (mut at, mut rest) = (part.offset, into);
		while !rest.is_empty() {
			let from = (at % BLOCK) as usize;
			let length = rest.len().min(BLOCK as usize - from);
			let Some(block) = self.blocks.get(&(at / BLOCK)) else { return false };
			let Some(bytes) = block.data.get(from..from + length) else { return false };
			let (now, later) = rest.split_at_mut(length);
			now.copy_from_slice(bytes);
			(at, rest) = (at + length as u64, later);
		}
		true
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	const FILE: Handle = Handle([1; 32]);
	const END: u64 = 3 * BLOCK + 1000;

	fn extent(offset: u64, length: u64) -> Extent {
		Extent { offset, length }
	}

	fn block_of(file: &[u8], block: u64) -> Vec<u8> {
		let from = ((block * BLOCK) as usize).min(file.len());
		file[from..file.len().min(from + BLOCK as usize)].to_vec()
	}

	#[test]
	fn small_reads_side_by_side_become_whole_blocks_and_the_next_is_read_ahead() {
		let (mut cache, file) = (Cache::new(16 << 20), vec![7; END as usize]);
		let mut fills = Vec::new();
		for at in (0..END).step_by(4096) {
			let length = 4096.min(END - at);
			let mut into = vec![0; length as usize];
			let mut plan = cache.read((1, at), FILE, &[extent(at, length)], &mut into);
			while let ReadPlan::Wait(Some(block)) = plan {
				fills.push(block);
				assert!(cache.filled(FILE, block, Some(block_of(&file, block))).1);
				plan = cache.read((1, at), FILE, &[extent(at, length)], &mut into);
			}
			if let ReadPlan::Hit(Some(block)) = plan {
				fills.push(block);
				assert_eq!(cache.filled(FILE, block, Some(block_of(&file, block))).0, []);
			}
			assert!(plan == ReadPlan::Direct || into == [7; 4096][..into.len()], "{at}");
		}
		assert_eq!(fills, [0, 1, 2, 3]);
		assert_eq!(cache.hits, END.div_ceil(4096) - 1);
	}

	#[test]
	fn memory_is_bounded_and_what_was_used_last_stays() {
		let (mut cache, mut byte) = (Cache::new(8 << 20), [0]);
		for block in 0..20 {
			for at in [0, 1] {
				let plan = cache.read((1, 1), FILE, &[extent(block * BLOCK + at, 1)], &mut byte);
				assert_eq!(plan == ReadPlan::Direct, at == 0);
			}
			cache.filled(FILE, block, Some(vec![1; BLOCK as usize]));
			assert!(cache.bytes() <= 8 << 20);
		}
		let blocks: Vec<u64> = cache.files[&FILE].blocks.keys().copied().collect();
		assert_eq!(blocks, (12..20).collect::<Vec<_>>());
	}

	#[test]
	fn an_open_drops_what_may_have_been_changed_elsewhere() {
		let mut cache = Cache::new(8 << 20);
		let fill_block = |cache: &mut Cache| {
			let mut byte = [0];
			for _ in 0..2 {
				cache.read((1, 1), FILE, &[extent(0, 1)], &mut byte);
			}
			cache.filled(FILE, 0, Some(vec![1; BLOCK as usize]));
		};
		let at = |seconds| Time { seconds, nanoseconds: 0 };
		let old = Attr { size: 5, ctime: at(100), ..Attr::default() };
		cache.opened(FILE, &old, at(200));
		fill_block(&mut cache);
		cache.opened(FILE, &old, at(201));
		assert_eq!(cache.bytes(), BLOCK as usize);
		cache.opened(FILE, &Attr { ctime: at(190), ..old.clone() }, at(202));
		assert_eq!(cache.bytes(), 0);
		fill_block(&mut cache);
		cache.opened(FILE, &Attr { ctime: at(202), ..old }, at(203)); // changed a moment ago
		assert_eq!(cache.bytes(), 0);
	}

	/// Blocks under way are read at any moment between their beginning and their end, as writes are done.
	#[test]
	fn reads_are_what_a_plain_file_says_whatever_is_written_meanwhile() {
		let (mut cache, mut file) = (Cache::new(8 << 20), vec![0; END as usize]);
		let (mut fills, mut hits) = (Vec::<(u64, Vec<u8>)>::new(), 0);
		let mut random = fastrand::Rng::with_seed(99);
		let mut next = |below: u64| random.u64(..below);
		for step in 0..30_000u64 {
			let (offset, length) = (next(6) * (BLOCK / 2) + next(5), 1 + next(200));
			match next(20) {
				0 => {
					let end = (offset + length) as usize;
					file.resize(file.len().max(end), 0);
					file[offset as usize..end].fill(step as u8);
					cache.written(FILE, &[extent(offset, length)]);
				}
				1 if next(10) == 0 => {
					file.resize((offset + length) as usize, 0);
					cache.changed(FILE);
				}
				2..8 if !fills.is_empty() => {
					let (block, data) = fills.swap_remove(next(fills.len() as u64) as usize);
					cache.filled(FILE, block, Some(data));
				}
				_ => {
					let mut into = vec![0; length as usize];
					match cache.read((1, step), FILE, &[extent(offset, length)], &mut into) {
						ReadPlan::Hit(fill) => {
							assert_eq!(into, file[offset as usize..][..length as usize], "{step}");
							hits += 1;
							fills.extend(fill.map(|block| (block, block_of(&file, block))));
						}
						ReadPlan::Wait(fill) => {
							fills.extend(fill.map(|block| (block, block_of(&file, block))));
						}
						ReadPlan::Direct => {}
					}
				}
			}
		}
		assert!(hits > 1000, "{hits}");
	}
}
