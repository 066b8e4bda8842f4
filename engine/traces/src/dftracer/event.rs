//! Lines of JSON, an event each, and what a line says.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::Parsed;
use crate::functions::Args;

/// The category of what DFTracer says of itself.
pub const OWN: &str = "dftracer";

/// A value, as far as events are made of it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub enum Word<'a> {
	#[default]
	Missing,
	Number(i64),
	Text(Cow<'a, str>),
	/// Nothing that is of use.
	Other,
}

impl<'a> Word<'a> {
	pub fn number(&self) -> Option<i64> {
		match self {
			Word::Number(number) => Some(*number),
			_ => None,
		}
	}

	/// As a table can have it.
	pub fn text(&self) -> Cow<'a, str> {
		match self {
			Word::Text(text) => text.clone(),
			Word::Number(number) => number.to_string().into(),
			Word::Missing | Word::Other => "".into(),
		}
	}

	/// A name's hash: text, or a number.
	pub fn hash(&self) -> Option<Cow<'_, str>> {
		match self {
			Word::Text(text) => Some(Cow::Borrowed(text)),
			Word::Number(number) => Some(number.to_string().into()),
			Word::Missing | Word::Other => None,
		}
	}
}

/// Which kind of event, as of DFTracer 2 and as the letters of Chrome's format that DFTracer 1 has.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
	#[default]
	Unknown,
	Complete,
	Counter,
	Aggregated,
	Metadata,
}

impl Phase {
	fn of(word: &Word<'_>) -> Phase {
		match word {
			Word::Number(1) => Phase::Complete,
			Word::Number(2) => Phase::Counter,
			Word::Number(3) => Phase::Aggregated,
			Word::Number(4) => Phase::Metadata,
			Word::Text(letter) => match letter.as_ref() {
				"X" => Phase::Complete,
				"C" => Phase::Counter,
				"A" => Phase::Aggregated,
				"M" => Phase::Metadata,
				_ => Phase::Unknown,
			},
			_ => Phase::Unknown,
		}
	}
}

/// Arguments of a call.
#[derive(Debug, Default)]
pub struct Arguments<'a> {
	pub numbers: Args,
	pub file: Word<'a>,
	pub empty: bool,
}

#[derive(Debug, Default)]
pub struct Event<'a> {
	pub name: Word<'a>,
	pub category: Word<'a>,
	/// What DFTracer 2 says of its layer.
	pub kind: Word<'a>,
	pub pid: Word<'a>,
	pub tid: Word<'a>,
	pub began: Word<'a>,
	pub took: Word<'a>,
	pub phase: Phase,
	pub arguments: Arguments<'a>,
}

impl<'a> Event<'a> {
	/// Of the line of this number.
	pub fn of(number: usize, line: &'a str, whole: bool) -> Parsed<Event<'a>> {
		serde_json::from_str(line).map_err(|error| match error.is_data() {
			true => format!("line {number} is no event"),
			false => unreadable(number, whole),
		})
	}

	pub fn is_own(&self) -> bool {
		matches!(&self.category, Word::Text(category) if category == OWN)
	}

	/// A number that an event must have.
	pub fn number(&self, key: &str, word: &Word<'_>, most: i64) -> Parsed<i64> {
		let name = self.name.text();
		match word {
			Word::Number(number) if (0..=most).contains(number) => Ok(*number),
			Word::Number(number) => Err(format!("an event '{name:.40}' has {key} {number}")),
			Word::Missing => Err(format!("an event '{name:.40}' has no {key}")),
			_ => Err(format!("an event '{name:.40}' has a {key} that is no whole number")),
		}
	}
}

fn unreadable(number: usize, whole: bool) -> String {
	match whole {
		true => format!("no JSON in line {number}"),
		// Nothing ends it: what wrote it was stopped.
		false => {
			let before = number - 1;
			format!("breaks off within line {number}; head -n {before} keeps what is whole")
		}
	}
}

impl<'de: 'a, 'a> Deserialize<'de> for Word<'a> {
	fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
		struct Any;
		impl<'de> Visitor<'de> for Any {
			type Value = Word<'de>;

			fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
				to.write_str("a value")
			}
			fn visit_i64<E>(self, value: i64) -> Result<Word<'de>, E> {
				Ok(if value == i64::MIN { Word::Other } else { Word::Number(value) })
			}
			fn visit_u64<E>(self, value: u64) -> Result<Word<'de>, E> {
				Ok(i64::try_from(value).map_or(Word::Other, Word::Number))
			}
			fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Word<'de>, E> {
				Ok(Word::Text(Cow::Borrowed(value)))
			}
			fn visit_str<E>(self, value: &str) -> Result<Word<'de>, E> {
				Ok(Word::Text(Cow::Owned(value.to_owned())))
			}
			fn visit_f64<E>(self, _: f64) -> Result<Word<'de>, E> {
				Ok(Word::Other)
			}
			fn visit_bool<E>(self, _: bool) -> Result<Word<'de>, E> {
				Ok(Word::Other)
			}
			fn visit_unit<E>(self) -> Result<Word<'de>, E> {
				Ok(Word::Other)
			}
			fn visit_seq<A: SeqAccess<'de>>(self, mut of: A) -> Result<Word<'de>, A::Error> {
				while of.next_element::<IgnoredAny>()?.is_some() {}
				Ok(Word::Other)
			}
			fn visit_map<A: MapAccess<'de>>(self, mut of: A) -> Result<Word<'de>, A::Error> {
				while of.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
				Ok(Word::Other)
			}
		}
		from.deserialize_any(Any)
	}
}

