//! What a node's agent and a collector say to each other: `docs/collection.md`. Everything here
//! takes bytes and gives messages or a reason; no input panics or asks for more memory than it is long.

use std::io::{self, Read, Write};

use fathom_stream::{Cursor, put_text, put_varint};

use crate::critical_path::Report;

pub const MAGIC: &[u8; 8] = b"FATHOMCO";
pub const VERSION: u64 = 1;
/// Longest payload.
pub const LONGEST: usize = 4 << 20;
/// Bytes of a file in one message.
pub const PIECE: usize = 1 << 20;
/// Files of a node.
const MOST_FILES: usize = 1 << 20;

/// A file's name, length and CRC-32C.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileState {
	pub name: String,
	pub size: u64,
	pub crc: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
	/// Agent: who it is. `node` is its folder's name.
	Hello { key: String, job: String, node: String },
	/// Collector: what it has of that node already.
	Have(Vec<FileState>),
	/// Agent: more of a file; at 0 it begins anew.
	Data { name: String, offset: u64, bytes: Vec<u8> },
	/// Agent: a small file, whole.
	Replace { name: String, bytes: Vec<u8> },
	/// Agent: nothing new.
	Alive,
	/// Agent: that was all, and this is what the collector should have now.
	Whole(Vec<FileState>),
	/// Collector: it has; or these files are not so.
	Checked(Vec<String>),
	/// Collector: no, and why. `again`: another try may do.
	Refused { again: bool, reason: String },
	/// Agent: as `Hello`, but to agree on who is critical.
	Join { key: String, job: String, node: String },
	/// Agent: an epoch of its node.
	Report(Report),
	/// Coordinator: these are critical, of that node.
	Critical(Vec<u32>),
}

