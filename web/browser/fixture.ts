/** A made-up run of 64 ranks, two layers, one planted write of 900 ms at rank 37: answers as a server gives them. */
import type { AccountAnswer, AccountShare, Column, Finding, FindingsAnswer, Zooms, Overview, Runs, Strips, Table, Unit } from "../src/source";

export const RUN = "made";
const FILE = "/scratch/<b>out</b>.h5";
export const SLOW = "1099511627777";
const RANKS = 64;
const BINS = 256;
const SECOND = 1e9;
const DURATION = 8 * SECOND;

function table(columns: Record<string, Unit>, rows: Table["rows"], note: string | null = null): Table {
	const heads: Column[] = Object.entries(columns).map(([name, unit]) => ({ name, unit }));
	return { columns: heads, rows, total: rows.length, sql: "select 1", note };
}

export const runs: Runs = {
	version: "0.1.0",
	generation: 0,
	runs: [
		{
			name: RUN,
			path: "/tmp/made.fathom",
			live: false,
			duration: DURATION,
			started: 0,
			ranks: RANKS,
			processes: RANKS,
			nodes: 2,
			events: 120_000,
			counted: 0,
			coverage: 1,
			lanes: RANKS,
			layers: ["hdf5", "mpiio", "posix"],
			"own layer": "mpiio",
			"layers of all": ["hdf5", "mpiio", "posix"],
			command: "mpiexec -n 64 ./app <b>&amp; 'quoted'",
			program: "app",
			form: { program: "./app", arguments: "<b>&amp;", mpi: "mpich", ranks: "64", nodes: "2" },
			"in part": [],
			"left out": null,
		},
	],
};

const rules: Finding[] = [
	{
		name: "small-accesses",
		title: "Small accesses",
		level: "high",
		seconds: 1.4,
		between: [0.7, 2.1],
		sure: 0.8,
		sentence: "108,000 writes of 8 KiB; larger ones would have taken 1.4 s less of the slowest rank.",
		advice: "Collective buffering: romio_cb_write = enable.",
		knob: "romio_cb_write=enable",
		proof: "fathom tune s3d --try cb_write=enable",
		evidence: [[SLOW, "pwrite, rank 37, 900 ms"]],
		sites: ["/home/u/<script>alert(1)</script>/app.c:120 checkpoint"],
		selection: { ops: "posix:pwrite" },
		screen: "heat",
		sql: "select 1",
	},
	{
		name: "failed-calls",
		title: "Failed calls",
		level: "low",
		seconds: null,
		between: null,
		sure: 1,
		sentence: "3 opens failed.",
		advice: "Look at the paths.",
		knob: null,
		proof: null,
		evidence: [],
		sites: [],
		selection: {},
		screen: "timeline",
		sql: "",
	},
];

const findings: FindingsAnswer = { asked: 40, findings: rules, "not asked": ["Not asked, this run has no samples: loaded-node"] };

function accountShare(which: AccountShare["which"], process: number, causes: Record<string, number>): AccountShare {
	const seconds = Object.values(causes).reduce((sum, one) => sum + one, 0);
	const parts = Object.entries({ ...causes, "not in I/O": 8 - seconds }).map(([cause, took]) => ({ cause, seconds: took }));
	return { which, process, label: `rank ${process}`, title: `${which} process, rank ${process}: ${seconds} s in I/O`, seconds, causes, parts };
}

export const account: AccountAnswer = {
	seconds: 8,
	width: 8,
	causes: [
		["names", "opens, closes, stats, removals"],
		["requests", "requests beyond their bytes"],
		["transfer", "the bytes asked for"],
	],
	processes: [
		accountShare("slowest", 37, { requests: 2, transfer: 1, names: 0.3 }),
		accountShare("median", 5, { requests: 1, transfer: 1, names: 0.1 }),
	],
	prices: ["this run's own accesses"],
	table: table({ process: "count", rank: "count", cause: "text", time: "ns", share: "share" }, [[37, 37, "requests", 2 * SECOND, 0.25]]),
};

