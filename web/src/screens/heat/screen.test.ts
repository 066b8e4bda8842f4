import { describe, expect, test } from "vitest";
import { SvgInk } from "../../draw/ink";
import { palettes } from "../../draw/theme";
import { format } from "../../draw/units";
import { decodeTile, type Zooms } from "../../source";
import { scaled, whole, within, type View } from "../../state/window";
import { SLOW, zooms, runs, tile } from "../../../browser/fixture";
import { cellInWords, gridTable, markIn, moved, placeOf, standing, viewOf } from "./cursor";
import { extent, frame, paintHeat, shareOf, under, usualScale } from "./paint";
import { gather, margins, METRICS, outliers, planFor, tilesOf, type Grid } from "./query";

const run = runs.runs[0]!;
const all = whole(run);
const name = (lane: number): string => `rank ${lane}`;

function gridOf(view: View, width: number): Grid {
	const plan = planFor(zooms, view, width, 400, 0);
	const tiles = tilesOf(plan).map((at) => ({ at, tile: decodeTile(new Uint8Array(Buffer.from(tile(plan.zoom.z, at[0]), "base64")).buffer) }));
	return gather(plan, tiles);
}

describe("zoom", () => {
	const deep: Zooms = { ...zooms, zooms: [0, 1, 2, 3, 4].map((z) => ({ z, bins: 256 << z, rows: 64 << z, lanes_per_row: 64 >> z, ready: true })) };

	test("is the coarsest that fills the pixels, and finer when zoomed", () => {
		expect(planFor(zooms, all, 1000, 400, 0).zoom.z).toBe(0);
		const part = { time: [0, all.time[1] / 16] as [number, number], lanes: all.lanes };
		expect(planFor(zooms, part, 1000, 400, 0).zoom.z).toBe(1);
	});

	test.each([1, 4, 64])("takes at most 24 tiles, zoomed %i times", (by) => {
		const view = { time: [0, all.time[1] / by] as [number, number], lanes: [0, 4096] as [number, number] };
		expect(tilesOf(planFor(deep, view, 4000, 2000, 0)).length).toBeLessThanOrEqual(24);
	});

	test("that does not lie ready is taken where few calls are read for it", () => {
		const first = { ...deep, zooms: deep.zooms.map((one) => ({ ...one, ready: one.z < 1 })) };
		const part = { time: [0, all.time[1] / 16] as [number, number], lanes: [0, 64] as [number, number] };
		const z = (calls: number | null): number => planFor(first, part, 1000, 400, calls).zoom.z;
		expect(z(100)).toBe(4);
		expect([z(10_000), z(null)]).toEqual([0, 0]);
	});

	test("covers the view", () => {
		const view = { time: [1e9, 1.4e9] as [number, number], lanes: [10, 20] as [number, number] };
		const plan = planFor(deep, view, 1000, 400, 0);
		expect(plan.bins[0] * plan.bin).toBeLessThanOrEqual(1e9);
		expect(plan.bins[1] * plan.bin).toBeGreaterThanOrEqual(1.4e9);
		expect(plan.rows[0] * plan.zoom.lanes_per_row).toBeLessThanOrEqual(10);
		expect(plan.rows[1] * plan.zoom.lanes_per_row).toBeGreaterThanOrEqual(20);
	});
});

describe("grid", () => {
	const grid = gridOf(all, 1000);

	test("sums and maxima of the table, the margins and the tiles are the same", () => {
		const raw = decodeTile(new Uint8Array(Buffer.from(tile(0, 0), "base64")).buffer);
		const table = gridTable(grid);
		for (const metric of METRICS) {
			const at = table.columns.findIndex((one) => one.name === metric);
			const values = table.rows.map((row) => Number(row[at]));
			const join = (of: number[]): number => (metric === "longest" ? Math.max(...of) : of.reduce((sum, one) => sum + one, 0));
			const wanted = join([...(metric === "calls" ? raw.calls : raw[metric])]);
			expect(join(values)).toBeCloseTo(wanted, -2);
			expect(join(margins(grid, metric).bins)).toBeCloseTo(wanted, -2);
			expect(join(margins(grid, metric).rows)).toBeCloseTo(wanted, -2);
		}
	});

	test("a view of a part holds only that part", () => {
		const part = gridOf({ time: [3.125e9, 4e9], lanes: [37, 38] }, 50);
		expect([...part.op].every((op) => op === 0)).toBe(true);
		expect(gridTable(part).rows.every((row) => row[2] === 37)).toBe(true);
	});
});

describe("the planted call", () => {
	test.each([1, 2, 8, 100, 5000])("is marked when zoomed %i times around it, first of all", (by) => {
		const view = within(scaled(all, 1 / by, 3.2e9, 37.5), all);
		const grid = gridOf(view, 1000);
		expect(outliers(zooms.outliers, grid.marks, "posix", view)[0]?.call).toBe(SLOW);
	});

	test("is found by the tiles alone when the run's list does not have it", () => {
		const grid = gridOf(all, 1000);
		const marks = outliers([], grid.marks, "posix", all);
		expect(marks.map((one) => [one.call, one.lane])).toEqual([[SLOW, 37]]);
	});

	test("is said and opened from its cell", () => {
		const grid = gridOf(all, 1000);
		const marks = outliers(zooms.outliers, grid.marks, "posix", all);
		const at = placeOf(grid.plan, 3.5e9, 37);
		expect(cellInWords(grid, at, name)).toContain("rank 37");
		expect(cellInWords(grid, at, name)).toContain("longest 900 ms");
		expect(markIn(grid, marks, at)?.call).toBe(SLOW);
		expect(markIn(grid, marks, placeOf(grid.plan, 3.5e9, 36))).toBeUndefined();
	});
});

