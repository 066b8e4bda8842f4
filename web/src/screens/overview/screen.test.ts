import { expect, test } from "vitest";
import { SvgInk } from "../../draw/ink";
import { contrast, palettes } from "../../draw/theme";
import type { AccountAnswer, Finding, Run, Table } from "../../source";
import { barsHeight, edges, paintBars, paintMarked, paintSplit, partAt, SPLIT_HEIGHT, type SplitBar } from "./paint";
import { known, lowest, meaning, nothingFound, NOT_IO, opens, OTHERS, overTime, ranked, rates, partText, won } from "./query";

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
	knob: null,
	proof: null,
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
	expect(nothingFound({ asked: 10, findings: [], "not asked": [] })).toBe("No findings: none of the 10 rules that were asked sees time lost");
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

const account: AccountAnswer = {
	seconds: 100,
	width: 100,
	causes: [
		["names", "opens and closes"],
		["transfer", "the bytes asked for"],
		[OTHERS, "causes of less than 1 %"],
	],
	processes: [
		{
			which: "slowest",
			process: 3,
			label: "rank 3",
			title: "Slowest process, rank 3: 80 s in I/O, 80 % of the run",
			seconds: 80,
			causes: { locks: 0.2, names: 50, sync: 0.1, transfer: 29.7 },
			parts: [
				{ cause: "names", seconds: 50 },
				{ cause: "transfer", seconds: 29.7 },
				{ cause: OTHERS, seconds: 0.3 },
				{ cause: NOT_IO, seconds: 20 },
			],
		},
		{
			which: "median",
			process: 5,
			label: "rank 5",
			title: "Median process, rank 5: 40 s in I/O, 40 % of the run",
			seconds: 40,
			causes: { transfer: 39.9, locks: 0.1 },
			parts: [
				{ cause: "transfer", seconds: 39.9 },
				{ cause: OTHERS, seconds: 0.1 },
				{ cause: NOT_IO, seconds: 60 },
			],
		},
	],
	prices: ["this run's own accesses"],
	table: rate,
};

const pictures = (one: AccountAnswer): SplitBar[] => one.processes.map(({ title, parts }) => ({ title, parts, whole: one.width }));

test("a part says its seconds, its share and the server's meaning", () => {
	expect(partText({ cause: "names", seconds: 50 }, account)).toBe("names 50 s, 50 % of the run: opens and closes");
	expect(meaning(OTHERS, account)).toContain("less than 1 %");
	expect(meaning("of a newer server", account)).toBe("");
});

test("parts follow one another, and what the mouse is on is the part that is drawn there", () => {
	const drawn = pictures(account);
	expect(edges(drawn[0] as SplitBar, 1000)).toEqual([
		[0, 500],
		[500, 797],
		[797, 800],
		[800, 1000],
	]);
	expect(partAt(drawn, 1000, 600, 30)).toEqual({ row: 0, cause: "transfer" });
	expect(partAt(drawn, 1000, 600, SPLIT_HEIGHT + 30)).toEqual({ row: 1, cause: NOT_IO });
	expect(partAt(drawn, 1000, 600, 5)).toBe(null);
	expect(partAt(drawn, 1000, 600, 5 * SPLIT_HEIGHT)).toBe(null);
});

const drawnAt = (wide: number, palette = palettes.light): string => {
	const box = { width: wide, height: 2 * SPLIT_HEIGHT };
	const ink = new SvgInk(box);
	paintSplit(pictures(account))(ink, box, palette);
	return ink.document(palette.background);
};

test.each([palettes.light, palettes.dark])("of $name: words stand in the part that they name, legible, as far as there is room", (palette) => {
	expect(drawnAt(1280, palette)).toContain("names 50 s, 50 %");
	expect(drawnAt(420, palette)).toContain(">transfer 29.7 s<");
	expect(drawnAt(150, palette)).not.toContain(">transfer");
	for (const [, x, label] of drawnAt(800, palette).matchAll(/<text x="([\d.]+)"[^>]*>(names|transfer|not in)/g)) expect(Number(x), label).toBeLessThan(800);
	for (const colour of Object.values(palette.causes)) expect(Math.max(contrast("#000000", colour), contrast("#ffffff", colour))).toBeGreaterThanOrEqual(4.5);
});

test("the part that is pointed at is framed in every bar, and told above its own", () => {
	const box = { width: 800, height: 2 * SPLIT_HEIGHT };
	const ink = new SvgInk(box);
	paintMarked(pictures(account), "transfer", (row) => (row === 1 ? "transfer 39.9 s" : null))(ink, box, palettes.dark);
	const svg = ink.document("#000000");
	expect([...svg.matchAll(/stroke-width="2"/g)]).toHaveLength(2);
	expect([...svg.matchAll(/transfer 39.9 s/g)]).toHaveLength(1);
});

test("what a finding wins is one value and an interval; a danger wins no time", () => {
	expect(won({ ...finding("a", 5), between: [2, 9] })).toEqual({ best: "5 s", range: "2 s to 9 s" });
	expect(won({ ...finding("a", null), level: "danger" })).toEqual({ best: "danger", range: null });
});

test("causes over time are processes of each bin, those with most time first", () => {
	const table: Table = {
		columns: [
			{ name: "time", unit: "ns" },
			{ name: "cause", unit: "text" },
			{ name: "spent", unit: "ns" },
		],
		rows: [
			[null, "names", 5e9],
			[0, "sync", 1e9],
			[0, "transfer", 4e9],
			[2e9, "transfer", 2e9],
			[1e9, "sync", 1e9],
		],
		total: 5,
		sql: "",
		note: null,
	};
	expect(overTime(table)).toEqual({
		times: [0, 1, 2],
		causes: [
			{ cause: "transfer", processes: [4, 0, 2] },
			{ cause: "sync", processes: [1, 1, 0] },
		],
	});
});
