import { describe, expect, test } from "vitest";
import { contrast } from "../../draw/theme";
import { addBlock, addTo, blockText, clean, difference, edited, lineOf, moved, placeBelow, removed } from "./edit";
import { areas, colour, faults, firstView } from "./paint";
import type { Block, Owned, Part } from "./query";
import { accessOf, accessText, isBare, joinName, memberOf, memberText, splitName, steps } from "./words";

const TEXT = "int a;\n/*@iog begin_dimensions\ny: 64;\nend_dimensions @*/\nint b;\n";

function part(text: string, of = TEXT): Part {
	const start = of.indexOf(text);
	return { start, end: start + text.length, text, tuples: [] };
}

function block(kind: string, inside: Partial<Block> = {}): Block {
	return { kind, name: "", spelling: "c", start: 7, inside: TEXT.indexOf("end_dim"), end: TEXT.indexOf("int b"), behind: TEXT.indexOf("int b"), statements: [{ start: TEXT.indexOf("y:"), end: TEXT.indexOf("y:") + 6, head: part("y"), parts: [part("64")] }], ...inside };
}

/** As the server gives it, from a line without nested commas. */
function statement(line: string): Block["statements"][number] {
	const [head = "", rest = ""] = line.replace(";", "").split(": ");
	return { start: 0, end: line.length, head: { ...part(""), text: head }, parts: rest.split(", ").map((text) => ({ start: 0, end: 0, text, tuples: [] })) };
}

const GRID = [
	block("dimensions", { statements: [statement("t: unlimited;"), statement("y: 64;"), statement("x: 8;")] }),
	block("variables", { statements: [statement("temp: double, 3, t, y, x;"), statement("flat: double, 2, y, x;")] }),
];

describe("edits of the text", () => {
	test("places behind an edit move along, the field that is edited grows", () => {
		const of = TEXT.indexOf("64");
		const edit = { start: of, end: of + 2, text: "nx * 4" };
		const text = edited(TEXT, edit);
		const [after] = moved([block("dimensions")], edit, text);
		expect(after?.statements[0]?.parts[0]?.text).toBe("nx * 4");
		expect(after?.statements[0]?.head.text).toBe("y");
		expect(text.slice(after?.start, after?.behind)).toBe("/*@iog begin_dimensions\ny: nx * 4;\nend_dimensions @*/\n");
	});

	test("what is removed is not there when something else is written in its place", () => {
		const at = TEXT.indexOf("y: 64;");
		const gone = removed(TEXT, { start: at, end: at + 6 });
		const without = edited(TEXT, gone);
		const left = moved([block("dimensions")], gone, without);
		const other = { start: gone.start, end: gone.start, text: "z: 8;\n" };
		expect(moved(left, other, edited(without, other))[0]?.statements).toEqual([]);
	});

	test("what was typed is one edit, whatever it was", () => {
		for (const [a, b] of [["aab", "aaab"], ["", "x"], ["abc", "abc"], ["xyxy", "xy"], ["line\n", "li\nne\n"]] as const) {
			expect(edited(a, difference(a, b))).toBe(b);
		}
	});

	test("a block is a comment of its language, indented as the statements around it", () => {
		expect(blockText("fortran", "write early", ["array: *;"], "  ")).toBe("  !$iog begin_write early\n  !$iog array: *;\n  !$iog end_write\n");
		expect(blockText("", "options", ["name: a;"], "")).toBe("#begin_options\nname: a;\n#end_options\n");
		const text = "int main(void)\n{\n\tint a;\n}\n";
		expect(addBlock(text, "c", text.indexOf("}"), "write", ["x;"]).text).toBe("\t/*@iog begin_write\n\tx;\n\tend_write @*/\n");
	});

	test("a statement comes in front of its block's end, and goes with its line", () => {
		const added = edited(TEXT, addTo(TEXT, block("dimensions", { inside: TEXT.indexOf("end_dim") }), "x: 8;"));
		expect(added).toContain("y: 64;\nx: 8;\nend_dimensions");
		const at = added.indexOf("x: 8;");
		expect(edited(added, removed(added, { start: at, end: at + 5 }))).toBe(TEXT);
	});

	test("a point is placed below a line, never inside a block", () => {
		const own = block("dimensions", { start: 7, behind: TEXT.indexOf("int b") });
		expect(placeBelow(TEXT, [own], 2)).toBe(7);
		expect(lineOf(TEXT, placeBelow(TEXT, [own], 12))).toBe(5);
		expect(placeBelow("no end", [], 3)).toBe(6);
	});

	test("a field cannot end a statement or a comment", () => {
		expect(clean(" a; */\nb ")).toBe("a b");
	});
});

