/** Edits of a text by places in it. Nothing here knows what a text means: the server does. */
import type { Block, Hints, Part, Statement } from "./query";

export interface Edit {
	start: number;
	end: number;
	text: string;
}

export function edited(text: string, { start, end, text: put }: Edit): string {
	return text.slice(0, start) + put + text.slice(end);
}

/** The one edit that makes `after` of `before`. */
export function difference(before: string, after: string): Edit {
	const most = Math.min(before.length, after.length);
	let start = 0;
	while (start < most && before[start] === after[start]) start++;
	let same = 0;
	while (same < most - start && before[before.length - 1 - same] === after[after.length - 1 - same]) same++;
	return { start, end: before.length - same, text: after.slice(start, after.length - same) };
}

/** Blocks after an edit, until the server has said what they are: places behind it move along. What was removed is gone:
 * left as an empty place it would grow over what is written there next. */
export function moved(blocks: Block[], edit: Edit, text: string): Block[] {
	const by = edit.text.length - (edit.end - edit.start);
	const begin = (at: number): number => (at > edit.start ? Math.max(at + by, edit.start) : at);
	const end = (at: number): number => (at >= edit.end ? at + by : Math.min(at, edit.start + edit.text.length));
	const part = (one: Part): Part => {
		const [from, to] = [begin(one.start), end(one.end)];
		return { start: from, end: to, text: text.slice(from, to), tuples: one.tuples.map((all) => all.map(part)) };
	};
	const statement = (one: Statement): Statement => ({ start: begin(one.start), end: end(one.end), head: part(one.head), parts: one.parts.map(part) });
	const moved = blocks.map((one) => ({
		...one,
		start: begin(one.start),
		inside: end(one.inside),
		end: end(one.end),
		behind: end(one.behind),
		statements: one.statements.map(statement).filter(isLeft),
	}));
	return moved.filter(isLeft);
}

function isLeft(one: { start: number; end: number }): boolean {
	return one.end > one.start;
}

/** The number of a place's line, from 1. */
export function lineOf(text: string, at: number): number {
	let line = 1;
	for (let next = text.indexOf("\n"); next >= 0 && next < at; next = text.indexOf("\n", next + 1)) line++;
	return line;
}

function indentAt(text: string, at: number): string {
	const before = text.slice(0, at).split("\n").slice(0, -1);
	const line = before.reverse().find((one) => one.trim() !== "") ?? "";
	const opens = line.trimEnd().endsWith("{");
	const indent = /^[ \t]*/.exec(line)?.[0] ?? "";
	return opens ? `${indent}\t` : indent;
}

/** A block as the language has it, so that the source compiles as it is. */
export function blockText(language: string, kind: string, statements: string[], indent: string): string {
	if (language === "fortran") return [`begin_${kind}`, ...statements, `end_${kind.split(" ")[0]}`].map((one) => `${indent}!$iog ${one}\n`).join("");
	const [open, close] = language === "" ? ["#begin_", "#end_"] : ["/*@iog begin_", "end_"];
	const shut = language === "" ? "" : " @*/";
	return [`${open}${kind}`, ...statements, `${close}${kind.split(" ")[0]}${shut}`].map((one) => `${indent}${one}\n`).join("");
}

const POINTS = ["write", "read"];

export function isPoint(block: Block): boolean {
	return POINTS.includes(block.kind);
}

/** The line behind the one that a place is in, and behind the block that this is in. */
export function placeBelow(text: string, blocks: Block[], at: number): number {
	const inside = blocks.find((one) => one.start <= at && at < one.behind);
	const next = text.indexOf("\n", at);
	return inside ? inside.behind : next < 0 ? text.length : next + 1;
}

/** A new block at a place where a line begins. */
export function addBlock(text: string, language: string, at: number, kind: string, statements: string[]): Edit {
	const indent = isInCode(kind) ? indentAt(text, at) : "";
	const before = text.slice(0, at);
	const ended = before === "" || before.endsWith("\n");
	const apart = isInCode(kind) || before === "" || /\n[ \t]*\n$/.test(before);
	return { start: at, end: at, text: (ended ? "" : "\n") + (apart ? "" : "\n") + blockText(language, kind, statements, indent) };
}

/** Only I/O points stand among statements of the program, and are indented like these. */
function isInCode(kind: string): boolean {
	return POINTS.includes(kind.split(" ")[0] ?? "");
}

export function newest(blocks: Block[], kind: string): Block | undefined {
	return blocks.filter((one) => one.kind === kind).at(-1);
}

/** One more statement in a block; in a new one, where there is none of its kind. */
export function addStatement(text: string, hints: Pick<Hints, "language" | "declare">, blocks: Block[], kind: string, statement: string): Edit {
	const block = newest(blocks, kind);
	if (block) return addTo(text, block, statement);
	const last = blocks.filter((one) => !isPoint(one)).at(-1);
	return addBlock(text, hints.language, last?.behind ?? hints.declare, kind, [statement]);
}

export function addTo(text: string, block: Block, statement: string): Edit {
	const line = text.slice(block.start);
	const indent = /^[ \t]*/.exec(line)?.[0] ?? "";
	const mark = block.spelling === "fortran" ? "!$iog " : "";
	return { start: block.inside, end: block.inside, text: `${indent}${mark}${statement}\n` };
}

/** A statement taken out, with its line where nothing else is on it. */
export function removed(text: string, { start, end }: { start: number; end: number }): Edit {
	const from = text.lastIndexOf("\n", start - 1) + 1;
	const next = text.indexOf("\n", end);
	const to = next < 0 ? text.length : next + 1;
	const rest = (text.slice(from, start) + text.slice(end, to)).replace("!$iog", "").trim();
	return rest === "" ? { start: from, end: to, text: "" } : { start, end, text: "" };
}

/** What stands in several parts of a statement, replaced. */
export function replaced(parts: Part[], put: string): Edit {
	return { start: parts[0]?.start ?? 0, end: parts.at(-1)?.end ?? 0, text: put };
}

/** What somebody types into a field stays in its place: no end of a statement, of a line, of a comment. */
export function clean(typed: string): string {
	return typed.replace(/[;\r\n]|\*\//g, "").trim();
}
