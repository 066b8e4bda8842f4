/** How long calls took, from histograms that add up: bucket b holds [2^(b/4), 2^((b+1)/4)) ns. */
import { bucketAxis, timeAxis } from "../../draw/axis";
import type { CellMap } from "../../draw/cells";
import { count } from "../../draw/units";
import { column, numbers, records, type Cell, type Column, type Table } from "../../source";

export interface LatencyAnswer {
	buckets: Table;
	"over time": Table;
	percentiles: Table;
	/** Where no call was recorded one by one. */
	counted: Table | null;
	begin: number;
	width: number;
}

export interface Histogram {
	name: string;
	layer: string;
	calls: Map<number, number>;
	time: Map<number, number>;
	total: number;
	totalTime: number;
}

/** A histogram for each op, those with the most time first. */
export function histograms(table: Table): Histogram[] {
	const byName = new Map<string, Histogram>();
	for (const one of records(table)) {
		const [layer, bucket, calls, time] = [String(one["layer"]), Number(one["bucket"]), Number(one["calls"]), Number(one["time"])];
		const name = nameOf(one);
		const histogram = byName.get(name) ?? { name, layer, calls: new Map<number, number>(), time: new Map<number, number>(), total: 0, totalTime: 0 };
		histogram.calls.set(bucket, (histogram.calls.get(bucket) ?? 0) + calls);
		histogram.time.set(bucket, (histogram.time.get(bucket) ?? 0) + time);
		histogram.total += calls;
		histogram.totalTime += time;
		byName.set(name, histogram);
	}
	return [...byName.values()].sort((a, b) => b.totalTime - a.totalTime);
}

/** First bucket, and how many there are to the last. */
export function span(all: Histogram[]): [number, number] {
	const buckets = all.flatMap((one) => [...one.calls.keys()]);
	if (buckets.length === 0) return [0, 1];
	const first = Math.min(...buckets);
	return [first, Math.max(...buckets) - first + 1];
}

/** Calls and their time at and above a bucket. */
export function above(one: Histogram, bucket: number): { calls: number; time: number } {
	const sum = (of: Map<number, number>): number => [...of].reduce((all, [at, value]) => (at >= bucket ? all + value : all), 0);
	return { calls: sum(one.calls), time: sum(one.time) };
}

/** Share of calls at most as long as each of the buckets from `first` on. */
export function ecdf(one: Histogram, first: number, bins: number): number[] {
	let seen = 0;
	return Array.from({ length: bins }, (_, at) => (seen += one.calls.get(first + at) ?? 0) / Math.max(1, one.total));
}

function nameOf(one: Record<string, Cell>): string {
	return one["op"] === null ? String(one["layer"]) : `${String(one["layer"])}:${String(one["op"])}`;
}

/** A row for each op: percentiles of all its calls, and the share of those that count as slow. */
export function percentiles({ percentiles: table }: LatencyAnswer, all: Histogram[], slow: number | null): Table {
	const measures = table.columns.filter((one) => one.name !== "layer" && one.name !== "op");
	const more: Column[] = slow === null ? [] : [{ name: "slow calls", unit: "count" }, { name: "slow, share of time", unit: "share" }];
	const named = new Map(all.map((one) => [one.name, one]));
	const rows = records(table).map((one): Cell[] => {
		const histogram = named.get(nameOf(one));
		const over = slow === null || !histogram ? [] : [above(histogram, slow)];
		return [nameOf(one), ...measures.map(({ name }) => one[name] ?? null), ...over.flatMap(({ calls, time }) => [calls, time / Math.max(1, histogram?.totalTime ?? 0)])];
	});
	return { ...table, columns: [{ name: "call", unit: "text" }, ...measures, ...more], rows };
}

/** Latencies of a layer over time; from a threshold on, when one is given. */
export function overTime(answer: LatencyAnswer, layer: string, slow: number | null): CellMap {
	const table = answer["over time"];
	const [layers, times, buckets, calls] = [column(table, "layer"), numbers(table, "time bin"), numbers(table, "bucket"), numbers(table, "calls")];
	const chosen = table.rows.map((_, at) => at).filter((at) => String(table.rows[at]?.[layers]) === layer && (buckets[at] ?? 0) >= (slow ?? -1));
	const first = chosen.reduce((least, at) => Math.min(least, buckets[at] ?? 0), Infinity);
	const last = chosen.reduce((most, at) => Math.max(most, buckets[at] ?? 0), 0);
	const from = Number.isFinite(first) ? first : 0;
	const bins = times.reduce((most, at) => Math.max(most, at), 0) + 1;
	return {
		x: timeAxis({ begin: answer.begin, width: answer.width, bins }),
		y: bucketAxis(from, last - from + 1),
		cells: chosen.map((at) => [times[at] ?? 0, (buckets[at] ?? 0) - from, calls[at] ?? 0] as const),
		says: count,
		what: "calls",
	};
}

/** Bucket in which a threshold of ns begins. */
export function bucketOf(ns: number): number {
	return Math.round(4 * Math.log2(Math.max(1, ns)));
}

/** Rows of a table of calls that took at least so long. */
export function slower(table: Table, ns: number): Table {
	const at = numbers(table, "duration");
	const rows = table.rows.filter((_, row) => (at[row] ?? 0) >= ns);
	return { ...table, rows, total: rows.length === table.rows.length ? table.total : rows.length };
}
