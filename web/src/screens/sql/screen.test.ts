import { expect, test } from "vitest";
import { SvgInk } from "../../draw/ink";
import { palettes } from "../../draw/theme";
import type { Table } from "../../source";
import { barsHeight, paintRows } from "./paint";
import { bars, drawable, firstChoice, inserted, tablesOf } from "./query";

const table: Table = {
	columns: [
		{ name: "id", unit: "count" },
		{ name: "op", unit: "text" },
		{ name: "seconds", unit: "count" },
	],
	rows: [
		[1, "</text><b>", 4],
		[2, null, -1],
		[3, "read", null],
	],
	total: 3,
	sql: "",
	note: null,
};

test("a chart begins with a column of text and a number that is no id", () => {
	expect(firstChoice(table)).toEqual({ label: "op", value: "seconds" });
	expect(drawable(table).values).toEqual(["id", "seconds"]);
	expect(firstChoice({ ...table, columns: [{ name: "op", unit: "text" }], rows: [["a"]] })).toBeNull();
	expect(firstChoice({ ...table, rows: [] })).toBeNull();
});

test("bars have the length of their values, on either side of nothing, and their names as text", () => {
	const shown = bars(table, "op", "seconds");
	const ink = new SvgInk({ width: 400, height: barsHeight(shown) });
	paintRows(shown, "count")(ink, { width: 400, height: barsHeight(shown) }, palettes.light);
	const svg = ink.document("#ffffff");
	const widths = [...svg.matchAll(/width="([\d.]+)" height="14"/g)].map((one) => Number(one[1]));
	expect((widths[0] ?? 0) / (widths[1] ?? 1)).toBeCloseTo(4, 1);
	expect(svg).not.toContain("<b>");
});

test("columns stand below their tables, with what they mean", () => {
	const schema: Table = {
		...table,
		columns: ["table", "column", "type", "meaning"].map((name) => ({ name, unit: "text" })),
		rows: [
			["calls", "id", "UBIGINT", "unique in the run"],
			["ops", "op", "VARCHAR", null],
			["calls", "start", "BIGINT", "ns"],
		],
	};
	expect(tablesOf(schema).map((one) => [one.name, one.columns.map((each) => each.name)])).toEqual([["calls", ["id", "start"]], ["ops", ["op"]]]);
});

test("a name goes where the cursor stands", () => {
	expect(inserted("select  from calls", "op", 7, 7)).toBe("select op from calls");
});
