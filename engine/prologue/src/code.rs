//! x86-64: how much of a function gives way to a jump, and what stands for it elsewhere.

use std::collections::BTreeSet;
use std::ops::Range;

use iced_x86::{
	BlockEncoder, BlockEncoderOptions, Code, Decoder, DecoderOptions, FlowControl, Instruction,
	InstructionBlock,
};

use crate::image::{Function, Image};

/// Bytes of a near jump.
pub const JUMP: usize = 5;

/// The whole instructions at the beginning of a function that a jump is written over.
pub fn first_instructions(at: u64, function: &Function) -> Result<Vec<Instruction>, &'static str> {
	let mut decoder = Decoder::with_ip(64, &function.bytes, at, DecoderOptions::NONE);
	let mut taken = Vec::new();
	let mut length = 0;
	while length < JUMP {
		if !decoder.can_decode() {
			return Err("is shorter than a jump");
		}
		let instruction = decoder.decode();
		length += instruction.len();
		match instruction.flow_control() {
			FlowControl::Next | FlowControl::ConditionalBranch => {}
			FlowControl::UnconditionalBranch if length >= JUMP => {}
			FlowControl::Call | FlowControl::IndirectCall => return Err("calls at once"),
			_ => return Err("ends at once, or is no code"),
		}
		taken.push(instruction);
	}
	Ok(taken)
}

/// Near jumps of the whole program into these stretches of code, which lie in order: where to, each with the function that
/// it is in. Calls lead to beginnings only.
pub fn jumps(image: &Image, into: &[Range<u64>]) -> BTreeSet<(u64, u64)> {
	let mut edges = BTreeSet::new();
	for (&at, function) in &image.functions {
		if may_jump(at, &function.bytes, into) {
			let targets = targets(at, &function.bytes);
			edges.extend(targets.into_iter().filter(|to| lies(into, *to)).map(|to| (to, at)));
		}
	}
	edges
}

fn lies(into: &[Range<u64>], at: u64) -> bool {
	let behind = into.partition_point(|one| one.end <= at);
	into.get(behind).is_some_and(|one| one.contains(&at))
}

/// Would any of these bytes lead there, if an instruction began with it? Of a large program, to decode all takes longest.
fn may_jump(at: u64, bytes: &[u8], into: &[Range<u64>]) -> bool {
	let lies = |next: usize, distance: i64| {
		lies(into, at.wrapping_add(next as u64).wrapping_add_signed(distance))
	};
	let short_jump =
		|i: usize| bytes.get(i + 1).is_some_and(|to| lies(i + 2, i64::from(*to as i8)));
	let near_jump = |i: usize| {
		let distance = bytes.get(i + 1..).and_then(<[u8]>::first_chunk::<4>);
		distance.is_some_and(|to| lies(i + 5, i64::from(i32::from_le_bytes(*to))))
	};
	bytes.iter().enumerate().any(|(i, code)| match code {
		0x70..=0x7f | 0xe0..=0xe3 | 0xeb => short_jump(i),
		0x80..=0x8f | 0xe9 => near_jump(i), // the former behind 0x0f
		_ => false,
	})
}

/// Where a function's near jumps lead.
fn targets(at: u64, bytes: &[u8]) -> Vec<u64> {
	let mut addresses = Vec::new();
	let mut instruction = Instruction::default();
	let mut decoder = Decoder::with_ip(64, bytes, at, DecoderOptions::NONE);
	while decoder.can_decode() {
		decoder.decode_out(&mut instruction);
		let jump = matches!(
			instruction.flow_control(),
			FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch
		);
		if jump && instruction.near_branch_target() != 0 {
			addresses.push(instruction.near_branch_target());
		}
	}
	addresses
}

/// The same instructions at another place, and a jump to what follows them.
pub fn moved(instructions: &[Instruction], to: u64) -> Result<Vec<u8>, &'static str> {
	let next = instructions.last().map_or(0, Instruction::next_ip);
	let back = Instruction::with_branch(Code::Jmp_rel32_64, next).map_err(|_| "is out of reach")?;
	let mut all = instructions.to_vec();
	all.push(back);
	let block = InstructionBlock::new(&all, to);
	BlockEncoder::encode(64, block, BlockEncoderOptions::NONE)
		.map(|result| result.code_buffer)
		.map_err(|_| "begins with what only works in its place")
}

/// `jmp`.
pub fn jump(from: u64, to: u64) -> [u8; JUMP] {
	let distance = to.wrapping_sub(from).wrapping_sub(JUMP as u64) as u32;
	let [a, b, c, d] = distance.to_le_bytes();
	[0xe9, a, b, c, d]
}

