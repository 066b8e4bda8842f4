/** What the server answers, as docs/view-api.md has it. */

export type Unit = "ns" | "s" | "bytes" | "bytes/s" | "count" | "hours" | "share" | "joule" | "call" | "lane" | "file" | "text";
export type Cell = string | number | boolean | null;

export interface Column {
	name: string;
	unit: Unit;
}

export interface Table {
	columns: Column[];
	rows: Cell[][];
	total: number;
	sql: string;
	note: string | null;
}

export interface Run {
	name: string;
	path: string;
	live: boolean;
	duration: number;
	started: number;
	ranks: number | null;
	processes: number;
	nodes: number;
	events: number;
	counted: number;
	coverage: number;
	lanes: number;
	layers: string[];
	/** The one by which the program itself spent most of its I/O time. */
	"own layer": string | null;
	/** With what is a run-time's. */
	"layers of all": string[];
	command: string;
	/** Name of the program that the launcher started. */
	program: string;
	/** Fields of the form that would record it again (screen Set up). */
	form: Record<string, string>;
	/** Of which ranks or files less is known than of others: a sentence each. */
	"in part": string[];
	/** What is not the program's but a run-time's; null: nothing. */
	"left out": string | null;
}

/** What a run that still runs does: a look at it. */
export interface Now {
	time: number;
	processes: { running: number; ended: number; killed: number };
	calls: number;
	bytes: number;
	"calls per second": number;
	"bytes per second": number;
	rates: number[];
	groups: Record<string, Table>;
}

export interface Following {
	/** Counts up when all other answers have changed. */
	generation: number;
	/** When what the other answers say was read, ns since 1970. */
	"as of": number;
	now: Now | null;
}

/** A run that still runs was read again. */
export interface Again {
	generation: number;
	"as of": number;
	/** Seconds. */
	took: number;
}

export interface Runs {
	version: string;
	generation: number;
	runs: Run[];
}

export interface Finding {
	name: string;
	title: string;
	level: string;
	/** Of run time won by mending it; null: a danger, not a loss of time. */
	seconds: number | null;
	/** The least and the most that these may be. */
	between: [number, number] | null;
	sure: number;
	sentence: string;
	advice: string;
	/** The setting that mends it from outside; null: there is none. */
	knob: string | null;
	/** The command that shows it; null where no setting would. */
	proof: string | null;
	/** Calls that it stands on, each with its name: function, rank, time. */
	evidence: [string, string][];
	sites: string[];
	selection: Record<string, string>;
	screen: string;
	sql: string;
}

/** What the rules found; why some were not asked, a sentence each. */
export interface FindingsAnswer {
	asked: number;
	findings: Finding[];
	"not asked": string[];
}

/** The I/O time of one process by cause. */
export interface AccountShare {
	which: "slowest" | "median";
	process: number;
	label: string;
	/** Above its bar: whose it is, and how much of the run was I/O. */
	title: string;
	seconds: number;
	/** Seconds of each cause that has any. */
	causes: Record<string, number>;
	/** Of its bar from left to right: little causes together, and what was no I/O. */
	parts: AccountPart[];
}

export interface AccountPart {
	cause: string;
	seconds: number;
}

/** Where the run's time went. */
export interface AccountAnswer {
	/** Of the run. */
	seconds: number;
	/** Seconds of a bar's whole width: of a process whose threads did I/O at once, more than the run's. */
	width: number;
	/** Each part of a bar, and what it is. */
	causes: [string, string][];
	/** None: no I/O call was timed, as the table's note says. */
	processes: AccountShare[];
	/** Where it is from what an access costs alone. */
	prices: string[];
	table: Table;
}

/** When each cause took its seconds: a row per bin and cause. */
export interface OverTimeAnswer {
	table: Table;
}

/** A place to look at first: the longest call, a rank that others wait for, a server above the others. */
export interface Landmark {
	kind: "call" | "rank" | "server";
	sentence: string;
	selection: Record<string, string>;
	screen: string;
}

export interface Overview {
	facts: [string, Cell, Unit][];
	sentences: string[];
	verdict: string;
	landmarks: Landmark[];
	layers: Table;
	rate: Table;
	missing: string[];
	cost: string;
}

export interface Zoom {
	z: number;
	bins: number;
	rows: number;
	lanes_per_row: number;
	/** Else its tiles are worked out from the calls of their lanes when they are asked for. */
	ready: boolean;
}

export interface Outlier {
	call: string;
	lane: number;
	start: number;
	duration: number;
	layer: string;
	op: string;
}

export interface Zooms {
	width: number;
	zooms: Zoom[];
	source: "calls" | "heat" | "none";
	note: string | null;
	outliers: Outlier[];
	/** Gives the cells of the coarsest zoom. */
	sql: string;
}

export interface Strips {
	spans: Table | null;
	bins: Table | null;
	limit: number;
}

/** Every column of `calls` with names resolved; which there are depends on the layer. */
export type Call = Record<string, Cell>;

export interface Bundle {
	layer: string;
	op: string;
	server: string | null;
	calls: number;
	time: number;
	median: number;
	longest: number;
	call: string;
}

export interface Link {
	kind: string;
	direction: string;
	call: Call | string;
	bytes: number | null;
	confidence: number | null;
}

/** Times in ns. */
export interface KernelWork {
	/** Bytes of reads that the page cache did not have, and others that came into it. */
	missed: number | null;
	ahead: number;
	requests: number;
	request_bytes: number;
	device: number;
	queued: number;
	paused: number;
	journal: number;
}

export interface CallAnswer {
	call: Call;
	ancestors: Call[];
	children: (Call | Bundle)[];
	links: Link[];
	collective: (Record<string, unknown> & { members: Call[] }) | null;
	siblings: {
		count: number;
		median: string | null;
		slower: string | null;
		next: string | null;
		previous: string | null;
		slowest: string | null;
	};
	breakdown: { layers: [string, number][] };
	/** What the kernel did in it and in the calls inside; null: not recorded. */
	kernel: KernelWork | null;
	source: SourceLines | null;
}

export interface SourceLines {
	path: string;
	line: number;
	/** Number and text of each line, and ns, bytes and calls of its I/O; null: it does none. */
	text: [number, string, [number, number, number] | null][];
}

/** Column of a table by name: -1 is an answer of another version, and is said. */
export function column(table: Table, name: string): number {
	const index = table.columns.findIndex((one) => one.name === name);
	if (index < 0) throw new Error(`the answer has no column ${name}: reader and server differ in version; start fathom view again`);
	return index;
}

/** All values of a column as numbers; null is 0. */
export function numbers(table: Table, name: string): number[] {
	const index = column(table, name);
	return table.rows.map((row) => Number(row[index] ?? 0));
}

/** Rows as objects by column name. */
export function records(table: Table): Record<string, Cell>[] {
	const names = table.columns.map((one) => one.name);
	return table.rows.map((row) => {
		const record: Record<string, Cell> = {};
		names.forEach((name, index) => (record[name] = row[index] ?? null));
		return record;
	});
}
