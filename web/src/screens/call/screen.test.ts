import { describe, expect, test } from "vitest";
import { call, SLOW, tree } from "../../../browser/fixture";
import { SvgInk } from "../../draw/ink";
import { palettes } from "../../draw/theme";
import type { Finding, Table } from "../../source";
import { icicleHeight, nodeUnder, paintIcicle, paintWaterfall, waterfallHeight } from "./paint";
import { MARGIN, details, differences, findingsAt, flat, kernelWords, margin, outermost, pathOf, rowsOf, siteOf, step, treeOf } from "./query";

const root = treeOf(tree)!;

/** A call of 1 s that is served by four servers at once, and a bundle of 500 reads. */
const wide: Table = {
	...tree,
	rows: [
		["1", null, "root", 0, "posix", "pwrite", 0, 1e9, 9e8, 100, null, 1],
		...[0, 1, 2, 3].map((at) => [String(10 + at), "1", "serves", 90 + at, "server", "write", at * 1e8, 5e8, 0, 25, `oss-${at}`, 1]),
		["99", "1", "child", 0, "posix", "pread", 6e8, 1e8, 0, 100, null, 500],
	],
};

describe("tree", () => {
	test("follows parents, whatever the order of rows", () => {
		const shuffled = treeOf({ ...tree, rows: [...tree.rows].reverse() })!;
		expect(flat(shuffled).map((one) => [one.call, one.depth])).toEqual([
			["1037", 0],
			["2037", 1],
			[SLOW, 2],
		]);
	});

	test("of no rows is none", () => {
		expect(treeOf({ ...tree, rows: [] })).toBeNull();
	});

	test("keys lead up, down and to the sides", () => {
		expect(step(root, "1037", "ArrowDown")?.call).toBe("2037");
		expect(step(root, SLOW, "ArrowUp")?.call).toBe("2037");
		expect(step(root, "1037", "ArrowUp")).toBeNull();
		const many = treeOf(wide)!;
		expect(step(many, "10", "ArrowRight")?.call).toBe("11");
		expect(step(many, "10", "ArrowLeft")).toBeNull();
	});

	test("what runs at once at one depth stands in rows of its own, what follows shares one", () => {
		const { placed, rows } = rowsOf(treeOf(wide)!);
		const row = new Map(placed.map(({ node, row }) => [node.call, row]));
		expect(new Set(["10", "11", "12", "13"].map((id) => row.get(id))).size).toBe(4);
		expect(row.get("99")).toBe(row.get("10"));
		expect(rows).toBe(5);
	});
});

test("the kernel's work is said as far as there was any", () => {
	expect(kernelWords(call.kernel)).toBe("2 requests of 8 KiB to devices, queued 100 ms; 300 ms while devices were at work; 500 ms paused, until memory had room for what it wrote");
	expect(kernelWords({ missed: 0, ahead: 0, requests: 0, request_bytes: 0, device: 0, queued: 0, paused: 0, journal: 0 })).toBe("");
});

test("the outermost call is the one that began first", () => {
	const [hdf5, mpiio] = call.ancestors;
	expect(outermost(call.call, [mpiio!, hdf5!])).toBe("1037");
	expect(outermost(call.call, [])).toBe(SLOW);
});

test("the comparison lists what differs, with ratios of sizes and times", () => {
	const table = differences({ call: "1", op: "pwrite", duration: 900, bytes: 10, error: 0 }, { call: "2", op: "pwrite", duration: 3, bytes: 10, error: 5 });
	expect(table.rows).toEqual([
		["duration", 900, 3, 300],
		["error", 0, 5, null],
	]);
});

test("arguments, hints and the place in the program are shown, each once", () => {
	const hint = { key: "cb_nodes", value: "4", source: "in force" };
	const answer = { args: { amode: 5, name: "x" }, hints: [hint, hint], site: { function: "by_view", source: "form.c", line: 54 } } as never;
	expect(details(answer, "args")).toEqual([
		["amode", "5"],
		["name", "x"],
	]);
	expect(details(answer, "hints")).toEqual([["cb_nodes", "4 (in force)"]]);
	expect(siteOf(answer)).toBe("by_view, form.c:54");
	expect(details({}, "args")).toEqual([]);
	expect(siteOf({ site: null })).toBe("");
	expect(pathOf({ site: { path: ["main()", "form.c:54 by_view()"] } } as never)).toEqual(["main()", "form.c:54 by_view()"]);
	expect(pathOf({ site: { path: ["form.c:54 by_view()"] } } as never)).toEqual([]);
	expect(pathOf({ site: null })).toEqual([]);
});

test("beside a source line stand its I/O and the findings that name it", () => {
	expect(margin([1_500_000, 4096, 12])).toBe("   1.5 ms       4 KiB         12");
	expect(margin([0, 0, 1_234_567])).toHaveLength(MARGIN.length);
	expect(margin(null).trim()).toBe("");
	const finding = (name: string, ...sites: string[]): Finding => ({ name, sites }) as never;
	const all = [finding("a", "/src/a.c:7 save"), finding("b", "/src/a.c:71 save", "/src/a.c:7"), finding("c", "/src/aa.c:7 save")];
	expect(findingsAt(all, "/src/a.c", 7).map((one) => one.name)).toEqual(["a", "b"]);
	expect(findingsAt(all, "a.c", 7)).toEqual([]);
});

test("a call that is below another and linked with it as well is drawn once", () => {
	const rows = [...tree.rows, [SLOW, "2037", "carries", ...tree.rows[2]!.slice(3)]];
	expect(flat(treeOf({ ...tree, rows })!)).toHaveLength(3);
});

describe("picture", () => {
	const box = { width: 800, height: icicleHeight(root) };

	test("of the icicle: a call stands where a press finds it", () => {
		expect(nodeUnder(root, box, 10, 5)?.call).toBe("1037");
		expect(nodeUnder(root, box, 400, 24 * 2 + 5)?.call).toBe(SLOW);
		expect(nodeUnder(root, box, 10, 24 * 2 + 5)).toBeNull();
	});

	test("names calls, and counts of bundles", () => {
		const many = treeOf(wide)!;
		const ink = new SvgInk({ width: 1600, height: icicleHeight(many) });
		paintIcicle(many, "1")(ink, { width: 1600, height: icicleHeight(many) }, palettes.light);
		expect(ink.document("#ffffff")).toContain("500 × pread");
	});

	test("of the waterfall: what others did is said with their names", () => {
		const many = treeOf(wide)!;
		const size = { width: 1000, height: waterfallHeight(many) };
		const ink = new SvgInk(size);
		paintWaterfall(many, "1", (lane) => `rank ${lane}`)(ink, size, palettes.light);
		expect(ink.document("#ffffff")).toContain("write (oss-2)");
	});
});
