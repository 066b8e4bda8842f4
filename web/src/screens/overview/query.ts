import { share, time } from "../../draw/units";
import type { AccountAnswer, AccountPart, Finding, FindingsAnswer, Landmark, Overview, Run, Table } from "../../source";
import { column } from "../../source";

export type Fact = Overview["facts"][number];

/** What the run says of itself, before any of its calls is read: something true while the rest of a large run is worked out. */
export function known(run: Run): Fact[] {
	return [
		["command", run.command, "text"],
		["ran", run.duration, "ns"],
		["ranks", run.ranks, "count"],
		["processes", run.processes, "count"],
		["calls recorded in full", run.events, "count"],
		["calls only counted", run.counted, "count"],
		["layers", run.layers.join(", "), "text"],
	];
}

/** What one finding or landmark opens: a screen, with its own selection instead of the one before. */
export function opens(one: Finding | Landmark): Record<string, string | null> {
	const nothing = { t: null, lanes: null, layers: null, kinds: null, ops: null, files: null, servers: null };
	return { ...nothing, ...one.selection };
}

/** Where the rules found nothing: how many were asked. */
export function nothingFound({ asked }: FindingsAnswer): string {
	return `No findings: none of the ${asked} rules that were asked sees time lost`;
}

/** Findings by seconds of run time; those that give no figure come last. */
export function ranked(findings: Finding[]): Finding[] {
	return [...findings].sort((a, b) => (b.seconds ?? -1) - (a.seconds ?? -1));
}

/** Findings that the first screen begins with. */
export const WORST = 3;

/** What mending it would win, and what that may be at least and at most. */
export function won({ seconds, between, level }: Finding): { best: string; range: string | null } {
	if (seconds === null) return { best: level, range: null };
	return { best: time(seconds * 1e9), range: between && `${time(between[0] * 1e9)} to ${time(between[1] * 1e9)}` };
}

/** What is in a bar beside causes. */
export const OTHERS = "others";
export const NOT_IO = "not in I/O";

/** Beside the title: what the whole width is, and where it is from what an access should cost. */
export function scale({ seconds, prices }: AccountAnswer): string {
	const from = prices.length > 0 ? `; what an access should cost is from ${prices.join(" and ")}` : "";
	return `the run took ${time(seconds * 1e9)}${from}`;
}

export function ofRun(seconds: number, answer: AccountAnswer): string {
	return answer.seconds > 0 ? share(seconds / answer.seconds) : "-";
}

/** What a part of a bar is, in the server's words. */
export function meaning(cause: string, answer: AccountAnswer): string {
	return answer.causes.find(([name]) => name === cause)?.[1] ?? "";
}

/** What there is to read of one part, on one line. */
export function partText({ cause, seconds }: AccountPart, answer: AccountAnswer): string {
	return `${cause} ${time(seconds * 1e9)}, ${ofRun(seconds, answer)} of the run: ${meaning(cause, answer)}`;
}

export interface Rates {
	layers: string[];
	/** Seconds; for each layer, MB/s read and written. */
	times: number[];
	read: Map<string, number[]>;
	written: Map<string, number[]>;
}

/** Series of one layer from the long table of rates; a bin without bytes is 0. */
export function rates(table: Table): Rates {
	const [time, layer, read, written] = ["time", "layer", "bytes read", "bytes written"].map((name) => column(table, name)) as [number, number, number, number];
	const starts = [...new Set(table.rows.map((row) => Number(row[time])))].sort((a, b) => a - b);
	const width = (starts[1] ?? 1e9) - (starts[0] ?? 0);
	const bins = starts.length ? Math.round(((starts.at(-1) ?? 0) - (starts[0] ?? 0)) / width) + 1 : 0;
	const times = Array.from({ length: bins }, (_, at) => ((starts[0] ?? 0) + at * width) / 1e9);
	const layers = [...new Set(table.rows.map((row) => String(row[layer])))];
	const empty = (): Map<string, number[]> => new Map(layers.map((one) => [one, new Array<number>(bins).fill(0)]));
	const series = { layers, times, read: empty(), written: empty() };
	for (const row of table.rows) {
		const at = Math.round((Number(row[time]) - (starts[0] ?? 0)) / width);
		const perSecond = 1000 / width; // bytes of a bin as MB/s: 1e9 / width / 1e6
		for (const [into, from] of [[series.read, read], [series.written, written]] as const) {
			const line = into.get(String(row[layer]));
			if (line) line[at] = Number(row[from]) * perSecond;
		}
	}
	return series;
}

export interface CauseOverTime {
	cause: string;
	/** How many processes are in it, on average of each bin. */
	processes: number[];
}

/** Lines that a picture has room for. */
const LINES = 5;

/** The causes with most time, as series over the bins of the run; what has no time is in the table only. */
export function overTime(table: Table): { times: number[]; causes: CauseOverTime[] } {
	const [time, cause, spent] = ["time", "cause", "spent"].map((name) => column(table, name)) as [number, number, number];
	const rows = table.rows.filter((row) => row[time] !== null);
	const starts = [...new Set(rows.map((row) => Number(row[time])))].sort((a, b) => a - b);
	const [least, most] = [starts[0] ?? 0, starts.at(-1) ?? 0];
	const width = Math.min(...starts.slice(1).map((start, at) => start - (starts[at] ?? 0)), 1e9);
	const bins = starts.length ? Math.round((most - least) / width) + 1 : 0;
	const every = new Map<string, number[]>();
	for (const row of rows) {
		const name = String(row[cause]);
		const line = every.get(name) ?? new Array<number>(bins).fill(0);
		line[Math.round((Number(row[time]) - least) / width)] = Number(row[spent]) / width;
		every.set(name, line);
	}
	const sum = (line: number[]): number => line.reduce((a, b) => a + b, 0);
	const causes = [...every].sort(([, a], [, b]) => sum(b) - sum(a)).slice(0, LINES);
	return {
		times: Array.from({ length: bins }, (_, at) => (least + at * width) / 1e9),
		causes: causes.map(([name, processes]) => ({ cause: name, processes })),
	};
}

const NO_FILE_IO = ["server", "fathom", "threads", "mpi"];

/** The layer whose bytes are nearest to the disk: what the system really moved. */
export function lowest(series: Rates, stack: string[]): string | undefined {
	return [...stack].reverse().find((one) => !NO_FILE_IO.includes(one) && series.layers.includes(one)) ?? series.layers[0];
}
