import { expect, test } from "vitest";
import { SvgInk } from "../../draw/ink";
import { palettes } from "../../draw/theme";
import type { Cell, Table } from "../../source";
import { paintSizes, sizesHeight } from "./paint";
import { accessMap, below, boundaries, children, covered, coverageTracks, ROOT, sizeBars, type AccessAnswer } from "./query";

function table(names: string[], rows: Cell[][]): Table {
	return { columns: names.map((name) => ({ name, unit: "text" })), rows, total: rows.length, sql: "select", note: null };
}

const measures = ["calls", "bytes read", "bytes written", "time"];
const ranks = { under: "/", table: table(["lane", "label", ...measures], [[3, "rank 3", 10, 0, 100, 9]]) };
const tree = { under: "/s/", table: table(["file", "path", "files", ...measures], [[7, "/s/<b>a,b</b>", 1, 5, 0, 100, 8], [null, "/s/out/", 40, 5, 0, 50, 1]]) };
const ops = { under: "/s/", table: table(["layer", "op", "kind", "calls", "bytes", "time"], [["posix", "pwrite", "write", 5, 100, 8]]) };

test("job, rank, file, operation, call: each step narrows what is asked", () => {
	const [rank] = children(ROOT, "by rank", ranks);
	const [file, folder] = rank ? children(rank, "by rank", tree) : [];
	const [op] = file ? children(file, "by rank", ops) : [];
	if (!rank || !file || !folder || !op) throw new Error("a step is missing");
	expect(below(rank, "by rank")).toMatchObject({ by: "file", lanes: "3" });
	expect(below(folder, "by rank")).toMatchObject({ by: "file", lanes: "3", under: "/s/out/" });
	expect(below(op, "by rank")).toMatchObject({ by: "call", lanes: "3", files: "7", ops: "posix:pwrite" });
	expect(op.values).toMatchObject({ read: null, written: 100 });
	expect(folder.label).toBe("out/ (40 files)");
	const [call] = children(op, "by rank", { under: "/", table: table(["call", "op", "start", "bytes", "duration"], [["18446744073709551615", "pwrite", 3e9, 100, 4]]) });
	expect(call?.label).toBe("pwrite at 3 s");
	expect([call?.call, call && below(call, "by rank")]).toEqual(["18446744073709551615", null]);
});

test("the tree can begin with the files", () => {
	expect(below(ROOT, "by file")).toMatchObject({ by: "file" });
	const [file] = children(ROOT, "by file", tree);
	expect(file && below(file, "by file")).toMatchObject({ by: "rank", files: "7" });
});

const access: AccessAnswer = {
	file: 7,
	path: "/scratch/out.h5",
	x: { begin: 0, width: 1e6, bins: 256 },
	y: { begin: 0, width: 1 << 20, bins: 128 },
	layers: ["posix"],
	cells: table(["x", "y", "kind", "calls", "bytes"], [
		[0, 0, "read", 1, 10],
		[0, 0, "write", 1, 30],
		[3, 127, "write", 1, 5],
	]),
	stripe: 16 << 20,
	block: 4096,
	sizes: table(["layer", "kind", "from", "below", "calls"], [
		["posix", "write", 4096, 16384, 10],
		["posix", "read", 4096, 16384, 4],
		["mpiio", "read", 4096, 16384, 99],
		["posix", "write", 2 ** 30, null, 1],
	]),
};

test("bytes of a cell add up, or are of one kind", () => {
	expect(accessMap(access, "time", "read and written", 4).cells).toEqual([[0, 0, 40], [3, 127, 5]]);
	expect(accessMap(access, "time", "read", 4).cells).toEqual([[0, 0, 10]]);
	expect(accessMap({ ...access, x: { begin: 0, width: 1, bins: 256 } }, "lane", "written", 4).x.bins).toBe(4);
});

test("boundaries are of blocks when few, else of stripes, else not drawn", () => {
	expect(boundaries(access)[0]?.label).toBe("boundaries of stripes of 16 MiB");
	expect(boundaries({ ...access, y: { begin: 0, width: 512, bins: 128 } })[0]?.label).toBe("boundaries of blocks of 4 KiB");
	expect(boundaries({ ...access, stripe: null })).toEqual([]);
});

test("sizes are of the layers that are drawn, and the last has no end", () => {
	const bars = sizeBars(access.sizes, ["posix"]);
	expect(bars).toEqual([{ label: "4 KiB to 16 KiB", read: 4, written: 10 }, { label: "1 GiB and more", read: 0, written: 1 }]);
	const ink = new SvgInk({ width: 470, height: sizesHeight(bars) });
	paintSizes(bars)(ink, { width: 470, height: sizesHeight(bars) }, palettes.light);
	expect([...ink.document("#ffffff").matchAll(/width="([\d.]+)" height="11"/g)].map((one) => Number(one[1]))).toEqual([80, 200, 20]);
});

test("what is not known of coverage has no track", () => {
	const names = ["bin", "asked", "read", "read twice", "written", "written twice", "unused"];
	const coverage = { begin: 0, step: 100, layers: ["posix"], "asked of": ["posix"], bins: table(names, [[0, null, 100, 0, 0, 0, null]]), sums: {} };
	expect(coverageTracks(coverage).map((one) => one.name)).toEqual(["read", "read twice", "written", "written twice"]);
	expect(covered(coverage)[0]).toEqual(["asked", "asked for by reads of layer posix"]);
	expect(covered({ ...coverage, "asked of": [] })[0]).toEqual(["asked", "asked for by reads"]);
});
