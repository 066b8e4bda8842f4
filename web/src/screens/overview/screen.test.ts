import { expect, test } from "vitest";
import { SvgInk } from "../../draw/ink";
import { palettes } from "../../draw/theme";
import type { Finding, Run, Table } from "../../source";
import { barsHeight, paintBars } from "./paint";
import { headline, known, lowest, opens, ranked, rates } from "./query";

const rate: Table = {
	columns: [
		{ name: "time", unit: "ns" },
		{ name: "layer", unit: "text" },
		{ name: "bytes read", unit: "bytes" },
		{ name: "bytes written", unit: "bytes" },
	],
	rows: [
		[0, "posix", 1e6, 0],
		[2e9, "posix", 0, 3e6],
		[2e9, "mpiio", 0, 4e6],
	],
	total: 3,
	sql: "select",
	note: null,
};

test("bytes of bins become MB/s, bins without bytes 0", () => {
	const series = rates(rate);
	expect(series.times).toEqual([0, 2]);
	expect(series.read.get("posix")).toEqual([0.5, 0]);
	expect(series.written.get("mpiio")).toEqual([0, 2]);
	expect(lowest(series, ["mpiio", "posix", "fathom"])).toBe("posix");
});

const finding = (name: string, seconds: number | null): Finding => ({
	name,
	title: name,
	level: "high",
	seconds,
	between: null,
	sure: 1,
	sentence: "",
	advice: "",
	evidence: [],
	sites: [],
	selection: { lanes: "3" },
	screen: "heat",
	sql: "",
});

test("findings stand by seconds lost, dangers without a figure last", () => {
	expect(ranked([finding("a", null), finding("b", 0.1), finding("c", 7)]).map((one) => one.name)).toEqual(["c", "b", "a"]);
});

test("of a run without findings it is said how many rules were asked", () => {
	expect(headline(null)).toBe("Findings");
	expect(headline({ asked: 10, findings: [], "not asked": [] })).toBe("No findings: none of the 10 rules that were asked sees time lost");
	expect(headline({ asked: 10, findings: [finding("a", 1)], "not asked": [] })).toContain("Findings: 1,");
});

test("a finding's selection replaces the one before", () => {
	expect(opens(finding("a", 1))).toMatchObject({ lanes: "3", t: null, files: null });
});

test("bars are as long as times, each with its name and figure", () => {
	const bars = [
		{ layer: "mpiio", inclusive: 10e9, exclusive: 2e9, communication: 0 },
		{ layer: "posix", inclusive: 8e9, exclusive: 8e9, communication: 0 },
	];
	const ink = new SvgInk({ width: 520, height: barsHeight(bars) });
	paintBars(bars)(ink, { width: 520, height: barsHeight(bars) }, palettes.light);
	const svg = ink.document("#ffffff");
	expect([...svg.matchAll(/width="([\d.]+)" height="16"/g)].map((one) => Number(one[1]))).toEqual([60, 240]);
	expect(svg).toContain("2 s itself, 20 %");
});

test("bars leave room for what is said of hours", () => {
	const bars = [{ layer: "mpiio", inclusive: 39e12, exclusive: 22.866e12, communication: 0 }];
	const ink = new SvgInk({ width: 500, height: barsHeight(bars) });
	paintBars(bars)(ink, { width: 500, height: barsHeight(bars) }, palettes.light);
	const [, x, label] = /<text x="([\d.]+)"[^>]*>([^<]* itself, [^<]*)</.exec(ink.document("#ffffff")) ?? [];
	expect(label).toContain("22866 s");
	expect(Number(x) + (label ?? "").length * 6.2).toBeLessThan(500);
});

test("communication stands behind the layer's own time, and is told", () => {
	const bars = [{ layer: "mpiio", inclusive: 10e9, exclusive: 2e9, communication: 5e9 }];
	const ink = new SvgInk({ width: 650, height: barsHeight(bars) });
	paintBars(bars)(ink, { width: 650, height: barsHeight(bars) }, palettes.light);
	const svg = ink.document("#ffffff");
	expect([...svg.matchAll(/<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)" height="16"/g)].map((one) => [Number(one[1]), Number(one[2])])).toEqual([
		[70, 60],
		[130, 150],
	]);
	expect(svg).toContain("2 s itself, 20 %; 5 s communication");
});

test("what is known before any call is read has the units of the facts that follow", () => {
	const run = { command: "mpiexec -n 4 s3d", duration: 5e9, ranks: null, processes: 4, nodes: 1, events: 10, counted: 2, layers: ["mpiio", "posix"] } as Run;
	expect(known(run)).toContainEqual(["ran", 5e9, "ns"]);
	expect(known(run)).toContainEqual(["ranks", null, "count"]);
	expect(known(run)).toContainEqual(["layers", "mpiio, posix", "text"]);
});
