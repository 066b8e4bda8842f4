/** One call and all below it, from the flat table of `tree`. */
import { count, size, time } from "../../draw/units";
import { column, type Bundle, type Call, type Cell, type Column, type Finding, type KernelWork, type SourceLines, type Table, type Unit } from "../../source";

export interface Node {
	/** Of a bundle: its longest call. */
	call: string;
	parent: string | null;
	relation: string;
	lane: number;
	layer: string;
	op: string;
	start: number;
	duration: number;
	nested: number;
	bytes: number | null;
	server: string | null;
	/** 1, or how many calls a bundle holds. */
	calls: number;
	depth: number;
	children: Node[];
}

/** A call that is both made by and linked with its parent is one row of the picture: the first. */
function once(nodes: Node[]): Node[] {
	const seen = new Set<string>();
	return nodes.filter((one) => one.calls > 1 || (!seen.has(one.call) && seen.add(one.call)));
}

/** The root of a tree; null when the table has no rows. Rows whose parent is not there stand below the root. */
export function treeOf(table: Table): Node | null {
	const nodes = once(table.rows.map((row) => nodeOf(table, row)));
	const byCall = new Map(nodes.filter((one) => one.calls === 1).map((one) => [one.call, one]));
	const root = nodes.find((one) => one.parent === null || !byCall.has(one.parent)) ?? null;
	if (!root) return null;
	for (const one of nodes) {
		if (one !== root) (byCall.get(one.parent ?? "") ?? root).children.push(one);
	}
	deepen(root, 0);
	return root;
}

function nodeOf(table: Table, row: Cell[]): Node {
	const cell = (name: string): Cell => row[column(table, name)] ?? null;
	const text = (name: string): string | null => (cell(name) === null ? null : String(cell(name)));
	return {
		call: text("call") ?? "",
		parent: text("parent"),
		relation: text("relation") ?? "",
		lane: Number(cell("lane") ?? 0),
		layer: text("layer") ?? "",
		op: text("op") ?? "",
		start: Number(cell("start") ?? 0),
		duration: Number(cell("duration") ?? 0),
		nested: Number(cell("nested") ?? 0),
		bytes: cell("bytes") === null ? null : Number(cell("bytes")),
		server: text("server"),
		calls: Number(cell("calls") ?? 1),
		depth: 0,
		children: [],
	};
}

function deepen(node: Node, depth: number): void {
	node.depth = depth;
	node.children.sort((a, b) => a.start - b.start || b.duration - a.duration);
	for (const child of node.children) deepen(child, depth + 1);
}

/** All nodes, each before what is below it. */
export function flat(root: Node): Node[] {
	return [root, ...root.children.flatMap(flat)];
}

/** Nodes placed in rows: one depth below the other, what overlaps in time at one depth side by side in rows of its own. */
export interface Placed {
	node: Node;
	row: number;
}

export function rowsOf(root: Node): { placed: Placed[]; rows: number } {
	const byDepth: Node[][] = [];
	for (const node of flat(root)) (byDepth[node.depth] ??= []).push(node);
	const placed: Placed[] = [];
	let first = 0;
	for (const nodes of byDepth) {
		const ends: number[] = []; // of each row of this depth, when it is free again
		for (const node of nodes.sort((a, b) => a.start - b.start)) {
			let row = ends.findIndex((end) => end <= node.start);
			if (row < 0) row = ends.length;
			ends[row] = node.start + node.duration;
			placed.push({ node, row: first + row });
		}
		first += ends.length;
	}
	return { placed, rows: first };
}

/** The node that an arrow key leads to: up the stack, down to the first below, to the sides among siblings. */
export function step(root: Node, from: string, key: string): Node | null {
	const all = flat(root);
	const focused = all.find((one) => one.call === from) ?? root;
	const parent = all.find((one) => one.children.includes(focused));
	if (key === "ArrowUp") return parent ?? null;
	if (key === "ArrowDown") return focused.children[0] ?? null;
	const siblings = parent?.children ?? [focused];
	return siblings[siblings.indexOf(focused) + (key === "ArrowRight" ? 1 : -1)] ?? null;
}

const UNITS: Record<string, Unit> = { start: "ns", duration: "ns", nested: "ns", exclusive: "ns", size: "bytes", bytes: "bytes", lane: "lane" };
const HIDDEN = ["args", "hints", "site", "call", "id"];

export function unitOf(name: string): Unit {
	return UNITS[name] ?? "text";
}

/** What is known of a call, in the order of the answer, without what has a place of its own. */
export function known(call: Call): [string, Cell][] {
	return Object.entries(call).filter(([name, value]) => value !== null && !HIDDEN.includes(name) && typeof value !== "object");
}

