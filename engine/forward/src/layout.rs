//! How a file is striped: blocks of one size go round the servers, each server's one after the other in a file of its own.

use std::fmt;
use std::str::FromStr;

use fathom_wire::Extent;

/// The first line of a file that stands for a striped one.
const TITLE: &str = "fathom-forward stripes 2";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
	/// The file's name for good: that of its data files.
	pub id: u128,
	/// Bytes of a block.
	pub size: u64,
	/// Over so many of all servers, from this one on.
	pub count: u32,
	pub first: u32,
	pub of: u32,
}

/// Bytes of a file that one server has, one after the other in its data file.
#[derive(Debug, PartialEq, Eq)]
pub struct Share {
	pub server: usize,
	/// Where they begin in the data file.
	pub start: u64,
	/// Of the bytes asked for, in order: from, to.
	pub parts: Vec<(usize, usize)>,
}

impl Share {
	/// In the data file.
	pub fn extent(&self) -> Extent {
		let length = self.parts.iter().map(|(from, to)| (to - from) as u64).sum();
		Extent { offset: self.start, length }
	}
}

impl Layout {
	/// What each server has of these bytes.
	pub fn shares(&self, offset: u64, length: usize) -> Vec<Share> {
		let mut shares: Vec<Share> = Vec::new();
		let mut from = 0;
		while from < length {
			let at = offset + from as u64;
			let (server, start) = self.place(at);
			let to = length.min(from + (self.size - at % self.size) as usize);
			match shares.iter_mut().find(|share| share.server == server) {
				Some(share) => share.parts.push((from, to)),
				None => shares.push(Share { server, start, parts: vec![(from, to)] }),
			}
			from = to;
		}
		shares
	}

	/// Whose a byte is, and where it is in the data file.
	pub fn place(&self, offset: u64) -> (usize, u64) {
		let (block, count) = (offset / self.size, u64::from(self.count));
		let server = (u64::from(self.first) + block % count) % u64::from(self.of);
		(server as usize, block / count * self.size + offset % self.size)
	}

	/// Where the file ends for all that a data file of that length tells.
	pub fn end(&self, server: usize, length: u64) -> u64 {
		let Some(last) = length.checked_sub(1) else { return 0 };
		let (row, count) = (self.row(server), u64::from(self.count));
		let block = (last / self.size).saturating_mul(count).saturating_add(row);
		block.saturating_mul(self.size).saturating_add(last % self.size + 1)
	}

	/// How long a data file may be in a file of that size.
	pub fn most(&self, server: usize, size: u64) -> u64 {
		let (row, count) = (self.row(server), u64::from(self.count));
		let (blocks, rest) = (size / self.size, size % self.size);
		let whole = (blocks + count - 1 - row) / count * self.size;
		whole + if blocks % count == row { rest } else { 0 }
	}

	/// Which of the blocks of a round is that server's, one of the file's.
	fn row(&self, server: usize) -> u64 {
		let of = u64::from(self.of);
		(server as u64 + of - u64::from(self.first)) % of
	}

	pub fn servers(&self) -> Vec<usize> {
		(0..self.count).map(|row| ((self.first + row) % self.of) as usize).collect()
	}

	/// The name of its data files.
	pub fn name(&self) -> String {
		format!("{:032x}", self.id)
	}
}

impl fmt::Display for Layout {
	fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
		let Layout { id, size, count, first, of } = self;
		writeln!(f, "{TITLE}\nid {id:032x}\nsize {size}\ncount {count}\nfirst {first}\nof {of}")
	}
}

impl FromStr for Layout {
	type Err = ();

