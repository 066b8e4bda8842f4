/** Two runs beside each other, as `fathom diff` compares them. */
import { records, type Cell, type Column, type Run, type Table, type Unit } from "../../source";

export interface CompareAnswer {
	a: string;
	b: string;
	/** Of how many runs each side is, in words. */
	"one each": string;
	incomparable: string[];
	note: string | null;
	setup: Table;
	whole: Table;
	layers: Table;
	ops: Table;
	files: Table;
	ranks: Table;
}

export const BY = ["layers", "ops", "files", "ranks"] as const;
export type By = (typeof BY)[number];

/** What a row is, in words. */
const KEYS: Record<string, string[]> = { layers: ["layer"], ops: ["op", "layer", "caller"], files: ["path"], ranks: ["rank"], whole: ["quantity"] };
const DRAWN = 16;

export interface Change {
	name: string;
	a: number | null;
	b: number | null;
	difference: number;
}

function nameOf(by: string, one: Record<string, Cell>): string {
	const [first, ...rest] = (KEYS[by] ?? []).map((key) => one[key]).filter((value) => value !== null && value !== undefined && value !== "");
	const name = by === "ranks" ? `rank ${String(first)}` : String(first);
	const [layer, caller] = rest;
	return layer === undefined ? name : `${name} (${String(layer)}${caller === undefined ? "" : `, called from ${String(caller)}`})`;
}

/** The quantity that rows are compared by: its name without `_a`; exclusive time where there is more than one. */
export function quantity(table: Table): string {
	const names = table.columns.map((one) => one.name).filter((one) => one.endsWith("_a")).map((one) => one.slice(0, -2));
	return names.find((one) => one === "exclusive_seconds") ?? names.find((one) => one.includes("seconds")) ?? names[0] ?? "";
}

/** Rows by the size of their change, the largest first. */
export function changes(table: Table, by: string): Change[] {
	const of = quantity(table);
	const value = (cell: Cell | undefined): number | null => (typeof cell === "number" ? cell : null);
	return records(table)
		.map((one) => ({ name: nameOf(by, one), a: value(one[`${of}_a`]), b: value(one[`${of}_b`]) }))
		.map((one) => ({ ...one, difference: (one.b ?? 0) - (one.a ?? 0) }))
		.sort((x, y) => Math.abs(y.difference) - Math.abs(x.difference));
}

export function drawn(all: Change[]): Change[] {
	return all.filter((one) => one.difference !== 0).slice(0, DRAWN);
}

/** Names of the two runs. */
export type Names = readonly [string, string];

/** A table whose columns a and b bear the runs' names. */
export function named(table: Table, [a, b]: Names): Table {
	const names: Record<string, string> = { a, b };
	return { ...table, columns: table.columns.map((one) => ({ ...one, name: names[one.name] ?? one.name })) };
}

/** For each quantity both runs, their difference and the second as a multiple of the first. */
export function beside(table: Table, by: string, onlyDifferences: boolean, names: Names): Table {
	const keys = KEYS[by] ?? [];
	const quantities = table.columns.filter((one) => one.name.endsWith("_a")).map((one) => ({ name: one.name.slice(0, -2), unit: one.unit })).sort(timesFirst);
	const columns: Column[] = [...table.columns.filter((one) => keys.includes(one.name)), ...quantities.flatMap(({ name, unit }) => columnsOf(words(name), unit, names))];
	const rows = records(table)
		.filter((one) => !onlyDifferences || quantities.some(({ name }) => one[`${name}_a`] !== one[`${name}_b`]))
		.map((one) => [...keys.filter((key) => table.columns.some((each) => each.name === key)).map((key) => one[key] ?? null), ...quantities.flatMap(({ name }) => values(one[`${name}_a`], one[`${name}_b`]))]);
	return { ...table, columns, rows, total: onlyDifferences ? rows.length : table.total };
}

/** Columns that are shown, as many as a window has room for: of what rows are compared by all four, of the rest those of both runs. */
export function shownColumns(table: Table, compared: Table): string[] {
	const main = words(quantity(table));
	return compared.columns.map((one) => one.name).filter((name) => name.startsWith(main) || !/: (change$|.* \/ )/.test(name));
}

/** Other quantities stay in their order. */
function timesFirst(a: { name: string }, b: { name: string }): number {
	return Number(b.name.includes("seconds")) - Number(a.name.includes("seconds"));
}

function words(name: string): string {
	return name.replace("_seconds", "").replace("seconds", "time").replaceAll("_", " ");
}

function columnsOf(name: string, unit: Unit, [a, b]: Names): Column[] {
	return [
		{ name: `${name}, ${a}`, unit },
		{ name: `${name}, ${b}`, unit },
		{ name: `${name}: change`, unit },
		{ name: `${name}: ${b} / ${a}`, unit: "count" },
	];
}

function values(a: Cell | undefined, b: Cell | undefined): Cell[] {
	if (typeof a !== "number" && typeof b !== "number") return [a ?? null, b ?? null, null, null];
	const [x, y] = [Number(a ?? 0), Number(b ?? 0)];
	return [a ?? null, b ?? null, y - x, x > 0 && typeof b === "number" ? y / x : null];
}

/** The run that is compared first: of the same command, else of the same program, the one recorded before it, else the nearest after; of others only where there is none. */
export function counterpart(shown: Run, others: Run[]): string | undefined {
	const distance = (one: Run): number => (one.started <= shown.started ? shown.started - one.started : 1e20 + one.started - shown.started);
	const strange = (one: Run): number => (one.command === shown.command ? 0 : one.program === shown.program ? 1 : 2);
	return [...others].sort((a, b) => strange(a) - strange(b) || distance(a) - distance(b))[0]?.name;
}
