import { expect, test } from "vitest";
import { SvgInk } from "../../draw/ink";
import { palettes } from "../../draw/theme";
import { paintTracks, tracksHeight, trackUnder } from "../../draw/tracks";
import type { Cell, Table } from "../../source";
import { axisOf, imbalance, narrowed, OTHERS, sampleTracks, series, serverMap, serverTracks } from "./query";

function table(names: string[], rows: Cell[][]): Table {
	return { columns: names.map((name) => ({ name, unit: "text" })), rows, total: rows.length, sql: "select", note: null };
}

const bins = table(["server", "bin", "read", "written", "busy", "calls"], [
	["even", 0, 0, 0, 10, 1],
	["hot", 0, 0, 0, 70, 1],
	["hot", 5, 0, 4, 20, 1],
	["plain", 0, 0, 0, 10, 1],
	[null, 0, 0, 0, 500, 9],
]);
const answer = { stands: "storage" as const, begin: 0, width: 1e6, totals: bins, bins };
const all = series(answer, "busy");

test("servers stand by their distance from the mean; what is together is no server", () => {
	expect(all.map((one) => one.server)).toEqual(["hot", "even", "plain", OTHERS]);
	expect(all.find((one) => one.server === "hot")?.ofMean).toBeCloseTo(90 / (110 / 3));
	expect(narrowed(OTHERS)).toBeNull();
	expect(narrowed("nfs:/a,b")).toEqual({ servers: "nfs%3A%2Fa%2Cb" });
});

test("imbalance is the most loaded against the mean, bin by bin, and unknown where nothing runs", () => {
	const uneven = imbalance(all);
	expect(uneven[0]).toBeCloseTo(70 / 30);
	expect(uneven[1]).toBeNull();
	expect(uneven[5]).toBe(3);
});

test("a file system that was asked hardly anything is no server; a process that served is", () => {
	const small = table(["server", "bin", "read", "written", "busy", "calls"], [
		["/data/a", 0, 0, 0, 1000, 1],
		["/data/b", 0, 0, 0, 3000, 1],
		["/etc", 0, 0, 0, 29, 1],
	]);
	const mounts = series({ ...answer, bins: small }, "busy");
	expect(mounts.map((one) => one.server)).toEqual(["/data/b", "/data/a"]);
	expect(imbalance(mounts)[0]).toBeCloseTo(1.5);
	expect(imbalance(series({ ...answer, stands: "process", bins: small }, "busy"))[0]).toBeCloseTo(9000 / 4029);
});

test("charts of servers have one scale, so that their heights compare", () => {
	const tracks = serverTracks(all, "busy", 1e6);
	expect(tracks[0]?.name).toBe("imbalance");
	expect(new Set(tracks.slice(1).map((one) => one.top)).size).toBe(1);
	expect(serverMap(all, "busy", axisOf(answer), 1e6).cells).toContainEqual([5, all.findIndex((one) => one.server === "hot"), 20]);
});

test("samples keep least and most, and what is always 0 is left out", () => {
	const samples = table(["node", "what", "device", "unit", "bin", "time", "least", "most"], [
		[0, "cpu.user", "", "share", 3, 0, 0.5, 2],
		[0, "cpu.steal", "", "share", 3, 0, 0, 0],
		[1, "disk.read_bytes", "sda", "bytes/s", 3, 0, 1e6, 1e6],
	]);
	expect(sampleTracks(samples, "processors").map((one) => [one.name, one.least[3], one.most[3]])).toEqual([["node 0 cpu.user", 0.5, 2]]);
	expect(sampleTracks(samples, "disks").map((one) => one.name)).toEqual(["node 1 disk.read_bytes sda"]);
});

test("a point leads to its track and bin; a short peak is drawn at least a pixel high", () => {
	const tracks = { axis: axisOf(answer), tracks: serverTracks(all, "busy", 1e6) };
	const box = { width: 800, height: tracksHeight(tracks) };
	expect(trackUnder(tracks, box, 799, 50)).toEqual([1, 255]);
	expect(trackUnder(tracks, box, 799, 5000)).toBeNull();
	const ink = new SvgInk(box);
	paintTracks(tracks)(ink, box, palettes.dark);
	expect(ink.document("#000000")).toContain("imbalance");
});
