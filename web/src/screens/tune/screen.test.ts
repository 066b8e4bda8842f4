import { expect, test } from "vitest";
import { SvgInk } from "../../draw/ink";
import { palettes } from "../../draw/theme";
import type { Cell } from "../../source";
import { HEIGHT, PARALLEL, paintHistory, paintParallel, settingUnder, trialUnder } from "./paint";
import { bestSoFar, range, scoreInWords, settings, trials, type SearchAnswer } from "./query";

const names = ["trial", "stage", "state", "score", "cost", "why", "nodes", "cost"];
const rows: Cell[][] = [
	[1, "look", "done", 9, 10, null, "not set", "not set"],
	[2, "default", "done", 10, 10, null, "not set", "not set"],
	[3, "search", "done", 4, 5, null, "2", "1MiB"],
	[5, "search", "failed", null, 1, "exit status 1", "2", "not set"],
	[6, "search", "wrong", 2, 3, "other output", "1", "1MiB"],
	[7, "proof", "done", 6, 6, null, "2", "1MiB"],
];
const answer: SearchAnswer = {
	name: "vpic",
	command: "mpiexec ./vpic",
	objective: "io-time",
	unit: "s",
	more: false,
	knobs: [
		{ name: "nodes", knob: "romio.cb_nodes", values: ["not set", "1", "2"] },
		{ name: "cost", knob: "romio.cb_buffer_size", values: ["not set", "1MiB"] },
	],
	trials: { columns: names.map((name) => ({ name, unit: "text" })), rows, total: rows.length, sql: "", note: null },
	running: false,
	verdict: null,
	methods: null,
	ablation: null,
};
const all = trials(answer);

test("a trial has its settings; what failed or wrote something else has no score; a knob may be called as a column is", () => {
	expect(all.map((one) => one.score)).toEqual([9, 10, 4, null, null, 6]);
	expect(all.map((one) => one.settings)).toEqual(["default", "default", "nodes=2 cost=1MiB", "nodes=2", "nodes=1 cost=1MiB", "nodes=2 cost=1MiB"]);
	expect(all[4]?.point).toEqual([1, 1]);
	expect(all[3]?.why).toBe("exit status 1");
});

test("the best so far never becomes worse, whichever way is better", () => {
	expect(bestSoFar(all, false)).toEqual([9, 9, 4, 4, 4, 4]);
	expect(bestSoFar(all, true)).toEqual([9, 10, 10, 10, 10, 10]);
});

test("a setting counts once, with the median of its trials, the best last", () => {
	expect(settings(all, false).map((one) => [one.settings, one.score, one.trials])).toEqual([
		["default", 9.5, [1, 2]],
		["nodes=2 cost=1MiB", 5, [3, 7]],
	]);
	expect(settings(all, true).at(-1)?.settings).toBe("default");
});

test("scores have room around them, one alone too, and none at all", () => {
	expect(range([{ score: 5 }])).toEqual([4.5, 5.5]);
	expect(range([{ score: null }])).toEqual([0, 1]);
	expect(scoreInWords(1234.567, "MB/s")).toBe("1,235 MB/s");
});

test("in the history a trial stands where it is found again; those without a score are crossed", () => {
	const box = { width: 600, height: HEIGHT };
	const ink = new SvgInk(box);
	paintHistory(all, answer, 0)(ink, box, palettes.light);
	const svg = ink.document("#ffffff");
	expect(svg.match(new RegExp(`stroke="${palettes.light.mark}"`, "g"))).toHaveLength(2);
	expect([65, 300, 590].map((x) => trialUnder(all, 600, x)?.trial)).toEqual([1, 3, 7]);
});

test("a setting's line is found at its ends; the best one is drawn last and thick", () => {
	const box = { width: 600, height: PARALLEL };
	const measured = settings(all, false);
	const ink = new SvgInk(box);
	paintParallel(measured, answer, 0)(ink, box, palettes.light);
	const lines = [...ink.document("#ffffff").matchAll(/<path d="M([\d.]+) ([\d.]+)(?:L[\d. ]+){2}" fill="none" stroke="[^"]+" stroke-width="([\d.]+)"/g)].map((one) => one.slice(1).map(Number));
	expect(lines.map((one) => one[2])).toEqual([1, 3]);
	for (const [at, [x = 0, y = 0]] of lines.entries()) expect(settingUnder(measured, answer, 600, { x, y })).toBe(measured[at]);
});