	fn from_str(text: &str) -> Result<Layout, ()> {
		let mut lines = text.lines();
		lines.next().filter(|line| *line == TITLE).ok_or(())?;
		let mut value = |name| {
			let line = lines.next().and_then(|line| line.split_once(' '));
			line.filter(|(key, _)| *key == name).map(|(_, value)| value).ok_or(())
		};
		let id = u128::from_str_radix(value("id")?, 16).map_err(drop)?;
		let size = value("size")?.parse().map_err(drop)?;
		let count = value("count")?.parse().map_err(drop)?;
		let first = value("first")?.parse().map_err(drop)?;
		let of = value("of")?.parse().map_err(drop)?;
		let right = size > 0 && (1..=of).contains(&count) && first < of;
		right.then_some(Layout { id, size, count, first, of }).ok_or(())
	}
}

/// Bytes from, to of parts that follow each other.
pub fn cut<'a>(parts: &[&'a [u8]], (from, to): (usize, usize)) -> Vec<&'a [u8]> {
	let mut at = 0;
	let mut some = Vec::new();
	for part in parts {
		let (begin, end) = (from.max(at), to.min(at + part.len()));
		if begin < end {
			some.push(&part[begin - at..end - at]);
		}
		at += part.len();
	}
	some
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn a_range_is_cut_out_of_parts() {
		let parts: [&[u8]; 3] = [b"abc", b"", b"defg"];
		let text = |range| cut(&parts, range).concat();
		assert_eq!(text((0, 7)), b"abcdefg");
		assert_eq!(text((2, 5)), b"cde");
		assert_eq!(text((3, 3)), b"");
	}

	const LAYOUT: Layout = Layout { id: 7, size: 10, count: 3, first: 2, of: 3 };
	/// Over servers 3, 4, 0.
	const SOME: Layout = Layout { first: 3, of: 5, ..LAYOUT };

	#[test]
	fn a_layout_is_what_its_text_says() {
		assert_eq!(LAYOUT.to_string().parse(), Ok(LAYOUT));
		let text = LAYOUT.to_string();
		(0..text.len() - 2).for_each(|cut| assert!(text[..cut].parse::<Layout>().is_err()));
		assert!(text.replace("size 10", "size 0").parse::<Layout>().is_err());
		assert!(text.replace("first 2", "first 3").parse::<Layout>().is_err());
		assert!(text.replace("of 3", "of 2").parse::<Layout>().is_err());
		assert!(text.replace("count 3", "count 0").parse::<Layout>().is_err());
		assert_eq!(SOME.to_string().parse(), Ok(SOME));
	}

	#[test]
	fn blocks_go_round_from_the_first_server() {
		let placed: Vec<_> = [0, 9, 10, 20, 30, 35].map(|at| LAYOUT.place(at)).into();
		assert_eq!(placed, [(2, 0), (2, 9), (0, 0), (1, 0), (2, 10), (2, 15)]);
		let placed: Vec<_> = [0, 9, 10, 20, 30, 35].map(|at| SOME.place(at)).into();
		assert_eq!(placed, [(3, 0), (3, 9), (4, 0), (0, 0), (3, 10), (3, 15)]);
	}

	#[test]
	fn shares_of_a_range_are_its_bytes_once() {
		for layout in [LAYOUT, SOME] {
			for (offset, length) in [(0, 100), (7, 5), (15, 61), (29, 1), (30, 0)] {
				let mut seen = vec![0; length];
				for share in layout.shares(offset, length) {
					let bytes = share.parts.iter().flat_map(|(from, to)| *from..*to);
					for (byte, at) in bytes.zip(share.start..) {
						assert_eq!(layout.place(offset + byte as u64), (share.server, at));
						seen[byte] += 1;
					}
				}
				assert!(seen.iter().all(|times| *times == 1), "{offset} {length}: {seen:?}");
			}
		}
	}

	#[test]
	fn lengths_of_data_files_and_the_size_fit() {
		for (layout, size) in (0..200u64).flat_map(|size| [(LAYOUT, size), (SOME, size)]) {
			let most = layout.servers().into_iter().map(|s| (s, layout.most(s, size)));
			assert_eq!(most.clone().map(|(_, length)| length).sum::<u64>(), size);
			assert_eq!(most.map(|(server, length)| layout.end(server, length)).max(), Some(size));
		}
	}
}
