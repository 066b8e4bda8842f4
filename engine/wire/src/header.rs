//! The 64 bytes that each frame begins with.

use crate::WireError;
use crate::number::{flag, frame, kind, limit, op};

/// Length of a header.
pub const HEADER: usize = frame::HEADER as usize;
const FLAGS: u32 = flag::BODY_CRC
	| flag::RETRY
	| flag::PULL
	| flag::MORE
	| flag::NONBLOCKING
	| flag::SYNC
	| flag::COMPRESSED;

/// What a header says; magic, version and its checksum are made and checked here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Header {
	pub kind: u8,
	pub op: u16,
	pub flags: u32,
	/// Bytes of the body.
	pub body: u32,
	pub client: u64,
	pub seq: u64,
	/// Milliseconds; 0: the server's default.
	pub deadline: u32,
	pub status: u32,
	/// The client's call that this serves, zeros: none.
	pub call_stream: u64,
	pub call_seq: u64,
	pub body_crc: u32,
}

impl Header {
	pub fn encode(&self) -> [u8; HEADER] {
		let mut out = [0; HEADER];
		out[0..4].copy_from_slice(&frame::MAGIC.to_le_bytes());
		out[4] = frame::VERSION as u8;
		out[5] = self.kind;
		out[6..8].copy_from_slice(&self.op.to_le_bytes());
		out[8..12].copy_from_slice(&self.flags.to_le_bytes());
		out[12..16].copy_from_slice(&self.body.to_le_bytes());
		out[16..24].copy_from_slice(&self.client.to_le_bytes());
		out[24..32].copy_from_slice(&self.seq.to_le_bytes());
		out[32..36].copy_from_slice(&self.deadline.to_le_bytes());
		out[36..40].copy_from_slice(&self.status.to_le_bytes());
		out[40..48].copy_from_slice(&self.call_stream.to_le_bytes());
		out[48..56].copy_from_slice(&self.call_seq.to_le_bytes());
		out[56..60].copy_from_slice(&self.body_crc.to_le_bytes());
		let crc = crc32c::crc32c(&out[..60]);
		out[60..].copy_from_slice(&crc.to_le_bytes());
		out
	}

	/// The magic is looked at first, then the checksum, so that a stranger and a damaged frame are told apart.
	pub fn decode(bytes: &[u8; HEADER]) -> Result<Header, WireError> {
		if u32_at(bytes, 0) != frame::MAGIC {
			return Err(WireError::Magic(u32_at(bytes, 0)));
		}
		if crc32c::crc32c(&bytes[..60]) != u32_at(bytes, 60) {
			return Err(WireError::HeaderChecksum);
		}
		if u32::from(bytes[4]) != frame::VERSION {
			return Err(WireError::Version(bytes[4]));
		}
		let header = Header {
			kind: bytes[5],
			op: u16::from_le_bytes([bytes[6], bytes[7]]),
			flags: u32_at(bytes, 8),
			body: u32_at(bytes, 12),
			client: u64_at(bytes, 16),
			seq: u64_at(bytes, 24),
			deadline: u32_at(bytes, 32),
			status: u32_at(bytes, 36),
			call_stream: u64_at(bytes, 40),
			call_seq: u64_at(bytes, 48),
			body_crc: u32_at(bytes, 56),
		};
		header.check()?;
		Ok(header)
	}

	fn check(&self) -> Result<(), WireError> {
		if self.flags & !FLAGS != 0 {
			return Err(WireError::Unknown("flags", u64::from(self.flags)));
		}
		if !(kind::REQUEST..=kind::DATA).contains(&self.kind) {
			return Err(WireError::Unknown("kind of frame", u64::from(self.kind)));
		}
		if self.body > limit::BODY {
			return Err(WireError::Body(self.body, limit::BODY));
		}
		if self.client == 0
			|| (self.seq == 0) != matches!(self.op, op::HELLO | op::AUTH | op::MUNGE)
		{
			return Err(WireError::Impossible("client and seq"));
		}
		let holds_data =
			self.kind == kind::DATA || (self.kind == kind::REPLY && self.op == op::READ);
		if self.flags & flag::COMPRESSED != 0 && !holds_data {
			return Err(WireError::Impossible("compressed"));
		}
		let asks = self.kind == kind::REQUEST;
		let answers = self.kind == kind::REPLY;
		if (!asks && (self.deadline != 0 || self.call_stream != 0 || self.call_seq != 0))
			|| (!answers && self.status != 0)
			|| (self.flags & flag::BODY_CRC == 0 && self.body_crc != 0)
		{
			return Err(WireError::Impossible("header fields"));
		}
		Ok(())
	}

	/// Whether a body is the one that was sent.
	pub fn check_body(&self, body: &[u8]) -> Result<(), WireError> {
		if self.flags & flag::BODY_CRC != 0 && crc32c::crc32c(body) != self.body_crc {
			return Err(WireError::BodyChecksum);
		}
		Ok(())
	}

	/// The whole frame.
	pub fn frame(self, body: &[u8]) -> Vec<u8> {
		let mut out = Vec::with_capacity(HEADER + body.len());
		out.extend([0; HEADER]);
		out.extend(body);
		self.seal(&mut out);
		out
	}

	/// The header of a frame whose body is there, behind room for it: its length and, if the flag asks for it, the
	/// checksum are set here.
	pub fn seal(mut self, frame: &mut [u8]) {
		let Some((head, body)) = frame.split_first_chunk_mut::<HEADER>() else { return };
		self.body = body.len() as u32;
		self.body_crc = if self.flags & flag::BODY_CRC != 0 { crc32c::crc32c(body) } else { 0 };
		*head = self.encode();
	}
}

fn u32_at(bytes: &[u8; HEADER], at: usize) -> u32 {
	u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8; HEADER], at: usize) -> u64 {
	u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}
