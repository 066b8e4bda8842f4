//! Made from catalog/stream.toml by `make facts`: the numbers of `docs/stream-format.md`.

/// Types of records.
pub mod record_type {
	pub const OP: u8 = 1;
	pub const OBJECT: u8 = 2;
	pub const SITE: u8 = 3;
	pub const MODULE: u8 = 4;
	pub const SELECTION: u8 = 5;
	pub const LINK: u8 = 6;
	pub const MARK: u8 = 7;
	pub const HINT: u8 = 8;
	pub const COUNTER: u8 = 9;
	pub const PROCESS: u8 = 10;
	pub const OPEN: u8 = 11;
	pub const UNFINISHED: u8 = 12;
	pub const RANK: u8 = 13;
	pub const TEXT: u8 = 14;
	pub const GROUP: u8 = 15;
	pub const TALLY: u8 = 16;
	pub const HEAT: u8 = 17;
	pub const DATATYPE: u8 = 18;
	pub const INSIDE: u8 = 20;
	pub const SERIES: u8 = 32;
	pub const SAMPLES: u8 = 33;
	pub const KERNEL: u8 = 34;
}

/// Classes of objects.
pub mod object_class {
	pub const UNKNOWN: u32 = 0;
	pub const DESCRIPTOR: u32 = 1;
	pub const PATH: u32 = 2;
	pub const MPI_FILE: u32 = 3;
	pub const HDF5_FILE: u32 = 4;
	pub const HDF5_DATASET: u32 = 5;
	pub const MAPPING: u32 = 6;
	pub const DIRECTORY: u32 = 7;
	pub const REQUEST: u32 = 8;
	pub const HDF5_OTHER: u32 = 9;
	pub const HDF5_GROUP: u32 = 10;
	pub const HDF5_ATTRIBUTE: u32 = 11;
	pub const HDF5_DATATYPE: u32 = 12;
	pub const PNETCDF_FILE: u32 = 13;
	pub const PNETCDF_VARIABLE: u32 = 14;
	pub const NETCDF_FILE: u32 = 15;
	pub const NETCDF_VARIABLE: u32 = 16;
	pub const NETCDF_GROUP: u32 = 17;
	pub const QUEUE: u32 = 18;
	pub const COMMUNICATOR: u32 = 19;
	pub const NAMED: u32 = 20;

	/// By number.
	#[rustfmt::skip]
	pub const NAMES: [&str; 21] = [
		"unknown",
		"descriptor",
		"path",
		"mpi_file",
		"hdf5_file",
		"hdf5_dataset",
		"mapping",
		"directory",
		"request",
		"hdf5_other",
		"hdf5_group",
		"hdf5_attribute",
		"hdf5_datatype",
		"pnetcdf_file",
		"pnetcdf_variable",
		"netcdf_file",
		"netcdf_variable",
		"netcdf_group",
		"queue",
		"communicator",
		"named",
	];

	/// Their name is a path.
	#[rustfmt::skip]
	pub const PATHS: [u32; 7] = [
		DESCRIPTOR,
		PATH,
		MPI_FILE,
		HDF5_FILE,
		DIRECTORY,
		PNETCDF_FILE,
		NETCDF_FILE,
	];

	/// They carry the numbers of `descriptor`.
	#[rustfmt::skip]
	pub const WITH_DESCRIPTOR: [u32; 2] = [
		DESCRIPTOR,
		DIRECTORY,
	];

	/// They carry the numbers of `opened`.
	#[rustfmt::skip]
	pub const WITH_OPENED: [u32; 3] = [
		MPI_FILE,
		PNETCDF_FILE,
		NETCDF_FILE,
	];

	/// They carry the numbers of `array`.
	#[rustfmt::skip]
	pub const WITH_ARRAY: [u32; 4] = [
		HDF5_DATASET,
		HDF5_ATTRIBUTE,
		PNETCDF_VARIABLE,
		NETCDF_VARIABLE,
	];

