//! What becomes of logs: streams that the decoder reads, row by row what the log says.
#![allow(clippy::unwrap_used)]

use std::collections::HashMap;

use fathom_stream::{Decoder, Item, Record, Segment, UNKNOWN_OFFSET, chunks};
use proptest::prelude::*;

#[derive(Debug, Clone, PartialEq)]
struct Row {
	pid: u32,
	tid: u32,
	op: String,
	path: String,
	fields: HashMap<String, i64>,
	error: u64,
	began: u64,
	ended: u64,
	done: bool,
}

impl Row {
	fn field(&self, name: &str) -> i64 {
		self.fields[name]
	}
}

fn text(bytes: &[u8]) -> String {
	String::from_utf8_lossy(bytes).into_owned()
}

/// All rows of all images, by their ends.
fn rows(log: &str) -> Vec<Row> {
	rows_of(&fathom_strace::streams_of(log.as_bytes()).unwrap())
}

fn rows_of(streams: &[Vec<u8>]) -> Vec<Row> {
	let mut out = Vec::new();
	for stream in streams {
		let (mut ops, mut objects) = (HashMap::new(), HashMap::new());
		let mut decoder = Decoder::new();
		for segment in chunks(stream) {
			let Segment::Chunk(chunk) = segment else { panic!("{segment:?}") };
			let mut items = decoder.rows(&chunk);
			while let Some(item) = items.next() {
				let (pid, tid) = (chunk.header.pid, chunk.header.tid);
				match item.unwrap() {
					Item::Record(Record::Op(op)) => {
						let fields: Vec<String> =
							text(op.fields).split(',').map(str::to_owned).collect();
						ops.insert(op.op, (text(op.name), fields));
					}
					Item::Record(Record::Object(object)) => {
						objects.insert(object.object, text(object.name));
					}
					Item::Call(call) => {
						let (op, names) = ops[&call.op].clone();
						out.push(Row {
							pid,
							tid,
							op,
							path: objects.get(&call.object).cloned().unwrap_or_default(),
							fields: names.into_iter().zip(call.fields.iter().copied()).collect(),
							error: call.error,
							began: call.began,
							ended: call.ended,
							done: true,
						});
					}
					Item::Unfinished(call, _) => out.push(Row {
						pid,
						tid,
						op: ops[&(call.op - 1)].0.clone(),
						path: objects.get(&call.object).cloned().unwrap_or_default(),
						fields: [
							("size".to_owned(), call.size),
							("offset".to_owned(), call.offset),
						]
						.into(),
						error: 0,
						began: call.began,
						ended: call.ended,
						done: false,
					}),
					Item::Record(_) => {}
				}
			}
		}
	}
	out.sort_by_key(|row| row.ended);
	out
}

const OPEN: &str =
	"1 1700000010.000000 openat(AT_FDCWD</w>, \"f\", O_RDWR|O_CREAT, 0644) = 3</w/f> <0.000100>\n";

fn after_open(rest: &str) -> Vec<Row> {
	rows(&format!("{OPEN}{rest}"))
}

#[test]
fn positions_are_followed_through_dup_seek_and_fork() {
	let calls = after_open(
		"1 1700000011.000000 write(3</w/f>, \"\"..., 100) = 100 <0.000010>\n\
		1 1700000011.100000 dup(3</w/f>) = 4</w/f> <0.000010>\n\
		1 1700000011.200000 lseek(4</w/f>, 8589934592, SEEK_SET) = 8589934592 <0.000010>\n\
		1 1700000011.300000 clone(child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD) = 2 <0.000010>\n\
		2 1700000011.400000 read(3</w/f>, \"\"..., 50) = 20 <0.000010>\n\
		1 1700000011.500000 write(3</w/f>, \"\"..., 7) = 7 <0.000010>\n",
	);
	let offsets: Vec<(u32, i64)> = calls
		.iter()
		.filter(|row| row.op == "read" || row.op == "write")
		.map(|row| (row.pid, row.field("offset")))
		.collect();
	assert_eq!(offsets, [(1, 0), (2, 8_589_934_592), (1, 8_589_934_612)]);
	assert!(calls.iter().all(|row| row.path == "/w/f"), "{calls:?}");
	let open = &calls[0];
	assert_eq!((open.op.as_str(), open.field("flags"), open.field("mode")), ("open", 0o102, 0o644));
}

#[test]
fn vectors_and_offsets_in_memory_have_their_bytes() {
	let calls = after_open(
		"1 1700000011.0 pwritev(3</w/f>, [{iov_base=\"a,b\", iov_len=3}, {iov_base=\"\", iov_len=4}], 2, 8589934592) = 7 <0.1>\n\
		1 1700000012.0 preadv2(3</w/f>, [{iov_base=\"\", iov_len=9}], 1, -1, 0) = 9 <0.1>\n\
		1 1700000013.0 copy_file_range(3</w/f>, NULL, 3</w/f>, [4096], 100, 0) = 100 <0.1>\n\
		1 1700000014.0 read(3</w/f>, \"\", 1) = 1 <0.1>\n",
	);
	let of = |row: &Row| (row.field("size"), row.field("offset"), row.field("bytes"));
	assert_eq!(of(&calls[1]), (7, 8_589_934_592, 7));
	assert_eq!(of(&calls[2]), (9, 0, 9));
	assert_eq!(of(&calls[3]), (100, 4096, 100));
	// The side that the copy's own row is not on: it was read at the descriptor's position.
	assert_eq!(
		(&*calls[4].op, calls[4].field("offset"), calls[4].field("bytes")),
		("copy_source", 9, 100)
	);
	assert_eq!(of(&calls[5]), (1, 109, 1));
}