export const overview: Overview = {
	facts: [
		["run time", DURATION, "ns"],
		["ranks", RANKS, "count"],
		["written", 3.2e9, "bytes"],
		["I/O share of run time", 0.41, "share"],
	],
	verdict: "I/O is 41 % of this run's time, most of it in MPI_File_write_all of 64 ranks.",
	sentences: ["The slowest rank spends 3.3 s in I/O, the median 2.1 s."],
	landmarks: [
		{ kind: "call", sentence: "pwrite of rank 37 took 900 ms, 300 times the median, at 3.1 s, to /scratch/<img src=x onerror=alert(1)>.h5", selection: { call: SLOW }, screen: "call" },
		{ kind: "rank", sentence: "Rank 37 spends 3.3 s in I/O; the median rank 2.1 s.", selection: { lanes: "37" }, screen: "timeline" },
		{ kind: "server", sentence: "Server oss-03 takes 38 % of the time of 8 servers.", selection: { servers: "oss-03" }, screen: "servers" },
	],
	layers: table({ layer: "text", inclusive: "ns", exclusive: "ns", communication: "ns", calls: "count", bytes: "bytes" }, [
		["hdf5", 100 * SECOND, 4 * SECOND, SECOND, 2000, 3.2e9],
		["mpiio", 95 * SECOND, 20 * SECOND, 10 * SECOND, 8000, 3.2e9],
		["posix", 65 * SECOND, 65 * SECOND, 0, 110_000, 3.3e9],
	]),
	rate: table(
		{ time: "ns", layer: "text", "bytes read": "bytes", "bytes written": "bytes" },
		Array.from({ length: 100 }, (_, at) => [at * 0.08 * SECOND, "posix", at > 90 ? 4e6 : 0, at % 25 < 8 ? 5e7 : 0]),
	),
	missing: ["Servers were not traced: what they did is seen from the clients only."],
	cost: "Tracing cost 3.7 ms, 0.05 % of the run.",
};

export const lanes = table(
	{ lane: "lane", label: "text", rank: "count", process: "count", node: "text", threads: "count", "io time": "ns", bytes: "bytes", calls: "count" },
	Array.from({ length: RANKS }, (_, lane) => [lane, `rank ${lane}`, lane, lane, `node${lane >> 5}`, 1, 2 * SECOND, 5e7, 1700]),
);

const slow = { call: SLOW, lane: 37, start: 3.1 * SECOND, duration: 0.9 * SECOND, layer: "posix", op: "pwrite" };
const zoomsOf = [0, 1];

export const zooms: Zooms = {
	width: DURATION / BINS,
	zooms: zoomsOf.map((z) => ({ z, bins: BINS << z, rows: RANKS, lanes_per_row: 1, ready: true })),
	source: "calls",
	note: null,
	outliers: ["hdf5", "mpiio", "posix"].map((layer) => ({ ...slow, layer })),
	sql: "select 1",
};

interface Cell {
	cell: number;
	calls: number;
	time: number;
	bytes: number;
	longest: number;
}

/** Four bursts of writes; later ranks begin later. */
function cells(z: number, x: number): Cell[] {
	const [burst, width]: [Cell[], number] = [[], DURATION / (BINS << z)];
	for (let row = 0; row < RANKS; row++) {
		for (let bin = 0; bin < BINS; bin++) {
			const at = ((x * BINS + bin) * width) / SECOND;
			const planted = row === 37 && at >= 3.1 && at < 4;
			if (!planted && (at - row * 0.008) % 2 > 0.6) continue;
			const longest = planted ? slow.duration : width * (0.1 + ((row * 7 + bin * 13) % 17) / 20);
			burst.push({ cell: row * BINS + bin, calls: planted ? 1 : 12, time: planted ? width : width * (0.05 + ((row * 5 + bin) % 19) / 20), bytes: 65536, longest });
		}
	}
	return burst;
}

export function tile(z: number, x: number): string {
	const filled = cells(z, x);
	const ops = Buffer.from('[["pwrite","write"]]');
	const marked = filled.filter((one) => one.longest === slow.duration).slice(0, 1);
	const body = Buffer.alloc(12 + filled.length * 20 + ops.length + marked.length * 20);
	body.write("FTL1");
	body.writeUInt32LE(filled.length, 4);
	body.writeUInt32LE(ops.length, 8);
	const at = [0, 4, 8, 12, 16].map((width) => 12 + filled.length * width);
	filled.forEach((one, i) => {
		body.writeUInt16LE(one.cell, 12 + i * 2);
		body.writeUInt32LE(one.calls, (at[1] ?? 0) + i * 4);
		body.writeFloatLE(one.time, (at[2] ?? 0) + i * 4);
		body.writeFloatLE(one.bytes, (at[3] ?? 0) + i * 4);
		body.writeFloatLE(one.longest, (at[4] ?? 0) + i * 4);
	});
	let end = 12 + filled.length * 20;
	end += ops.copy(body, end);
	for (const one of marked) {
		body.writeUInt16LE(one.cell, end);
		body.writeBigUInt64LE(BigInt(SLOW), end + 4);
		body.writeDoubleLE(one.longest, end + 12);
	}
	return body.toString("base64");
}

