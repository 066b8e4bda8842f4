import { expect, test } from "vitest";
import { SvgInk } from "../../draw/ink";
import { palettes } from "../../draw/theme";
import type { Cell, Table } from "../../source";
import { height, paintBreakdown, type Drawn } from "./paint";
import { bars, columnsOf, extremes, knowsWall, narrows } from "./query";

const names = ["key", "layer", "time", "calls", "overlap"];
const table = (rows: Cell[][]): Table => ({ columns: names.map((name) => ({ name, unit: "text" })), rows, total: rows.length, sql: "", note: null });
const two = table([
	["nfs1", "posix", 6e9, 30, 0.5],
	["nfs1", "server", 2e9, 10, 0],
	["nfs2", "posix", 1e9, 5, 0.25],
]);

test("a bar has all layers of its key, top of the stack first; wall time counts once what ran side by side", () => {
	const [first, second] = bars(two, "server", "summed", ["mpiio", "posix", "server"]);
	expect([first?.key, first?.total, first?.parts.map((one) => one.layer)]).toEqual(["nfs1", 8e9, ["posix", "server"]]);
	expect(second?.total).toBe(1e9);
	expect(bars(two, "server", "wall", []).map((one) => one.total)).toEqual([5e9, 0.75e9]);
	expect(knowsWall(two)).toBe(true);
	expect(knowsWall(table([["a", "posix", 1, 1, null]]))).toBe(false);
});

test("communication stands where layer mpi does in the stack, behind the layer that called it", () => {
	const shown = bars(table([["mpiio", "posix", 1, 1, null], ["mpiio", "communication", 2, 1, null], ["mpiio", "mpiio", 3, 1, null]]), "layer", "summed", ["mpiio", "mpi", "posix"]);
	expect(shown[0]?.parts.map((one) => one.layer)).toEqual(["mpiio", "communication", "posix"]);
});

test("a process goes by its name", () => {
	expect(bars(table([["3", "posix", 1, 1, 0]]), "lane", "summed", [], (lane) => `rank ${lane}`)[0]?.label).toBe("rank 3");
});

test("the servers with the most and the least time are told; one alone is neither", () => {
	expect(extremes(bars(two, "server", "summed", []))).toEqual({ most: "nfs1", least: "nfs2" });
	expect(extremes(bars(table([["a", "posix", 1, 1, 0]]), "server", "summed", []))).toBeNull();
});

test("calls begin with their function, their number comes last", () => {
	const calls = { ...two, columns: ["key", "op", "layer"].map((name) => ({ name, unit: "text" as const })) };
	expect(columnsOf(calls, "call")).toEqual(["op", "layer", "key"]);
	expect(columnsOf(two, "server")).toEqual(names);
});

test("a layer stands once, unless part of its time is communication", () => {
	const alone = table([["mpiio", "mpiio", 3, 1, null]]);
	expect(columnsOf(alone, "layer")).not.toContain("layer");
	expect(columnsOf({ ...alone, rows: [["mpiio", "communication", 2, 1, null], ...alone.rows] }, "layer")).toContain("layer");
});

test("a click narrows the selection; a name with a comma stays one name", () => {
	expect(narrows("op", "posix:pwrite,64")).toEqual({ ops: "posix:pwrite%2C64" });
	expect(narrows("lane", "12")).toEqual({ lanes: "12" });
	expect(narrows("call", "7")).toBeNull();
});

function widths(drawn: Drawn): number[] {
	const box = { width: 500, height: height(drawn) };
	const ink = new SvgInk(box);
	paintBreakdown(drawn)(ink, box, palettes.light);
	return [...ink.document("#ffffff").matchAll(/y="(?:29|30|41|42|54|53)[\d.]*" width="([\d.]+)"/g)].map((one) => Number(one[1]));
}

test("parts of a stacked bar stand end to end; on a logarithmic axis all begin at the axis", () => {
	const shown = bars(two, "server", "summed", ["posix", "server"]);
	const [posix = 0, server = 0, other = 0] = widths({ bars: shown, grouped: false, logarithmic: false, marks: new Map() });
	expect((posix + 0.5) / (server + 0.5)).toBeCloseTo(3, 1);
	expect((posix + 0.5) / (other + 0.5)).toBeCloseTo(6, 1);
	const [slow = 0, quick = 0] = widths({ bars: shown, grouped: true, logarithmic: true, marks: new Map() });
	expect(slow / quick).toBeLessThan(1.2);
});
