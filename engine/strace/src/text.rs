//! What strace writes between the parentheses: arguments, quoted texts, descriptors with their files.

use std::ops::Range;

/// A descriptor, or `AT_FDCWD`, with its file where `-y` printed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Descriptor {
	pub number: i64,
	pub path: Option<Vec<u8>>,
	pub deleted: bool,
}

pub const AT_FDCWD: i64 = -100;

/// Where the arguments are in `text`, which begins behind the opening parenthesis, and what is behind the closing one.
/// `None`: it is not closed.
pub fn arguments(text: &[u8]) -> Option<(Vec<Range<usize>>, usize)> {
	let (mut ranges, mut from, mut depth, mut at) = (Vec::new(), 0, 0usize, 0);
	while let Some(&byte) = text.get(at) {
		match byte {
			b'"' => at = quote_end(text, at)?,
			b'<' if names_descriptor(&text[..at]) => at = path_end(text, at)?,
			b'/' if text[at..].starts_with(b"/*") => {
				at += text[at..].windows(2).position(|pair| pair == b"*/")? + 1;
			}
			b'(' | b'[' | b'{' => depth += 1,
			b')' if depth == 0 => {
				push(&mut ranges, text, from..at);
				return Some((ranges, at + 1));
			}
			b')' | b']' | b'}' => depth = depth.saturating_sub(1),
			b',' if depth == 0 => {
				push(&mut ranges, text, from..at);
				from = at + 1;
			}
			_ => {}
		}
		at += 1;
	}
	None
}

fn push(ranges: &mut Vec<Range<usize>>, text: &[u8], mut range: Range<usize>) {
	while range.start < range.end && text[range.start] == b' ' {
		range.start += 1;
	}
	if !range.is_empty() || !ranges.is_empty() {
		ranges.push(range);
	}
}

/// The closing quote of the text that begins at `at`.
fn quote_end(text: &[u8], mut at: usize) -> Option<usize> {
	loop {
		at += 1;
		match text.get(at)? {
			b'\\' => at += 1,
			b'"' => return Some(at),
			_ => {}
		}
	}
}

/// Is what comes before `<` a descriptor? Else it is a comparison or a shift.
fn names_descriptor(before: &[u8]) -> bool {
	before.ends_with(b"AT_FDCWD") || before.last().is_some_and(u8::is_ascii_digit)
}

/// The `>` that ends the file at `at`. In names, strace escapes both brackets; addresses have arrows (`a->b`), devices a
/// second pair of brackets.
fn path_end(text: &[u8], at: usize) -> Option<usize> {
	let mut depth = 0usize;
	for (i, &byte) in text.iter().enumerate().skip(at) {
		match byte {
			b'<' => depth += 1,
			b'>' if text[i - 1] == b'-'
				&& text[at..].contains(&b']')
				&& in_address(&text[at..i]) => {}
			b'>' => {
				depth -= 1;
				if depth == 0 {
					return Some(i);
				}
			}
			_ => {}
		}
	}
	None
}

/// `<TCP:[127.0.0.1:1-`
fn in_address(text: &[u8]) -> bool {
	let named = text.iter().skip(1).take_while(|byte| byte.is_ascii_uppercase()).count();
	named > 0 && text.contains(&b'[') && !text.contains(&b']')
}

/// `3</tmp/a>`, `3</tmp/a>(deleted)`, `AT_FDCWD</tmp>`, `3`
pub fn descriptor(text: &[u8]) -> Option<Descriptor> {
	let end = text.iter().position(|&byte| byte == b'<').unwrap_or(text.len());
	let number = match text.get(..end)? {
		b"AT_FDCWD" => AT_FDCWD,
		digits => number(digits)?,
	};
	if end == text.len() {
		return Some(Descriptor { number, path: None, deleted: false });
	}
	let close = path_end(text, end)?;
	let path = unescape(&text[end + 1..close]);
	let outside = text[close + 1..].starts_with(b"(deleted)");
	let (path, inside) = match path.strip_suffix(b" (deleted)") {
		Some(bare) => (bare.to_vec(), true),
		None => (path, false),
	};
	Some(Descriptor { number, path: Some(path), deleted: outside || inside })
}

/// The bytes of `"text"`; `None`: an address, `NULL`, or cut off (`"text"...`).
pub fn quoted(text: &[u8]) -> Option<Vec<u8>> {
	let inside = text.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
	Some(unescape(inside))
}

/// C's escapes undone: `\n`, octal `\303`, hexadecimal `\xc3`.
pub fn unescape(text: &[u8]) -> Vec<u8> {
	let mut out = Vec::with_capacity(text.len());
	let mut rest = text;
	while let Some((&byte, after)) = rest.split_first() {
		rest = after;
		if byte != b'\\' {
			out.push(byte);
			continue;
		}
		let Some((&letter, after)) = rest.split_first() else { break };
		let (value, used) = match letter {
			b'n' => (b'\n', 1),
			b't' => (b'\t', 1),
			b'r' => (b'\r', 1),
			b'v' => (0x0b, 1),
			b'f' => (0x0c, 1),
			b'x' => digits(after, 16, 2).map_or((letter, 1), |(value, used)| (value, used + 1)),
			b'0'..=b'7' => digits(rest, 8, 3).unwrap_or((letter, 1)),
			other => (other, 1),
		};
		out.push(value);
		rest = &rest[used..];
	}
	out
}

