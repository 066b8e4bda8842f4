import type { Finding, FindingsAnswer, Landmark, Overview, Run, Table } from "../../source";
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

/** What the rules say, in a line; of nothing they did not ask. */
export function headline(answer: FindingsAnswer | null): string {
	if (answer === null) return "Findings";
	const { asked, findings } = answer;
	return findings.length === 0 ? `No findings: none of the ${asked} rules that were asked sees time lost` : `Findings: ${findings.length}, those that cost most first`;
}

/** Findings by seconds of run time; those that give no figure come last. */
export function ranked(findings: Finding[]): Finding[] {
	return [...findings].sort((a, b) => (b.seconds ?? -1) - (a.seconds ?? -1));
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

const NO_FILE_IO = ["server", "fathom", "threads", "mpi"];

/** The layer whose bytes are nearest to the disk: what the system really moved. */
export function lowest(series: Rates, stack: string[]): string | undefined {
	return [...stack].reverse().find((one) => !NO_FILE_IO.includes(one) && series.layers.includes(one)) ?? series.layers[0];
}
