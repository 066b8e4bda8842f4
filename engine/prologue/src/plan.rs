//! All that is written for one program, as the runtime reads it.

use std::collections::HashSet;
use std::path::Path;

use crate::code::{JUMP, STUB, first_instructions, jump, jumps, moved, stub};
use crate::image::Image;
use crate::wanted::Group;
use crate::{PrologueError, Wanted};

const MAGIC: &[u8; 8] = b"FATHOMHX";
const VERSION: u32 = 1;
const PAGE: u64 = 4096;
/// From the program down to our code: nothing lies there, neither with a program of fixed place nor with one of any.
const GAP: u64 = 1 << 20;
const MOST_CODE: u64 = 1 << 20;
/// Addresses of a program of any place begin with 0; ours lie below. So all are counted from here meanwhile.
const BIAS: u64 = 1 << 40;

/// A function that stays as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
	pub name: String,
	pub why: &'static str,
}

#[derive(Debug, Default)]
pub struct Plan {
	/// Libraries that are linked in, and of how many functions each.
	pub groups: Vec<(String, usize)>,
	pub refused: Vec<Refused>,
	/// Empty: there is nothing to do.
	pub bytes: Vec<u8>,
}

/// One function that is to be seen.
struct Hidden {
	at: u64,
	name: String,
	group: usize,
	before: [u8; JUMP],
	instructions: Vec<iced_x86::Instruction>,
}

/// The part of the program that a library takes.
struct Stretch {
	begin: u64,
	end: u64,
}

/// What has to be written so that calls of these functions are seen.
pub fn plan(program: &Path, wanted: &Wanted) -> Result<Plan, PrologueError> {
	let image = Image::read(program)?;
	let mut plan = Plan::default();
	let mut hidden = Vec::new();
	let mut stretches = Vec::new();
	for group in &wanted.groups {
		let functions = linked_in(&image, group, stretches.len(), &mut plan.refused);
		if !functions.is_empty() {
			plan.groups.push((group.name.clone(), functions.len()));
			stretches.push(stretch(&image, group));
			hidden.extend(functions);
		}
	}
	drop_jump_targets(&image, &mut hidden, &mut plan.refused);
	if !hidden.is_empty() {
		plan.bytes = Layout::new(&image, &hidden, stretches.len())?.write(
			&image,
			&hidden,
			&stretches,
			wanted,
			&mut plan.refused,
		);
	}
	Ok(plan)
}

/// None of a library that the program imports from.
fn linked_in(
	image: &Image,
	group: &Group,
	number: usize,
	refused: &mut Vec<Refused>,
) -> Vec<Hidden> {
	let mut taken = HashSet::new();
	let mut hidden = Vec::new();
	if group.functions.iter().any(|name| image.imports.contains(name)) {
		return hidden;
	}
	for name in &group.functions {
		let Some(&at) = image.symbols.get(name) else { continue };
		let Some(function) = image.functions.get(&at) else { continue };
		if !taken.insert(at) {
			continue; // another name of the same
		}
		match first_instructions(at, function) {
			Ok(instructions) => {
				let mut before = [0; JUMP];
				before.copy_from_slice(&function.bytes[..JUMP]);
				let name = name.clone();
				hidden.push(Hidden { at, name, group: number, before, instructions });
			}
			Err(why) => refused.push(Refused { name: name.clone(), why }),
		}
	}
	hidden
}

/// From its first function to its last: the linker puts what it takes from one archive together. But for parts of
/// functions that are seldom run (`.cold`), which lie with those of all others.
fn stretch(image: &Image, group: &Group) -> Stretch {
	let mut span = Stretch { begin: u64::MAX, end: 0 };
	for (&at, function) in &image.functions {
		let own = function.names.iter().any(|name| {
			let inner = group.inner.iter().any(|start| name.starts_with(start));
			group.functions.contains(name) || (inner && !name.contains('.'))
		});
		if own {
			span.begin = span.begin.min(at);
			span.end = span.end.max(at + function.bytes.len() as u64);
		}
	}
	span
}

/// Leaves out those that something jumps into, or that jump to their own beginning.
fn drop_jump_targets(image: &Image, hidden: &mut Vec<Hidden>, refused: &mut Vec<Refused>) {
	let end = |one: &Hidden| one.instructions.last().map_or(one.at, iced_x86::Instruction::next_ip);
	let mut beginnings: Vec<_> = hidden.iter().map(|one| one.at..end(one)).collect();
	beginnings.sort_by_key(|one| one.start);
	let jumps = jumps(image, &beginnings);
	hidden.retain(|one| {
		let end = end(one);
		let into = jumps.contains(&(one.at, one.at))
			|| jumps.range((one.at + 1, 0)..(end, 0)).next().is_some();
		if into {
			refused.push(Refused { name: one.name.clone(), why: "is jumped into" });
		}
		!into
	});
}

