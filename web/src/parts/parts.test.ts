import { expect, test } from "vitest";
import { csv } from "./csv";
import { sorted } from "./table";

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
