import { describe, expect, test } from "vitest";
import { runs, SLOW, strips as stripsOf } from "../../../browser/fixture";
import { SvgInk } from "../../draw/ink";
import { palettes } from "../../draw/theme";
import type { Strips } from "../../source";
import { whole } from "../../state/window";
import { itemBox, itemUnder, layout, paintTimeline } from "./paint";
import { itemsOf, LANES, lanesAsked, lanesOf, neighbour, phasesOf, shownLanes, WIDTH } from "./query";
import { phaseInWords } from "./screen";

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
		const columns = ["lane", "layer", "bin", "op", "busy", "call", "longest"].map((name) => ({ name, unit: name === "busy" ? ("ns" as const) : ("text" as const) }));
		const bins: Strips = { spans: null, bins: { columns, rows: [[3, "posix", 2, "pwrite", 0.5, "7", 90]], total: 1, sql: "", note: null }, limit: 0 };
		expect(itemsOf(bins, [1000, 1000 + WIDTH])).toMatchObject([{ lane: 3, start: 1002, end: 1003, busy: 0.5, call: "7", longest: 90 }]);
	});
});

describe("picture", () => {
	const lanes = [36, 37];
	const at = layout(lanes, layers, all.time, 1000);

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
			paintTimeline(at, { items, covered, marks: [], critical: [], lane: String, pinned: [] })(ink, box, palettes.light);
			return (ink.document("#ffffff").match(/<path/g) ?? []).length;
		};
		expect(draw([0, 4e9])).toBe(draw(all.time) + 1);
	});

	test("who is critical has a ground from when until when, where the lane is on screen", () => {
		const columns = ["lane", "start", "stop", "share"].map((name) => ({ name, unit: "ns" as const }));
		const phases = phasesOf({ columns, rows: [[37, 2e9, 4e9, 0.5], [5, 0, 1e9, null]], total: 2, sql: "", note: null });
		const box = { width: 1000, height: at.height };
		const ink = new SvgInk(box);
		paintTimeline(at, { items: [], covered: all.time, marks: [], critical: phases, lane: String, pinned: [] })(ink, box, palettes.light);
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