	/// They carry the numbers of `mapping`.
	#[rustfmt::skip]
	pub const WITH_MAPPING: [u32; 1] = [
		MAPPING,
	];

	/// They carry the numbers of `communicator`.
	#[rustfmt::skip]
	pub const WITH_COMMUNICATOR: [u32; 1] = [
		COMMUNICATOR,
	];
}

/// Flags of an op.
pub mod op_flag {
	pub const TRACKED: u64 = 1;
	pub const COLLECTIVE: u64 = 2;
	pub const READS: u64 = 4;
	pub const WRITES: u64 = 8;
	pub const ALIGNMENT: u64 = 16;
	pub const PIECES: u64 = 32;
	pub const BESIDE: u64 = 512;
	pub const PIECES_SHIFT: u32 = 5;
	pub const PIECES_MASK: u64 = 15;
}

/// Flags of a chunk.
pub mod chunk_flag {
	pub const SEALED: u32 = 1;
	pub const LAST: u32 = 2;
	pub const SIDE: u32 = 4;
	pub const RING_COPY: u32 = 8;
	pub const BEFORE_EXEC: u32 = 16;
	pub const SUMS: u32 = 32;
}

/// Flags of a descriptor.
pub mod descriptor_flag {
	pub const INHERITED: u64 = 1;
	pub const STANDS_FOR: u64 = 2;
}

/// Why a call is unfinished.
pub mod unfinished_reason {
	pub const LEFT_BY_JUMP: u32 = 1;
	pub const OPEN_AT_END: u32 = 2;
	pub const THREAD_ENDED: u32 = 3;
}

/// Kinds of links between calls.
pub mod link_kind {
	pub const UNKNOWN: u32 = 0;
	pub const SERVES: u32 = 1;
	pub const CARRIES: u32 = 2;
	pub const COMPLETES: u32 = 3;
	pub const MATCHED: u32 = 4;

	/// By number.
	#[rustfmt::skip]
	pub const NAMES: [&str; 5] = [
		"unknown",
		"serves",
		"carries",
		"completes",
		"matched",
	];
}

/// Where a hint is from.
pub mod hint_source {
	pub const ASKED: u32 = 1;
	pub const IN_FORCE: u32 = 2;
}

/// What a selection is of.
pub mod selection_form {
	pub const BYTES: u32 = 1;
	pub const ELEMENTS: u32 = 2;
}

/// What a tally counts.
pub mod tallied {
	pub const DROPPED: u32 = 0;
	pub const SIZE: u32 = 1;
	pub const STRIDE: u32 = 2;
	pub const EXTENT: u32 = 3;
	pub const DATATYPE: u32 = 4;
	pub const FUNCTION: u32 = 5;
	pub const SIZE_RANGE: u32 = 6;

	/// By number.
	#[rustfmt::skip]
	pub const NAMES: [&str; 7] = [
		"dropped",
		"size",
		"stride",
		"extent",
		"datatype",
		"function",
		"size_range",
	];
}

/// What is known of accesses.
pub mod counter_detail {
	pub const NONE: u64 = 0;
	pub const SIZES: u64 = 1;
	pub const ALL: u64 = 2;
	pub const SOME: u64 = 3;
}

/// What the kernel did.
pub mod kernel_kind {
	pub const UNKNOWN: u32 = 0;
	pub const PAGES: u32 = 1;
	pub const READ: u32 = 2;
	pub const WRITE: u32 = 3;
	pub const FLUSH: u32 = 4;
	pub const OTHER: u32 = 5;
	pub const THROTTLED: u32 = 6;
	pub const COMMIT: u32 = 7;

	/// By number.
	#[rustfmt::skip]
	pub const NAMES: [&str; 8] = [
		"unknown",
		"pages",
		"read",
		"write",
		"flush",
		"other",
		"throttled",
		"commit",
	];
}
