//! How CephFS stripes a file over objects, backwards: from bytes of an object to bytes of its file.

use fathom_record::Stripes;
use serde_json::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
	pub stripe_unit: i64,
	pub stripe_count: i64,
	pub object_size: i64,
}

impl Layout {
	/// As the metadata server says it.
	pub fn read(reply: &Value) -> Option<Layout> {
		let number = |name| reply.get(name)?.as_i64().filter(|&number| number > 0);
		let layout = Layout {
			stripe_unit: number("stripe_unit")?,
			stripe_count: number("stripe_count")?,
			object_size: number("object_size")?,
		};
		(layout.object_size % layout.stripe_unit == 0).then_some(layout)
	}

	/// Where in the file the bytes lie that the object with this number has from `at` on.
	pub fn place(&self, object: i64, at: i64) -> Option<Stripes> {
		let (set, column) = (object / self.stripe_count, object % self.stripe_count);
		let rows = self.object_size / self.stripe_unit;
		let row = set.checked_mul(rows)?.checked_add(at / self.stripe_unit)?;
		let unit = row.checked_mul(self.stripe_count)?.checked_add(column)?;
		let offset = unit.checked_mul(self.stripe_unit)?.checked_add(at % self.stripe_unit)?;
		let stride = self.stripe_unit.checked_mul(self.stripe_count)?;
		Some(match self.stripe_count {
			1 => Stripes { offset, unit: 0, stride: 0 },
			_ => Stripes { offset, unit: self.stripe_unit, stride },
		})
	}
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
	use super::*;
	use proptest::prelude::*;

	/// CephFS's own rule, forwards: the object that a byte of the file lies in, and where in it.
	fn object_of(layout: &Layout, byte: i64) -> (i64, i64) {
		let unit = byte / layout.stripe_unit;
		let (row, column) = (unit / layout.stripe_count, unit % layout.stripe_count);
		let rows = layout.object_size / layout.stripe_unit;
		let at = row % rows * layout.stripe_unit + byte % layout.stripe_unit;
		(row / rows * layout.stripe_count + column, at)
	}

	proptest! {
		/// Whatever a metadata server says, and an OSD.
		#[test]
		fn any_layout_has_a_place_or_none(unit: i64, count: i64, size: i64, object in 0..i64::from(u32::MAX), at in 0..i64::MAX) {
			let reply = serde_json::json!({"stripe_unit": unit, "stripe_count": count, "object_size": size});
			if let Some(place) = Layout::read(&reply).and_then(|layout| layout.place(object, at)) {
				prop_assert!(place.offset >= 0 && place.stride >= place.unit);
			}
		}

		#[test]
		fn every_byte_of_an_operation_lies_where_the_file_has_it(
			unit in 1i64..5, count in 1i64..5, rows in 1i64..5, object in 0i64..40, from in 0i64..20, length in 1i64..20,
		) {
			let layout = Layout { stripe_unit: unit, stripe_count: count, object_size: unit * rows };
			let (from, length) = (from % layout.object_size, length);
			let length = length.min(layout.object_size - from);
			let place = layout.place(object, from).unwrap();
			let mut byte = place.offset;
			for at in from..from + length {
				prop_assert_eq!(object_of(&layout, byte), (object, at));
				byte += 1;
				if place.unit > 0 && byte % place.unit == 0 {
					byte += place.stride - place.unit;
				}
			}
		}
	}
}
