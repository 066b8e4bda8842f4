import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { time, times } from "../../draw/units";
import { Choose } from "../../parts/choose";
import { Figure } from "../../parts/figure";
import { Empty, Shown } from "../../parts/notice";
import { DataTable } from "../../parts/table";
import { useAnswer } from "../../state/answers";
import { choose, chosen } from "../../state/choice";
import { currentRun, runs } from "../../state/runs";
import { change, given, run } from "../../state/state";
import { changesHeight, paintChanges } from "./paint";
import { beside, BY, changes, counterpart, drawn, named, quantity, shownColumns, type By, type CompareAnswer, type Names } from "./query";

export function Compare(): JSX.Element {
	const open = (runs.value?.runs ?? []).filter((one) => one.name !== run.value);
	const others = open.map((one) => one.name);
	const shown = currentRun.value;
	const other = others.includes(given("with")) ? given("with") : shown && counterpart(shown, open);
	if (!other) {
		return (
			<div class="notice">
				One run is open. Two are compared: <code>fathom view A B</code>
			</div>
		);
	}
	return <Two other={other} others={others} />;
}

function Two({ other, others }: { other: string; others: string[] }): JSX.Element {
	const answer = useAnswer<CompareAnswer>("compare", { run: run.value, with: other });
	const only = given("only") === "differences";
	return (
		<>
			<div class="bar" role="group" aria-label="What is compared">
				<span>
					<strong>{run.value}</strong> with
				</span>
				<Choose label="run" options={others} chosen={other} choose={(name) => change({ with: name })} />
				<button type="button" onClick={() => change({ run: other, with: run.value })}>
					Swap the two
				</button>
				<label>
					<input type="checkbox" checked={only} onChange={(event) => change({ only: event.currentTarget.checked ? "differences" : null })} /> only differences
				</label>
			</div>
			<Shown answer={answer} height={500}>
				{(compared) => <Compared compared={compared} only={only} />}
			</Shown>
		</>
	);
}

function Compared({ compared, only }: { compared: CompareAnswer; only: boolean }): JSX.Element {
	const by = chosen<By>("by", BY);
	const names: Names = [compared.a, compared.b];
	return (
		<>
			{compared.incomparable.length > 0 && (
				<div class="notice">
					<strong>Not comparable, or only with care: </strong>
					<ul>
						{compared.incomparable.map((one) => (
							<li key={one}>{one}</li>
						))}
					</ul>
				</div>
			)}
			<p class="quiet">{compared["one each"]}</p>
			{compared.note && <p class="quiet">{compared.note}</p>}
			<h2>The whole</h2>
			<DataTable table={beside(compared.whole, "whole", only, names)} caption="The whole runs" name="compare-whole" what="quantities" text={asRatio} />
			<h2>What was set otherwise</h2>
			{compared.setup.rows.length === 0 ? <div class="notice">No difference in what was set.</div> : <DataTable table={named(compared.setup, names)} caption="Settings that differ" name="compare-setup" what="other settings" />}
			<By compared={compared} by={by} only={only} />
		</>
	);
}

/** Ratios have no unit of their own. */
function asRatio(column: { name: string }, value: unknown): string | null {
	return column.name.includes(" / ") && typeof value === "number" ? times(value) : null;
}

function By({ compared, by, only }: { compared: CompareAnswer; by: By; only: boolean }): JSX.Element {
	const table = compared[by];
	const shown = useMemo(() => drawn(changes(table, by)), [table, by]);
	const paint = useMemo(() => paintChanges(shown, compared.b), [shown]);
	const rows = useMemo(() => beside(table, by, only, [compared.a, compared.b]), [table, by, only]);
	const label = shown.slice(0, 6).map((one) => `${one.name}: ${one.difference > 0 ? "+" : "−"}${time(Math.abs(one.difference) * 1e9)}`);
	return (
		<section aria-labelledby="by">
			<div class="bar">
				<h2 id="by">Where it differs</h2>
				<Choose label="by" options={BY} chosen={by} choose={choose("by", BY[0])} />
			</div>
			{shown.length === 0 ? <Empty note="no difference" what="differences" /> : <Figure title={`Change of ${quantity(table).replace("_seconds", "").replace("seconds", "")} time`} name={`compare-${by}`} says={`${shown.length} largest of ${table.total.toLocaleString("en-US")}`} label={label.join("; ")} height={changesHeight(shown)} paint={paint} sql={table.sql} />}
			<DataTable table={rows} caption={`By ${by}`} name={`compare-${by}`} what={by} text={asRatio} columns={shownColumns(table, rows)} />
		</section>
	);
}