/// A key; those that are escaped are none that is known.
struct Key<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Key<'a> {
	fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
		Word::deserialize(from).map(|word| Key(word.text()))
	}
}

impl<'de: 'a, 'a> Deserialize<'de> for Arguments<'a> {
	fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
		struct Map;
		impl<'de> Visitor<'de> for Map {
			type Value = Arguments<'de>;

			fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
				to.write_str("arguments")
			}
			fn visit_map<A: MapAccess<'de>>(self, mut of: A) -> Result<Arguments<'de>, A::Error> {
				let mut arguments = Arguments { empty: true, ..Arguments::default() };
				while let Some((key, word)) = of.next_entry::<Key<'de>, Word<'de>>()? {
					arguments.empty = false;
					let args = &mut arguments.numbers;
					args.any |= matches!(word, Word::Number(_));
					match key.0.as_ref() {
						"fhash" => arguments.file = word,
						"ret" => args.ret = word.number(),
						"ret_len" => args.ret_len = word.number(),
						"flags" => args.flags = word.number(),
						"mode" => args.mode = word.number(),
						"length" => args.length = word.number(),
						"offset" => args.offset = word.number(),
						"whence" => args.whence = word.number(),
						"amode" => args.amode = word.number(),
						"size" => args.size = word.number(),
						"num" => args.num = word.number(),
						"count" => args.count = word.number(),
						_ => {}
					}
				}
				Ok(arguments)
			}
		}
		from.deserialize_map(Map)
	}
}

impl<'de: 'a, 'a> Deserialize<'de> for Event<'a> {
	fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
		struct Map;
		impl<'de> Visitor<'de> for Map {
			type Value = Event<'de>;

			fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
				to.write_str("an event")
			}
			fn visit_map<A: MapAccess<'de>>(self, mut of: A) -> Result<Event<'de>, A::Error> {
				let empty = Arguments { empty: true, ..Arguments::default() };
				let mut event = Event { arguments: empty, ..Event::default() };
				while let Some(Key(key)) = of.next_key()? {
					match key.as_ref() {
						"name" => event.name = of.next_value()?,
						"cat" => event.category = of.next_value()?,
						"type" => event.kind = of.next_value()?,
						"pid" => event.pid = of.next_value()?,
						"tid" => event.tid = of.next_value()?,
						"ts" => event.began = of.next_value()?,
						"dur" => event.took = of.next_value()?,
						"ph" => event.phase = Phase::of(&of.next_value()?),
						"args" => event.arguments = of.next_value()?,
						_ => drop(of.next_value::<IgnoredAny>()?),
					}
				}
				Ok(event)
			}
		}
		from.deserialize_map(Map)
	}
}

#[cfg(test)]
mod tests {
	use proptest::prelude::*;

	use super::*;

	#[test]
	fn a_line_is_an_event() {
		let line = r#"{"id":1,"name":"read","cat":"POSIX","pid":7,"tid":8,"ts":5,"dur":2,"ph":"X","args":{"ret":4,
			"fhash":"aa","more":[1,{}],"count":9.5}}"#;
		let event = Event::of(1, line, true).unwrap();
		assert_eq!((event.name.text(), event.category.text()), ("read".into(), "POSIX".into()));
		assert_eq!((event.began, event.took), (Word::Number(5), Word::Number(2)));
		assert_eq!((event.phase, event.kind), (Phase::Complete, Word::Missing));
		assert_eq!(event.arguments.file.hash().as_deref(), Some("aa"));
		let args = Args { ret: Some(4), any: true, ..Args::default() };
		assert_eq!((event.arguments.numbers, event.arguments.empty), (args, false));
	}

	#[test]
	fn what_is_none_says_why() {
		let why = |line, whole| Event::of(2, line, whole).unwrap_err();
		assert_eq!(why("[1]", true), "line 2 is no event");
		assert_eq!(why(r#"{"args":[]}"#, true), "line 2 is no event");
		assert_eq!(why("nothing", true), "no JSON in line 2");
		assert!(why(r#"{"id":1,"na"#, false).starts_with("breaks off within line 2; head -n 1"));
	}
	proptest! {
		#[test]
		fn any_line_is_an_event_or_says_why(
			line in "[-{}\\[\\]\",:0-9a-z\\\\ ]{0,60}|\\{\"(ts|args|ph)\":[-{}\\[\\]\",:0-9a-z]{0,20}\\}",
			whole in any::<bool>(),
		) {
			if let Err(why) = Event::of(7, &line, whole) {
				prop_assert!(why.contains("line 7"));
			}
		}
	}
}