/** Three calls of each lane, one inside the other. */
export function strips(lanes: number[]): Strips {
	const spans = table(
		{ lane: "lane", depth: "count", call: "call", layer: "text", op: "text", kind: "text", start: "ns", duration: "ns", bytes: "bytes", path: "text" },
		lanes.flatMap((lane) => [
			[lane, 0, String(1000 + lane), "hdf5", "H5Dwrite", "write", 2 * SECOND, SECOND, 1 << 20, FILE],
			[lane, 1, String(2000 + lane), "mpiio", "MPI_File_write_all", "write", 2.1 * SECOND, 0.8 * SECOND, 1 << 20, FILE],
			[lane, 2, lane === 37 ? SLOW : String(3000 + lane), "posix", "pwrite", "write", lane === 37 ? 3.1 * SECOND : 2.3 * SECOND, lane === 37 ? 0.9 * SECOND : 0.3 * SECOND, 8192, FILE],
		]),
	);
	return { spans, bins: null, limit: 20_000 };
}

const posix = { call: SLOW, lane: 37, layer: "posix", op: "pwrite", kind: "write", start: 3.1 * SECOND, duration: 0.9 * SECOND, exclusive: 0.9 * SECOND, bytes: 8192, path: "/scratch/<b>out</b>.h5" };
const mpiio = { call: "2037", lane: 37, layer: "mpiio", op: "MPI_File_write_all", kind: "write", start: 3 * SECOND, duration: 1.1 * SECOND, exclusive: 0.2 * SECOND, bytes: 1 << 20, path: "/scratch/<b>out</b>.h5" };
const hdf5 = { call: "1037", lane: 37, layer: "hdf5", op: "H5Dwrite", kind: "write", start: 2.9 * SECOND, duration: 1.3 * SECOND, exclusive: 0.2 * SECOND, bytes: 1 << 20, path: "/scratch/<b>out</b>.h5" };

export const call = {
	call: posix,
	ancestors: [hdf5, mpiio],
	children: [],
	links: [{ kind: "carries", direction: "from", call: { ...mpiio, call: "2001", lane: 1 }, bytes: 4096, confidence: 1 }],
	collective: null,
	siblings: { count: 12, median: "3000", slower: null, next: "3001", previous: null, slowest: SLOW },
	breakdown: {
		layers: [
			["hdf5", 0],
			["mpiio", 0],
			["posix", 0.9 * SECOND],
		],
	},
	kernel: { missed: null, ahead: 0, requests: 2, request_bytes: 8192, device: 0.3 * SECOND, queued: 0.1 * SECOND, paused: 0.5 * SECOND, journal: 0 },
	source: { path: "/home/u/app.c", line: 120, text: [[119, "for (;;)", null], [120, "\tpwrite(fd, b, n, <o>);", [1.5e9, 4096, 12]], [121, "}", null]] },
};

export const tree = table(
	{ call: "call", parent: "call", relation: "text", lane: "lane", layer: "text", op: "text", start: "ns", duration: "ns", nested: "ns", bytes: "bytes", server: "text", calls: "count" },
	[
		["1037", null, "root", 37, "hdf5", "H5Dwrite", hdf5.start, hdf5.duration, mpiio.duration, 1 << 20, null, 1],
		["2037", "1037", "child", 37, "mpiio", "MPI_File_write_all", mpiio.start, mpiio.duration, 0.9 * SECOND, 1 << 20, null, 1],
		[SLOW, "2037", "child", 37, "posix", "pwrite", posix.start, posix.duration, 0, 8192, null, 1],
	],
);

/** All of it by request, as a report holds it. */
export function answers(): Record<string, unknown> {
	const byRequest: Record<string, unknown> = { runs, [`overview?run=${RUN}`]: overview, [`account?run=${RUN}`]: account, [`findings?run=${RUN}`]: findings, [`lanes?run=${RUN}`]: lanes, [`zooms?run=${RUN}`]: zooms };
	for (const [from, to] of [[0, 15], [36, 38], [37, 37]] as const) {
		const lanes = Array.from({ length: to - from + 1 }, (_, at) => from + at);
		byRequest[`strips?lanes=${from === to ? from : `${from}-${to}`}&run=${RUN}&width=1024`] = strips(lanes);
	}
	for (const layer of ["hdf5", "mpiio", "posix"]) {
		for (const z of zoomsOf) for (let x = 0; x <= z; x++) byRequest[`tile?layer=${layer}&run=${RUN}&x=${x}&y=0&z=${z}`] = tile(z, x);
	}
	for (const id of ["1037", "2037", SLOW]) {
		byRequest[`call?call=${id}&run=${RUN}`] = { ...call, call: { "1037": hdf5, "2037": mpiio }[id] ?? posix };
		byRequest[`tree?call=${id}&run=${RUN}`] = tree;
	}
	return byRequest;
}
