//! What is put in comes out, whatever became of the index; what is damaged is said, and costs nothing else.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use fathom_sink::{
	Codec, Entry, Head, INDEX, Piece, Records, Sink, Writer, index, read_index, scan, seal,
};
use proptest::prelude::*;

const NODE: &str = "b00t-host";

type Streams = BTreeMap<String, Vec<u8>>;

/// Cuts streams into blocks of pieces, in turn, as an agent does.
fn blocks(streams: &Streams, size: usize, codec: Codec) -> Vec<(Head, Vec<u8>)> {
	let mut sent: BTreeMap<&String, usize> = BTreeMap::new();
	let mut sealed = Vec::new();
	loop {
		let mut head = Head::new(7, sealed.len() as u64, NODE, codec);
		let mut raw = Vec::new();
		for (name, bytes) in streams {
			let from = *sent.get(name).unwrap_or(&0);
			let piece = &bytes[from..bytes.len().min(from + size / 2 + 1)];
			if piece.is_empty() || raw.len() >= size {
				continue;
			}
			let at = from as u64;
			head.pieces.push(Piece { file: name.clone(), at, length: piece.len() as u32 });
			raw.extend(piece);
			sent.insert(name, from + piece.len());
		}
		head.last = raw.is_empty();
		let last = head.last;
		sealed.push(seal(head, &raw));
		if last {
			return sealed;
		}
	}
}

struct Folder(PathBuf);

impl Folder {
	fn new() -> Folder {
		static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
		let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
		let path =
			std::env::temp_dir().join(format!("fathom-sink.{}.{number}", std::process::id()));
		fs::create_dir_all(&path).unwrap();
		Folder(path)
	}
}

impl Drop for Folder {
	fn drop(&mut self) {
		let _ = fs::remove_dir_all(&self.0);
	}
}

/// Writes blocks into M files, in turn; their index.
fn write(folder: &Path, blocks: &[(Head, Vec<u8>)], files: usize) -> Vec<Entry> {
	let mut data = vec![Vec::new(); files];
	let mut entries = Vec::new();
	for (i, (head, block)) in blocks.iter().enumerate() {
		let data: &mut Vec<u8> = &mut data[i % files];
		let (file, offset) = (format!("{}.blocks", i % files), data.len() as u64);
		entries.push(Entry { file, offset, head: head.clone() });
		data.extend(block);
	}
	for (number, data) in data.iter().enumerate() {
		fs::write(folder.join(format!("{number}.blocks")), data).unwrap();
	}
	entries
}

fn all(sink: &Sink) -> Streams {
	let nodes: Vec<_> = sink.nodes().collect();
	let names = nodes.iter().flat_map(|(node, files)| files.keys().map(move |name| (node, name)));
	names.map(|(node, name)| (name.clone(), sink.read(node, name).unwrap())).collect()
}

fn streams() -> impl Strategy<Value = Streams> {
	let bytes = prop::collection::vec(prop_oneof![4 => Just(0u8), 1 => any::<u8>()], 1..600);
	prop::collection::btree_map("[a-z0-9]{1,6}\\.fts", bytes, 1..12)
}

