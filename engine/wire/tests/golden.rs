//! The frames of `forward/golden/`, which Python made from the document: read, made again, and what they say.

#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use fathom_wire::number::{
	allocate, flag, hint, kind, lock, mode, op, open, record, set, status, xattr,
};
use fathom_wire::{
	Attr, Awaited, Claim, Entry, Extent, Failed, Failure, Gap, HEADER, Handle, Header, Hello,
	Hints, Holder, Part, Pull, Reply, Request, Session, SetAttr, Text, Time, Wanted, decode,
	encode, expand,
};

fn bytes_of(name: &str) -> Vec<u8> {
	let golden = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../forward/golden");
	std::fs::read(golden.join(format!("{name}.frame"))).unwrap()
}

fn counting<const N: usize>(from: u8) -> [u8; N] {
	std::array::from_fn(|i| from + i as u8)
}

fn file() -> Handle {
	Handle(counting(0))
}

fn directory() -> Handle {
	Handle(counting(100))
}

fn header(kind: u8, op: u16) -> Header {
	let seq = if [op::HELLO, op::AUTH, op::MUNGE].contains(&op) { 0 } else { 42 };
	Header { kind, op, client: 0x0123_4567_89ab_cdef, seq, ..Header::default() }
}

fn split(frame: &[u8]) -> (Header, &[u8]) {
	let header = Header::decode(frame[..HEADER].try_into().unwrap()).unwrap();
	let body = &frame[HEADER..];
	assert_eq!(header.body as usize, body.len());
	header.check_body(body).unwrap();
	(header, body)
}

fn time(seconds: i64, nanoseconds: u32) -> Time {
	Time { seconds, nanoseconds }
}

fn attr() -> Attr {
	Attr {
		mode: 0o100644,
		nlink: 1,
		uid: 1000,
		gid: 1001,
		blksize: 4096,
		rdev: 0,
		dev: 0x801,
		ino: 1234567,
		size: 1 << 40,
		blocks: 8,
		atime: time(1_700_000_000, 1),
		mtime: time(1_700_000_001, 2),
		ctime: time(1_700_000_002, 999_999_999),
		birth: time(-5, 0),
	}
}

fn session() -> Session {
	Session {
		epoch: 0x1122_3344_5566_7788,
		window: 64,
		inline: 16384,
		piece: 1 << 20,
		data: 64 << 20,
		lease: 30000,
		deadline: 60000,
		server: 0,
		servers: 1,
		name: "server".into(),
	}
}

/// A request is read as what it is, and made again byte by byte.
fn asks(name: &str, change: impl Fn(&mut Header), request: Request, hints: Hints, data: &[u8]) {
	let frame = bytes_of(name);
	let (header_read, body) = split(&frame);
	let (read, hints_read, at) = Request::decode(header_read.op, body).unwrap();
	assert_eq!((&read, &hints_read, &body[at..]), (&request, &hints, data), "{name}");
	let mut rebuilt = header(kind::REQUEST, request.op());
	change(&mut rebuilt);
	let mut body = request.encode(&hints);
	body.extend(data);
	assert_eq!(rebuilt.frame(&body), frame, "{name}");
}

fn answers(name: &str, flags: u32, reply: Reply, hints: Hints, data: &[u8]) {
	let frame = bytes_of(name);
	let (header_read, body) = split(&frame);
	let (read, hints_read, at) = Reply::decode(header_read.op, body).unwrap();
	assert_eq!((&read, &hints_read, &body[at..]), (&reply, &hints, data), "{name}");
	let rebuilt = Header { flags, ..header(kind::REPLY, reply.op()) };
	let mut body = reply.encode(&hints);
	body.extend(data);
	assert_eq!(rebuilt.frame(&body), frame, "{name}");
}

fn none() -> Hints {
	Hints::default()
}

fn same(_: &mut Header) {}

