/** What servers were asked over time, and what the nodes did then. */
import { nameAxis, timeAxis, type Axis } from "../../draw/axis";
import type { CellMap } from "../../draw/cells";
import { layerColour, type Palette } from "../../draw/theme";
import { peak, type Track } from "../../draw/tracks";
import { count, format, size, time } from "../../draw/units";
import { column, numbers, records, type Cell, type Column, type Table, type Unit } from "../../source";

export interface ServersAnswer {
	/** What a server is: a process that served, or what files lie on: OSTs, or a file system. */
	stands: "process" | "storage";
	begin: number;
	width: number;
	totals: Table;
	bins: Table;
}

export const METRICS = ["busy", "written", "read", "calls"] as const;
export type Metric = (typeof METRICS)[number];
export const BINS = 256;
export const PANELS = 8; // charts; further servers are rows of the heat map
export const OTHERS = "all others";

export interface Series {
	server: string;
	values: number[];
	total: number;
	/** Total against the mean of all servers. */
	ofMean: number;
}

/** Where file systems stand for servers, one that was asked less than this part of the most is none of the job's storage: settings are read at the start. */
const HARDLY = 0.01;

/** Values of each server, those farthest from the mean first; storage that was hardly asked is none. */
export function series(answer: ServersAnswer, metric: Metric): Series[] {
	const lines = new Map<string, number[]>();
	const table = answer.bins;
	const [server, bin, values] = [column(table, "server"), numbers(table, "bin"), numbers(table, metric)];
	table.rows.forEach((row, at) => {
		const name = row[server] === null ? OTHERS : String(row[server]);
		const line = lines.get(name) ?? new Array<number>(BINS).fill(0);
		line[bin[at] ?? 0] = values[at] ?? 0;
		lines.set(name, line);
	});
	const every = [...lines].map(([name, line]): Series => ({ server: name, values: line, total: line.reduce((a, b) => a + b, 0), ofMean: 0 }));
	const isNamed = (one: Series): boolean => one.server !== OTHERS;
	const least = answer.stands === "storage" ? HARDLY * Math.max(0, ...every.filter(isNamed).map((one) => one.total)) : 0;
	const all = every.filter((one) => !isNamed(one) || one.total >= least);
	const named = all.filter(isNamed);
	const mean = named.reduce((sum, one) => sum + one.total, 0) / Math.max(1, named.length);
	for (const one of all) one.ofMean = mean > 0 ? one.total / mean : 0;
	const far = (one: Series): number => (isNamed(one) ? Math.abs(one.ofMean - 1) : -1);
	return all.sort((a, b) => far(b) - far(a) || b.total - a.total);
}

/** In each bin the most loaded server against the mean: 1 is balance. Bins in which nothing runs are not known. */
export function imbalance(all: Series[]): (number | null)[] {
	const named = all.filter((one) => one.server !== OTHERS);
	return Array.from({ length: BINS }, (_, at) => {
		const values = named.map((one) => one.values[at] ?? 0);
		const sum = values.reduce((a, b) => a + b, 0);
		return sum > 0 ? (Math.max(...values) * values.length) / sum : null;
	});
}

export function axisOf({ begin, width }: { begin: number; width: number }): Axis {
	return timeAxis({ begin, width, bins: BINS });
}

/** A value of a metric over a bin of `width` ns, as people read it. */
export function inWords(metric: Metric, width: number): (value: number) => string {
	if (metric === "calls") return (value) => `${count(Math.round(value))} calls`;
	if (metric === "busy") return (value) => `${time(Math.round(value))} of calls`;
	return (value) => `${size(Math.round(value))}, ${format((value * 1e9) / width, "bytes/s")}`;
}

export function serverTracks(all: Series[], metric: Metric, width: number): Track[] {
	const top = Math.max(...all.map((one) => Math.max(...one.values)), 1);
	const colour = (palette: Palette): string => layerColour(palette, "server");
	const says = inWords(metric, width);
	const tracks = all.slice(0, PANELS).map((one): Track => ({ name: `${one.server} ×${one.ofMean.toFixed(2)}`, least: one.values, most: one.values, says, colour, top }));
	if (all.filter((one) => one.server !== OTHERS).length < 2) return tracks;
	const uneven = imbalance(all);
	return [{ name: "imbalance", least: uneven, most: uneven, says: (value) => `${value.toFixed(2)} × the mean`, colour: (palette) => palette.mark }, ...tracks];
}

/** All servers as rows. */
export function serverMap(all: Series[], metric: Metric, axis: Axis, width: number): CellMap {
	const cells = all.flatMap((one, row) => one.values.flatMap((value, bin) => (value > 0 ? [[bin, row, value] as const] : [])));
	return { x: axis, y: nameAxis("server", all.map((one) => one.server)), down: true, cells, says: inWords(metric, width), what: "" };
}

export const GROUPS = { processors: "cpu.*", memory: "memory.*", network: "net.*", disks: "disk.*", pressure: "pressure.*", Lustre: "lustre.*", agent: "agent.*" } as const;
export type Group = keyof typeof GROUPS;
export const DRAWN = 16;

/** A track for each node, measure and device, those that vary most in their unit first; what is always 0 is left out. */
export function sampleTracks(table: Table, group: Group): Track[] {
	const head = GROUPS[group].slice(0, -1);
	const byName = new Map<string, { track: Track; unit: Unit }>();
	for (const one of records(table)) {
		if (!String(one["what"]).startsWith(head)) continue; // a report has them all in one answer
		const name = [`node ${String(one["node"])}`, one["what"], one["device"]].filter(Boolean).join(" ");
		const unit = String(one["unit"]) as Unit;
		const empty = (): (number | null)[] => new Array<number | null>(BINS).fill(null);
		const entry = byName.get(name) ?? { unit, track: { name, least: empty(), most: empty(), says: (value: number) => format(value, unit), colour: (palette: Palette) => layerColour(palette, "posix") } };
		const bin = Number(one["bin"]);
		entry.track.least[bin] = Number(one["least"]);
		entry.track.most[bin] = Number(one["most"]);
		byName.set(name, entry);
	}
	return [...byName.values()]
		.filter(({ track }) => peak(track) > 0)
		.sort((a, b) => a.unit.localeCompare(b.unit) || peak(b.track) - peak(a.track))
		.map(({ track }) => track);
}

/** The selection that a server's name makes. */
export function narrowed(server: string): Record<string, string> | null {
	return server === OTHERS ? null : { servers: encodeURIComponent(server) };
}

/** Name of the server in a row of the totals. */
export function serverOf(columns: Column[], row: Cell[]): string {
	return String(row[columns.findIndex((one) => one.name === "server")]);
}
