/** What lanes do over time: calls one by one, or by pixel the one that lasts longest. */
import { column, type Run, type Strips, type Table } from "../../source";
import type { View } from "../../state/window";

export const WIDTH = 1024; // bins asked for, whatever the window: so that a report has them
export const LANES = 16; // shown at once, beside those that are pinned

/** A call, or what fills one bin of a lane's layer. */
export interface Item {
	lane: number;
	layer: string;
	op: string;
	/** Of `calls.kind`. */
	kind: string;
	/** Of a bin: its longest call. */
	call: string;
	start: number;
	end: number;
	/** Part of the time from start to end that calls take; 1 for a call. */
	busy: number;
	/** ns of the longest call. */
	longest: number;
	depth: number;
	/** Of a call, where it moved any; null of a bin. */
	bytes: number | null;
	/** Of a call, its file. */
	path: string | null;
}

/** What colours tell apart. */
export const COLOURS = ["operation", "layer"] as const;
export type Colouring = (typeof COLOURS)[number];

/** From when until when a process, or a server, held the others up. */
export interface Phase {
	lane: number;
	start: number;
	end: number;
	/** Of the phase, what its I/O took; null of a server. */
	share: number | null;
}

export function phasesOf(table: Table | null): Phase[] {
	if (!table) return [];
	const [lane, start, stop, share] = ["lane", "start", "stop", "share"].map((name) => column(table, name)) as [number, number, number, number];
	return table.rows.map((row) => ({ lane: Number(row[lane]), start: Number(row[start]), end: Number(row[stop]), share: row[share] === null ? null : Number(row[share]) }));
}

/** "0-63:8,70" as numbers, at most `most` of them. */
export function lanesOf(text: string, most: number): number[] {
	const lanes: number[] = [];
	for (const part of text.split(",")) {
		const match = /^(\d+)(?:-(\d+)(?::(\d+))?)?$/.exec(part.trim());
		if (!match) continue;
		const step = Math.max(1, Number(match[3] ?? 1));
		for (let lane = Number(match[1]); lane <= Number(match[2] ?? match[1]) && lanes.length < most; lane += step) lanes.push(lane);
	}
	return lanes;
}

/** Lanes on screen: pinned ones first, then those selected, else the window that is zoomed to. */
export function shownLanes(run: Run, pinned: string, selected: string, view: View, from: number): number[] {
	const first = lanesOf(pinned, LANES).filter((lane) => lane < run.lanes);
	const window = Array.from({ length: Math.min(view.lanes[1], run.lanes) - view.lanes[0] }, (_, at) => view.lanes[0] + at);
	const rest = selected ? lanesOf(selected, run.lanes).filter((lane) => lane < run.lanes) : window;
	const start = Math.max(0, Math.min(from, rest.length - LANES));
	return [...new Set([...first, ...rest.slice(start, start + LANES)])];
}

/** How many lanes there are to page through. */
export function laneCount(run: Run, selected: string, view: View): number {
	return selected ? lanesOf(selected, run.lanes).length : Math.min(view.lanes[1], run.lanes) - view.lanes[0];
}

/** Lanes as a request has them; none when all of the run are meant. */
export function lanesAsked(run: Run, lanes: number[]): string | null {
	if (lanes.length >= run.lanes) return null;
	const sorted = [...lanes].sort((a, b) => a - b);
	const runs: [number, number][] = [];
	for (const lane of sorted) {
		const last = runs.at(-1);
		if (last && lane === last[1] + 1) last[1] = lane;
		else runs.push([lane, lane]);
	}
	return runs.map(([from, to]) => (from === to ? String(from) : `${from}-${to}`)).join(",");
}

/** The answer as items, outer calls before those inside them. */
export function itemsOf(strips: Strips, time: [number, number]): Item[] {
	if (strips.spans) return spans(strips.spans);
	return strips.bins ? bins(strips.bins, time) : [];
}