#[test]
fn sessions() {
	let hello = Hello {
		lowest: 1,
		highest: 1,
		key: counting(0),
		nonce: counting(200),
		name: "s3d host 4711".into(),
	};
	asks("request-hello", same, Request::Hello { hello }, none(), b"");
	asks("request-auth", same, Request::Auth { proof: counting(200) }, none(), b"");
	asks("request-ping", |h| h.deadline = 250, Request::Ping {}, none(), b"");
	answers("reply-hello", 0, Reply::Hello { session: session() }, none(), b"");
	let proof = none().with(hint::PROOF, &counting::<32>(200));
	answers("reply-auth", 0, Reply::Auth { session: session() }, proof, b"");
	let credential = Text::from("MUNGE:AwQDAAD:");
	let shown = Request::Munge { credential: credential.clone() };
	asks("request-munge", same, shown, none(), b"");
	answers("reply-munge", 0, Reply::Munge { session: session(), credential }, none(), b"");
	answers("reply-ping", 0, Reply::Ping {}, none(), b"");
	let settings = b"FATHOM_RUN=/tmp/r.fathom\0\0";
	asks("request-record", same, Request::Record { begin: 1 }, none(), settings);
	let run = Text::from("/tmp/r.fathom");
	answers(
		"reply-record",
		0,
		Reply::Record { outcome: record::RECORDED_ALREADY, run },
		none(),
		b"",
	);
}

#[test]
fn names() {
	let root = Handle::ROOT;
	let lookup = Request::Lookup { dir: root, flags: 1, path: "a/b".into() };
	asks("request-lookup", same, lookup, none(), b"");
	let flags = open::CREATE | open::WRITE;
	let opens = Request::Open { dir: directory(), flags, mode: 0o640, path: "out.h5".into() };
	let traced = |h: &mut Header| (h.call_stream, h.call_seq) = (7, 8);
	asks("request-open", traced, opens, none(), b"");
	let which = set::SIZE | set::ATIME;
	let sets = SetAttr { which, size: 4096, atime: time(12, 34), ..SetAttr::default() };
	asks("request-setattr", same, Request::SetAttr { handle: file(), set: sets }, none(), b"");
	let rename = Request::Rename {
		dir: directory(),
		path: "a".into(),
		to_dir: root,
		to: "b".into(),
		flags: 1,
	};
	asks("request-rename", same, rename, none(), b"");
	let readdir = Request::ReadDir { handle: directory(), cookie: 99, most: 128 };
	asks("request-readdir", same, readdir, none(), b"");
	answers("reply-open", 0, Reply::Open { handle: file(), attr: attr(), created: 1 }, none(), b"");
	answers("reply-getattr", 0, Reply::GetAttr { attr: attr() }, none(), b"");
	let entries = vec![
		Entry { cookie: 1, ino: 10, kind: 4, name: ".".into() },
		Entry { cookie: 2, ino: 11, kind: 8, name: Text(b"x\xff".to_vec()) },
	];
	answers("reply-readdir", flag::MORE, Reply::ReadDir { entries }, none(), b"");
	let statfs = Reply::StatFs {
		bsize: 4096,
		frsize: 4096,
		blocks: 100,
		bfree: 50,
		bavail: 40,
		files: 10,
		ffree: 5,
		namemax: 255,
	};
	answers("reply-statfs", 0, statfs, none(), b"");
}

