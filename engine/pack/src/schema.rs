//! Made from catalog/tables.toml by `make facts`.

use crate::column::Column;
use crate::column::Kind::*;

/// The columns of each table.
pub const TABLES: [(&str, &[Column]); 21] = [
	("runs", &RUNS),
	("processes", &PROCESSES),
	("streams", &STREAMS),
	("nodes", &NODES),
	("clocks", &CLOCKS),
	("files", &FILES),
	("objects", &OBJECTS),
	("selections", &SELECTIONS),
	("calls", &CALLS),
	("args", &ARGS),
	("links", &LINKS),
	("collectives", &COLLECTIVES),
	("counters", &COUNTERS),
	("tops", &TOPS),
	("heat", &HEAT),
	("samples", &SAMPLES),
	("kernel_events", &KERNEL_EVENTS),
	("hints_in_force", &HINTS_IN_FORCE),
	("sites", &SITES),
	("marks", &MARKS),
	("ops", &OPS),
];

#[rustfmt::skip]
pub const RUNS: [Column; 19] = [
	Column::must("name", Text),
	Column::must("started", I64),
	Column::must("duration", I64),
	Column::must("processes", U32),
	Column::must("streams", U32),
	Column::must("nodes", U32),
	Column::may("ranks", I32),
	Column::must("ranks_seen", I32),
	Column::must("events", U64),
	Column::must("counted", U64),
	Column::must("coverage", F64),
	Column::must("unfinished", U64),
	Column::must("chunks", U64),
	Column::must("chunks_skipped", U64),
	Column::must("bytes_skipped", U64),
	Column::must("chunks_missing", U64),
	Column::must("stream_bytes", U64),
	Column::must("engine", Text),
	Column::may("configuration", Text),
];

#[rustfmt::skip]
pub const PROCESSES: [Column; 30] = [
	Column::must("process", U32),
	Column::must("instance", U64),
	Column::must("pid", U32),
	Column::may("parent", U32),
	Column::may("parent_pid", U32),
	Column::must("node", U32),
	Column::must("clock", U32),
	Column::may("exe", Text),
	Column::must("command", Texts),
	Column::may("cwd", Text),
	Column::may("rank", I32),
	Column::may("ranks", I32),
	Column::may("mpi", Text),
	Column::must("start", I64),
	Column::must("stop", I64),
	Column::must("ended", Text),
	Column::must("events", U64),
	Column::must("counted", U64),
	Column::must("chunks", U32),
	Column::must("chunks_skipped", U32),
	Column::must("chunks_missing", U32),
	Column::must("stream_bytes", U64),
	Column::may("allowed", Text),
	Column::may("allowed_processors", U32),
	Column::may("processor_time", I64),
	Column::may("processor_wait", I64),
	Column::may("storage_read", I64),
	Column::may("memory_peak", I64),
	Column::may("signal", U32),
	Column::may("libraries", Text),
];

#[rustfmt::skip]
pub const STREAMS: [Column; 12] = [
	Column::must("stream", U32),
	Column::must("id", U64),
	Column::must("process", U32),
	Column::must("tid", U32),
	Column::must("side", Bool),
	Column::may("base_call", U64),
	Column::must("events", U64),
	Column::must("chunks", U32),
	Column::must("chunks_missing", U32),
	Column::must("complete", Bool),
	Column::must("path", Text),
	Column::may("processor_wait", I64),
];

#[rustfmt::skip]
pub const NODES: [Column; 5] = [
	Column::must("node", U32),
	Column::must("host", Text),
	Column::must("boot_id", Text),
	Column::may("kernel", Text),
	Column::may("processors", U32),
];

#[rustfmt::skip]
pub const CLOCKS: [Column; 10] = [
	Column::must("clock", U32),
	Column::must("node", U32),
	Column::must("kind", Text),
	Column::may("ticks_per_second", F64),
	Column::must("shift", I64),
	Column::must("drift", F64),
	Column::may("error", I64),
	Column::must("error_local", I64),
	Column::must("constraints", U32),
	Column::must("method", Text),
];

