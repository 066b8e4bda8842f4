import { describe, expect, test } from "vitest";
import { runs, SLOW, strips as stripsOf } from "../../../browser/fixture";
import { SvgInk } from "../../draw/ink";
import { palettes } from "../../draw/theme";
import type { Strips } from "../../source";
import { whole } from "../../state/window";
import { contrast } from "../../draw/theme";
import { KINDS, kindColour, kindGroup } from "../../draw/kinds";
import { itemBox, itemColour, itemUnder, laneAt, layout, paintTimeline } from "./paint";
import { itemsOf, LANES, lanesAsked, lanesOf, matches, neighbour, nextMatch, phasesOf, rowsOf, shownLanes, WIDTH } from "./query";
import { itemInWords, phaseInWords } from "./words";

const run = runs.runs[0]!;
const all = whole(run);
const layers = run.layers;
const strips = stripsOf(Array.from({ length: run.lanes }, (_, lane) => lane));
const items = itemsOf(strips, all.time);

describe("lanes", () => {
	test("are read as selections write them", () => {
		expect(lanesOf("0-16:8,70,x", 100)).toEqual([0, 8, 16, 70]);
		expect(lanesOf("0-999999999", 4)).toEqual([0, 1, 2, 3]);
	});

	test("on screen are few, pinned ones first", () => {
		expect(shownLanes(run, "", "", all, 0)).toEqual(Array.from({ length: LANES }, (_, at) => at));
		expect(shownLanes(run, "40,2", "", all, 16).slice(0, 3)).toEqual([40, 2, 16]);
		expect(shownLanes(run, "", "37", all, 0)).toEqual([37]);
		expect(shownLanes(run, "900", "", all, 1e9).at(-1)).toBe(63);
	});

	test("are asked for in ranges; all of the run need no word", () => {
		expect(lanesAsked(run, [40, 2, 3, 4])).toBe("2-4,40");
		expect(lanesAsked({ ...run, lanes: 4 }, [0, 1, 2, 3])).toBeNull();
	});
});

describe("items", () => {
	test("of calls: all, outer ones first, the planted one with its time", () => {
		expect(items).toHaveLength(strips.spans?.rows.length ?? 0);
		expect(items.map((one) => one.depth)).toEqual(items.map((one) => one.depth).sort());
		expect(items.find((one) => one.call === SLOW)).toMatchObject({ lane: 37, start: 3.1e9, end: 4e9 });
	});

	test("of bins: times by the number of the bin, busy as a share of it", () => {
		const columns = ["lane", "layer", "bin", "op", "busy", "call", "longest", "kind"].map((name) => ({ name, unit: name === "busy" ? ("ns" as const) : ("text" as const) }));
		const bins: Strips = { spans: null, bins: { columns, rows: [[3, "posix", 2, "pwrite", 0.5, "7", 90, "write"]], total: 1, sql: "", note: null }, limit: 0 };
		expect(itemsOf(bins, [1000, 1000 + WIDTH])).toMatchObject([{ lane: 3, start: 1002, end: 1003, busy: 0.5, call: "7", longest: 90, kind: "write", bytes: null }]);
	});

	test("are named by function, rank and time, never by number", () => {
		const slow = items.find((one) => one.call === SLOW)!;
		expect(itemInWords(slow, (lane) => `rank ${lane}`)).toBe("pwrite, rank 37, 900 ms, at 3.1 s, layer posix, 8 KiB, /scratch/<b>out</b>.h5");
		expect(itemInWords({ ...slow, busy: 0.37 }, (lane) => `rank ${lane}`)).toContain("the longest of a bin that is 37 % busy");
	});

	test("are found by function, layer and file; Enter goes on in time and begins again", () => {
		const slow = items.find((one) => one.call === SLOW)!;
		expect([matches(slow, "PWRITE"), matches(slow, "out</b>"), matches(slow, "posix"), matches(slow, "fsync"), matches(slow, " ")]).toEqual([true, true, true, false, true]);
		const few = items.filter((one) => one.lane > 60);
		const first = nextMatch(few, "write_all", null)!;
		expect([first.at, first.of]).toEqual([1, 3]);
		const last = nextMatch(few, "write_all", nextMatch(few, "write_all", first.item)!.item)!;
		expect(nextMatch(few, "write_all", last.item)?.item).toBe(first.item);
		expect(nextMatch(few, "fsync", null)).toBeNull();
	});
});