#[test]
fn data() {
	let extents = |all: &[(u64, u64)]| {
		all.iter().map(|&(offset, length)| Extent { offset, length }).collect::<Vec<_>>()
	};
	let read = Request::Read { handle: file(), extents: extents(&[(0, 10), (1 << 41, 512)]) };
	asks("request-read", same, read, none(), b"");
	let write = Request::Write { handle: file(), extents: extents(&[(4, 3), (100, 2)]) };
	let checked = |h: &mut Header| h.flags = flag::BODY_CRC;
	asks("request-write", checked, write, none().with(99, b"?"), b"abcde");
	let large = Request::Write { handle: file(), extents: extents(&[(0, 1 << 20)]) };
	let pulled = |h: &mut Header| h.flags = flag::PULL | flag::NONBLOCKING;
	asks("request-write-pull", pulled, large, none(), b"");
	let aligned = none().with(hint::APPEND_ALIGN, &4096u32.to_le_bytes());
	let aligned = aligned.with(hint::APPEND_SHARED, b"");
	let append = Request::Append { handle: file(), length: 5 };
	asks("request-append", |h| h.flags = flag::RETRY, append, aligned, b"hello");
	asks("request-commit", same, Request::Commit { handle: file(), level: 3 }, none(), b"");
	let reserve = Request::Reserve {
		handle: file(),
		flags: 1,
		size: 4096,
		stamp: 77,
		wanted: vec![
			Wanted { client: 7, seq: 8, length: 5, align: 1 },
			Wanted { client: 7, seq: 9, length: 6, align: 512 },
		],
		outcomes: vec![Gap { offset: 10, length: 6, client: 1, seq: 2, errno: 5 }],
	};
	asks("request-reserve", same, reserve, none(), b"");
	answers("reply-read", 0, Reply::Read { lengths: vec![3, 0] }, none(), b"abc");
	answers("reply-write", 0, Reply::Write { bytes: 5, level: 2 }, none(), b"");
	answers("reply-append", 0, Reply::Append { offset: 1 << 33, level: 1 }, none(), b"");
	let failed = Failed { handle: file(), seq: 9, offset: 4096, length: 512, errno: 28 };
	answers("reply-commit", 0, Reply::Commit { failed: vec![failed] }, none(), b"");
	let gaps = vec![
		Gap { offset: 10, length: 6, client: 1, seq: 2, errno: 5 },
		Gap { offset: 90, length: 6, client: 0, seq: 0, errno: 0 },
	];
	answers("reply-gaps", 0, Reply::Gaps { gaps }, none(), b"");
	let offsets = vec![4096, 1 << 33];
	answers("reply-reserve", 0, Reply::Reserve { stamp: 77, offsets }, none(), b"");
}

#[test]
fn calls() {
	let call = Request::Call { handle: file(), name: "crc32".into(), room: 64 };
	let checked = |h: &mut Header| h.flags = flag::BODY_CRC;
	asks("request-call", checked, call, none().with(99, b"?"), b"0+512");
	answers("reply-call", 0, Reply::Call {}, none(), b"cafe");
}

#[test]
fn space_and_attributes() {
	let (handle, name) = (file(), Text::from("user.a"));
	asks("request-seek", same, Request::Seek { handle, offset: 4096, what: 1 }, none(), b"");
	let mode = allocate::KEEP_SIZE | allocate::PUNCH_HOLE;
	let punch = Request::Allocate { handle, mode, offset: 4096, length: 1 << 20 };
	asks("request-allocate", same, punch, none().with(hint::APPEND_SHARED, b""), b"");
	let get = Request::GetXattr { handle, name: name.clone() };
	asks("request-getxattr", same, get, none(), b"");
	let set = Request::SetXattr { handle, name: name.clone(), flags: xattr::CREATE };
	asks("request-setxattr", same, set, none(), b"some");
	asks("request-listxattr", same, Request::ListXattr { handle }, none(), b"");
	asks("request-removexattr", same, Request::RemoveXattr { handle, name }, none(), b"");
	answers("reply-seek", 0, Reply::Seek { offset: 1 << 33 }, none(), b"");
	answers("reply-getxattr", 0, Reply::GetXattr {}, none(), b"some");
	answers("reply-listxattr", 0, Reply::ListXattr {}, none(), b"user.a\0user.b\0");
}