function spans(table: Table): Item[] {
	const at = places(table, "lane", "depth", "call", "layer", "op", "kind", "start", "duration", "bytes", "path");
	const items = table.rows.map((row): Item => {
		const [lane, depth, call, layer, op, kind, start, duration, bytes, path] = at.map((one) => row[one] ?? null);
		return {
			lane: Number(lane),
			depth: Number(depth),
			call: String(call),
			layer: String(layer),
			op: String(op),
			kind: String(kind),
			start: Number(start),
			end: Number(start) + Number(duration),
			busy: 1,
			longest: Number(duration),
			bytes: bytes === null ? null : Number(bytes),
			path: path === null ? null : String(path),
		};
	});
	return items.sort((a, b) => a.depth - b.depth || a.start - b.start);
}

/** Where these columns stand in a row. */
function places(table: Table, ...names: string[]): number[] {
	return names.map((name) => column(table, name));
}

function bins(table: Table, [from, to]: [number, number]): Item[] {
	const at = places(table, "lane", "layer", "bin", "op", "busy", "call", "longest", "kind");
	const width = (to - from) / WIDTH;
	const isShare = table.columns[at[4] ?? 0]?.unit === "share";
	return table.rows.map((row): Item => {
		const [lane, layer, bin, op, busy, call, longest, kind] = at.map((one) => row[one] ?? null);
		return {
			lane: Number(lane),
			depth: 0,
			call: String(call),
			layer: String(layer),
			op: String(op),
			kind: String(kind),
			start: from + Number(bin) * width,
			end: from + (Number(bin) + 1) * width,
			busy: Math.min(1, isShare ? Number(busy) : Number(busy) / width),
			longest: Number(longest),
			bytes: null,
			path: null,
		};
	});
}

/** Does a search mean this item? By function, layer or file. */
export function matches(item: Item, words: string): boolean {
	const wanted = words.trim().toLowerCase();
	return wanted === "" || [item.op, item.layer, item.path ?? ""].some((one) => one.toLowerCase().includes(wanted));
}

/** The match after an item in time, the first again after the last; and the number it has among all. */
export function nextMatch(items: Item[], words: string, after: Item | null): { item: Item; at: number; of: number } | null {
	const found = items.filter((one) => matches(one, words)).sort((a, b) => a.start - b.start || a.depth - b.depth);
	const at = after ? (found.indexOf(after) + 1) % Math.max(1, found.length) : 0;
	const item = found[at];
	return item ? { item, at: at + 1, of: found.length } : null;
}

/** The layers of each lane that have calls, in the order of the stack; of a lane without calls none. */
export function rowsOf(items: Item[], lanes: number[], layers: string[]): Map<number, string[]> {
	const there = new Set(items.map((one) => rowName(one.lane, one.layer)));
	return new Map(lanes.map((lane) => [lane, layers.filter((layer) => there.has(rowName(lane, layer)))]));
}

/** The item that a key leads to: left and right in its row, up and down to the nearest in time of the next row. */
export function neighbour(items: Item[], rows: string[], from: Item, key: string): Item | null {
	const rowOf = (one: Item): number => rows.indexOf(rowName(one.lane, one.layer));
	const at = rowOf(from);
	if (key === "ArrowLeft" || key === "ArrowRight") {
		const same = items.filter((one) => rowOf(one) === at).sort((a, b) => a.start - b.start || b.end - a.end);
		return same[same.indexOf(from) + (key === "ArrowRight" ? 1 : -1)] ?? null;
	}
	const by = key === "ArrowDown" ? 1 : -1;
	for (let row = at + by; row >= 0 && row < rows.length; row += by) {
		const there = items.filter((one) => rowOf(one) === row);
		if (there.length) return there.reduce((a, b) => (distance(a, from) <= distance(b, from) ? a : b));
	}
	return null;
}

function distance(a: Item, b: Item): number {
	return Math.max(0, a.start - b.end, b.start - a.end) || Math.abs(a.start - b.start) / 1e12;
}

export function rowName(lane: number, layer: string): string {
	return `${lane} ${layer}`;
}