/// Where our code and slots lie, from `BIAS`.
struct Layout {
	place: u64,
	code: u64,
	slots: u64,
	first_slot: u64,
}

/// Room for each function's code: a stub, and at most so much for the moved instructions.
const EACH: usize = STUB + 72;

impl Layout {
	fn new(image: &Image, hidden: &[Hidden], groups: usize) -> Result<Layout, PrologueError> {
		let whole = |bytes: usize| (bytes as u64).next_multiple_of(PAGE);
		let code = whole(hidden.len() * EACH);
		let slots = whole((groups + 1) * 16 + hidden.len() * 8);
		if code > MOST_CODE {
			return Err(PrologueError::Room(hidden.len() * EACH));
		}
		let place = BIAS + (image.begin & !(PAGE - 1)) - GAP - code - slots;
		Ok(Layout { place, code, slots, first_slot: place + code + (groups as u64 + 1) * 16 })
	}

	/// Two words: of group `number`, or behind them of libfathom.so itself.
	fn range(&self, number: usize) -> u64 {
		self.place + self.code + number as u64 * 16
	}

	fn write(
		&self,
		image: &Image,
		hidden: &[Hidden],
		stretches: &[Stretch],
		wanted: &Wanted,
		refused: &mut Vec<Refused>,
	) -> Vec<u8> {
		let mut strings = Vec::new();
		let mut rows = Vec::new();
		let mut code = Vec::new();
		let mut functions = 0;
		for one in hidden {
			let at = self.place + code.len() as u64;
			let slot = self.first_slot + functions * 8;
			let moved = shifted(&one.instructions).and_then(|all| moved(&all, at + STUB as u64));
			let body = match moved {
				Ok(body) if body.len() <= EACH - STUB => body,
				other => {
					let why = other.err().unwrap_or("begins with too much");
					refused.push(Refused { name: one.name.clone(), why });
					continue;
				}
			};
			code.extend(stub(at, self.range(one.group), self.range(stretches.len()), slot));
			code.extend(body);
			code.resize(code.len().next_multiple_of(8), 0xcc);
			rows.extend(one.at.to_le_bytes());
			rows.extend(string(&mut strings, &one.name).to_le_bytes());
			rows.extend(((at - self.place) as u32 + STUB as u32).to_le_bytes());
			rows.extend(one.before);
			rows.extend([0; 8 - JUMP]);
			rows.extend(jump(BIAS + one.at, at));
			rows.extend([0; 8 - JUMP]);
			functions += 1;
		}
		let symbols = symbols(image, wanted, &mut strings);
		strings.resize(strings.len().next_multiple_of(8), 0);
		let mut bytes = MAGIC.to_vec();
		let numbers = [
			VERSION,
			functions as u32,
			(symbols.len() / 16) as u32,
			stretches.len() as u32,
			self.code as u32,
			self.slots as u32,
			code.len() as u32,
			strings.len() as u32,
		];
		bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
		bytes.extend(self.place.wrapping_sub(BIAS).to_le_bytes());
		for one in stretches {
			bytes.extend(one.begin.to_le_bytes());
			bytes.extend((one.end - one.begin).to_le_bytes());
		}
		bytes.extend(rows);
		bytes.extend(symbols);
		bytes.extend(code);
		bytes.extend(strings);
		bytes
	}
}

/// The same, read as if the program lay at `BIAS`: what they refer to moves along.
fn shifted(
	instructions: &[iced_x86::Instruction],
) -> Result<Vec<iced_x86::Instruction>, &'static str> {
	let mut all = instructions.to_vec();
	for one in &mut all {
		let relative = one.is_ip_rel_memory_operand();
		let branch = one.near_branch_target();
		one.set_ip(one.ip() + BIAS);
		if relative {
			one.set_memory_displacement64(one.memory_displacement64() + BIAS);
		} else if branch != 0 {
			one.set_near_branch64(branch + BIAS);
		}
	}
	Ok(all)
}

fn string(strings: &mut Vec<u8>, text: &str) -> u32 {
	let at = strings.len() as u32;
	strings.extend(text.as_bytes());
	strings.push(0);
	at
}

/// By name: address and place of the name, 16 bytes each.
fn symbols(image: &Image, wanted: &Wanted, strings: &mut Vec<u8>) -> Vec<u8> {
	let mut rows = Vec::new();
	for (name, at) in &image.symbols {
		if wanted.symbols.iter().any(|start| name.starts_with(start)) {
			rows.extend(at.to_le_bytes());
			rows.extend(string(strings, name).to_le_bytes());
			rows.extend([0; 4]);
		}
	}
	rows
}