/** Names and values below one key of a call: arguments as an object, hints as a list of `key`, `value`, `source`. */
export function details(call: Call, name: string): [string, string][] {
	const value: unknown = call[name];
	if (value === null || value === undefined || typeof value !== "object") return [];
	if (!Array.isArray(value)) return Object.entries(value).map(([key, one]): [string, string] => [key, textOf(one)]);
	const pairs = (value as Record<string, unknown>[]).map((one): [string, string] => [textOf(one["key"]), `${textOf(one["value"])} (${textOf(one["source"])})`]);
	return [...new Map(pairs.map((pair) => [pair.join(), pair])).values()];
}

/** Where a call was made in the program; "" when that is not known. */
export function siteOf(call: Call): string {
	const site = call["site"] as unknown as Record<string, Cell> | null | undefined;
	if (!site || typeof site !== "object") return "";
	const line = site["source"] ? `${site["source"]}:${site["line"] ?? "?"}` : String(site["module"] ?? "");
	return `${site["function"] ?? "?"}, ${line}`;
}

/** The functions that led to a call, outermost first; none where only its own line is known. */
export function pathOf(call: Call): string[] {
	const site = call["site"] as unknown as { path?: string[] } | null | undefined;
	const path = site?.path ?? [];
	return path.length > 1 ? path : [];
}

/** What the kernel did in a call, in words: "" where it did no more than copy from and to memory. */
export function kernelWords(work: KernelWork): string {
	const parts: [number | null, string][] = [
		[work.missed, `${size(work.missed ?? 0)} were not in the page cache`],
		[work.ahead, `${size(work.ahead)} more came into it`],
		[work.requests, `${count(work.requests)} requests of ${size(work.request_bytes)} to devices, queued ${time(work.queued)}`],
		[work.device, `${time(work.device)} while devices were at work`],
		[work.paused, `${time(work.paused)} paused, until memory had room for what it wrote`],
		[work.journal, `${time(work.journal)} while a journal was committed`],
	];
	return parts
		.filter(([amount]) => amount)
		.map(([, words]) => words)
		.join("; ");
}

/** Heads the columns of `margin`. */
export const MARGIN = "     time       bytes      calls";

/** What I/O a line does, or as much room. */
export function margin(amounts: SourceLines["text"][number][2]): string {
	if (!amounts) return " ".repeat(MARGIN.length);
	const [ns, bytes, calls] = amounts;
	return `${time(ns).padStart(9)}  ${size(bytes).padStart(10)}  ${count(calls).padStart(9)}`;
}

/** Those that name a line; they say PATH:LINE FUNCTION. */
export function findingsAt(findings: Finding[], path: string, line: number): Finding[] {
	const place = `${path}:${line}`;
	return findings.filter(({ sites }) => sites.some((site) => site === place || site.startsWith(`${place} `)));
}

function textOf(value: unknown): string {
	return typeof value === "string" ? value : JSON.stringify(value);
}

/** Where a call and another of its kind differ: name, this, that, this over that where both are numbers. */
export function differences(call: Call, other: Call): Table {
	const rows: Cell[][] = [];
	for (const [name, value] of known(call)) {
		const that = other[name] ?? null;
		if (value === that) continue;
		const ratio = typeof value === "number" && typeof that === "number" && that > 0 && unitOf(name) !== "text" && name !== "start" ? value / that : null;
		rows.push([name, value, that, ratio]);
	}
	const columns: Column[] = [
		{ name: "what", unit: "text" },
		{ name: "this call", unit: "text" },
		{ name: "median sibling", unit: "text" },
		{ name: "ratio", unit: "count" },
	];
	return { columns, rows, total: rows.length, sql: "", note: null };
}

export function isBundle(one: Call | Bundle): one is Bundle {
	return typeof (one as Bundle).longest === "number" && Number((one as Bundle).calls) > 1;
}

/** The outermost of a call and what it was called from. */
export function outermost(call: Call, ancestors: Call[]): string {
	const all = [...ancestors, call];
	const first = all.reduce((a, b) => (Number(b["start"]) < Number(a["start"]) || (b["start"] === a["start"] && Number(b["duration"]) > Number(a["duration"])) ? b : a));
	return idOf(first);
}

export function idOf(call: Call): string {
	return String(call["call"] ?? call["id"]);
}

/** Calls as a table of times and places. */
export function callTable(calls: Call[], names: readonly string[]): Table {
	const columns = names.map((name) => ({ name, unit: unitOf(name) }));
	const rows = calls.map((call) => names.map((name) => (name === "call" ? idOf(call) : (call[name] ?? null))));
	return { columns, rows, total: rows.length, sql: "", note: null };
}
