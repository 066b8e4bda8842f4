//! Data of a frame, compressed: u32 its length, then a frame of Zstandard.

use crate::WireError;

/// What is faster than a network is the lowest level; others win a tenth.
const LEVEL: i32 = 1;
/// Less is not worth the call.
const LEAST: usize = 1024;

/// The data behind `at` in its place, compressed; false: it would not be shorter, and stays.
pub fn compress(frame: &mut Vec<u8>, at: usize) -> bool {
	let data = &frame[at..];
	let length = data.len();
	if length < LEAST {
		return false;
	}
	let mut room = Vec::with_capacity(length);
	let packed = zstd::bulk::Compressor::new(LEVEL)
		.and_then(|mut compressor| compressor.compress_to_buffer(data, &mut room));
	match packed {
		Ok(bytes) if bytes + 4 < length => {}
		_ => return false,
	}
	frame.truncate(at);
	frame.extend((length as u32).to_le_bytes());
	frame.extend(room);
	true
}

/// Compressed data, to the end of `to`; refused if it says to be longer than `most`.
pub fn expand(packed: &[u8], to: &mut Vec<u8>, most: usize) -> Result<(), WireError> {
	let wrong = || WireError::Compressed(packed.len());
	let (length, packed) = packed.split_first_chunk::<4>().ok_or_else(wrong)?;
	let length = u32::from_le_bytes(*length) as usize;
	if length > most {
		return Err(wrong());
	}
	let at = to.len();
	to.resize(at + length, 0);
	match zstd::bulk::decompress_to_buffer(packed, &mut to[at..]) {
		Ok(bytes) if bytes == length => Ok(()),
		_ => Err(wrong()),
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn what_does_not_shrink_stays() {
		let next = |seed: &u64| {
			Some(seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407))
		};
		let seeds = std::iter::successors(Some(9u64), next);
		let mut noise: Vec<u8> = seeds.map(|seed| (seed >> 56) as u8).take(5000).collect();
		let before = noise.clone();
		assert!(!compress(&mut noise, 8) && noise == before);
		let mut few = vec![7; LEAST - 1];
		assert!(!compress(&mut few, 0) && few.len() == LEAST - 1);
	}

	#[test]
	fn comes_back_and_never_longer_than_said() {
		let mut frame = b"headhead".to_vec();
		frame.extend((0..300_000).map(|n| (n / 30_000) as u8));
		let before = frame.clone();
		assert!(compress(&mut frame, 8) && frame.len() < 10_000);
		let (mut back, packed) = (frame[..8].to_vec(), &frame[8..]);
		assert_eq!(expand(packed, &mut back, 300_000), Ok(()));
		assert!(back == before);
		// a length over the limit is refused before there is memory for it
		let mut none = Vec::new();
		assert!(expand(packed, &mut none, 299_999).is_err() && none.capacity() == 0);
		let mut lies = packed.to_vec();
		for length in [0u32, 1000, 299_999] {
			lies[..4].copy_from_slice(&length.to_le_bytes());
			assert!(expand(&lies, &mut Vec::new(), 1 << 20).is_err());
		}
		assert!(expand(&packed[..packed.len() - 1], &mut Vec::new(), 1 << 20).is_err());
	}
}
