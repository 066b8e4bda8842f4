/** IOPro's queries, typed where statements are, and the bars of their answers. */
import type { Table, Unit } from "../../source";

export interface Picture {
	title: string;
	/** What a bar is. */
	across: string;
	/** What its length is. */
	up: string;
	labels: string[];
	series: { name: string; colour: string; values: number[] }[];
	/** Parts one behind the other; else each from the start, the smaller in front. */
	stacked: boolean;
	logarithmic: boolean;
	/** Behind a bar: the server that it is in. */
	marks: string[];
	/** Of each bar, beside its label. */
	below: string[];
	footnote: string;
}

export interface QueryAnswer {
	query: string;
	tables: { title: string; rows: Table }[];
	picture: Picture;
	servers: [number, string][];
	notes: string[];
}

/** What to begin with: a question, and the query that answers it. */
export const QUERIES: readonly (readonly [string, string])[] = [
	["In which layer is the time of each rank's first calls?", "latency breakdown exclusive all 0-9"],
	["Which requests to servers took longest?", "latency operation max"],
	["How fast was each server?", "throughput"],
];

const BEGIN = /^\s*(latency|throughput|thru\.?|energy|calls?)\b(?!\s*[=(,.])/;

/** Is it a query, and no statement? */
export function isQuery(text: string): boolean {
	return BEGIN.test(text);
}

export function unitOf({ up }: Picture): Unit {
	return up.includes("seconds") ? "s" : up.startsWith("joules") ? "joule" : "count";
}

export interface Part {
	series: number;
	from: number;
	to: number;
}

/** The parts of a bar in the order in which they are painted; of one that is not stacked the longest first. */
export function partsOf({ series, stacked }: Picture, bar: number): Part[] {
	const values = series.map((one, at) => ({ series: at, value: one.values[bar] ?? 0 })).filter(({ value }) => value > 0);
	if (!stacked) return values.sort((a, b) => b.value - a.value).map((one) => ({ series: one.series, from: 0, to: one.value }));
	let from = 0;
	return values.map((one) => ({ series: one.series, from, to: (from += one.value) }));
}

/** Where each bar ends. */
export function ends(picture: Picture): number[] {
	return picture.labels.map((_, bar) => Math.max(0, ...partsOf(picture, bar).map((part) => part.to)));
}