describe("statements", () => {
	test("a name may have a path", () => {
		expect(splitName('E as "Step#0/E"')).toEqual({ name: "E", path: "Step#0/E" });
		expect(joinName("E", "")).toBe("E");
	});

	test("a member has a type, a name, and a length where it is an array", () => {
		expect(memberOf("double place[3]")).toEqual({ type: "double", name: "place", length: "3" });
		expect(memberOf("pair mean")).toEqual({ type: "pair", name: "mean", length: "" });
		expect(memberOf("")).toEqual({ type: "", name: "", length: "" });
		for (const one of ["int a", "float b[12]"]) expect(memberText(memberOf(one))).toBe(one);
	});

	test("an access is cut along the first dimension that can be, or the one that is wanted", () => {
		expect(accessText(GRID, "array", "flat", "f")).toBe("array: *, flat, rank * (y / nprocs), y / nprocs, 0, x, f;");
		expect(accessText(GRID, "array", "temp", "f", "x")).toBe("array: *, temp, 0, 1, 0, y, rank * (x / nprocs), x / nprocs, f;");
		expect(accessText(GRID, "global", "flat", "f")).toBe("global: flat, <nprocs, 1>, <0, 0>, <y / nprocs, x>, <y / nprocs, x>, f;");
		expect(accessText(GRID, "list-one", "flat", "f")).toBe("list: 0, flat, <0, 0> <y, x>, f;");
	});

	test("an access is read by its parts", () => {
		const one = accessOf(statement("array: 2, flat, 0, 8, 16, 8, buffer;"));
		expect([one.form, one.process?.text, one.variable?.text, one.numbers.length, one.buffer?.text]).toEqual(["one", "2", "flat", 4, "buffer"]);
		expect(accessOf(statement("global: flat, a, b, c, d, buffer;")).form).toBe("global");
	});

	test("what is missing is a step, what is wrong is said", () => {
		expect(steps([], null, true).findIndex((one) => !one.done)).toBe(1);
		const mistake = { line: 1, column: 1, at: 0, what: "no block", remedy: "", picture: "" };
		expect(isBare([], mistake)).toBe(true);
		expect(isBare([...GRID, block("write")], { ...mistake, at: 35 })).toBe(false);
	});
});

describe("who owns what", () => {
	const owned: Owned = {
		point: "write",
		variable: "v",
		dimensions: [{ name: "z", length: 4 }, { name: "y", length: 8 }, { name: "x", length: 8 }],
		boxes: [[0, 0, 0, 0, 4, 4, 8], [1, 0, 4, 0, 4, 3, 8], [2, 2, 4, 0, 2, 3, 8]],
		all: 3,
	};

	test("the dimensions that are cut are drawn, gaps and overlaps found in them", () => {
		const view = firstView(owned);
		expect([view.down, view.across]).toEqual([0, 1]);
		expect(areas(owned, view).map((one) => one.rank)).toEqual([0, 1, 2]);
		const flat = { down: 1, across: 2, at: [3, 0, 0] };
		const faulty = faults(areas(owned, flat), 8, 8);
		expect(faulty.map((one) => [one.owners, one.y, one.height])).toEqual([[2, 4, 3], [0, 7, 1]]);
		expect(faults(areas(owned, { ...flat, at: [0, 0, 0] }), 8, 8).map((one) => one.owners)).toEqual([0]);
	});

	test("neighbours differ, also below each other in rows of eight, and labels are legible on each", () => {
		for (let rank = 0; rank < 64; rank++) {
			expect(colour(rank)).not.toBe(colour(rank + 1));
			expect(colour(rank)).not.toBe(colour(rank + 8));
			expect(Math.max(contrast(colour(rank), "#000000"), contrast(colour(rank), "#ffffff"))).toBeGreaterThan(4.5);
		}
	});
});