proptest! {
	#![proptest_config(ProptestConfig::with_cases(32))]

	/// With the index, without it, and with any part of it.
	#[test]
	fn what_went_in_comes_out(
		streams in streams(), size in 8usize..300, files in 1usize..4, zstd in any::<bool>(), cut in any::<prop::sample::Index>()
	) {
		let folder = Folder::new();
		let sealed = blocks(&streams, size, if zstd { Codec::Zstd } else { Codec::Plain });
		let entries = write(&folder.0, &sealed, files);
		let index: Vec<u8> = entries.chunks(3).flat_map(index).collect();
		for index in [None, Some(&index[..]), Some(&index[..cut.index(index.len())])] {
			let _ = fs::remove_file(folder.0.join(INDEX));
			if let Some(bytes) = index {
				fs::write(folder.0.join(INDEX), bytes).unwrap();
			}
			let sink = Sink::open(&folder.0).unwrap().unwrap();
			prop_assert_eq!(all(&sink), streams.clone());
			prop_assert_eq!(sink.lost(), []);
			prop_assert_eq!(sink.report.skipped, 0);
			sink.write_index().unwrap();
			let again = Sink::open(&folder.0).unwrap().unwrap();
			prop_assert!(again.index_is_whole());
			prop_assert_eq!(all(&again), streams.clone());
		}
	}

	/// Any byte of a data file changed: what differs afterwards is in one block, and is said.
	#[test]
	fn damage_costs_a_block_and_is_said(streams in streams(), at in any::<prop::sample::Index>(), flip in 1u8..) {
		let folder = Folder::new();
		write(&folder.0, &blocks(&streams, 64, Codec::Plain), 1);
		let path = folder.0.join("0.blocks");
		let mut data = fs::read(&path).unwrap();
		let place = at.index(data.len());
		data[place] ^= flip;
		fs::write(&path, &data).unwrap();
		let sink = Sink::open(&folder.0).unwrap().unwrap();
		let restored = all(&sink);
		let lost: usize = streams.iter().map(|(name, bytes)| {
			let got = restored.get(name).map_or(&[][..], |got| got);
			bytes.iter().enumerate().filter(|(i, byte)| got.get(*i).unwrap_or(&0) != *byte).count()
		}).sum();
		prop_assert!(lost <= 128);
		prop_assert!(!sink.lost().is_empty());
	}

	/// No bytes make a reader panic, and what it finds lies where it says.
	#[test]
	fn any_bytes_are_read(junk in prop::collection::vec(any::<u8>(), 0..400), streams in streams(), at in any::<prop::sample::Index>()) {
		let mut data = blocks(&streams, 100, Codec::Zstd).remove(0).1;
		let place = at.index(data.len());
		data.splice(place..place, junk);
		let scanned = scan(&data[..], 0..data.len() as u64).unwrap();
		let covered: u64 = scanned.skipped.iter().map(|gap| gap.end - gap.start).sum();
		let blocks: u64 = scanned.blocks.iter().map(|(_, head)| head.bytes().len() as u64 + u64::from(head.stored)).sum();
		prop_assert_eq!(covered + blocks, data.len() as u64);
		let (_, torn) = read_index(&data);
		prop_assert_eq!(torn, data.len() as u64);
	}
}

#[test]
fn a_block_that_is_nowhere_and_a_node_cut_off_are_said() {
	let folder = Folder::new();
	let streams = Streams::from([("1.a.fts".to_owned(), vec![5; 1000])]);
	let mut sealed = blocks(&streams, 100, Codec::Plain);
	sealed.remove(1);
	let remaining = sealed.len();
	write(&folder.0, &sealed, 2);
	let lost = Sink::open(&folder.0).unwrap().unwrap().lost();
	assert_eq!(lost.len(), 1);
	assert_eq!(lost[0].what, format!("{NODE}: 1 of its {} blocks are in no file", remaining + 1));
	sealed.pop();
	write(&folder.0, &sealed, 2);
	let sink = Sink::open(&folder.0).unwrap().unwrap();
	assert!(sink.lost().iter().any(|lost| lost.what.contains("after its last block")));
	let restored = sink.read(NODE, "1.a.fts").unwrap();
	assert_eq!(restored.iter().filter(|byte| **byte == 0).count(), 51); // the piece of the lost block
}

#[test]
fn a_block_sent_twice_is_one() {
	let folder = Folder::new();
	let streams = Streams::from([("1.a.fts".to_owned(), (0..200).collect())]);
	let sealed = blocks(&streams, 64, Codec::Plain);
	let mut torn = sealed[0].1.clone();
	*torn.last_mut().unwrap() ^= 1; // its server was killed while it wrote
	let again =
		[vec![(sealed[0].0.clone(), torn)], sealed.clone(), vec![sealed[1].clone()]].concat();
	write(&folder.0, &again, 2);
	let sink = Sink::open(&folder.0).unwrap().unwrap();
	assert_eq!(all(&sink), streams);
	assert_eq!(sink.lost(), []);
}