#[test]
fn locks() {
	let wanted = Claim {
		client: 7,
		owner: 8,
		flags: lock::WAIT | lock::PROCESS,
		mode: mode::EXCLUSIVE,
		pid: 4711,
		start: 4096,
		length: 0,
	};
	let asked = Request::Lock { handle: file(), claim: wanted };
	asks("request-lock", |h| h.deadline = 250, asked, none(), b"");
	let given_back = Claim { owner: 8, length: 1 << 40, ..Claim::default() };
	let asked = Request::Unlock { handle: file(), claim: given_back };
	asks("request-unlock", same, asked, none(), b"");
	let whole = Claim { owner: 8, flags: lock::WHOLE, mode: mode::SHARED, ..Claim::default() };
	asks("request-locked", same, Request::Locked { handle: file(), claim: whole }, none(), b"");
	answers("reply-lock", 0, Reply::Lock {}, none(), b"");
	let claim = Claim {
		client: 7,
		owner: 9,
		flags: 0,
		mode: mode::EXCLUSIVE,
		pid: 4712,
		start: 5,
		length: 6,
	};
	answers("reply-locked", 0, Reply::Locked { claim }, none(), b"");
}

#[test]
fn waits() {
	let claim = Claim {
		client: 7,
		owner: 8,
		flags: lock::RELAYED,
		mode: mode::EXCLUSIVE,
		pid: 4711,
		start: 4096,
		length: 0,
	};
	asks("request-holders", same, Request::Holders { handle: file(), claim }, none(), b"");
	let holder = |client, owner| Holder { client, owner };
	let owners = vec![holder(7, 8), holder(7, 9)];
	asks("request-awaited", same, Request::Awaited { owners }, none(), b"");
	let owners = vec![holder(7, 9), holder(10, 1)];
	answers("reply-holders", 0, Reply::Holders { owners }, none(), b"");
	let claim = Claim {
		client: 7,
		owner: 9,
		flags: lock::RELAYED,
		mode: mode::SHARED,
		pid: 4712,
		start: 5,
		length: 6,
	};
	let locks = vec![Awaited { handle: file(), claim, seq: 42 }];
	answers("reply-awaited", 0, Reply::Awaited { locks }, none(), b"");
}

#[test]
fn failures_pulls_and_parts() {
	let frame = bytes_of("reply-failure");
	let (head, body) = split(&frame);
	let what = "write out.h5 on server 0: No space left on device".into();
	let failure = Failure { offset: 1 << 20, length: 4096, what, hints: none() };
	assert_eq!(decode::<Failure>(body).unwrap(), failure);
	assert_eq!(
		Header { status: 28, ..header(kind::REPLY, op::WRITE) }.frame(&encode(&failure)),
		frame
	);
	assert_eq!(head.status, 28);

	let frame = bytes_of("reply-challenge");
	let hints = none().with(hint::NONCE, &counting::<32>(200));
	let failure = Failure { offset: 0, length: 0, what: "token".into(), hints };
	let rebuilt = Header { status: status::AUTH, ..header(kind::REPLY, op::HELLO) };
	assert_eq!(rebuilt.frame(&encode(&failure)), frame);

	let frame = bytes_of("reply-challenge-munge");
	let hints = none().with(hint::NONCE, &counting::<32>(200)).with(hint::MUNGE, b"");
	let failure = Failure { offset: 0, length: 0, what: "token or munge".into(), hints };
	let rebuilt = Header { status: status::AUTH, ..header(kind::REPLY, op::HELLO) };
	assert_eq!(rebuilt.frame(&encode(&failure)), frame);

	let frame = bytes_of("pull");
	let pull = Pull { at: 1 << 20, length: 65536 };
	assert_eq!(decode::<Pull>(split(&frame).1).unwrap(), pull);
	assert_eq!(header(kind::PULL, op::WRITE).frame(&encode(&pull)), frame);

	let frame = bytes_of("data-compressed");
	let (head, mut plain) = (Header::decode(frame.first_chunk().unwrap()).unwrap(), Vec::new());
	assert_eq!((head.kind, head.flags), (kind::DATA, flag::COMPRESSED));
	expand(Part::decode(split(&frame).1).unwrap().bytes, &mut plain, 2000).unwrap();
	assert_eq!(plain, [b'a'; 2000]);
	let frame = bytes_of("data");
	let part = Part::decode(split(&frame).1).unwrap();
	assert_eq!((part.at, part.bytes), (1 << 20, b"0123456789abcdef".as_slice()));
}
