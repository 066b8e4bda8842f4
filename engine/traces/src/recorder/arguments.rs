//! Arguments of functions, in the order in which Recorder writes them.

use std::collections::HashMap;

use super::patterns::integer;
use super::recording::Signature;
use crate::functions::Args;

/// By function; `-`: of no use here. Where a function has none: the file alone.
const SHAPES: [(&str, &str); 15] = [
	("open open64", "path flags mode"),
	("creat creat64 mkdir chmod mkfifo access", "path mode"),
	("read write", "path - count"),
	("pread pread64 pwrite pwrite64", "path - count offset"),
	("readv writev", "path count"),
	("fread fwrite", "- size count path"),
	("lseek lseek64 fseek fseeko", "path offset whence"),
	("truncate ftruncate", "path length"),
	("__xstat __xstat64 __lxstat __lxstat64 __fxstat __fxstat64", "- path"),
	("dup dup2 pipe umask getcwd msync readdir closedir tmpfile linkat", "-"),
	("mmap mmap64", "- - - - path"),
	("MPI_File_open", "- path amode - file"),
	("MPI_File_set_view", "file offset unit pattern"),
	(
		"MPI_File_read_at MPI_File_write_at MPI_File_read_at_all MPI_File_write_at_all",
		"file offset - count type",
	),
	(
		"MPI_File_read MPI_File_write MPI_File_read_all MPI_File_write_all MPI_File_read_shared MPI_File_write_shared \
		 MPI_File_read_ordered MPI_File_write_ordered",
		"file - count type",
	),
];
/// MPI's types by their bytes.
const TYPES: [(i64, &str); 4] = [
	(1, "BYTE CHAR SIGNED_CHAR UNSIGNED_CHAR INT8_T UINT8_T"),
	(2, "SHORT UNSIGNED_SHORT INT16_T UINT16_T"),
	(4, "INT UNSIGNED FLOAT INT32_T UINT32_T"),
	(8, "LONG UNSIGNED_LONG LONG_LONG LONG_LONG_INT UNSIGNED_LONG_LONG DOUBLE INT64_T UINT64_T"),
];
const UNKNOWN_FILE: &str = "???";

/// Bytes of a type.
pub fn bytes_of(name: &str) -> Option<i64> {
	let name = name.strip_prefix("MPI_")?;
	TYPES.iter().find(|(_, names)| names.split(' ').any(|one| one == name)).map(|(bytes, _)| *bytes)
}

/// What a signature's words are.
#[derive(Default)]
pub struct Words<'a>(HashMap<&'static str, &'a str>);

impl<'a> Words<'a> {
	/// `layer`: of the function, where none of the shapes is its own.
	pub fn of(signature: &'a Signature, layer: &str) -> Words<'a> {
		let function = signature.function.as_str();
		let own =
			SHAPES.iter().find(|(names, _)| names.split_whitespace().any(|name| name == function));
		let shape = match (own, layer) {
			(Some((_, shape)), _) => shape,
			(None, "mpiio") => "file",
			(None, "posix" | "stdio") => "path",
			_ => "",
		};
		let named = shape.split_whitespace().zip(signature.words.iter().map(String::as_str));
		Words(named.filter(|(name, _)| *name != "-").collect())
	}

	pub fn text(&self, name: &str) -> Option<&'a str> {
		self.0.get(name).copied()
	}

	pub fn number(&self, name: &str) -> Option<i64> {
		integer(self.text(name)?)
	}

	pub fn path(&self) -> Option<&'a str> {
		self.text("path").filter(|path| *path != UNKNOWN_FILE && !path.is_empty())
	}

	/// All but the offset, which is each call's own.
	pub fn args(&self) -> Args {
		let number = |name| self.number(name);
		let names = ["flags", "mode", "count", "size", "whence", "length", "amode"];
		Args {
			flags: number("flags"),
			mode: number("mode"),
			count: number("count"),
			size: number("size"),
			whence: number("whence"),
			length: number("length"),
			amode: number("amode"),
			// What was asked for, since what came of it is not known.
			ret: number("count"),
			any: names.into_iter().any(|name| number(name).is_some()),
			..Args::default()
		}
	}
}