fn digits(text: &[u8], base: u32, most: usize) -> Option<(u8, usize)> {
	let used = text.iter().take(most).take_while(|&&b| char::from(b).is_digit(base)).count();
	let text = std::str::from_utf8(text.get(..used)?).ok()?;
	Some((u32::from_str_radix(text, base).ok()? as u8, used))
}

/// Decimal, hexadecimal after `0x`, octal after `0`; numbers beyond 2^63 wrap as the kernel's do.
pub fn number(text: &[u8]) -> Option<i64> {
	let text = std::str::from_utf8(text).ok()?.trim();
	let (negative, digits) = match text.strip_prefix('-') {
		Some(digits) => (true, digits),
		None => (false, text),
	};
	let value = if let Some(hex) = digits.strip_prefix("0x") {
		u64::from_str_radix(hex, 16).ok()?
	} else if digits.len() > 1 && digits.starts_with('0') {
		u64::from_str_radix(digits, 8).ok()?
	} else {
		digits.parse().ok()?
	};
	Some(if negative { (value as i64).wrapping_neg() } else { value as i64 })
}

/// The first number of `[4096] => [8192]`, where an offset lies in memory.
pub fn pointed(text: &[u8]) -> Option<i64> {
	let inside = text.strip_prefix(b"[")?;
	let end = inside.iter().position(|&byte| byte == b']')?;
	number(&inside[..end])
}

/// Bytes of `[{iov_base="…", iov_len=3}, …]`. `None`: some are left out.
pub fn vector(text: &[u8]) -> Option<i64> {
	let inside = text.strip_prefix(b"[")?;
	let (mut sum, mut at) = (0i64, 0);
	while let Some(&byte) = inside.get(at) {
		match byte {
			b'"' => at = quote_end(inside, at)?,
			b'.' if inside[at..].starts_with(b"...") && inside.get(at + 3) == Some(&b']') => {
				return None;
			}
			b'i' if inside[at..].starts_with(b"iov_len=") => {
				let digits = &inside[at + 8..];
				let end = digits.iter().position(|byte| !byte.is_ascii_digit())?;
				sum = sum.checked_add(number(&digits[..end])?)?;
			}
			_ => {}
		}
		at += 1;
	}
	Some(sum)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
	use super::*;
	use proptest::prelude::*;

	fn split(text: &str) -> Vec<&str> {
		let (ranges, _) = arguments(text.as_bytes()).unwrap();
		ranges.into_iter().map(|range| &text[range]).collect()
	}

	#[test]
	fn commas_and_brackets_in_names_and_texts_part_nothing() {
		assert_eq!(split(r#"3</a,b(c\76>, "x\",)", 2) = 2"#), ["3</a,b(c\\76>", r#""x\",)""#, "2"]);
		assert_eq!(split("1</dev/pts/0<char 136:0>>, [], 0) = 0").len(), 3);
		assert_eq!(split("4<TCP:[1.2.3.4:5->6.7.8.9:1]>, 0x1 /* 2, 3 */) = 0").len(), 2);
		assert_eq!(split(") = 0").len(), 0);
		assert_eq!(arguments(b"3, \"abc"), None);
	}

	#[test]
	fn names_are_any_bytes() {
		let parsed = descriptor(br"3</tmp/a\76b\74c\n\377 \303\251>(deleted)").unwrap();
		assert_eq!(parsed.path.unwrap(), b"/tmp/a>b<c\n\xff \xc3\xa9");
		assert!(parsed.deleted);
		assert_eq!(descriptor(b"AT_FDCWD</>").unwrap().number, AT_FDCWD);
		assert_eq!(quoted(br#""\x61\0\\\"""#).unwrap(), b"a\0\\\"");
		assert_eq!(quoted(br#""cut"..."#), None);
	}

	#[test]
	fn vectors_are_added_up_or_said_to_be_cut() {
		assert_eq!(
			vector(br#"[{iov_base="iov_len=9", iov_len=3}, {iov_base=""..., iov_len=4}]"#),
			Some(7)
		);
		assert_eq!(vector(br#"[{iov_base="", iov_len=3}, ...]"#), None);
		assert_eq!(vector(b"[]"), Some(0));
	}

	#[test]
	fn numbers_have_all_their_bits() {
		assert_eq!(number(b"8589934592"), Some(1 << 33));
		assert_eq!(number(b"0x7fffffffffffffff"), Some(i64::MAX));
		assert_eq!(number(b"0644"), Some(0o644));
		assert_eq!(number(b"-1"), Some(-1));
		assert_eq!(pointed(b"[4294967296] => [1]"), Some(1 << 32));
	}

	proptest! {
		#[test]
		fn any_bytes_are_read(text in proptest::collection::vec(any::<u8>(), 0..60)) {
			let _ = (arguments(&text), descriptor(&text), quoted(&text), vector(&text), pointed(&text));
		}

		#[test]
		fn every_name_comes_back(name in proptest::collection::vec(1u8.., 1..40)) {
			let escaped: String = name.iter().map(|byte| format!("\\{byte:03o}")).collect();
			let parsed = descriptor(format!("7<{escaped}>").as_bytes()).unwrap();
			let name = name.strip_suffix(b" (deleted)").unwrap_or(&name);
			prop_assert_eq!(parsed.path.unwrap(), name);
		}
	}
}
