import { expect, test } from "vitest";
import { walk } from "../parts/cells";
import { bucketAxis, byteAxis, laneAxis, multiples, timeAxis } from "./axis";
import { boxOf, cellUnder, frameOf, paintCells, type CellMap } from "./cells";
import { SvgInk } from "./ink";
import { palettes } from "./theme";

const map: CellMap = {
	x: timeAxis({ begin: 0, width: 1e8, bins: 10 }),
	y: byteAxis({ begin: 0, width: 1 << 20, bins: 8 }),
	cells: [
		[0, 0, 1],
		[9, 7, 100],
	],
	says: String,
	what: "bytes",
};

test("axes have round labels", () => {
	expect(map.x.ticks(5).map((one) => one.label)).toEqual(["0.0 s", "0.2 s", "0.4 s", "0.6 s", "0.8 s", "1.0 s"]);
	expect(map.y.ticks(4).map((one) => one.label)).toEqual(["0 B", "2 MiB", "4 MiB", "6 MiB", "8 MiB"]);
	expect(bucketAxis(40, 20).ticks(9).map((one) => one.label)).toEqual(["2 µs", "5 µs", "10 µs", "20 µs"]);
	expect(bucketAxis(105, 5).ticks(9).map((one) => one.label)).toEqual(["79.8 ms", "94.9 ms", "113 ms", "134 ms", "160 ms", "190 ms"]);
	expect(laneAxis({ begin: 0, width: 4, bins: 4 }, ["rank", "ranks"]).says(1)).toBe("ranks 4 to 7");
});

test("boundaries of stripes are drawn until they are too many to see", () => {
	expect(multiples({ begin: 3, width: 1, bins: 10 }, 4, 10)).toEqual([4, 8, 12]);
	expect(multiples({ begin: 0, width: 1 << 20, bins: 100 }, 4096, 200)).toEqual([]);
});

test("row 0 is at the bottom, and a point leads back to its cell", () => {
	const box = { width: 400, height: 300 };
	const frame = frameOf(map, box);
	for (const cell of [[0, 0], [9, 7], [4, 3]] as const) {
		const [x, y, width, height] = boxOf(map, frame, cell, cell);
		expect(cellUnder(map, frame, x + width / 2, y + height / 2)).toEqual(cell);
	}
	expect(boxOf(map, frame, [0, 0], [0, 0])[1]).toBeGreaterThan(boxOf(map, frame, [0, 7], [0, 7])[1]);
	expect(cellUnder(map, frame, 1, 1)).toBeNull();
});

test("the first arrow leads to the cell with the most, the next ones around it, never outside", () => {
	expect(walk(map, "ArrowLeft", null)).toEqual([9, 7]);
	expect(walk(map, "ArrowLeft", [9, 7])).toEqual([8, 7]);
	expect(walk(map, "ArrowUp", [9, 7])).toEqual([9, 7]);
	expect(walk({ ...map, down: true }, "ArrowUp", [9, 7])).toEqual([9, 6]);
	expect(walk(map, "x", null)).toBeNull();
});

test("the cell with the most has the strongest colour", () => {
	const box = { width: 400, height: 300 };
	const ink = new SvgInk(box);
	paintCells({ ...map, lines: [] })(ink, box, palettes.light);
	expect(ink.document("#ffffff")).toContain(palettes.light.heat.at(-1));
});

test("where all cells have the same, the legend says it once, in the colour they have", () => {
	const box = { width: 400, height: 300 };
	const ink = new SvgInk(box);
	paintCells({ ...map, lines: [], cells: [[0, 0, 7], [9, 7, 7]], says: (value) => `${value} KiB` })(ink, box, palettes.light);
	const svg = ink.document("#ffffff");
	expect(svg.split("7 KiB")).toHaveLength(2);
	const colours = new Set([...svg.matchAll(/<rect [^>]*fill="([^"]+)"/g)].map((one) => one[1]));
	expect([...colours].filter((one) => one !== "none" && one !== "#ffffff")).toHaveLength(1);
});