/// What a function's jump leads to. A call from `group_range` or `runtime_range`, two words each (begin, length), goes on
/// to the `original` right behind; all others go to what `slot` holds. Only r11 is used, which no call keeps.
pub fn stub(at: u64, group_range: u64, runtime_range: u64, slot: u64) -> Vec<u8> {
	let mut code = Vec::with_capacity(STUB);
	let relative = |code: &mut Vec<u8>, head: &[u8], to: u64| {
		code.extend_from_slice(head);
		let next = at + code.len() as u64 + 4;
		code.extend_from_slice(&(to.wrapping_sub(next) as u32).to_le_bytes());
	};
	for range in [group_range, runtime_range] {
		code.extend_from_slice(&[0x4c, 0x8b, 0x1c, 0x24]); // mov r11, [rsp]
		relative(&mut code, &[0x4c, 0x2b, 0x1d], range); // sub r11, [range]
		relative(&mut code, &[0x4c, 0x3b, 0x1d], range + 8); // cmp r11, [range + 8]
		relative(&mut code, &[0x0f, 0x82], at + STUB as u64); // jb original
	}
	relative(&mut code, &[0xff, 0x25], slot); // jmp [slot]
	code.resize(STUB, 0xcc);
	code
}

/// Bytes of a stub.
pub const STUB: usize = 56;

#[cfg(test)]
mod tests {
	use proptest::prelude::*;

	use super::*;

	fn function(bytes: &[u8]) -> Function {
		Function { bytes: bytes.to_vec(), names: Vec::new() }
	}

	/// What the moved instructions refer to, and where they go on, is what it was.
	#[test]
	fn moved_instructions_mean_the_same() {
		// lea rax, [rip+0x100]; je short +0x10
		let bytes = [0x48, 0x8d, 0x05, 0x00, 0x01, 0x00, 0x00, 0x74, 0x10];
		let taken = first_instructions(0x1000, &function(&bytes)).unwrap();
		assert_eq!(taken.len(), 1);
		let both = first_instructions(0x1007, &function(&[0x74, 0x10, 0x48, 0x85, 0xc0])).unwrap();
		let all = [taken, both].concat();
		let code = moved(&all, 0x9_0000).unwrap();
		let mut decoder = Decoder::with_ip(64, &code, 0x9_0000, DecoderOptions::NONE);
		let decoded: Vec<_> = decoder.iter().collect();
		assert_eq!(decoded[0].memory_displacement64(), 0x1107);
		assert_eq!(decoded[1].near_branch_target(), 0x1019);
		assert_eq!(decoded.last().unwrap().near_branch_target(), 0x100c);
	}

	proptest! {
		/// What is not decoded jumps nowhere that counts, whatever the bytes.
		#[test]
		fn no_jump_is_missed(bytes in proptest::collection::vec(code_byte(), 0..200), from in 0u64..400, length in 1u64..20) {
			let at = 0x1000;
			let into = [0x10..0x20, at + from - 100..at + from - 100 + length];
			let inside = targets(at, &bytes).into_iter().filter(|to| lies(&into, *to)).count();
			prop_assert!(inside == 0 || may_jump(at, &bytes, &into));
		}
	}

	/// Any, those of jumps more often.
	fn code_byte() -> impl Strategy<Value = u8> {
		let often = vec![0x0f, 0x66, 0x70, 0x7f, 0x80, 0x8f, 0xe0, 0xe3, 0xe9, 0xeb, 0xf2, 0, 0xff];
		prop_oneof![any::<u8>(), proptest::sample::select(often)]
	}

	#[test]
	fn what_cannot_give_way_is_left() {
		assert!(first_instructions(0, &function(&[0x31, 0xc0, 0xc3])).is_err()); // xor; ret
		assert!(first_instructions(0, &function(&[0xe8, 0, 0, 0, 0, 0xc3])).is_err()); // call
		assert!(first_instructions(0, &function(&[0x90; 4])).is_err());
		assert!(first_instructions(0, &function(&[0x06; 8])).is_err()); // no instruction
	}

	#[test]
	fn jump_and_stub_lead_where_they_should() {
		let ip = |bytes: &[u8], at| Decoder::with_ip(64, bytes, at, DecoderOptions::NONE).decode();
		assert_eq!(ip(&jump(0x5000, 0x1000), 0x5000).near_branch_target(), 0x1000);
		let code = stub(0x1000, 0x2000, 0x2010, 0x3000);
		let mut decoder = Decoder::with_ip(64, &code, 0x1000, DecoderOptions::NONE);
		let decoded: Vec<_> = decoder.iter().take(9).collect();
		assert_eq!(decoded[1].memory_displacement64(), 0x2000);
		assert_eq!(decoded[6].memory_displacement64(), 0x2018);
		assert_eq!(decoded[7].near_branch_target(), 0x1000 + STUB as u64);
		assert_eq!(decoded[8].memory_displacement64(), 0x3000);
	}
}