#[test]
fn numbers_that_no_writer_makes_are_refused() {
	let folder = Folder::new();
	let streams = Streams::from([("1.a.fts".to_owned(), vec![5; 100])]);
	let sealed = blocks(&streams, 100, Codec::Plain);
	let (good, stored) = &sealed[0];
	let crafted = seal(Head { number: u64::MAX, ..good.clone() }, &vec![5; good.raw as usize]);
	write(&folder.0, &[sealed.clone(), vec![crafted.clone()]].concat(), 1);
	let far = Entry { file: "0.blocks".into(), offset: u64::MAX - 9, head: good.clone() };
	let entries = [Entry { head: crafted.0, offset: 0, ..far.clone() }, far];
	for entry in &entries {
		let bytes = index(std::slice::from_ref(entry));
		assert_eq!(read_index(&bytes), (Vec::new(), bytes.len() as u64), "{entry:?}");
	}
	fs::write(folder.0.join(INDEX), index(&entries)).unwrap();
	let sink = Sink::open(&folder.0).unwrap().unwrap();
	assert_eq!(all(&sink), streams);
	assert_eq!((sink.lost(), sink.report.skipped), (vec![], stored.len() as u64));
}

#[test]
fn records_of_an_index_have_bounds() {
	let piece = |n: u32| Piece { file: format!("{n:0200}"), at: 0, length: 0 };
	let head =
		Head { pieces: (0..2000).map(piece).collect(), ..Head::new(7, 0, NODE, Codec::Plain) };
	let of = |offset| Entry { file: "0.blocks".into(), offset, head: head.clone() };
	let mut records = Records::default();
	let mut encoded: Vec<Vec<u8>> = (0..20).filter_map(|number| records.add(&of(number))).collect();
	encoded.extend(records.rest());
	assert!(encoded.len() > 4 && encoded.iter().all(|record| record.len() < 2 << 20));
	let (entries, torn) = read_index(&encoded.concat());
	let offsets: Vec<u64> = entries.iter().map(|entry| entry.offset).collect();
	assert_eq!((offsets, torn), ((0..20).collect(), 0));
	assert_eq!(index(&entries), encoded.concat());
	assert_eq!(records.rest(), None);
}

#[test]
fn streams_that_are_all_there_are_one_file() {
	let folder = Folder::new();
	let long: Vec<u8> = (0..3_000_000u32).map(|i| (i % 251) as u8).collect();
	let many: Vec<(String, Vec<u8>)> =
		(0..12_000u32).map(|i| (format!("{i}.fts"), i.to_le_bytes().repeat(5))).collect();
	let nodes = [("a", many), ("b", vec![("long.fts".to_owned(), long)])];

	let mut writer = Writer::create(&folder.0).unwrap();
	for (node, files) in &nodes {
		let named = files.iter().map(|(name, bytes)| (name.clone(), bytes.as_slice()));
		writer.add(node, named).unwrap();
	}
	assert!(writer.add("../c", std::iter::empty()).is_err());
	writer.finish().unwrap();

	let sink = Sink::open(&folder.0).unwrap().unwrap();
	assert_eq!(sink.nodes().map(|(node, _)| node.to_owned()).collect::<Vec<_>>(), ["a", "b"]);
	for (node, files) in &nodes {
		for (name, bytes) in files {
			assert_eq!(&sink.read(node, name).unwrap(), bytes, "{node}/{name}");
		}
	}
	assert!(sink.lost().is_empty() && sink.index_is_whole());
	assert!(fs::read_dir(&folder.0).unwrap().count() == 2, "blocks and their index");
}
