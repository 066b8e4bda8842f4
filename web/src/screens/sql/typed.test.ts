import { expect, test } from "vitest";
import { SvgInk } from "../../draw/ink";
import { palettes } from "../../draw/theme";
import { ends, isQuery, partsOf, unitOf, type Picture } from "./typed";
import { paintTyped, typedHeight } from "./typed_paint";

const picture: Picture = {
	title: "latency breakdown exclusive",
	across: "rank.call",
	up: "exclusive seconds",
	labels: ["0.0", "0.1"],
	series: [
		{ name: "mpiio", colour: "#000000", values: [1, 2] },
		{ name: "server 1", colour: "#0072B2", values: [3, 0] },
	],
	stacked: true,
	logarithmic: false,
	marks: ["", "1"],
	below: [],
	footnote: "",
};

test("a query begins with its words; a statement that names a table so does not", () => {
	expect(["latency breakdown inclusive 0-1 1-10", " throughput", "energy 11.5 8", "call"].every(isQuery)).toBe(true);
	expect(["from calls", "select call from x", "call(1)", "calls.id", "with latency as (select 1) from latency"].some(isQuery)).toBe(false);
});

test("parts of a bar lie one behind the other, or all begin at the start, the longest first", () => {
	expect(ends(picture)).toEqual([4, 2]);
	expect(partsOf(picture, 0)).toEqual([
		{ series: 0, from: 0, to: 1 },
		{ series: 1, from: 1, to: 4 },
	]);
	const apart = { ...picture, stacked: false };
	expect(ends(apart)).toEqual([3, 2]);
	expect(partsOf(apart, 0).map((part) => part.to)).toEqual([3, 1]);
	expect(unitOf(picture)).toBe("s");
});

test.each([false, true])("each part is as long as its value, and the server is named (logarithmic: %s)", (logarithmic) => {
	const box = { width: 500, height: typedHeight(picture) };
	const ink = new SvgInk(box);
	paintTyped({ ...picture, stacked: !logarithmic, logarithmic })(ink, box, palettes.light);
	const svg = ink.document("#ffffff");
	const widths = [...svg.matchAll(/width="([\d.]+)" height="12"/g)].map((one) => Number(one[1]));
	expect(widths).toHaveLength(3);
	if (logarithmic) expect(widths[0]).toBeGreaterThan(widths[1] ?? 0);
	else expect((widths[1] ?? 0) / (widths[0] ?? 1)).toBeCloseTo(3, 1);
	expect(svg).toContain("server 1");
	expect(svg).toContain("4 s".replace("4", logarithmic ? "3" : "4"));
});
