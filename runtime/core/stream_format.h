/* Made from catalog/stream.toml by `make facts`: the numbers of docs/stream-format.md. */
#ifndef FATHOM_STREAM_FORMAT_H
#define FATHOM_STREAM_FORMAT_H

/* Types of records. */
enum record_type {
	RECORD_OP = 1,
	RECORD_OBJECT = 2,
	RECORD_SITE = 3,
	RECORD_MODULE = 4,
	RECORD_SELECTION = 5,
	RECORD_LINK = 6,
	RECORD_MARK = 7,
	RECORD_HINT = 8,
	RECORD_COUNTER = 9,
	RECORD_PROCESS = 10,
	RECORD_OPEN = 11,
	RECORD_UNFINISHED = 12,
	RECORD_RANK = 13,
	RECORD_TEXT = 14,
	RECORD_GROUP = 15,
	RECORD_TALLY = 16,
	RECORD_HEAT = 17,
	RECORD_DATATYPE = 18,
	RECORD_INSIDE = 20,
	RECORD_SERIES = 32,
	RECORD_SAMPLES = 33,
	RECORD_KERNEL = 34,
};

/* Classes of objects. */
enum object_class {
	OBJECT_UNKNOWN = 0,
	OBJECT_DESCRIPTOR = 1,
	OBJECT_PATH = 2,
	OBJECT_MPI_FILE = 3,
	OBJECT_HDF5_FILE = 4,
	OBJECT_HDF5_DATASET = 5,
	OBJECT_MAPPING = 6,
	OBJECT_DIRECTORY = 7,
	OBJECT_REQUEST = 8,
	OBJECT_HDF5_OTHER = 9,
	OBJECT_HDF5_GROUP = 10,
	OBJECT_HDF5_ATTRIBUTE = 11,
	OBJECT_HDF5_DATATYPE = 12,
	OBJECT_PNETCDF_FILE = 13,
	OBJECT_PNETCDF_VARIABLE = 14,
	OBJECT_NETCDF_FILE = 15,
	OBJECT_NETCDF_VARIABLE = 16,
	OBJECT_NETCDF_GROUP = 17,
	OBJECT_QUEUE = 18,
	OBJECT_COMMUNICATOR = 19,
	OBJECT_NAMED = 20,
};

/* Flags of an op. */
enum op_flag {
	OP_FLAG_TRACKED = 1,
	OP_FLAG_COLLECTIVE = 2,
	OP_FLAG_READS = 4,
	OP_FLAG_WRITES = 8,
	OP_FLAG_ALIGNMENT = 16,
	OP_FLAG_PIECES = 32,
	OP_FLAG_BESIDE = 512,
};

/* Flags of a chunk. */
enum chunk_flag {
	CHUNK_SEALED = 1,
	CHUNK_LAST = 2,
	CHUNK_SIDE = 4,
	CHUNK_RING_COPY = 8,
	CHUNK_BEFORE_EXEC = 16,
	CHUNK_SUMS = 32,
};

/* Flags of a descriptor. */
enum descriptor_flag {
	DESCRIPTOR_INHERITED = 1,
	DESCRIPTOR_STANDS_FOR = 2,
};

/* Why a call is unfinished. */
enum unfinished_reason {
	UNFINISHED_LEFT_BY_JUMP = 1,
	UNFINISHED_OPEN_AT_END = 2,
	UNFINISHED_THREAD_ENDED = 3,
};

/* Kinds of links between calls. */
enum link_kind {
	LINK_UNKNOWN = 0,
	LINK_SERVES = 1,
	LINK_CARRIES = 2,
	LINK_COMPLETES = 3,
	LINK_MATCHED = 4,
};

/* Where a hint is from. */
enum hint_source {
	HINT_ASKED = 1,
	HINT_IN_FORCE = 2,
};

/* What a selection is of. */
enum selection_form {
	SELECTION_OF_BYTES = 1,
	SELECTION_OF_ELEMENTS = 2,
};

/* What a tally counts. */
enum tallied {
	TALLY_DROPPED = 0,
	TALLY_SIZE = 1,
	TALLY_STRIDE = 2,
	TALLY_EXTENT = 3,
	TALLY_DATATYPE = 4,
	TALLY_FUNCTION = 5,
	TALLY_SIZE_RANGE = 6,
};

/* What is known of accesses. */
enum counter_detail {
	COUNTER_NONE = 0,
	COUNTER_SIZES = 1,
	COUNTER_ALL = 2,
	COUNTER_SOME = 3,
};

/* What the kernel did. */
enum kernel_kind {
	KERNEL_UNKNOWN = 0,
	KERNEL_PAGES = 1,
	KERNEL_READ = 2,
	KERNEL_WRITE = 3,
	KERNEL_FLUSH = 4,
	KERNEL_OTHER = 5,
	KERNEL_THROTTLED = 6,
	KERNEL_COMMIT = 7,
};

enum { OP_FLAG_PIECES_SHIFT = 5 };

#endif