#[derive(Debug, thiserror::Error)]
pub enum FrameError {
	#[error("{0}")]
	Io(#[from] io::Error),
	#[error("a message of {0} bytes: longer than any of ours")]
	TooLong(u64),
	#[error("a message's checksum does not fit")]
	Checksum,
	#[error("a message that cannot be read: {0}")]
	Content(fathom_stream::Reason),
	#[error("a message of unknown type {0}")]
	Type(u8),
	#[error("not an agent of Fathom")]
	Magic,
	#[error("an agent of version {0} of the protocol, this is {VERSION}")]
	Version(u64),
}

impl From<fathom_stream::Reason> for FrameError {
	fn from(reason: fathom_stream::Reason) -> Self {
		FrameError::Content(reason)
	}
}

/// One message: length, type, payload, checksum of type and payload.
pub fn write(to: &mut impl Write, message: &Message) -> Result<(), FrameError> {
	let mut frame = vec![0; 4];
	encode(message, &mut frame);
	let length = frame.len() - 5;
	if length > LONGEST {
		return Err(FrameError::TooLong(length as u64));
	}
	frame[..4].copy_from_slice(&(length as u32).to_le_bytes());
	let crc = crc32c::crc32c(&frame[4..]);
	frame.extend(crc.to_le_bytes());
	to.write_all(&frame)?;
	Ok(to.flush()?)
}

/// The next message.
pub fn read(from: &mut impl Read) -> Result<Message, FrameError> {
	let mut length = [0; 4];
	from.read_exact(&mut length)?;
	let length = u32::from_le_bytes(length) as usize;
	if length > LONGEST {
		return Err(FrameError::TooLong(length as u64));
	}
	// As much memory as has come, whatever the length says.
	let mut rest = Vec::new();
	from.take(length as u64 + 5).read_to_end(&mut rest)?;
	if rest.len() < length + 5 {
		return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
	}
	let (body, crc) = rest.split_at(length + 1);
	if crc32c::crc32c(body).to_le_bytes() != crc {
		return Err(FrameError::Checksum);
	}
	decode(body[0], &body[1..])
}

/// In a time that does not tell where they differ.
pub fn same(one: &str, other: &str) -> bool {
	let pairs = one.bytes().zip(other.bytes());
	one.len() == other.len() && pairs.fold(0, |bits, (a, b)| bits | (a ^ b)) == 0
}

fn put_who(out: &mut Vec<u8>, [key, job, node]: [&str; 3]) {
	out.extend(MAGIC);
	put_varint(out, VERSION);
	for text in [key, job, node] {
		put_text(out, text.as_bytes());
	}
}

fn put_scores(out: &mut Vec<u8>, scores: &[(u32, u64)]) {
	put_varint(out, scores.len() as u64);
	for (pid, ns) in scores {
		put_varint(out, u64::from(*pid));
		put_varint(out, *ns);
	}
}

fn put_files(out: &mut Vec<u8>, files: &[FileState]) {
	put_varint(out, files.len() as u64);
	for file in files {
		put_text(out, file.name.as_bytes());
		put_varint(out, file.size);
		out.extend(file.crc.to_le_bytes());
	}
}

/// Type and payload.
fn encode(message: &Message, out: &mut Vec<u8>) {
	match message {
		Message::Hello { key, job, node } => {
			out.push(1);
			put_who(out, [key, job, node]);
		}
		Message::Have(files) => {
			out.push(2);
			put_files(out, files);
		}
		Message::Data { name, offset, bytes } => {
			out.push(3);
			put_text(out, name.as_bytes());
			put_varint(out, *offset);
			put_text(out, bytes);
		}
		Message::Replace { name, bytes } => {
			out.push(4);
			put_text(out, name.as_bytes());
			put_text(out, bytes);
		}
		Message::Alive => out.push(5),
		Message::Whole(files) => {
			out.push(6);
			put_files(out, files);
		}
		Message::Checked(names) => {
			out.push(7);
			put_varint(out, names.len() as u64);
			names.iter().for_each(|name| put_text(out, name.as_bytes()));
		}
		Message::Refused { again, reason } => {
			out.push(8);
			out.push(u8::from(*again));
			put_text(out, reason.as_bytes());
		}
		Message::Join { key, job, node } => {
			out.push(9);
			put_who(out, [key, job, node]);
		}
		Message::Report(report) => {
			out.push(10);
			put_scores(out, &report.processes);
			put_scores(out, &report.servers);
		}
		Message::Critical(pids) => {
			out.push(11);
			put_varint(out, pids.len() as u64);
			pids.iter().for_each(|pid| put_varint(out, u64::from(*pid)));
		}
	}
}

fn decode(kind: u8, payload: &[u8]) -> Result<Message, FrameError> {
	let mut at = Cursor::new(payload);
	let from = &mut at;
	Ok(match kind {
		1 => {
			let (key, job, node) = who(from)?;
			Message::Hello { key, job, node }
		}
		2 => Message::Have(files(from)?),
		3 => Message::Data {
			name: text(from)?,
			offset: from.varint()?,
			bytes: from.text()?.to_vec(),
		},
		4 => Message::Replace { name: text(from)?, bytes: from.text()?.to_vec() },
		5 => Message::Alive,
		6 => Message::Whole(files(from)?),
		7 => {
			let count = from.count("names")?.min(MOST_FILES);
			Message::Checked((0..count).map(|_| text(from)).collect::<Result<_, _>>()?)
		}
		8 => Message::Refused { again: from.u8()? != 0, reason: text(from)? },
		9 => {
			let (key, job, node) = who(from)?;
			Message::Join { key, job, node }
		}
		10 => Message::Report(Report { processes: scores(from)?, servers: scores(from)? }),
		11 => {
			let count = from.count("processes")?;
			Message::Critical((0..count).map(|_| pid(from)).collect::<Result<_, _>>()?)
		}
		other => return Err(FrameError::Type(other)),
	})
}

fn who(from: &mut Cursor<'_>) -> Result<(String, String, String), FrameError> {
	if from.array::<8>()? != *MAGIC {
		return Err(FrameError::Magic);
	}
	match from.varint()? {
		VERSION => Ok((text(from)?, text(from)?, text(from)?)),
		other => Err(FrameError::Version(other)),
	}
}

fn pid(from: &mut Cursor<'_>) -> Result<u32, FrameError> {
	let number = from.varint()?;
	u32::try_from(number).map_err(|_| io::Error::other(format!("{number} is no process")).into())
}

fn scores(from: &mut Cursor<'_>) -> Result<Vec<(u32, u64)>, FrameError> {
	let count = from.count("processes")?;
	(0..count).map(|_| Ok((pid(from)?, from.varint()?))).collect()
}

fn text(from: &mut Cursor<'_>) -> Result<String, FrameError> {
	Ok(String::from_utf8_lossy(from.text()?).into_owned())
}

fn files(from: &mut Cursor<'_>) -> Result<Vec<FileState>, FrameError> {
	let count = from.count("files")?.min(MOST_FILES);
	(0..count)
		.map(|_| {
			let (name, size) = (text(from)?, from.varint()?);
			Ok(FileState { name, size, crc: u32::from_le_bytes(from.array()?) })
		})
		.collect()
}

#[cfg(test)]
#[path = "../../stream/tests/common/splitmix.rs"]
mod splitmix;

#[cfg(test)]
mod tests {
	use super::splitmix::{Random, mutants};
	use super::*;
	use proptest::prelude::*;

