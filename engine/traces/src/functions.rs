//! Functions that traces name, as ops of Fathom's catalog: which fields a call's arguments give.

use std::collections::HashMap;

use fathom_stream::op_flag;
use serde::Deserialize;

use crate::positions::Positions;

pub const UNKNOWN_OFFSET: i64 = i64::MIN;
/// What nobody knows of errors: which one. -1 in the tables.
const SOME_ERROR: u64 = 0xFFFF_FFFF;
const MOST_FIELDS: usize = 4;

/// Numbers among a call's arguments, by the names that DFTracer gives them.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Args {
	pub ret: Option<i64>,
	pub ret_len: Option<i64>,
	pub flags: Option<i64>,
	pub mode: Option<i64>,
	pub length: Option<i64>,
	pub offset: Option<i64>,
	pub whence: Option<i64>,
	pub amode: Option<i64>,
	pub size: Option<i64>,
	pub num: Option<i64>,
	pub count: Option<i64>,
	/// Was there any number, also one of another name?
	pub any: bool,
}

/// A field of the catalog's op, and the argument that is it.
type Field = (&'static str, fn(&Args) -> Option<i64>);
const FIELDS: [Field; 7] = [
	("result", |args| args.ret),
	("flags", |args| args.flags),
	("mode", |args| args.mode),
	("length", |args| args.length),
	("distance", |args| args.offset),
	("whence", |args| args.whence),
	("amode", |args| args.amode),
];
/// Of a call that moves data.
const DATA: [&str; 3] = ["size", "offset", "bytes"];

/// A function as the catalog has it.
#[derive(Debug, Clone, Deserialize)]
struct Row {
	op: String,
	kind: String,
	collective: bool,
	/// Does it move data?
	moves: bool,
	/// At the descriptor's or stream's position?
	at_position: bool,
	fields: Vec<String>,
}

/// Functions of the catalog by layer and symbol, as `fathom import` says them.
#[derive(Debug, Default, Deserialize)]
pub struct Catalog(HashMap<String, HashMap<String, Row>>);

impl Catalog {
	/// From JSON: `{layer: {symbol: {op, kind, collective, moves, at_position, fields}}}`.
	pub fn of(json: &str) -> Result<Catalog, String> {
		serde_json::from_str(json).map_err(|error| format!("the catalog: {error}"))
	}

	/// `None`: one that the catalog does not have. Of the program itself each name is a region.
	pub fn function(&self, layer: &'static str, name: &str) -> Option<Function> {
		let row = self.0.get(layer).and_then(|rows| rows.get(name)).cloned();
		let known = row.is_some() || layer == "user";
		known.then(|| Function { layer, name: name.to_owned(), row })
	}
}

/// Who calls whom: the higher one.
fn height(layer: &str) -> u8 {
	match layer {
		"posix" => 1,
		"stdio" => 2,
		"mpi" => 3,
		"mpiio" => 4,
		"hdf5" | "pnetcdf" => 5,
		"netcdf" => 6,
		_ => 7,
	}
}

/// One that calls are of.
#[derive(Debug)]
pub struct Function {
	pub layer: &'static str,
	name: String,
	/// `None`: a region of the program.
	row: Option<Row>,
}

/// Values of fields, and which these are.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Fields {
	pub values: [i64; MOST_FIELDS],
	/// Bits of `FIELDS`, or `IS_DATA`.
	pub which: u8,
	pub flags: u64,
}

const IS_DATA: u8 = 1 << 7;

impl Fields {
	pub fn data(size: i64, offset: Option<i64>, bytes: i64) -> Fields {
		let values = [size, offset.unwrap_or(UNKNOWN_OFFSET), bytes, 0];
		Fields { values, which: IS_DATA, flags: 0 }
	}

	pub fn amode(args: &Args) -> Fields {
		Fields::chosen(args, |name| name == "amode")
	}

	/// Those of `FIELDS` that are wanted and known.
	fn chosen(args: &Args, wanted: impl Fn(&str) -> bool) -> Fields {
		let mut fields = Fields::default();
		let mut count = 0;
		for (bit, (name, of)) in FIELDS.iter().enumerate() {
			let Some(value) = of(args).filter(|_| count < MOST_FIELDS && wanted(name)) else {
				continue;
			};
			fields.values[count] = value;
			fields.which |= 1 << bit;
			count += 1;
		}
		fields
	}

	fn names(which: u8) -> String {
		if which & IS_DATA != 0 {
			return DATA.join(",");
		}
		let named = FIELDS.iter().enumerate().filter(|(bit, _)| which & (1 << bit) != 0);
		named.map(|(_, (name, _))| *name).collect::<Vec<_>>().join(",")
	}
}

impl Function {
	/// As a run's stream has it, with these of its fields.
	pub fn op(&self, which: u8, flags: u64) -> fathom_import::Op {
		let (name, kind) = match &self.row {
			Some(row) => (row.op.clone(), row.kind.clone()),
			None => (self.name.clone(), "meta".to_owned()),
		};
		let collective = self.row.as_ref().is_some_and(|row| row.collective);
		fathom_import::Op {
			layer: self.layer.to_owned(),
			name,
			kind,
			fields: Fields::names(which),
			flags: flags | if collective { op_flag::COLLECTIVE } else { 0 },
			height: height(self.layer),
		}
	}

	/// Is it a function of the catalog, no region?
	pub fn is_known(&self) -> bool {
		self.row.is_some()
	}

	/// A call's fields and its error. `place`: the file, 0 where none is known, and the thread.
	pub fn fields_and_error(
		&self,
		place: (u32, u32),
		args: &Args,
		positions: &mut Positions,
	) -> (Fields, u64) {
		let result = args.ret.unwrap_or(0);
		let failed = if self.layer.starts_with("mpi") { result != 0 } else { result < 0 };
		let error = match failed {
			false => 0,
			true => u64::try_from(result).unwrap_or(SOME_ERROR),
		};
		let Some(row) = &self.row else { return (Fields::default(), error) };
		if row.moves {
			return (self.data(row, place, args, positions), error);
		}
		if self.layer == "posix" && place.0 > 0 {
			positions.follow(&row.op, place, args.flags, args.ret);
		}
		let wanted = |name: &str| row.fields.iter().any(|field| field == name);
		(Fields::chosen(args, wanted), error)
	}

	/// Of a read or write. What moves no data that can be seen has neither size nor bytes.
	fn data(&self, row: &Row, place: (u32, u32), args: &Args, positions: &mut Positions) -> Fields {
		let stdio = self.layer == "stdio";
		if !(stdio || self.layer == "posix") || !args.any {
			// MPI counts elements of a type that nobody knows, from a view that nobody knows.
			return Fields::default();
		}
		let each = if stdio { args.size.unwrap_or(1) } else { 1 };
		let mut moved = args.ret_len.or(args.ret).unwrap_or(0);
		if stdio {
			moved = moved.max(0).saturating_mul(each);
		}
		// fgets leaves room for the zero byte; of vectors only what moved is recorded.
		let room = args.num.map(|num| num.saturating_sub(1));
		let asked = room.or(args.count.map(|count| count.saturating_mul(each)));
		let size = asked.unwrap_or(moved.max(0));
		if !row.at_position {
			return Fields::data(size, args.offset, moved);
		}
		// C streams: much that moves their position, as fprintf, is not recorded.
		let known = !stdio && place.0 > 0;
		let offset = if known { positions.moved(place.0, place.1, moved) } else { None };
		Fields { flags: op_flag::TRACKED, ..Fields::data(size, offset, moved) }
	}
}
