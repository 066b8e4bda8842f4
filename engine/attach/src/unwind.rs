//! The functions that a thread is in, from the innermost out, by the tables that exceptions are thrown by.

use gimli::{
	CfaRule, EhFrame, Encoding, EvaluationResult, Format, Location, Register, RegisterRule,
	UnwindContext, UnwindExpression, UnwindSection as _, UnwindTableRow, Value,
};

use crate::image::{Image, Unwinding};
use crate::machine::{
	ADDRESS_BITS, FRAME_NUMBER, LINK_NUMBER, RETURN_NUMBER, Registers, STACK_NUMBER,
};
use crate::memory::Memory;

/// Deeper is nobody looked for.
const DEEPEST: usize = 256;

/// One of them: where it goes on, and in which file of those that were given.
#[derive(Debug, Clone, Copy)]
pub struct Frame {
	pub pc: u64,
	pub image: Option<usize>,
}

struct Walker<'a> {
	images: &'a [Image],
	memory: &'a Memory,
	registers: Vec<u64>,
}

/// Unwinds a stopped thread, up to its beginning, or to code that nobody has a table for.
pub fn stack(registers: &Registers, images: &[Image], memory: &Memory) -> Vec<Frame> {
	let mut walker = Walker { images, memory, registers: registers.unwound() };
	let mut context = UnwindContext::new();
	let mut frames = Vec::new();
	// An address to return to may be that of the next function, if a call is a function's last instruction.
	let mut returns = false;
	while frames.len() < DEEPEST {
		let pc = walker.registers[usize::from(RETURN_NUMBER)];
		let lookup = pc.wrapping_sub(u64::from(returns));
		let image = walker.images.iter().position(|image| image.holds(lookup));
		if pc == 0 {
			break;
		}
		frames.push(Frame { pc: lookup, image });
		match walker.step(&mut context, lookup, image) {
			Step::Caller { by_signal } => returns = !by_signal,
			Step::End => break,
		}
	}
	frames
}

enum Step {
	Caller {
		by_signal: bool,
	},
	/// Nobody called, or nobody knows who.
	End,
}

impl Walker<'_> {
	fn step(&mut self, context: &mut UnwindContext<usize>, pc: u64, image: Option<usize>) -> Step {
		let images = self.images;
		let lookup = image.and_then(|at| Some((images[at].own(pc), images[at].unwinding()?)));
		let Some((pc, tables)) = lookup else { return self.by_frame_pointer() };
		let Unwinding { index, frames, bases } = tables;
		let entry = index.table().and_then(|table| {
			table.fde_for_address(frames, bases, pc, EhFrame::cie_from_offset).ok()
		});
		let Some(entry) = entry else { return self.by_frame_pointer() };
		let by_signal = entry.is_signal_trampoline();
		let row = entry.unwind_info_for_address(frames, bases, context, pc).ok();
		match row.and_then(|row| self.caller(row, tables)) {
			Some(after) if by_signal || after[usize::from(STACK_NUMBER)] > self.sp() => {
				self.registers = after;
				Step::Caller { by_signal }
			}
			_ => Step::End,
		}
	}

	fn sp(&self) -> u64 {
		self.registers[usize::from(STACK_NUMBER)]
	}

	/// Registers as the caller has them.
	fn caller(&self, row: &UnwindTableRow<usize>, tables: &Unwinding) -> Option<Vec<u64>> {
		let frame = match row.cfa() {
			CfaRule::RegisterAndOffset { register, offset } => {
				self.register(*register)?.wrapping_add_signed(*offset)
			}
			CfaRule::Expression(expression) => self.evaluate(expression, tables, None)?,
		};
		let mut registers = self.registers.clone();
		registers[usize::from(STACK_NUMBER)] = frame;
		for &(register, ref rule) in row.registers() {
			let number = usize::from(register.0);
			if number >= registers.len() {
				continue; // a vector's, which unwinding needs nothing of
			}
			let at = |place: u64| self.memory.read_word(place).ok();
			registers[number] = match rule {
				RegisterRule::Undefined if number == usize::from(LINK_NUMBER) => return None,
				RegisterRule::Offset(offset) => at(frame.wrapping_add_signed(*offset))?,
				RegisterRule::ValOffset(offset) => frame.wrapping_add_signed(*offset),
				RegisterRule::Register(other) => self.register(*other)?,
				RegisterRule::Expression(expression) => {
					at(self.evaluate(expression, tables, Some(frame))?)?
				}
				RegisterRule::ValExpression(expression) => {
					self.evaluate(expression, tables, Some(frame))?
				}
				RegisterRule::Constant(value) => *value,
				_ => registers[number],
			};
		}
		registers[usize::from(RETURN_NUMBER)] = registers[usize::from(LINK_NUMBER)] & ADDRESS_BITS;
		Some(registers)
	}

	fn register(&self, register: Register) -> Option<u64> {
		self.registers.get(usize::from(register.0)).copied()
	}

	fn evaluate(
		&self,
		expression: &UnwindExpression<usize>,
		tables: &Unwinding,
		frame: Option<u64>,
	) -> Option<u64> {
		let encoding = Encoding { address_size: 8, format: Format::Dwarf32, version: 4 };
		let code = expression.get(&tables.frames).ok()?;
		let mut evaluation = code.evaluation(encoding);
		evaluation.set_max_iterations(1000);
		if let Some(frame) = frame {
			evaluation.set_initial_value(frame);
		}
		let mut result = evaluation.evaluate().ok()?;
		loop {
			result = match result {
				EvaluationResult::Complete => break,
				EvaluationResult::RequiresMemory { address, size: 8, .. } => {
					let value = self.memory.read_word(address).ok()?;
					evaluation.resume_with_memory(Value::Generic(value)).ok()?
				}
				EvaluationResult::RequiresRegister { register, .. } => {
					let value = self.register(register)?;
					evaluation.resume_with_register(Value::Generic(value)).ok()?
				}
				_ => return None,
			};
		}
		match evaluation.as_result().first()?.location {
			Location::Address { address } => Some(address),
			Location::Value { value: Value::Generic(value) } => Some(value),
			_ => None,
		}
	}

	/// Code that was made as the program runs has no tables, but most of it keeps the chain.
	fn by_frame_pointer(&mut self) -> Step {
		let frame = self.registers[usize::from(FRAME_NUMBER)];
		if frame < self.sp() || !frame.is_multiple_of(8) {
			return Step::End;
		}
		let [below, back] = self.memory.read_words(frame, 2)[..] else { return Step::End };
		self.registers[usize::from(FRAME_NUMBER)] = below;
		self.registers[usize::from(RETURN_NUMBER)] = back & ADDRESS_BITS;
		self.registers[usize::from(STACK_NUMBER)] = frame + 16;
		Step::Caller { by_signal: false }
	}
}