	fn node_files() -> impl Strategy<Value = Vec<FileState>> {
		let file = ("[ -~]{0,30}", any::<u64>(), any::<u32>());
		let file = file.prop_map(|(name, size, crc)| FileState { name, size, crc });
		prop::collection::vec(file, 0..20)
	}

	fn scores() -> impl Strategy<Value = Vec<(u32, u64)>> {
		prop::collection::vec(any::<(u32, u64)>(), 0..20)
	}

	fn message() -> impl Strategy<Value = Message> {
		let word = || "[ -~äß]{0,40}";
		let bytes = || prop::collection::vec(any::<u8>(), 0..5000);
		prop_oneof![
			(word(), word(), word()).prop_map(|(key, job, node)| Message::Hello { key, job, node }),
			node_files().prop_map(Message::Have),
			(word(), any::<u64>(), bytes()).prop_map(|(name, offset, bytes)| Message::Data {
				name,
				offset,
				bytes
			}),
			(word(), bytes()).prop_map(|(name, bytes)| Message::Replace { name, bytes }),
			Just(Message::Alive),
			node_files().prop_map(Message::Whole),
			prop::collection::vec(word(), 0..10).prop_map(Message::Checked),
			(any::<bool>(), word()).prop_map(|(again, reason)| Message::Refused { again, reason }),
			(word(), word(), word()).prop_map(|(key, job, node)| Message::Join { key, job, node }),
			(scores(), scores()).prop_map(|(processes, servers)| {
				Message::Report(Report { processes, servers })
			}),
			prop::collection::vec(any::<u32>(), 0..10).prop_map(Message::Critical),
		]
	}

	proptest! {
		#[test]
		fn messages_come_back(messages in prop::collection::vec(message(), 1..10)) {
			let mut wire = Vec::new();
			for message in &messages {
				write(&mut wire, message).unwrap();
			}
			let mut from = &wire[..];
			for message in &messages {
				prop_assert_eq!(&read(&mut from).unwrap(), message);
			}
			prop_assert!(from.is_empty());
		}

		#[test]
		fn a_changed_bit_is_noticed(
			message in message(),
			at in any::<prop::sample::Index>(),
			bit in 0u8..8,
		) {
			let mut wire = Vec::new();
			write(&mut wire, &message).unwrap();
			let at = at.index(wire.len());
			wire[at] ^= 1 << bit;
			wire.extend([0; 64]);
			prop_assert!(read(&mut &wire[..]).is_err());
		}

		#[test]
		fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
			let _ = read(&mut &bytes[..]);
			// Past the checksum, too.
			if let Some((&kind, payload)) = bytes.split_first() {
				let _ = decode(kind % 10, payload);
			}
		}
	}

	/// Good streams of messages with bytes changed, cut out and put in; FATHOM_FUZZ says how many.
	#[test]
	fn mutants_are_refused_or_right() {
		let mut random = Random::of(1);
		let mut below = |limit: usize| random.below(limit);
		let files = vec![FileState { name: "node".into(), size: 77, crc: 5 }; 3];
		let hello = Message::Hello { key: "k".into(), job: "1.0".into(), node: "b-h".into() };
		let data = Message::Data { name: "1.a.fts".into(), offset: 9, bytes: vec![7; 300] };
		let sent =
			[hello, Message::Have(files.clone()), data, Message::Alive, Message::Whole(files)];
		let mut wire = Vec::new();
		sent.iter().for_each(|message| write(&mut wire, message).unwrap());
		for _ in 0..mutants() {
			let mut bytes = wire.clone();
			for _ in 0..=below(3) {
				let at = below(bytes.len());
				match below(3) {
					0 => bytes[at] = below(256) as u8,
					1 => drop(
						bytes.drain(at..(at + below(40)).min(wire.len()).min(bytes.len()).max(at)),
					),
					_ => bytes.splice(at..at, (0..below(40)).map(|i| i as u8)).for_each(drop),
				}
			}
			let mut from = &bytes[..];
			let mut got = Vec::new();
			while let Ok(message) = read(&mut from) {
				got.push(message);
			}
			assert!(got.iter().all(|message| sent.contains(message)), "{got:?}");
		}
	}

	#[test]
	fn a_length_asks_for_no_memory() {
		let mut wire = (LONGEST as u32).to_le_bytes().to_vec();
		wire.extend([3; 10]);
		assert!(matches!(read(&mut &wire[..]), Err(FrameError::Io(_))));
		let wire = u32::MAX.to_le_bytes();
		assert!(matches!(read(&mut &wire[..]), Err(FrameError::TooLong(_))));
	}
}
