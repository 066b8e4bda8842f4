//! Text that others wrote, in a line for people.

/// What would end the line, act in the terminal or turn its direction is escaped.
pub fn printable(text: &str) -> String {
	let mut out = String::with_capacity(text.len());
	for letter in text.chars() {
		match letter {
			'"' | '\'' | '\\' => out.push(letter),
			_ => out.extend(letter.escape_debug()),
		}
	}
	out
}

#[cfg(test)]
mod tests {
	use super::printable;

	#[test]
	fn orders_to_a_terminal_become_text() {
		assert_eq!(
			printable("\x1b[31m\r\u{9b}\u{202e}\u{2028}"),
			"\\u{1b}[31m\\r\\u{9b}\\u{202e}\\u{2028}"
		);
		let plain = "ü \"a\" 'b' C:\\c \u{1f600}";
		assert_eq!(printable(plain), plain);
	}
}