describe("picture", () => {
	const lanes = [36, 37];
	const at = layout(rowsOf(items, lanes, layers), all.time, 1000);

	test("rows without calls, and lanes without rows, are not drawn", () => {
		const posix = items.filter((one) => one.lane === 37 && one.layer === "posix");
		const few = layout(rowsOf(posix, [5, 36, 37], layers), all.time, 1000);
		expect([...few.rows]).toEqual([[37, ["posix"]]]);
		expect([...few.tops.keys()]).toEqual(["37 posix"]);
		expect(laneAt(few, 10, few.tops.get("37 posix")! + 2)).toBe(37);
		expect(laneAt(few, 10, few.height + 50)).toBeNull();
		expect(laneAt(few, 500, few.tops.get("37 posix")! + 2)).toBeNull();
	});

	test.each([palettes.light, palettes.dark])("of $name: kinds have colours of their own, 3:1 against the ground", (palette) => {
		const colours = [...KINDS, kindGroup("of a newer server")].map((one) => kindColour(palette, one));
		expect(new Set(colours).size).toBe(colours.length);
		for (const colour of colours) expect(contrast(colour, palette.background)).toBeGreaterThanOrEqual(3);
		const slow = items.find((one) => one.call === SLOW)!;
		expect(itemColour(palette, slow, "operation")).toBe(kindColour(palette, KINDS[0]!));
		expect(itemColour(palette, slow, "layer")).toBe(palette.layers["posix"]);
	});

	test("an item is found where it is drawn; what is not on screen is not", () => {
		const slow = items.find((one) => one.call === SLOW)!;
		const [x, y] = itemBox(at, slow)!;
		expect(itemUnder(at, items, x + 2, y + 2)?.call).toBe(SLOW);
		expect(itemBox(at, { ...slow, lane: 5 })).toBeNull();
	});

	test("a call of no width is still a pixel", () => {
		expect(itemBox(at, { lane: 36, layer: "posix", start: 5e9, end: 5e9 })?.[2]).toBe(1);
	});

	test("times that did not come yet are hatched", () => {
		const box = { width: 1000, height: at.height };
		const draw = (covered: [number, number]): number => {
			const ink = new SvgInk(box);
			paintTimeline(at, { items, covered, marks: [], critical: [], lane: String, pinned: [], colours: "operation", find: "" })(ink, box, palettes.light);
			return (ink.document("#ffffff").match(/<path/g) ?? []).length;
		};
		expect(draw([0, 4e9])).toBe(draw(all.time) + 1);
	});

	test("who is critical has a ground from when until when, where the lane is on screen", () => {
		const columns = ["lane", "start", "stop", "share"].map((name) => ({ name, unit: "ns" as const }));
		const phases = phasesOf({ columns, rows: [[37, 2e9, 4e9, 0.5], [5, 0, 1e9, null]], total: 2, sql: "", note: null });
		const box = { width: 1000, height: at.height };
		const ink = new SvgInk(box);
		paintTimeline(at, { items: [], covered: all.time, marks: [], critical: phases, lane: String, pinned: [], colours: "operation", find: "" })(ink, box, palettes.light);
		const [left, , width] = itemBox(at, { ...phases[0]!, layer: layers[0]! })!;
		const grounds = ink.document("#ffffff").match(new RegExp(`<rect[^>]*x="${left}"[^>]*width="${width}"[^>]*fill="${palettes.light.mark}"`, "g"));
		expect(grounds).toHaveLength(2);
		expect(phases.map((phase) => phaseInWords(phase, String))).toEqual(["37 from 2 s to 4 s, 50 % of it in I/O", "5 from 0 s to 1 s"]);
	});

	test("keys walk down the layers of a lane and on to the next lane", () => {
		const rows = [...at.tops.keys()];
		const shown = items.filter((one) => lanes.includes(one.lane));
		const path = ["ArrowDown", "ArrowDown", "ArrowDown"].reduce((list, key) => [...list, neighbour(shown, rows, list.at(-1)!, key)!], [shown[0]!]);
		expect(path.map((one) => `${one.lane} ${one.layer}`)).toEqual(["36 hdf5", "36 mpiio", "36 posix", "37 hdf5"]);
		expect(neighbour(shown, rows, shown[0]!, "ArrowUp")).toBeNull();
	});
});