#[test]
fn appended_bytes_and_races_of_threads_have_no_position() {
	let calls = rows(
		"1 1700000010.0 open(\"/l\", O_WRONLY|O_APPEND) = 3</l> <0.1>\n\
		1 1700000011.0 write(3</l>, \"\", 5) = 5 <0.1>\n\
		1 1700000012.0 openat(AT_FDCWD</w>, \"/g\", O_RDONLY) = 4</g> <0.1>\n\
		1 1700000012.5 clone3({flags=CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_THREAD}, 88) = 2 <0.1>\n\
		1 1700000013.0 read(4</g>, \"\", 5) = 5 <0.5>\n\
		2 1700000013.1 read(4</g>, \"\", 5) = 5 <0.6>\n",
	);
	let offsets: Vec<i64> = calls
		.iter()
		.filter(|row| row.fields.contains_key("bytes"))
		.map(|row| row.field("offset"))
		.collect();
	assert_eq!(offsets, [UNKNOWN_OFFSET, 0, UNKNOWN_OFFSET]);
	assert_eq!(calls.last().map(|row| (row.pid, row.tid)), Some((1, 2)));
}

#[test]
fn a_call_in_two_parts_is_one_row() {
	let calls = after_open(
		"1 1700000011.000000 read(3</w/f>,  <unfinished ...>\n\
		2 1700000011.100000 unlink(\"/x\") = 0 <0.000010>\n\
		1 1700000011.200000 <... read resumed>\"\"..., 100) = 64 <0.200000>\n",
	);
	let read = calls.iter().find(|row| row.op == "read").unwrap();
	assert_eq!((read.field("size"), read.field("bytes")), (100, 64));
	assert_eq!((read.began, read.ended), (1_700_000_011_000_000_000, 1_700_000_011_200_000_000));
}

#[test]
fn a_restarted_call_is_one_and_an_interrupted_one_failed() {
	let calls = after_open(
		"1 1700000011.0 read(3</w/f>, 0x7ffd, 100) = ? ERESTARTSYS (To be restarted if SA_RESTART is set) <0.5>\n\
		1 1700000011.6 --- SIGCONT {si_signo=SIGCONT} ---\n\
		1 1700000012.0 read(3</w/f>, \"\", 100) = 9 <0.5>\n\
		1 1700000013.0 read(3</w/f>, 0x7ffd, 100) = ? ERESTARTSYS (To be restarted if SA_RESTART is set) <0.5>\n\
		1 1700000013.6 --- SIGALRM {si_signo=SIGALRM} ---\n\
		1 1700000013.7 rt_sigreturn({mask=[]}) = -1 EINTR (Interrupted system call) <0.1>\n",
	);
	let reads: Vec<(u64, u64, u64, i64)> = calls[1..]
		.iter()
		.map(|row| {
			(
				row.began / 100_000_000 % 1000,
				row.ended / 100_000_000 % 1000,
				row.error,
				row.field("bytes"),
			)
		})
		.collect();
	assert_eq!(reads, [(110, 125, 0, 9), (130, 137, 4, -1)]);
}

#[test]
fn what_was_open_at_a_kill_is_unfinished() {
	for end in [
		"1700000011.0 write(3</w/f>, \"\"..., 100 <unfinished ...>) = ?",
		"1700000011.0 write(3</w/f>, \"\"..., 100 <unfinished ...>",
	] {
		let calls = after_open(&format!("1 {end}\n1 1700000012.0 +++ killed by SIGKILL +++\n"));
		let write = calls.iter().find(|row| !row.done).unwrap();
		assert_eq!(
			(write.op.as_str(), write.field("size"), write.path.as_str()),
			("write", 100, "/w/f")
		);
	}
}

#[test]
fn exec_closes_what_it_must_and_makes_another_image() {
	let log = format!(
		"{OPEN}1 1700000010.5 openat(AT_FDCWD</w>, \"g\", O_RDONLY|O_CLOEXEC) = 4</w/g> <0.1>\n\
		1 1700000010.7 read(3</w/f>, \"\", 10) = 10 <0.1>\n\
		1 1700000011.0 execve(\"/bin/other\", [\"other\", \"a\\\"b\"], 0x7ffd /* 35 vars */) = 0 <0.1>\n\
		1 1700000012.0 read(3</w/f>, \"\", 10) = 10 <0.1>\n\
		1 1700000012.5 read(4</w/h>, \"\", 10) = 10 <0.1>\n"
	);
	let streams = fathom_strace::streams_of(log.as_bytes()).unwrap();
	assert_eq!(streams.len(), 2);
	let after = rows_of(&streams[1..]);
	assert_eq!((after[0].path.as_str(), after[0].field("offset")), ("/w/f", 10));
	assert_eq!((after[1].path.as_str(), after[1].field("offset")), ("/w/h", UNKNOWN_OFFSET));
	assert!(streams[1].windows(10).any(|part| part == b"other\0a\"b\0"));
}

