import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { layerColour } from "../../draw/theme";
import { format, time } from "../../draw/units";
import { Export } from "../../parts/export";
import { Figure } from "../../parts/figure";
import { Empty, Shown } from "../../parts/notice";
import { Series, type Line } from "../../parts/series";
import { DataTable } from "../../parts/table";
import { numbers, column, type Landmark, type Overview as Answer, type Run, type Table } from "../../source";
import { useAnswer } from "../../state/answers";
import { currentRun } from "../../state/runs";
import { address, scope } from "../../state/state";
import { Account } from "./account";
import { Findings } from "./findings";
import { barsHeight, paintBars, type LayerBar } from "./paint";
import { known, lowest, opens, rates, type Fact } from "./query";

export function Overview(): JSX.Element {
	const answer = useAnswer<Answer>("overview", scope.value);
	const run = currentRun.value;
	return (
		<>
			<Account />
			<p class="verdict">{answer.value?.verdict}</p>
			<Findings />
			{answer.value === null && run && <Facts facts={known(run)} />}
			<Shown answer={answer} height={600}>
				{(overview) => <Page overview={overview} />}
			</Shown>
		</>
	);
}

function Facts({ facts }: { facts: Fact[] }): JSX.Element {
	return (
		<dl class="facts">
			{facts.map(([label, value, unit]) => (
				<div key={label} class={String(value).length > 40 ? "wide" : ""}>
					<dt>{label}</dt>
					<dd>{format(value, unit)}</dd>
				</div>
			))}
		</dl>
	);
}

function Page({ overview }: { overview: Answer }): JSX.Element {
	return (
		<>
			<ul class="sentences">
				{overview.sentences.map((one) => (
					<li key={one}>{one}</li>
				))}
			</ul>
			<Landmarks landmarks={overview.landmarks} />
			<Facts facts={overview.facts} />
			<div class="columns">
				<Layers table={overview.layers} />
				<Rate table={overview.rate} />
			</div>
			{overview.missing.length > 0 && (
				<section aria-label="What is not here">
					<h2>What is not here</h2>
					<ul>
						{overview.missing.map((one) => (
							<li key={one}>{one}</li>
						))}
					</ul>
				</section>
			)}
			<p class="quiet">{overview.cost}</p>
		</>
	);
}

const NAMES = { call: "Longest call", rank: "Straggler", server: "Hot server" };

function Landmarks({ landmarks }: { landmarks: Landmark[] }): JSX.Element | null {
	if (landmarks.length === 0) return null;
	return (
		<ul class="landmarks">
			{landmarks.map((one) => (
				<li key={one.sentence}>
					<strong>{NAMES[one.kind]}</strong> {one.sentence} <a href={address(one.screen, opens(one))}>Show</a>
				</li>
			))}
		</ul>
	);
}

function layerBars(table: Table): LayerBar[] {
	const names = column(table, "layer");
	const [inclusive, exclusive, communication] = [numbers(table, "inclusive"), numbers(table, "exclusive"), numbers(table, "communication")];
	return table.rows.map((row, at) => ({ layer: String(row[names]), inclusive: inclusive[at] ?? 0, exclusive: exclusive[at] ?? 0, communication: communication[at] ?? 0 }));
}

/** Layer mpi is counted unless it was switched off; without MPI there is nothing to tell. */
function talkInWords(run: Run | null): string {
	if (!run?.ranks) return "";
	return run.layers.includes("mpi") ? ", then communication" : "; communication: not recorded (--layers +mpi)";
}

function Layers({ table }: { table: Table }): JSX.Element {
	const bars = useMemo(() => layerBars(table), [table]);
	const paint = useMemo(() => paintBars(bars), [bars]);
	if (bars.length === 0) return <Empty note={table.note} what="calls" />;
	return (
		<section>
			<Figure
				title="Time in each layer"
				says={`full: itself${talkInWords(currentRun.value)}; frame: with all below`}
				name="layers"
				label={bars.map((one) => `${one.layer}: ${time(one.exclusive)} of its own${one.communication > 0 ? `, ${time(one.communication)} of communication` : ""}`).join("; ")}
				height={barsHeight(bars)}
				paint={paint}
				sql={table.sql}
				table={() => table}
				what="layers"
			/>
		</section>
	);
}

function Rate({ table }: { table: Table }): JSX.Element {
	const series = useMemo(() => rates(table), [table]);
	const layer = lowest(series, currentRun.value?.layers ?? []);
	const lines = useMemo<Line[]>(() => {
		if (!layer) return [];
		return [
			{ name: "read", colour: (palette) => layerColour(palette, "mpiio"), values: series.read.get(layer) ?? [] },
			{ name: "written", colour: (palette) => layerColour(palette, "pnetcdf"), values: series.written.get(layer) ?? [], dashed: true },
		];
	}, [series, layer]);
	if (!layer) return <Empty note={table.note} what="reads and writes" />;
	const [read = [], written = []] = lines.map((line) => line.values.map(Number));
	return (
		<section class="figure">
			<div class="bar">
				<strong>MB/s at layer {layer}</strong>
				<span class="quiet">drag to select a time</span>
				<span class="grow" />
				<Export name="rate" table={() => table} sql={table.sql} />
			</div>
			<Series times={series.times} lines={lines} unit="MB/s" height={150} label={`MB/s over time: at most ${peak(read)} read, ${peak(written)} written`} />
			{table.note && <p class="quiet">{table.note}</p>}
			<details class="behind">
				<summary>The same as a table</summary>
				<DataTable table={table} caption="Bytes over time" name="rate" what="bins" />
			</details>
		</section>
	);
}

function peak(values: number[]): string {
	return `${Math.max(0, ...values).toFixed(0)} MB/s`;
}