#[rustfmt::skip]
pub const FILES: [Column; 10] = [
	Column::must("file", U32),
	Column::must("key", Text),
	Column::may("inode", U64),
	Column::may("birth", I64),
	Column::must("path", Text),
	Column::must("paths", Texts),
	Column::must("kind", Text),
	Column::may("file_system", Text),
	Column::may("mount", Text),
	Column::must("runtime", Bool),
];

#[rustfmt::skip]
pub const OBJECTS: [Column; 21] = [
	Column::must("object", U32),
	Column::must("process", U32),
	Column::must("number", U32),
	Column::must("class", Text),
	Column::must("name", Text),
	Column::may("file", U32),
	Column::may("parent", U32),
	Column::may("created_by", U64),
	Column::may("descriptor", I32),
	Column::may("mode", U32),
	Column::may("flags", U32),
	Column::may("inherited", Bool),
	Column::may("communicator_size", U32),
	Column::may("group_hash", U64),
	Column::may("group_ordinal", U32),
	Column::may("group_rank", U32),
	Column::must("group_members", U32s),
	Column::may("element_bytes", U64),
	Column::must("extents", U64s),
	Column::may("address", U64),
	Column::may("length", U64),
];

#[rustfmt::skip]
pub const SELECTIONS: [Column; 21] = [
	Column::must("selection", U32),
	Column::must("process", U32),
	Column::must("number", U32),
	Column::must("form", Text),
	Column::must("exact", Bool),
	Column::must("rank", U32),
	Column::must("displacement", I64),
	Column::must("unit", U64),
	Column::must("period", U64),
	Column::must("total", U64),
	Column::must("box_start", U64s),
	Column::must("box_count", U64s),
	Column::must("hash", U64),
	Column::must("blocks", U64),
	Column::must("block_start", U64s),
	Column::must("block_count", U64s),
	Column::must("part_start", U64s),
	Column::must("part_bytes", U64s),
	Column::must("part_levels", U64s),
	Column::must("part_count", U64s),
	Column::must("part_stride", U64s),
];

#[rustfmt::skip]
pub const CALLS: [Column; 31] = [
	Column::must("id", U64),
	Column::must("stream", U32),
	Column::must("process", U32),
	Column::must("thread", U32),
	Column::may("rank", I32),
	Column::may("parent", U64),
	Column::may("call", U32),
	Column::must("depth", U8),
	Column::must("layer", Name),
	Column::must("op", Name),
	Column::must("kind", Name),
	Column::may("object", U32),
	Column::may("file", U32),
	Column::must("start", I64),
	Column::must("duration", I64),
	Column::must("nested", I64),
	Column::may("size", I64),
	Column::may("file_offset", I64),
	Column::may("offset_from", Choice),
	Column::may("bytes", I64),
	Column::may("result", I64),
	Column::must("error", I32),
	Column::must("state", Choice),
	Column::may("site", U32),
	Column::may("selection", U32),
	Column::may("collective", U32),
	Column::may("own", U64),
	Column::may("own_duration", I64),
	Column::must("topmost", Bool),
	Column::may("alone", Bool),
	Column::must("runtime", Bool),
];

#[rustfmt::skip]
pub const ARGS: [Column; 4] = [
	Column::must("call", U64),
	Column::must("name", Name),
	Column::may("value", I64),
	Column::may("text", Text),
];

#[rustfmt::skip]
pub const LINKS: [Column; 7] = [
	Column::must("from_call", U64),
	Column::may("to_call", U64),
	Column::must("to_stream", U64),
	Column::must("to_seq", U64),
	Column::must("kind", Choice),
	Column::must("bytes", U64),
	Column::must("confidence", U8),
];

#[rustfmt::skip]
pub const COLLECTIVES: [Column; 15] = [
	Column::must("collective", U32),
	Column::must("layer", Text),
	Column::must("op", Text),
	Column::may("file", U32),
	Column::must("group_hash", U64),
	Column::must("open_ordinal", U32),
	Column::must("ordinal", U64),
	Column::must("ranks_expected", U32),
	Column::must("ranks_seen", U32),
	Column::must("agreed", Bool),
	Column::must("first_enter", I64),
	Column::must("last_enter", I64),
	Column::must("first_leave", I64),
	Column::must("last_leave", I64),
	Column::may("bytes", I64),
];

