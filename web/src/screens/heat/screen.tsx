import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { time } from "../../draw/units";
import { Choose } from "../../parts/choose";
import { Figure, useWidth } from "../../parts/figure";
import { Longest } from "../../parts/longest";
import { Empty, Shown } from "../../parts/notice";
import { type Zooms, type Run } from "../../source";
import { isReport, useAnswer, useReader } from "../../state/answers";
import { lanesWord, useLaneNames } from "../../state/lanes";
import { currentRun } from "../../state/runs";
import { change, given, scope, selection } from "../../state/state";
import { currentView, selectedView } from "../../state/window";
import { cellInWords, cellParts, gridTable, type Place } from "./cursor";
import { useHeatGestures, type Pointing } from "./gestures";
import { frame, heightFor, outline, paintHeat, SCALES, usualScale, type ColourScale } from "./paint";
import { loadGrid, METRICS, outliers, planFor, planKey, type Grid, type Metric } from "./query";

export function Heat(): JSX.Element | null {
	const run = currentRun.value;
	const answer = useAnswer<Zooms>("zooms", { run: run?.name });
	if (!run) return null;
	return (
		<Shown answer={answer} height={480}>
			{(zooms) => (zooms.source === "none" || zooms.zooms.length === 0 || run.layers.length === 0 ? <Empty note={zooms.note} what="calls over time" /> : <Map run={run} zooms={zooms} stale={answer.loading} />)}
		</Shown>
	);
}

/** Layers that are not the program's I/O. */
const OTHERS = ["server", "disk", "fathom", "threads"];

/** Layer on screen: as asked, as selected, else the one by which the program itself spent its I/O time, where that is the time of calls; else the one nearest to the disk. */
function layerOf(run: Run, source: Zooms["source"]): string {
	const wanted = given("layer") || (selection.value["layers"] ?? "") || (source === "calls" ? run["own layer"] : null) || "";
	return run.layers.includes(wanted) ? wanted : (run.layers.filter((one) => !OTHERS.includes(one)).at(-1) ?? run.layers[0] ?? "");
}

function metricOf(): Metric {
	return METRICS.find((one) => one === given("metric")) ?? "time";
}

/** Times and lanes are shown whole, with what is selected in a box; all else narrows the picture. */
function filters(): Record<string, string> {
	const shown = ["t", "lanes", "layers"];
	return Object.fromEntries(Object.entries(scope.value).filter(([name]) => !shown.includes(name)));
}

/** `stale`: the run has grown, so other tiles will be asked for; the last picture stays until then. */
function Map({ run, zooms, stale }: { run: Run; zooms: Zooms; stale: boolean }): JSX.Element {
	const [attach, width] = useWidth<HTMLDivElement>();
	const view = currentView(run);
	const [layer, metric, asked] = [layerOf(run, zooms.source), metricOf(), filters()];
	const height = heightFor(view.lanes[1] - view.lanes[0]);
	const plan = planFor(zooms, view, Math.max(300, width), height, isReport() ? null : run.events / Math.max(1, run.lanes));
	const answer = useReader<Grid>(width && !stale ? planKey(plan, asked, layer) : "", (signal) => loadGrid(plan, asked, layer, signal));
	const [pointing, setPointing] = useState<Pointing>({ cursor: null, hover: null, mouse: null, brush: null });
	const lane = useLaneNames(run);
	const grid = answer.value;
	const scale = SCALES.find((one) => one === given("scale")) ?? usualScale(metric);
	const key = JSON.stringify([view, metric, scale, answer.loading]);
	const marks = useMemo(() => (grid ? outliers(Object.keys(asked).length > 1 ? [] : zooms.outliers, grid.marks, layer, view) : []), [grid, key]);
	const paint = useMemo(() => paintHeat({ view, grid, metric, marks, lane, loading: answer.loading, scale }), [grid, key, marks, lane]);
	const gestures = useHeatGestures({ run, view, grid, marks, height, width, lane, layer, pointing, setPointing });
	const over = useMemo<typeof paint>(
		() => (ink, box, palette) => {
			const at = frame(view, box);
			const selected = selectedView(run);
			if (selected) outline(ink, at, selected, palette.select, true);
			if (pointing.brush) outline(ink, at, pointing.brush, palette.text, true);
			if (pointing.cursor) outline(ink, at, pointing.cursor, palette.mark);
		},
		[pointing, key, given("t"), given("lanes")],
	);
	if (answer.error) return <Shown answer={answer}>{() => null}</Shown>;
	return (
		<div ref={attach}>
			<Figure
				title={`${metric} of layer ${layer}`}
				name={`heat-${layer}-${metric}`}
				says={says(grid, view)}
				label={`Heat map of ${metric} at layer ${layer}: ${view.lanes[1] - view.lanes[0]} ${lanesWord(2)} by time; ${marks.length} longest calls are marked. Arrow keys move, Enter opens the longest call.`}
				height={height}
				paint={paint}
				over={over}
				{...(grid ? { table: () => gridTable(grid), what: "cells" } : {})}
				sql={zooms.sql}
				tip={grid && pointing.hover && pointing.mouse && { at: pointing.mouse, says: <Tip parts={cellParts(grid, pointing.hover, lane)} /> }}
				tools={<Tools run={run} layer={layer} metric={metric} scale={scale} />}
				{...gestures}
			>
				<Readout grid={grid} at={gestures.place} lane={lane} />
			</Figure>
			{zooms.note && <p class="quiet">{zooms.note}</p>}
			<Longest marks={marks} lane={lane} />
		</div>
	);
}

/** How much is drawn, before anybody asks. */
function says(grid: Grid | null, view: { lanes: [number, number] }): string {
	if (!grid) return "";
	const { bins, rows, bin, zoom } = grid.plan;
	const calls = grid.values.calls.reduce((sum, one) => sum + one, 0);
	const per = zoom.lanes_per_row > 1 ? `${rows[1] - rows[0]} rows of ${zoom.lanes_per_row} ${lanesWord(2)}` : `${view.lanes[1] - view.lanes[0]} ${lanesWord(view.lanes[1] - view.lanes[0])}`;
	return `${bins[1] - bins[0]} bins of ${time(bin)} × ${per}; ${calls.toLocaleString("en-US")} calls`;
}

function Tip({ parts: [where, ...rest] }: { parts: string[] }): JSX.Element {
	return (
		<>
			<strong>{where}</strong>
			{rest.map((one) => (
				<div key={one}>{one}</div>
			))}
		</>
	);
}

function Tools({ run, layer, metric, scale }: { run: Run; layer: string; metric: Metric; scale: ColourScale }): JSX.Element {
	return (
		<>
			<Choose label="layer" options={run.layers} chosen={layer} choose={(one) => change({ layer: one })} />
			<Choose label="shows" options={METRICS} chosen={metric} choose={(one) => change({ metric: one === "time" ? null : one, scale: null })} />
			<Choose label="colours" options={SCALES} chosen={scale} choose={(one) => change({ scale: one === usualScale(metric) ? null : one }, true)} />
			<button type="button" disabled={!given("w") && !given("wl")} onClick={() => change({ w: null, wl: null })}>
				Whole run
			</button>
		</>
	);
}

function Readout({ grid, at, lane }: { grid: Grid | null; at: Place | null; lane: (lane: number) => string }): JSX.Element {
	return <p class="readout quiet">{grid && at ? cellInWords(grid, at, lane) : "Point at a cell, or focus the picture and use the arrow keys."}</p>;
}
