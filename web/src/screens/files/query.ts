/** The tree job, rank, file, operation, call; and where in a file its bytes went. */
import { byteAxis, laneAxis, multiples, timeAxis, type Bins } from "../../draw/axis";
import type { CellMap } from "../../draw/cells";
import { layerColour, type Palette } from "../../draw/theme";
import type { Track } from "../../draw/tracks";
import { size, time } from "../../draw/units";
import { column, numbers, records, type Cell, type Parameters, type Table } from "../../source";
import { laneWord, lanesWord } from "../../state/lanes";

export interface FilesAnswer {
	under: string;
	table: Table;
}

export const ORDERS = ["by file", "by rank"] as const;
export type Order = (typeof ORDERS)[number];
export const PAGE = 20; // rows of a node on the page at a time

type Kind = "job" | "rank" | "folder" | "file" | "op" | "call";

/** A row of the tree, and what narrows the selection to what is below it. */
export interface Node {
	kind: Kind;
	label: string;
	narrows: Record<string, string>;
	/** Of a folder: what lies in it. */
	under: string;
	file: number | null;
	call: string | null;
	values: { calls: number | null; read: number | null; written: number | null; time: number };
}

export const ROOT: Node = { kind: "job", label: "all of the job", narrows: {}, under: "", file: null, call: null, values: { calls: null, read: null, written: null, time: 0 } };

const BELOW: Record<Order, Record<Kind, "rank" | "file" | "op" | "call" | null>> = {
	"by rank": { job: "rank", rank: "file", folder: "file", file: "op", op: "call", call: null },
	"by file": { job: "file", folder: "file", file: "rank", rank: "op", op: "call", call: null },
};

/** What to ask for the rows below a node; null: it is a leaf. */
export function below(node: Node, order: Order): Parameters | null {
	const by = BELOW[order][node.kind];
	return by && { ...node.narrows, by, ...(by === "file" && node.under ? { under: node.under } : {}) };
}

/** The rows below a node. */
export function children(node: Node, order: Order, { table, under }: FilesAnswer): Node[] {
	const by = BELOW[order][node.kind];
	if (!by) return [];
	return records(table).map((one): Node => {
		const values = { calls: by === "call" ? null : Number(one["calls"]), read: numberOf(one["bytes read"]), written: numberOf(one["bytes written"]), time: Number(one["time"] ?? one["duration"] ?? 0) };
		return { ...ROOT, file: node.file, narrows: node.narrows, values, ...row(by, one, node, under) };
	});
}

function row(by: "rank" | "file" | "op" | "call", one: Record<string, Cell>, { narrows }: Node, under: string): Partial<Node> & { kind: Kind; label: string } {
	if (by === "rank") return { kind: "rank", label: String(one["label"]), narrows: { ...narrows, lanes: String(one["lane"]) } };
	if (by === "call") return { kind: "call", label: `${String(one["op"])} at ${time(Number(one["start"]))}`, call: String(one["call"]), values: ofCall(one) };
	if (by === "op") {
		const [layer, op] = [String(one["layer"]), String(one["op"])];
		return { kind: "op", label: `${layer}:${op}`, narrows: { ...narrows, ops: `${encodeURIComponent(layer)}:${encodeURIComponent(op)}` }, values: ofOp(one) };
	}
	const path = String(one["path"]);
	const label = path.startsWith(under) && path.length > under.length ? path.slice(under.length) : path;
	if (one["file"] === null) return { kind: "folder", label: `${label} (${String(one["files"])} ${one["files"] === 1 ? "file" : "files"})`, under: path };
	return { kind: "file", label: narrows["under"] ? label : path, file: Number(one["file"]), narrows: { ...narrows, files: String(one["file"]) } };
}

function numberOf(value: Cell | undefined): number | null {
	return typeof value === "number" ? value : null;
}

/** An operation reads or writes; a call has the bytes that it moved. */
function ofOp(one: Record<string, Cell>): Node["values"] {
	const bytes = numberOf(one["bytes"]);
	return { calls: Number(one["calls"]), read: one["kind"] === "read" ? bytes : null, written: one["kind"] === "write" ? bytes : null, time: Number(one["time"] ?? 0) };
}

function ofCall(one: Record<string, Cell>): Node["values"] {
	const [op, bytes] = [String(one["op"]), numberOf(one["bytes"])];
	const reads = /read|get/i.test(op);
	return { calls: null, read: reads ? bytes : null, written: reads ? null : bytes, time: Number(one["duration"] ?? 0) };
}