#[rustfmt::skip]
pub const COUNTERS: [Column; 30] = [
	Column::must("process", U32),
	Column::must("thread_class", Text),
	Column::may("file", U32),
	Column::must("layer", Text),
	Column::must("op", Text),
	Column::must("kind", Text),
	Column::may("enclosing_layer", Text),
	Column::may("enclosing", Text),
	Column::must("runtime", Bool),
	Column::must("calls", U64),
	Column::must("recorded", U64),
	Column::must("errors", U64),
	Column::must("bytes", I64),
	Column::must("time", I64),
	Column::must("shortest", I64),
	Column::must("longest", I64),
	Column::must("first_start", I64),
	Column::must("last_stop", I64),
	Column::may("sequential", U64),
	Column::may("consecutive", U64),
	Column::may("strided", U64),
	Column::may("unaligned_file", U64),
	Column::may("unaligned_memory", U64),
	Column::may("contiguous", U64),
	Column::may("holes_memory", U64),
	Column::may("holes_file", U64),
	Column::may("holes_both", U64),
	Column::may("switches", U64),
	Column::may("size_histogram", U64s),
	Column::may("extent_histogram", U64s),
];

#[rustfmt::skip]
pub const TOPS: [Column; 14] = [
	Column::must("process", U32),
	Column::must("thread_class", Text),
	Column::may("file", U32),
	Column::must("layer", Text),
	Column::must("op", Text),
	Column::must("kind", Text),
	Column::may("enclosing_layer", Text),
	Column::may("enclosing", Text),
	Column::must("runtime", Bool),
	Column::must("what", Text),
	Column::must("value", I64),
	Column::may("label", Text),
	Column::must("calls", U64),
	Column::must("bound", U64),
];

#[rustfmt::skip]
pub const HEAT: [Column; 8] = [
	Column::must("process", U32),
	Column::must("layer", Text),
	Column::must("operation", Text),
	Column::must("start", I64),
	Column::must("stop", I64),
	Column::must("calls", U64),
	Column::must("bytes", I64),
	Column::must("time", I64),
];

#[rustfmt::skip]
pub const SAMPLES: [Column; 7] = [
	Column::must("node", U32),
	Column::may("process", U32),
	Column::must("time", I64),
	Column::must("what", Text),
	Column::may("device", Text),
	Column::must("value", I64),
	Column::must("unit", Text),
];

#[rustfmt::skip]
pub const KERNEL_EVENTS: [Column; 12] = [
	Column::must("node", U32),
	Column::may("process", U32),
	Column::may("pid", U32),
	Column::may("tid", U32),
	Column::must("event", Text),
	Column::must("start", I64),
	Column::must("stop", I64),
	Column::may("queued", I64),
	Column::may("device", Text),
	Column::may("inode", U64),
	Column::may("at", I64),
	Column::may("bytes", I64),
];

#[rustfmt::skip]
pub const HINTS_IN_FORCE: [Column; 6] = [
	Column::must("process", U32),
	Column::may("object", U32),
	Column::may("file", U32),
	Column::must("source", Text),
	Column::must("key", Text),
	Column::must("value", Text),
];

#[rustfmt::skip]
pub const SITES: [Column; 17] = [
	Column::must("site", U32),
	Column::must("module", Text),
	Column::may("build_id", Text),
	Column::must("address", U64),
	Column::may("function", Text),
	Column::may("source", Text),
	Column::may("line", U32),
	Column::may("users_module", Text),
	Column::must("in_library", Bool),
	Column::may("caller_function", Text),
	Column::may("caller_source", Text),
	Column::may("caller_line", U32),
	Column::may("frame_function", Text),
	Column::may("frame_source", Text),
	Column::may("frame_line", U32),
	Column::may("caller", U32),
	Column::may("entry", Text),
];

#[rustfmt::skip]
pub const MARKS: [Column; 6] = [
	Column::may("process", U32),
	Column::may("stream", U32),
	Column::may("time", I64),
	Column::must("kind", Text),
	Column::must("detail", Text),
	Column::must("value", I64),
];

#[rustfmt::skip]
pub const OPS: [Column; 6] = [
	Column::must("layer", Text),
	Column::must("op", Text),
	Column::must("kind", Text),
	Column::must("fields", Texts),
	Column::must("tracked", Bool),
	Column::must("collective", Bool),
];
