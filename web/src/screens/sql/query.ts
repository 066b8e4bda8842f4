/** Statements of one's own on a run, and what of their rows can be drawn. */
import { numeric } from "../../draw/units";
import { records, type Cell, type Table } from "../../source";

export interface SchemaColumn {
	name: string;
	type: string;
	meaning: string | null;
}

export interface SchemaTable {
	name: string;
	columns: SchemaColumn[];
}

/** Columns by table, as the answer of `schema` has them: a row for each column. */
export function tablesOf(schema: Table): SchemaTable[] {
	const byName = new Map<string, SchemaTable>();
	for (const one of records(schema)) {
		const name = String(one["table"]);
		const entry = byName.get(name) ?? { name, columns: [] };
		entry.columns.push({ name: String(one["column"]), type: String(one["type"]), meaning: one["meaning"] === null ? null : String(one["meaning"]) });
		byName.set(name, entry);
	}
	return [...byName.values()];
}

export const LIMIT = 1000;
export const FIRST = "select layer, op, count(*) as calls, sum(duration) / 1e9 as seconds, sum(bytes) as bytes\nfrom calls\ngroup by all\norder by seconds desc";

/** What to begin with: a question, and the statement that answers it. */
export const EXAMPLES: readonly (readonly [string, string])[] = [
	["Which functions take the time?", FIRST],
	["Which files take the time?", "select path, sum(calls) as calls, sum(time) / 1e9 as seconds, sum(bytes) as bytes\nfrom counters join files using (file)\ngroup by path\norder by seconds desc\nlimit 20"],
	["How much did each process move, in how many calls?", "select rank, process, sum(calls) as calls, sum(bytes) as bytes\nfrom counters join processes using (process)\nwhere layer = 'posix' and kind in ('read', 'write')\ngroup by all\norder by bytes desc"],
	["Which accesses are below 4 KiB?", "select layer, op, path, count(*) as calls, sum(duration) / 1e9 as seconds\nfrom calls join files using (file)\nwhere calls.kind in ('read', 'write') and bytes < 4096\ngroup by all\norder by calls desc"],
	["Which lines of the program made the calls?", "select source, line, function, op, count(*) as calls, sum(duration) / 1e9 as seconds\nfrom calls join sites using (site)\ngroup by all\norder by seconds desc\nlimit 20"],
];

/** Columns that a chart can have on its axes. */
export function drawable(table: Table): { labels: string[]; values: string[] } {
	const isNumber = (at: number): boolean => table.rows.some((row) => typeof row[at] === "number") && table.rows.every((row) => row[at] === null || typeof row[at] === "number");
	const names = table.columns.map((one) => one.name);
	return { labels: names, values: names.filter((_, at) => isNumber(at)) };
}

export interface Bar {
	label: string;
	value: number;
}

export const BARS = 40;

/** The first rows as bars. */
export function bars(table: Table, label: string, value: string): Bar[] {
	const at = (name: string): number => table.columns.findIndex((one) => one.name === name);
	const [labels, values] = [at(label), at(value)];
	return table.rows.slice(0, BARS).map((row) => ({ label: text(row[labels]), value: Number(row[values] ?? 0) }));
}

function text(cell: Cell | undefined): string {
	return cell === null || cell === undefined ? "–" : String(cell);
}

/** The columns that are drawn first: the first that is text, the first number that is no id. */
export function firstChoice(table: Table): { label: string; value: string } | null {
	const { labels, values } = drawable(table);
	const label = table.columns.find((one) => !numeric(one.unit) && !values.includes(one.name))?.name ?? labels[0];
	const value = values.find((one) => one !== label && !/^(id|call|file|lane|process|stream|thread)$/.test(one)) ?? values.find((one) => one !== label);
	return label !== undefined && value !== undefined ? { label, value } : null;
}

/** Text with a word put where the cursor stands. */
export function inserted(into: string, word: string, from: number, to: number): string {
	return into.slice(0, from) + word + into.slice(to);
}
