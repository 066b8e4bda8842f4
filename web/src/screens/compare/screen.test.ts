import { expect, test } from "vitest";
import { SvgInk } from "../../draw/ink";
import { palettes } from "../../draw/theme";
import type { Cell, Run, Table } from "../../source";
import { changesHeight, paintChanges } from "./paint";
import { beside, changes, counterpart, drawn, named, quantity, shownColumns } from "./query";

const RUNS = ["before", "after"] as const;
const names = ["layer", "calls_a", "calls_b", "exclusive_seconds_a", "exclusive_seconds_b", "inclusive_seconds_a", "inclusive_seconds_b", "difference"];
const rows: Cell[][] = [
	["posix", 10, 10, 2, 2, 2, 2, 0],
	["mpiio", 10, 20, 1, 4, 3, 6, 3],
	["stdio", 1, null, 0.5, null, 0.5, null, -0.5],
];
const table: Table = { columns: names.map((name) => ({ name, unit: name.includes("seconds") ? "s" : "count" })), rows, total: 3, sql: "", note: null };

test("rows stand by the size of their change; a row that one run lacks counts as nothing there", () => {
	expect(quantity(table)).toBe("exclusive_seconds");
	expect(changes(table, "layers").map((one) => [one.name, one.difference])).toEqual([["mpiio", 3], ["stdio", -0.5], ["posix", 0]]);
	expect(drawn(changes(table, "layers")).map((one) => one.name)).toEqual(["mpiio", "stdio"]);
});

test("a function says its layer and from where it was called", () => {
	const ops: Table = {
		...table,
		columns: ["op", "layer", "caller", "seconds_a", "seconds_b"].map((name) => ({ name, unit: "text" })),
		rows: [
			["pwrite", "posix", "mpiio", 1, 3],
			["MPI_File_write", "mpiio", null, 1, 2],
		],
	};
	expect(changes(ops, "ops").map((one) => one.name)).toEqual(["pwrite (posix, called from mpiio)", "MPI_File_write (mpiio)"]);
});

test("A, B, change and ratio stand beside each other; what one run lacks has no ratio", () => {
	const compared = beside(table, "layers", true, RUNS);
	expect(compared.columns.map((one) => one.name).slice(0, 9)).toEqual(["layer", "exclusive, before", "exclusive, after", "exclusive: change", "exclusive: after / before", "inclusive, before", "inclusive, after", "inclusive: change", "inclusive: after / before"]);
	expect(compared.rows.map((row) => row[0])).toEqual(["mpiio", "stdio"]);
	expect(compared.rows[0]?.slice(1, 5)).toEqual([1, 4, 3, 4]);
	expect(compared.rows[1]?.slice(1, 5)).toEqual([0.5, null, -0.5, null]);
	expect(beside(table, "layers", false, RUNS).rows).toHaveLength(3);
	expect(shownColumns(table, compared)).toEqual(["layer", "exclusive, before", "exclusive, after", "exclusive: change", "exclusive: after / before", "inclusive, before", "inclusive, after", "calls, before", "calls, after"]);
});

test("what was set otherwise stands under the names of the runs", () => {
	const setup = { ...table, columns: ["setting", "a", "b"].map((name) => ({ name, unit: "text" as const })) };
	expect(named(setup, RUNS).columns.map((one) => one.name)).toEqual(["setting", "before", "after"]);
});

test("the bar of what grew stands on the right, of what shrank on the left", () => {
	const all = drawn(changes(table, "layers"));
	const ink = new SvgInk({ width: 600, height: changesHeight(all) });
	paintChanges(all, "after")(ink, { width: 600, height: changesHeight(all) }, palettes.light);
	const bars = [...ink.document("#ffffff").matchAll(/<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)" height="16"/g)].map((one) => [Number(one[1]), Number(one[2])]);
	const middle = 80 + (600 - 80) / 2;
	expect(bars[0]?.[0]).toBe(middle);
	expect((bars[1]?.[0] ?? 0) + (bars[1]?.[1] ?? 0)).toBeCloseTo(middle, 1);
	expect((bars[0]?.[1] ?? 0) / (bars[1]?.[1] ?? 1)).toBeCloseTo(6, 1);
});

test("a run is compared with one of its own command or program first, the one before it rather than a later one", () => {
	const run = (name: string, program: string, command: string, started: number): Run => ({ name, program, command, started }) as Run;
	const shown = run("b", "s3d", "s3d 64", 50);
	const [other, later, before, smaller] = [run("x", "ior", "ior", 49), run("c", "s3d", "s3d 64", 51), run("a", "s3d", "s3d 64", 10), run("s", "s3d", "s3d 16", 48)];
	expect(counterpart(shown, [other, later, smaller, before])).toBe("a");
	expect(counterpart(shown, [other, later, smaller])).toBe("c");
	expect(counterpart(shown, [other, smaller])).toBe("s");
	expect(counterpart(shown, [other])).toBe("x");
	expect(counterpart(shown, [])).toBeUndefined();
});
