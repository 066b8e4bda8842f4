import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { bucketEdge } from "../../draw/axis";
import { share, time } from "../../draw/units";
import { Cells } from "../../parts/cells";
import { Choose } from "../../parts/choose";
import { Figure, useWidth } from "../../parts/figure";
import { Empty, Shown } from "../../parts/notice";
import { DataTable, OF_CALLS } from "../../parts/table";
import { column, type Table } from "../../source";
import { useAnswer } from "../../state/answers";
import { formatRange } from "../../state/page";
import { change, given, go, scope } from "../../state/state";
import { bucketUnder, HEIGHT, paintHistogram } from "./paint";
import { above, bucketOf, histograms, overTime, percentiles, slower, span, type Histogram, type LatencyAnswer } from "./query";

export function Latency(): JSX.Element {
	const answer = useAnswer<LatencyAnswer>("latency", scope.value);
	return (
		<>
			<Shown answer={answer} height={500}>
				{(latency) => (latency.buckets.rows.length === 0 ? <Counted latency={latency} /> : <Page latency={latency} />)}
			</Shown>
			<Slowest />
		</>
	);
}

/** Without calls one by one there are still the extremes. */
function Counted({ latency }: { latency: LatencyAnswer }): JSX.Element {
	return (
		<>
			<Empty note={latency.buckets.note} what="calls one by one" />
			{latency.counted && <DataTable table={latency.counted} caption="Mean and extremes, from counters" name="latency-counted" what="calls" />}
		</>
	);
}

/** The threshold of this screen as a bucket; none is given at first. */
function slowBucket(): number | null {
	return given("slow") ? bucketOf(Number(given("slow"))) : null;
}

function Page({ latency }: { latency: LatencyAnswer }): JSX.Element {
	const all = useMemo(() => histograms(latency.buckets), [latency]);
	const shown = all.find((one) => one.name === given("op")) ?? all[0];
	const slow = slowBucket();
	const table = useMemo(() => percentiles(latency, all, slow), [latency, all, slow]);
	const map = useMemo(() => shown && overTime(latency, shown.layer, slow), [latency, shown?.layer, slow]);
	if (!shown || !map) return <Empty note={latency.buckets.note} what="calls" />;
	const selectTime = (from: readonly [number, number], to: readonly [number, number]): void => {
		const ends = [from[0], to[0]].sort((a, b) => a - b) as [number, number];
		change({ t: formatRange(map.x.value(ends[0]), map.x.value(ends[1] + 1)) });
	};
	return (
		<>
			<Threshold all={all} slow={slow} />
			<OneHistogram shown={shown} all={all} sql={latency.buckets.sql} table={latency.buckets} slow={slow} />
			<Cells
				title={`Latency of layer ${shown.layer} over time`}
				name={`latency-${shown.layer}-over-time`}
				label={`Calls of layer ${shown.layer} by when they began and how long they took. Arrow keys move, Enter selects the time.`}
				map={map}
				height={260}
				select={selectTime}
				table={() => latency["over time"]}
				sql={latency["over time"].sql}
			/>
			<h2>Percentiles</h2>
			{latency.percentiles.note && <p class="quiet">{latency.percentiles.note}</p>}
			<DataTable table={table} caption="Percentiles of each call" name="latency-percentiles" what="kinds of call" page={12} onOpen={(row) => change({ op: String(row[0]) })} selected={(row) => row[0] === shown.name} />
		</>
	);
}

function Threshold({ all, slow }: { all: Histogram[]; slow: number | null }): JSX.Element {
	const [first, bins] = span(all);
	const over = all.map((one) => above(one, slow ?? first + bins)).reduce((a, b) => ({ calls: a.calls + b.calls, time: a.time + b.time }), { calls: 0, time: 0 });
	const total = all.reduce((sum, one) => sum + one.totalTime, 0);
	const set = (bucket: number): void => change({ slow: bucket <= first ? null : Math.round(bucketEdge(bucket)) }, true);
	return (
		<div class="bar">
			<label class="threshold">
				slow is{" "}
				<input type="range" min={first} max={first + bins - 1} value={slow ?? first} aria-valuetext={slow === null ? "no threshold" : `at least ${time(bucketEdge(slow))}`} onInput={(event) => set(Number(event.currentTarget.value))} />
			</label>
			<span>{slow === null ? "everything; drag to leave out what is quick, on this screen only" : `${time(bucketEdge(slow))} and more: ${over.calls.toLocaleString("en-US")} calls, ${share(total > 0 ? over.time / total : 0)} of the time of all; on this screen only`}</span>
			{slow !== null && (
				<button type="button" onClick={() => change({ slow: null })}>
					No threshold
				</button>
			)}
		</div>
	);
}

function OneHistogram({ shown, all, sql, table, slow }: { shown: Histogram; all: Histogram[]; sql: string; table: Table; slow: number | null }): JSX.Element {
	const [attach, width] = useWidth<HTMLDivElement>();
	const [first, bins] = span([shown]);
	const drawn = useMemo(() => ({ one: shown, first, bins, slow }), [shown, slow]);
	const paint = useMemo(() => paintHistogram(drawn), [drawn]);
	const set = (bucket: number): void => change({ slow: Math.round(bucketEdge(bucket)) }, true);
	const onKey = (event: KeyboardEvent): boolean => {
		const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
		if (by === undefined) return false;
		set(Math.max(first, Math.min(first + bins - 1, (slow ?? first) + by)));
		return true;
	};
	return (
		<div ref={attach}>
			<Figure
				title={`How long ${shown.name} takes`}
				name={`latency-${shown.name.replace(/\W+/g, "-")}`}
				says={`${shown.total.toLocaleString("en-US")} calls; click: slow from there on`}
				label={`Histogram of the latency of ${shown.name}, ${shown.total} calls. Left and right move the threshold of slow calls.`}
				height={HEIGHT}
				paint={paint}
				onPress={(at) => set(bucketUnder(drawn, width, at.x))}
				onKey={onKey}
				table={() => table}
				sql={sql}
				tools={<Choose label="call" options={all.map((one) => one.name)} chosen={shown.name} choose={(op) => change({ op })} />}
			/>
		</div>
	);
}

/** Of the whole selection, whatever call the histogram shows. */
function Slowest(): JSX.Element {
	const by = given("by") === "exclusive" ? "exclusive" : "duration";
	const answer = useAnswer<Table>("slowest", { ...scope.value, by: by === "exclusive" ? by : null });
	return (
		<section aria-labelledby="slowest">
			<div class="bar">
				<h2 id="slowest">Slowest calls</h2>
				<Choose label="by" options={["duration", "exclusive"]} chosen={by} choose={(one) => change({ by: one === "exclusive" ? one : null })} />
			</div>
			<Shown answer={answer} height={300}>
				{(table) => <SlowestTable table={given("slow") ? slower(table, Number(given("slow"))) : table} />}
			</Shown>
		</section>
	);
}

function SlowestTable({ table }: { table: Table }): JSX.Element {
	if (table.rows.length === 0) return <Empty note={given("slow") ? "none of the slowest calls is over the threshold" : table.note} what="calls" />;
	const at = column(table, "call");
	const open = (row: Table["rows"][number] | undefined): void => go("call", { call: String(row?.[at]) });
	return (
		<>
			<button type="button" onClick={() => open(table.rows[0])}>
				Open the longest
			</button>
			<DataTable table={table} caption="Calls, the slowest first" name="slowest" what="calls" columns={OF_CALLS} onOpen={open} />
		</>
	);
}