test("a cursor goes with the longest call of its cell to cells of another width", () => {
	const grid = gridOf(all, 1000);
	const marks = outliers(zooms.outliers, grid.marks, "posix", all);
	const wide = { time: [0, 8e9] as [number, number], lanes: [32, 64] as [number, number] };
	expect(markIn(grid, marks, standing(grid.plan, marks, wide))?.call).toBe(SLOW);
	const empty = { time: [7e9, 8e9] as [number, number], lanes: [0, 8] as [number, number] };
	expect(standing(grid.plan, marks, empty)).toEqual(placeOf(grid.plan, 7e9, 0));
});

test("a cursor stays in the picture, and its cell is what is drawn under it", () => {
	const grid = gridOf(all, 1000);
	expect(moved(grid.plan, { bin: 0, row: 0 }, -5, 500)).toEqual({ bin: 0, row: 63 });
	const at = frame(all, { width: 1000, height: 500 });
	const view = viewOf(grid.plan, { bin: 100, row: 20 });
	const x = at.x.start + (view.time[0] / all.time[1]) * (at.x.end - at.x.start) + 1;
	const y = at.y.start + (20.5 / 64) * (at.y.end - at.y.start);
	expect(under(at, grid, x, y)).toEqual({ bin: 100, row: 20 });
	expect(under(at, grid, 2, y)).toBeNull();
});

test("a zoom that is still coming is hatched over the one before", () => {
	const grid = gridOf(all, 1000);
	const box = { width: 600, height: 400 };
	const draw = (loading: boolean): string => {
		const ink = new SvgInk(box);
		paintHeat({ view: all, grid, metric: "time", marks: [], lane: name, loading, scale: "linear" })(ink, box, palettes.dark);
		return ink.document(palettes.dark.background);
	};
	const rectangles = (svg: string): number => svg.split("<rect").length;
	expect(rectangles(draw(true))).toBe(rectangles(draw(false)));
	expect(draw(true).length).toBeGreaterThan(draw(false).length);
});

describe("colours", () => {
	test("of a log scale leave out what is nothing, span three decades, and say what they cut", () => {
		expect(extent(new Float64Array([0, 5, 2, 0]), "log")).toEqual({ scale: "log", least: 2, most: 5, cut: false });
		expect(extent(new Float64Array([1, 5e6]), "log")).toEqual({ scale: "log", least: 5e3, most: 5e6, cut: true });
	});

	test("of time are linear: half of the most is half of the way", () => {
		expect(METRICS.map(usualScale)).toEqual(["linear", "log", "log", "log"]);
		const range = extent(new Float64Array([0, 1, 8]), "linear");
		expect([0, 4, 8].map((one) => shareOf(range, one))).toEqual([0, 0.5, 1]);
	});

	test("have a legend whose ends are the least and the most of the cells", () => {
		const grid = gridOf(all, 1000);
		const svg = (scale: "linear" | "log"): string => {
			const ink = new SvgInk({ width: 1000, height: 500 });
			paintHeat({ view: all, grid, metric: "longest", marks: [], lane: name, loading: false, scale })(ink, { width: 1000, height: 500 }, palettes.light);
			return ink.document("#ffffff");
		};
		expect(svg("linear")).toMatch(/>0 s<[\s\S]*>450 ms<[\s\S]*>900 ms<[\s\S]*longest of a cell, linear/);
		expect(svg("log")).toMatch(/>3\.13 ms<[\s\S]*>53 ms<[\s\S]*>900 ms<[\s\S]*longest of a cell, log/);
	});
});

test("a cell in which no call begins says so, beside the longest that lasts into it", () => {
	const grid = gridOf(all, 1000);
	const cell = placeOf(grid.plan, 3.5e9, 37);
	grid.values.calls[cell.row * (grid.plan.bins[1] - grid.plan.bins[0]) + cell.bin] = 0;
	expect(cellInWords(grid, cell, name)).toMatch(/^rank 37, 3\.5 s to 3\.53 s: 31\.[23] ms in calls, 64 KiB, no call begins here, longest 900 ms \(pwrite\)$/);
});

test("sums stand beside the rows with their figures", () => {
	const part = { time: all.time, lanes: [32, 40] as [number, number] };
	const grid = gridOf(part, 1000);
	const ink = new SvgInk({ width: 1000, height: 400 });
	paintHeat({ view: part, grid, metric: "bytes", marks: [], lane: name, loading: false, scale: "log" })(ink, { width: 1000, height: 400 }, palettes.light);
	const svg = ink.document("#ffffff");
	for (const sum of margins(grid, "bytes").rows) expect(svg).toContain(`>${format(sum, "bytes")}<`);
});