#[test]
fn names_are_the_programs_whatever_their_bytes() {
	let calls = rows(
		"1 1700000010.0 openat(AT_FDCWD</w>, \"a>b, c\\n\\377\", O_RDONLY) = 3</w/a\\76b, c\\n\\377> <0.1>\n\
		1 1700000011.0 unlink(\"a>b, c\\n\\377\") = 0 <0.1>\n\
		1 1700000012.0 read(3</w/a\\76b, c\\n\\377>(deleted), \"\", 5) = 5 <0.1>\n\
		1 1700000013.0 newfstatat(AT_FDCWD</w>, \"no\", 0x7ffd, AT_SYMLINK_NOFOLLOW) = -1 ENOENT (No such file or directory) <0.1>\n",
	);
	assert!(calls[..3].iter().all(|row| row.path == "/w/a>b, c\n\u{fffd}"), "{calls:?}");
	assert_eq!(calls[2].field("offset"), 0);
	assert_eq!(
		(calls[3].op.as_str(), calls[3].error, calls[3].path.as_str()),
		("lstat", 2, "/w/no")
	);
}

#[test]
fn mappings_of_files_are_rows_and_memory_is_none() {
	let calls = after_open(
		"1 1700000011.0 mmap(NULL, 8192, PROT_READ, MAP_SHARED, 3</w/f>, 0x1000) = 0x7f0000000000 <0.1>\n\
		1 1700000011.5 mmap(NULL, 8192, PROT_READ, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f1000000000 <0.1>\n\
		1 1700000012.0 msync(0x7f0000000000, 4096, MS_SYNC) = 0 <0.1>\n\
		1 1700000013.0 munmap(0x7f0000000000, 8192) = 0 <0.1>\n\
		1 1700000014.0 munmap(0x7f1000000000, 8192) = 0 <0.1>\n",
	);
	let ops: Vec<&str> = calls.iter().map(|row| row.op.as_str()).collect();
	assert_eq!(ops, ["open", "mmap", "msync", "munmap"]);
	assert_eq!(calls[1].field("offset"), 4096);
}

#[test]
fn a_log_without_times_is_refused_and_a_torn_line_costs_itself() {
	for log in [
		"read(3, \"\", 5) = 5\n",
		"12:00:01.5 read(3, \"\", 5) = 5\n",
		"1 0.5 sync() = 0\n > /lib/libc.so.6(sync+0xb) [0x1]\n",
		"\x7fELF\n",
	] {
		let error = fathom_strace::streams_of(log.as_bytes()).unwrap_err().to_string();
		assert!(error.contains("-ttt"), "{error}");
	}
	assert_eq!(after_open("1 1700000011.0 write(3</w/f>, \"\"..., 1").len(), 1);
}

#[test]
fn many_rows_take_many_chunks() {
	let line = |i: u64| {
		format!(
			"1 {}.000000 pwrite64(3</w/f>, \"\", 8, {}) = 8 <0.000010>\n",
			1_700_000_011 + i,
			i * 8
		)
	};
	let calls = after_open(&(0..9000).map(line).collect::<String>());
	assert_eq!(calls.len(), 9001);
	assert!(calls[1..].iter().zip(0..).all(|(row, i)| row.field("offset") == i * 8));
}

proptest! {
	/// Whatever a log holds, its streams are whole.
	#[test]
	fn broken_logs_give_whole_streams(cuts in proptest::collection::vec((any::<u16>(), any::<u8>()), 1..12)) {
		let mut log = format!(
			"{OPEN}1 1700000010.5 dup2(3</w/f>, 9) = 9</w/f> <0.1>\n1 1700000011.0 write(9</w/f>, \"\"..., 100) = 100 <0.1>\n\
			1 1700000011.5 clone(flags=SIGCHLD) = 2 <0.1>\n2 1700000012.0 sendfile(9</w/f>, 3</w/f>, [0] => [10], 10) = 10 <0.1>\n\
			2 1700000013.0 execve(\"/b\", [\"b\"], 0x1 /* 2 vars */) = 0 <0.1>\n2 1700000014.0 mmap(NULL, 9, 1, 2, 3</w/f>, 0) = 0x7 <0.1>\n"
		).into_bytes();
		for (place, byte) in cuts {
			let at = usize::from(place) % log.len();
			log[at] = byte;
		}
		if let Ok(streams) = fathom_strace::streams_of(&log) {
			rows_of(&streams);
		}
	}
}
