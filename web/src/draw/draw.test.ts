import { describe, expect, test } from "vitest";
import { fit, SvgInk } from "./ink";
import { logShare, place, ticks, timeLabels, value } from "./scale";
import { CAUSES } from "./causes";
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
		const data = [...Object.values(one.layers), ...Object.values(one.causes), ...Array.from({ length: 65 }, (_, at) => heat(one, at / 64))];
		for (const colour of data) expect(contrast(colour, one.background), colour).toBeGreaterThanOrEqual(3);
	});

	test.each([palettes.light, palettes.dark])("of $name: more is further from the background, so brightness alone tells", (one) => {
		const steps = Array.from({ length: 33 }, (_, at) => contrast(heat(one, at / 32), one.background));
		expect(steps).toEqual([...steps].sort((a, b) => a - b));
	});
});

/** As eyes with each kind of colour blindness see linear red, green and blue (Machado, Oliveira, Fernandes 2009). */
const EYES: Record<string, number[][]> = {
	all: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
	protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
	deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
	tritanopia: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
};
/** Of CIELAB: colours of areas this far apart are told apart at a glance. */
const APART = 20;

function seen(colour: string, eyes: number[][]): [number, number, number] {
	const linear = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255).map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
	const [r = 0, g = 0, b = 0] = eyes.map((row) => Math.min(1, Math.max(0, row.reduce((sum, part, at) => sum + part * (linear[at] ?? 0), 0))));
	const curve = (one: number): number => (one > 0.008856 ? Math.cbrt(one) : 7.787 * one + 16 / 116);
	const [x, y, z] = [(0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047, 0.2126 * r + 0.7152 * g + 0.0722 * b, (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883].map(curve) as [number, number, number];
	return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

test.each(Object.keys(EYES))("causes of one texture are told apart: %s", (kind) => {
	const eyes = EYES[kind] ?? [];
	for (const ground of ["onWhite", "onBlack"] as const) {
		for (const [name, one] of Object.entries(CAUSES)) {
			for (const [other, another] of Object.entries(CAUSES)) {
				if (name >= other || one.texture !== another.texture) continue;
				const [a, b] = [seen(one[ground], eyes), seen(another[ground], eyes)];
				expect(Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]), `${name} and ${other} ${ground}`).toBeGreaterThan(APART);
			}
		}
	}
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
