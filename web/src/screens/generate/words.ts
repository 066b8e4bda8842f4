/** Statements of the hints language that the form writes; docs/generate-language.md. */
import type { Block, Mistake, Part, Statement } from "./query";
import { isPoint } from "./edit";

export interface Named {
	name: string;
	statement: Statement;
}

export function statements(blocks: Block[], kind: string): Statement[] {
	return blocks.filter((one) => one.kind === kind).flatMap((one) => one.statements);
}

/** `NAME` or `NAME as "PATH"`. */
export function splitName(head: string): { name: string; path: string } {
	const match = /^(.*?)\s+as\s+"([^"]*)"?$/s.exec(head);
	return { name: match?.[1] ?? head, path: match?.[2] ?? "" };
}

export function joinName(name: string, path: string): string {
	return path === "" ? name : `${name} as "${path}"`;
}

/** A member of a type: `TYPE NAME`, or `TYPE NAME[LENGTH]`. */
export interface MemberWords {
	type: string;
	name: string;
	length: string;
}

export function memberOf(text: string): MemberWords {
	const [, type = "", name = "", length = ""] = /^(\S*)\s*([^\s[]*)\s*(?:\[\s*(\d*)\s*\]?)?/.exec(text) ?? [];
	return { type, name, length };
}

export function memberText({ type, name, length }: MemberWords): string {
	return `${type} ${name}${length === "" ? "" : `[${length}]`}`;
}

export function names(blocks: Block[], kind: string): string[] {
	return statements(blocks, kind).map((one) => splitName(one.head.text).name);
}

/** Dimensions of each variable, slowest first. */
export function dimensionsOf(blocks: Block[], variable: string): string[] {
	const definition = statements(blocks, "variables").find((one) => splitName(one.head.text).name === variable);
	return (definition?.parts.slice(2) ?? []).map((one) => one.text);
}

/** A name that none of these is. */
export function fresh(wanted: string, taken: string[]): string {
	if (!taken.includes(wanted)) return wanted;
	for (let number = 2; ; number++) if (!taken.includes(`${wanted}${number}`)) return `${wanted}${number}`;
}

function isUnlimited(blocks: Block[], name: string): boolean {
	return statements(blocks, "dimensions").find((one) => one.head.text === name)?.parts[0]?.text === "unlimited";
}

/** What rank r of n moves where one dimension is cut evenly: start and count of each. */
export function evenly(blocks: Block[], dims: string[], cut: string): [string, string][] {
	return dims.map((one) => (one === cut ? [`rank * (${one} / nprocs)`, `${one} / nprocs`] : isUnlimited(blocks, one) ? ["0", "1"] : ["0", one]));
}

/** The first dimension that can be cut. */
export function cutOf(blocks: Block[], dims: string[]): string {
	return dims.find((one) => !isUnlimited(blocks, one)) ?? dims[0] ?? "";
}

export type Form = "array" | "global" | "list" | "one" | "list-one";
export const FORMS: Record<Form, string> = {
	array: "every rank, by a formula",
	global: "every rank, in a grid",
	list: "every rank, several boxes",
	one: "one rank alone",
	"list-one": "one rank, several boxes",
};

export interface Access {
	form: Form;
	/** Which rank, where it is one. */
	process: Part | null;
	variable: Part | undefined;
	/** What stands between variable and buffer. */
	numbers: Part[];
	buffer: Part | undefined;
}

/** A statement of an I/O point by its parts. */
export function accessOf({ head, parts }: Statement): Access {
	const isGlobal = head.text === "global";
	const process = isGlobal ? null : (parts[0] ?? null);
	const rest = isGlobal ? parts : parts.slice(1);
	const alone = process !== null && process.text !== "*";
	const form = isGlobal ? "global" : head.text === "list" ? (alone ? "list-one" : "list") : alone ? "one" : "array";
	return { form, process: alone ? process : null, variable: rest[0], numbers: rest.slice(1, -1), buffer: rest.length > 1 ? rest.at(-1) : undefined };
}

/** An access in a form, with the usual numbers: one dimension cut evenly over the ranks. */
export function accessText(blocks: Block[], form: Form, variable: string, buffer: string, cut?: string): string {
	const dims = dimensionsOf(blocks, variable);
	const along = cut ?? cutOf(blocks, dims);
	const parts = evenly(blocks, dims, along);
	const whole = dims.map((one) => (isUnlimited(blocks, one) ? "1" : one));
	const tuple = (all: string[]): string => `<${all.join(", ")}>`;
	const lengths = dims.map((one, at) => (one === along ? `${one} / nprocs` : (whole[at] ?? one)));
	if (form === "global") {
		const grid = dims.map((one) => (one === along ? "nprocs" : "1"));
		return `global: ${variable}, ${tuple(grid)}, ${tuple(dims.map(() => "0"))}, ${tuple(lengths)}, ${tuple(lengths)}, ${buffer};`;
	}
	if (form === "list") return `list: *, ${variable}, ${tuple(parts.map(([start]) => start))} ${tuple(lengths)}, ${buffer};`;
	if (form === "list-one") return `list: 0, ${variable}, ${tuple(dims.map(() => "0"))} ${tuple(whole)}, ${buffer};`;
	const numbers = form === "one" ? whole.flatMap((one) => ["0", one]) : parts.flat();
	return [`array: ${form === "one" ? "0" : "*"}`, variable, ...numbers, `${buffer};`].join(", ");
}

/** What a first I/O point is shown with, where nothing is described yet. */
export const FIRST: [string, string[]][] = [
	["options", ["name: checkpoint;", "library: pnetcdf;", "processes: 4;"]],
	["dimensions", ["y: 1024;", "x: 1024;"]],
	["variables", ["field: double, 2, y, x;"]],
];
export const FIRST_ACCESS = "array: *, field, rank * (y / nprocs), y / nprocs, 0, x, field;";

/** Accesses of a new point: those of the last of the other kind, so that what is written is read; else of every variable. */
export function accessesFor(blocks: Block[], text: string, kind: string): string[] {
	const other = blocks.filter((one) => isPoint(one) && one.kind !== kind).at(-1);
	if (other?.statements.length) return other.statements.map((one) => text.slice(one.start, one.end).replace(/\s*\n\s*(!\$iog)?\s*/g, " "));
	return names(blocks, "variables").map((one) => accessText(blocks, "array", one, one));
}

export interface Step {
	title: string;
	says: string;
	done: boolean;
}

/** How far somebody is; the first that is not done says what to do. */
export function steps(blocks: Block[], mistake: Mistake | null, opened: boolean): Step[] {
	const points = blocks.filter(isPoint);
	const moves = points.length > 0 && points.every((one) => one.statements.length > 0);
	return [
		{ title: "Program", says: "open your source, or begin with a small one", done: opened },
		{ title: "Where", says: "click the line below which data is written or read, then press “Write below”", done: points.length > 0 },
		{ title: "What", says: "name dimensions and variables", done: statements(blocks, "variables").length > 0 && statements(blocks, "dimensions").length > 0 },
		{ title: "Who", says: "say which part each rank moves", done: moves },
		{ title: "Code", says: "mend what is said to be wrong", done: moves && mistake === null },
	];
}

/** Is a place in it, or at its end? */
export function holds(one: { start: number; end: number }, at: number | undefined): boolean {
	return at !== undefined && one.start <= at && at <= one.end;
}

/** A second point of a kind has a name: `write write2` is `write` called write2. */
export function blockName(kind: string, name: string): string {
	return name === kind ? kind : `${kind} ${name}`;
}

/** Is what is wrong only that something is not there yet? The steps say that. */
export function isBare(blocks: Block[], mistake: Mistake | null): boolean {
	const inStatement = blocks.some((block) => block.statements.some((one) => holds(one, mistake?.at)));
	return !inStatement && steps(blocks, null, true).some((one) => !one.done);
}