export interface AccessAnswer {
	/** Null: no call is on a file. */
	file: number | null;
	path: string | null;
	x: Bins;
	y: Bins;
	layers: string[];
	cells: Table;
	stripe: number | null;
	block: number | null;
	sizes: Table;
}

export const KINDS = ["read and written", "read", "written"] as const;
export type Moved = (typeof KINDS)[number];
const BOUNDARIES = 64; // lines; more could not be told apart

/** Bytes by place and time, or by place and lane. */
export function accessMap(access: AccessAnswer, across: "time" | "lane", moved: Moved, lanes: number): CellMap {
	const { x, y, cells: table } = access;
	const [xs, ys, bytes, kind] = [numbers(table, "x"), numbers(table, "y"), numbers(table, "bytes"), column(table, "kind")];
	const wanted = { "read and written": null, read: "read", written: "write" }[moved];
	const sums = new Map<number, number>();
	table.rows.forEach((one, at) => {
		if (wanted && one[kind] !== wanted) return;
		const cell = (xs[at] ?? 0) + (ys[at] ?? 0) * x.bins;
		sums.set(cell, (sums.get(cell) ?? 0) + (bytes[at] ?? 0));
	});
	const cells = [...sums].filter(([, sum]) => sum > 0).map(([cell, sum]) => [cell % x.bins, Math.floor(cell / x.bins), sum] as const);
	return { x: across === "time" ? timeAxis(x) : laneAxis({ ...x, bins: columns(x, lanes) }, [laneWord.value, lanesWord(2)]), y: byteAxis(y), cells, says: size, what: moved, lines: boundaries(access) };
}

/** A picture of four lanes has four columns. */
function columns({ begin, width, bins }: Bins, lanes: number): number {
	return Math.max(1, Math.min(bins, Math.ceil((lanes - begin) / width)));
}

/** Boundaries of stripes, or of blocks, while they can be told apart. */
export function boundaries({ y, stripe, block }: AccessAnswer): { at: number[]; label: string }[] {
	for (const [step, what] of [[block, "blocks"], [stripe, "stripes"]] as const) {
		const places = step ? multiples(y, step, BOUNDARIES) : [];
		if (step && places.length > 0) return [{ at: places.map((one) => (one - y.begin) / y.width), label: `boundaries of ${what} of ${size(step)}` }];
	}
	return [];
}

export interface SizeBar {
	label: string;
	read: number;
	written: number;
}

/** Calls of each size of access, of the layers that are drawn. */
export function sizeBars(sizes: Table, layers: string[]): SizeBar[] {
	const bars = new Map<number, SizeBar>();
	for (const one of records(sizes)) {
		if (!layers.includes(String(one["layer"]))) continue;
		const from = Number(one["from"]);
		const end = one["below"] === null ? " and more" : ` to ${size(Number(one["below"]))}`;
		const bar = bars.get(from) ?? { label: `${size(from)}${end}`, read: 0, written: 0 };
		bar[one["kind"] === "read" ? "read" : "written"] += Number(one["calls"]);
		bars.set(from, bar);
	}
	return [...bars].sort(([a], [b]) => a - b).map(([, bar]) => bar);
}

export interface CoverageAnswer {
	begin: number;
	step: number;
	layers: string[];
	/** Layers whose reads count as asked. */
	"asked of": string[];
	bins: Table;
	sums: Record<string, number | null>;
}

/** What is told of a file's bytes, in words: a library above may have been asked for less. */
export function covered({ "asked of": layers }: CoverageAnswer): [string, string][] {
	return [
		["asked", `asked for by reads${layers.length > 0 ? ` of layer ${layers.join(", ")}` : ""}`],
		["read", "read"],
		["unused", "read but not asked for"],
		["read twice", "read twice"],
		["written", "written"],
		["written twice", "written twice"],
	];
}

/** For each part of the file how many of its bytes were asked for, read, read for nothing and so on; what is not known has no track. */
export function coverageTracks(coverage: CoverageAnswer): Track[] {
	const { bins, step } = coverage;
	const marked = ["unused", "read twice", "written twice"];
	return covered(coverage).flatMap(([name, says]) => {
		const at = column(bins, name);
		if (bins.rows.every((row) => row[at] === null)) return [];
		const values = bins.rows.map((row) => numberOf(row[at]));
		return [{ name: says, least: values, most: values, says: size, colour: (palette: Palette) => (marked.includes(name) ? palette.mark : layerColour(palette, "posix")), top: step }];
	});
}
