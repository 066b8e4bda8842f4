import { describe, expect, test } from "vitest";
import { fit, SvgInk } from "./ink";
import { logShare, place, ticks, timeLabels, value } from "./scale";
import { contrast, heat, palettes } from "./theme";

test("ticks are round, inside, and labelled in one unit", () => {
	expect(ticks(0, 10, 5)).toEqual([0, 2, 4, 6, 8, 10]);
	expect(ticks(3, 3, 5)).toEqual([]);
	expect(timeLabels([0, 5e8, 1e9])).toEqual(["0.0 s", "0.5 s", "1.0 s"]);
	expect(timeLabels([1_000_000, 1_002_000])).toEqual(["1000 µs", "1002 µs"]);
});

test("a scale leads there and back", () => {
	const scale = { from: 10, to: 20, start: 100, end: 300 };
	expect(place(scale, 15)).toBe(200);
	expect(value(scale, 200)).toBe(15);
	expect([0.5, 1, 10, 100, 1e9].map((one) => logShare(one, 1, 100))).toEqual([0, 0, 0.5, 1, 1]);
});

describe("colours", () => {
	test.each([palettes.light, palettes.dark])("of $name: text has 4.5:1, marks and every step of data 3:1", (one) => {
		for (const text of [one.text, one.quiet, one.mark]) expect(contrast(text, one.background)).toBeGreaterThanOrEqual(4.5);
		const data = [...Object.values(one.layers), ...Array.from({ length: 65 }, (_, at) => heat(one, at / 64))];
		for (const colour of data) expect(contrast(colour, one.background), colour).toBeGreaterThanOrEqual(3);
	});

	test.each([palettes.light, palettes.dark])("of $name: more is further from the background, so brightness alone tells", (one) => {
		const steps = Array.from({ length: 33 }, (_, at) => contrast(heat(one, at / 32), one.background));
		expect(steps).toEqual([...steps].sort((a, b) => a - b));
	});
});

test("an SVG holds text as text", () => {
	const ink = new SvgInk({ width: 10, height: 10 });
	ink.fillText('</text><script>alert("1")</script>', 1, 2);
	const svg = ink.document("#ffffff");
	expect(svg).not.toContain("<script");
	expect(svg).toContain("&#60;script&#62;");
});

test("a long name keeps its beginning and end", () => {
	expect(fit("/scratch/run/output.nc", 66)).toBe("/scr…ut.nc");
	expect(fit("abc", 66)).toBe("abc");
});
