/** A search of `fathom tune`: its trials as points of two pictures. */
import { column, type Table } from "../../source";

export interface Knob {
	name: string;
	/** As `fathom list knobs` lists it: layer.name. */
	knob: string;
	/** In their order; the first is "not set". */
	values: string[];
}

export interface SearchAnswer {
	name: string;
	command: string;
	objective: string;
	unit: string;
	/** More is better. */
	more: boolean;
	knobs: Knob[];
	/** Trial, stage, state, score, cost, why, then a column for each knob. */
	trials: Table;
	running: boolean;
	/** The rest once fresh runs have shown it. */
	verdict: string | null;
	methods: Table | null;
	/** Of each setting of the winner: how much better it is than without it. */
	ablation: Table | null;
}

export interface ModelAnswer {
	formula: string;
	note: string;
	/** Predicted, measured, settings: a row for each trial. */
	fit: Table;
}

export interface Trial {
	trial: number;
	stage: string;
	state: string;
	/** Null: it failed, hung or wrote something else. */
	score: number | null;
	/** Of each knob the number of its value. */
	point: number[];
	settings: string;
	why: string;
}

/** All that ran. */
export function trials({ trials: table, knobs }: SearchAnswer): Trial[] {
	const [number, stage, state, score, why] = ["trial", "stage", "state", "score", "why"].map((name) => column(table, name)) as [number, number, number, number, number];
	return table.rows.map((row) => {
		const values = row.slice(why + 1).map(String);
		const won = row[state] === "done" ? row[score] : null;
		return {
			trial: Number(row[number]),
			stage: String(row[stage]),
			state: String(row[state]),
			score: typeof won === "number" ? won : null,
			point: knobs.map((knob, at) => Math.max(0, knob.values.indexOf(values[at] ?? ""))),
			settings: knobs.map((knob, at) => `${knob.name}=${values[at] ?? ""}`).filter((_, at) => values[at] !== knobs[at]?.values[0]).join(" ") || "default",
			why: String(row[why] ?? ""),
		};
	});
}

/** The best score up to each trial, from the first that has one on. */
export function bestSoFar(all: Trial[], more: boolean): (number | null)[] {
	let best: number | null = null;
	return all.map((one) => {
		if (one.score !== null && (best === null || (more ? one.score > best : one.score < best))) best = one.score;
		return best;
	});
}

export interface Setting {
	point: number[];
	settings: string;
	/** Median of its trials. */
	score: number;
	trials: number[];
}

/** Each setting that was measured once, the worst first: what is drawn last lies on top. */
export function settings(all: Trial[], more: boolean): Setting[] {
	const byPoint = new Map<string, Trial[]>();
	for (const one of all) {
		if (one.score === null) continue;
		const key = one.point.join();
		byPoint.set(key, [...(byPoint.get(key) ?? []), one]);
	}
	const measured = [...byPoint.values()].map((same) => ({
		point: same[0]?.point ?? [],
		settings: same[0]?.settings ?? "",
		score: median(same.map((one) => one.score ?? 0)),
		trials: same.map((one) => one.trial),
	}));
	return measured.sort((a, b) => (more ? a.score - b.score : b.score - a.score));
}

function median(values: number[]): number {
	const sorted = [...values].sort((a, b) => a - b);
	const half = sorted.length / 2;
	return Number.isInteger(half) ? ((sorted[half - 1] ?? 0) + (sorted[half] ?? 0)) / 2 : (sorted[Math.floor(half)] ?? 0);
}

/** Least and most score; a range that is none gets some room. */
export function range(all: { score: number | null }[]): [number, number] {
	const scores = all.map((one) => one.score).filter((one) => one !== null);
	if (scores.length === 0) return [0, 1];
	const [least, most] = [Math.min(...scores), Math.max(...scores)];
	const room = (most - least) * 0.06 || Math.abs(most) * 0.1 || 1;
	return [least - room, most + room];
}

/** A score in the words of its unit. */
export function scoreInWords(score: number, unit: string): string {
	return `${Number(score.toPrecision(4)).toLocaleString("en-US")} ${unit}`.trim();
}
