import { expect, test } from "vitest";
import { csv } from "./csv";
import { figuresOf, OF_CALLS, seenFrom, shownOf, singular, sorted } from "./table";

test("CSV: raw values, units in the head, quotes doubled, no formulas", () => {
	const columns = [
		{ name: "time", unit: "ns" as const },
		{ name: "path", unit: "text" as const },
	];
	expect(
		csv(columns, [
			[1.5e9, 'a "b", c'],
			[-3, "=HYPERLINK(1)"],
			[null, "-5"],
		]),
	).toBe('time [ns],path\n1500000000,"a ""b"", c"\n-3,\'=HYPERLINK(1)\n,-5\n');
});

test("a table sorts numbers as numbers, and what is not known comes last either way", () => {
	const rows = [[9], [null], [10], [1]];
	expect(sorted(rows, { column: 0, down: false })).toEqual([[1], [9], [10], [null]]);
	expect(sorted(rows, { column: 0, down: true })).toEqual([[10], [9], [1], [null]]);
});

test("a table of calls begins with the function, and a server that is the same in all rows is not told", () => {
	const of = (servers: (string | null)[]): { columns: { name: string; unit: "text" }[]; rows: (string | null)[][]; total: number; sql: string; note: null } => ({
		columns: ["call", "op", "server"].map((name) => ({ name, unit: "text" as const })),
		rows: servers.map((server, at) => [String(at), "pwrite", server]),
		total: 2,
		sql: "",
		note: null,
	});
	expect(shownOf(of(["/", "/"]), OF_CALLS)).toEqual([1, 0]);
	expect(shownOf(of([null, null]), undefined)).toEqual([0, 1]);
	expect(shownOf({ ...of([]), columns: [{ name: "server", unit: "text" as const }], rows: [["/"]] }, undefined)).toEqual([0]);
	expect(shownOf(of(["nfs1", "nfs2"]), OF_CALLS)).toEqual([1, 2, 0]);
});

test("numbers of a statement of the user's stand right, though their unit is not known", () => {
	const columns = ["n", "name", "nothing", "start"].map((name) => ({ name, unit: name === "start" ? ("ns" as const) : ("text" as const) }));
	const rows = [
		[1, "a", null, 5],
		[null, 2, null, 6],
	];
	expect(figuresOf({ columns, rows, total: 2, sql: "", note: null })).toEqual([true, false, true, true]);
});

test("one is not counted in many", () => {
	expect(["servers", "quantities", "processes", "other settings"].map(singular)).toEqual(["server", "quantity", "process", "other setting"]);
});

test("a file is named as from the run's directory, if it lies there", () => {
	expect(["/a/out/x", "/ab/x", "-"].map((path) => seenFrom("/a", path))).toEqual(["out/x", "/ab/x", "-"]);
	expect(seenFrom("", "/x")).toBe("/x");
});
