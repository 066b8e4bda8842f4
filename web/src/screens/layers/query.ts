/** Time by something, layer by layer. */
import { COMMUNICATION } from "../../draw/theme";
import { records, type Cell, type Table } from "../../source";

export const BY = ["layer", "op", "lane", "server", "call"] as const;
export type By = (typeof BY)[number];
export const OF = ["exclusive", "inclusive"] as const;
/** `summed`: of all calls; `wall`: what ran side by side counts once. */
export const COUNTED = ["summed", "wall"] as const;
export type Counted = (typeof COUNTED)[number];

export interface Part {
	layer: string;
	time: number;
	calls: number;
	row: Cell[];
}

/** One bar: all layers of one key. */
export interface Bar {
	key: string;
	label: string;
	total: number;
	parts: Part[];
}

export const DRAWN = 40; // bars; the table has all

/** Bars in the order of the answer's keys by time, layers from the top of the stack down. */
export function bars(table: Table, by: By, counted: Counted, stack: string[], lane: (lane: number) => string = String): Bar[] {
	const byKey = new Map<string, Bar>();
	records(table).forEach((one, at) => {
		const name = String(one["key"]);
		const bar = byKey.get(name) ?? { key: name, label: by === "lane" ? lane(Number(name)) : labelOf(by, name, one["op"]), total: 0, parts: [] };
		const time = timeOf(one, counted);
		bar.parts.push({ layer: String(one["layer"]), time, calls: Number(one["calls"]), row: table.rows[at] ?? [] });
		bar.total += time;
		byKey.set(name, bar);
	});
	const depth = ({ layer }: Part): number => {
		const at = stack.indexOf(layer === COMMUNICATION ? "mpi" : layer);
		return at < 0 ? stack.length : at;
	};
	for (const bar of byKey.values()) bar.parts.sort((a, b) => depth(a) - depth(b));
	return [...byKey.values()].sort((a, b) => b.total - a.total);
}

function timeOf(one: Record<string, Cell>, counted: Counted): number {
	const [summed, overlap] = [Number(one["time"] ?? 0), one["overlap"]];
	return counted === "wall" && typeof overlap === "number" ? summed * (1 - overlap) : summed;
}

function labelOf(by: By, key: string, op: Cell | undefined): string {
	if (by === "call") return op ? `${String(op)}, call ${key}` : `call ${key}`;
	return key;
}

/** Columns in their order: of calls the function comes first, the number last; a layer stands once, unless part of it is communication. */
export function columnsOf({ columns, rows }: Table, by: By): string[] {
	const all = columns.map((one) => one.name);
	const [key, layer] = [all.indexOf("key"), all.indexOf("layer")];
	const names = all.filter((_, at) => by !== "layer" || at !== layer || rows.some((row) => row[at] !== row[key]));
	if (by !== "call" || !names.includes("op")) return names;
	return ["op", ...names.filter((one) => one !== "op" && one !== "key"), "key"];
}

/** Is the time in which something ran known of every row? */
export function knowsWall(table: Table): boolean {
	const at = table.columns.findIndex((one) => one.name === "overlap");
	return at >= 0 && table.rows.length > 0 && table.rows.every((row) => typeof row[at] === "number");
}

/** What a click on a bar narrows the selection to; a call is opened instead. */
export function narrows(by: By, key: string): Record<string, string> | null {
	const parameter = { layer: "layers", op: "ops", lane: "lanes", server: "servers", call: null }[by];
	if (!parameter) return null;
	return { [parameter]: by === "lane" ? key : encodeName(key, by) };
}

/** Names in lists are encoded each, so that they may hold a comma; the colon of an op parts it from its layer. */
function encodeName(name: string, by: By): string {
	const coded = encodeURIComponent(name);
	return by === "op" ? coded.replace("%3A", ":") : coded;
}

/** Server with the most and with the least time, of bars by server. */
export function extremes(all: Bar[]): { most: string; least: string } | null {
	const [first, last] = [all[0], all.at(-1)];
	return first && last && first !== last ? { most: first.key, least: last.key } : null;
}
