import { expect, test } from "vitest";
import { SvgInk } from "../../draw/ink";
import { palettes } from "../../draw/theme";
import type { Cell, Table } from "../../source";
import { bucketUnder, HEIGHT, paintHistogram } from "./paint";
import { above, bucketOf, ecdf, histograms, overTime, percentiles, slower, span } from "./query";

function table(names: string[], rows: Cell[][]): Table {
	return { columns: names.map((name) => ({ name, unit: "text" })), rows, total: rows.length, sql: "select", note: null };
}

// 98 writes of 16 ns, two of 1 Mi ns; reads in between.
const buckets = table(["layer", "op", "bucket", "calls", "time"], [
	["posix", "write", 16, 98, 98 * 16],
	["posix", "write", 80, 2, 2 * 2 ** 20],
	["posix", "read", 40, 10, 10 * 1024],
]);

test("the longest are never lost in a histogram", () => {
	const [write] = histograms(buckets);
	if (!write) throw new Error("no histogram");
	expect(write.name).toBe("posix:write");
	expect(above(write, bucketOf(1e6))).toEqual({ calls: 2, time: 2 * 2 ** 20 });
	expect(ecdf(write, 16, 65).at(-1)).toBe(1);
	expect(ecdf(write, 16, 65)[0]).toBe(0.98);
	expect(span(histograms(buckets))).toEqual([16, 65]);
});

test("with a threshold the table says how much is slow", () => {
	const answer = { buckets, "over time": buckets, percentiles: table(["layer", "op", "calls", "time", "median", "longest"], [
		["posix", "write", 100, 2 * 2 ** 20 + 98 * 16, 16, 2 ** 20],
		["posix", "read", 10, 10 * 1024, 1024, 1024],
	]), counted: null, begin: 0, width: 1 };
	const summary = percentiles(answer, histograms(buckets), 80);
	expect(summary.columns.map((one) => one.name)).toEqual(["call", "calls", "time", "median", "longest", "slow calls", "slow, share of time"]);
	const [write, read] = summary.rows;
	expect(write?.slice(0, 5)).toEqual(["posix:write", 100, 2 * 2 ** 20 + 98 * 16, 16, 2 ** 20]);
	expect(write?.slice(-2)).toEqual([2, (2 * 2 ** 20) / (2 * 2 ** 20 + 98 * 16)]);
	expect(read?.slice(-2)).toEqual([0, 0]);
});

test("over time: one layer, the threshold leaves out what is quick", () => {
	const over = table(["layer", "time bin", "bucket", "calls"], [
		["posix", 0, 16, 98],
		["posix", 3, 80, 2],
		["mpiio", 1, 40, 7],
	]);
	const answer = { buckets, "over time": over, percentiles: over, counted: over, begin: 100, width: 10 };
	expect(overTime(answer, "posix", null).cells).toEqual([[0, 0, 98], [3, 64, 2]]);
	const slow = overTime(answer, "posix", 80);
	expect(slow.cells).toEqual([[3, 0, 2]]);
	expect(slow.x.says(3)).toBe("130 ns to 140 ns");
});

test("slow calls in a table are those over the threshold", () => {
	const calls = table(["call", "duration"], [["1", 5e8], ["2", 3]]);
	expect(slower(calls, 1e6).rows).toEqual([["1", 5e8]]);
});

test("bars over the threshold have the colour of marks, and a click finds its bucket", () => {
	const [one] = histograms(buckets);
	if (!one) throw new Error("no histogram");
	const drawn = { one, first: 16, bins: 65, slow: 80 };
	const ink = new SvgInk({ width: 600, height: HEIGHT });
	paintHistogram(drawn)(ink, { width: 600, height: HEIGHT }, palettes.light);
	const svg = ink.document("#ffffff");
	expect(svg.match(new RegExp(`<rect[^>]*${palettes.light.mark}`, "g"))).toHaveLength(1);
	expect([bucketUnder(drawn, 600, 52), bucketUnder(drawn, 600, 553)]).toEqual([16, 80]);
});
