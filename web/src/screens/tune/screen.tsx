import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Choose } from "../../parts/choose";
import { Figure, useWidth } from "../../parts/figure";
import { Empty, Failed, Loading, Shown } from "../../parts/notice";
import { DataTable } from "../../parts/table";
import { column, type Cell, type Table } from "../../source";
import { act, useAnswer } from "../../state/answers";
import { change, given } from "../../state/state";
import { HEIGHT, PARALLEL, paintFit, paintHistory, paintParallel, settingUnder, trialUnder } from "./paint";
import { scoreInWords, settings, trials, type ModelAnswer, type SearchAnswer, type Setting, type Trial } from "./query";

const LOOK_AGAIN = 2000; // ms between two looks at a search that goes on

export function Tune(): JSX.Element {
	const answer = useAnswer<{ name: string; path: string }[]>("searches", {});
	return (
		<Shown answer={answer} height={500}>
			{(open) => {
				const names = open.map((one) => one.name);
				const name = names.find((one) => one === given("search")) ?? names[0];
				if (!name) {
					return (
						<div class="notice">
							No search is open here: <code>fathom view NAME.tune</code> shows what <code>fathom tune</code> tried.
						</div>
					);
				}
				return <Looked key={name} name={name} names={names} />;
			}}
		</Shown>
	);
}

/** A search that goes on is looked at again and again. */
function useLooks(name: string): { value: SearchAnswer | null; error: Error | null } {
	const [state, setState] = useState<{ value: SearchAnswer | null; error: Error | null }>({ value: null, error: null });
	useEffect(() => {
		let timer = 0;
		let left = false;
		const look = (): void => {
			act<SearchAnswer>("search", { name }, true).then(
				(value) => {
					if (left) return;
					setState({ value, error: null });
					if (value.running) timer = window.setTimeout(look, LOOK_AGAIN);
				},
				(error: unknown) => {
					if (!left) setState({ value: null, error: error instanceof Error ? error : new Error(String(error)) });
				},
			);
		};
		look();
		return () => {
			left = true;
			clearTimeout(timer);
		};
	}, [name]);
	return state;
}

function Looked({ name, names }: { name: string; names: string[] }): JSX.Element {
	const { value, error } = useLooks(name);
	if (error) return <Failed error={error} />;
	if (!value) return <Loading height={500} />;
	return (
		<>
			<div class="bar">
				{names.length > 1 && <Choose label="search" options={names} chosen={name} choose={(one) => change({ search: one, trial: null })} />}
				<span>
					<strong>{value.objective}</strong>, {value.more ? "the more the better" : "the less the better"}, of <code>{value.command}</code>
				</span>
				{value.running && <span role="status">a trial runs</span>}
			</div>
			{value.verdict && (
				<p class="notice">
					<strong>Verdict: </strong>
					{value.verdict}
				</p>
			)}
			<Search answer={value} />
			{value.methods && (
				<>
					<Proof methods={value.methods} answer={value} />
					<Model answer={value} />
				</>
			)}
		</>
	);
}

function Search({ answer }: { answer: SearchAnswer }): JSX.Element {
	const all = useMemo(() => trials(answer), [answer]);
	const measured = useMemo(() => settings(all, answer.more), [all]);
	const chosen = Number(given("trial"));
	if (all.length === 0) return <Empty note={null} what="trials" />;
	const shown = all.find((one) => one.trial === chosen);
	const choose = (one: { trial: number } | undefined): void => one && change({ trial: one.trial }, true);
	const table = answer.trials;
	const open = (row: Cell[]): void => choose({ trial: Number(row[column(table, "trial")]) });
	return (
		<>
			<History all={all} answer={answer} chosen={chosen} choose={choose} />
			<p aria-live="polite">{shown ? words(shown, answer) : "Choose a trial: its settings are said here and marked below."}</p>
			{answer.knobs.length > 0 && measured.length > 0 && <Parallel measured={measured} answer={answer} chosen={chosen} choose={(one) => choose(one && { trial: one.trials[0] ?? 0 })} />}
			<h2>Trials</h2>
			<DataTable table={table} caption="Trials in the order in which they ran" name={`tune-${answer.name}`} what="trials" onOpen={open} selected={(row) => row[column(table, "trial")] === chosen} />
		</>
	);
}

/** What fresh runs say: those of the search are its luckiest. */
function Proof({ methods, answer }: { methods: Table; answer: SearchAnswer }): JSX.Element {
	return (
		<>
			<h2>Methods, by fresh runs with the best settings of each</h2>
			<DataTable table={methods} caption="Methods; the ratio to the default with its 95 % interval, Cliff's delta, rank test" name={`tune-${answer.name}-methods`} what="methods" />
			{answer.ablation && (
				<>
					<h2>What each setting does: the winner against itself without it</h2>
					<DataTable table={answer.ablation} caption="Settings of the winner" name={`tune-${answer.name}-settings-alone`} what="settings" />
				</>
			)}
		</>
	);
}

/** What all trials teach, as a formula, and how far it is off. */
function Model({ answer }: { answer: SearchAnswer }): JSX.Element {
	const model = useAnswer<ModelAnswer>("model", { name: answer.name });
	return (
		<>
			<h2>What the trials teach</h2>
			<Shown answer={model} height={HEIGHT}>
				{(learnt) => (
					<>
						<pre class="text" tabIndex={0} role="region" aria-label="Formula">
							{learnt.formula}
						</pre>
						<p class="quiet">{learnt.note}</p>
						<Fit learnt={learnt} answer={answer} />
					</>
				)}
			</Shown>
		</>
	);
}

function Fit({ learnt, answer }: { learnt: ModelAnswer; answer: SearchAnswer }): JSX.Element {
	const paint = useMemo(() => paintFit(learnt.fit.rows.map((row): [number, number] => [Number(row[0]), Number(row[1])]), answer.unit), [learnt]);
	return (
		<Figure
			title="What the formula says of each trial, and what was measured"
			name={`tune-${answer.name}-fit`}
			says={`${learnt.fit.rows.length} trials; on the line it is right`}
			label={`Predicted and measured ${answer.objective} of ${learnt.fit.rows.length} trials.`}
			height={HEIGHT}
			paint={paint}
			table={() => learnt.fit}
		/>
	);
}

function words(one: Trial, { unit }: SearchAnswer): string {
	const gave = one.score === null ? `${one.state}${one.why ? `: ${one.why}` : ""}` : scoreInWords(one.score, unit);
	return `Trial ${one.trial}, ${one.stage}: ${one.settings}: ${gave}`;
}

interface Shows {
	answer: SearchAnswer;
	chosen: number;
}

function History({ all, answer, chosen, choose }: Shows & { all: Trial[]; choose: (one: Trial | undefined) => void }): JSX.Element {
	const [attach, width] = useWidth<HTMLDivElement>();
	const paint = useMemo(() => paintHistory(all, answer, chosen), [all, chosen]);
	const onKey = (event: KeyboardEvent): boolean => {
		const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
		if (by === undefined) return false;
		choose(all[Math.max(0, Math.min(all.length - 1, all.findIndex((one) => one.trial === chosen) + by))]);
		return true;
	};
	const failed = all.filter((one) => one.score === null).length;
	return (
		<div ref={attach}>
			<Figure
				title={`${answer.objective} of each trial`}
				name={`tune-${answer.name}-history`}
				says={`${all.length} trials${failed ? `, ${failed} that count for nothing (×)` : ""}; □ as it is, ■ search, ◆ fresh runs; the line: the best so far`}
				label={`${answer.objective} of ${all.length} trials in the order in which they ran. Left and right walk through them.`}
				height={HEIGHT}
				paint={paint}
				onPress={(at) => choose(trialUnder(all, width, at.x))}
				onKey={onKey}
			/>
		</div>
	);
}

function Parallel({ measured, answer, chosen, choose }: Shows & { measured: Setting[]; choose: (one: Setting | undefined) => void }): JSX.Element {
	const [attach, width] = useWidth<HTMLDivElement>();
	const paint = useMemo(() => paintParallel(measured, answer, chosen), [measured, chosen]);
	const best = measured.at(-1);
	const onKey = (event: KeyboardEvent): boolean => {
		const by = { ArrowUp: 1, ArrowDown: -1 }[event.key];
		if (by === undefined) return false;
		const at = measured.findIndex((one) => one.trials.includes(chosen));
		choose(measured[at < 0 ? measured.length - 1 : Math.max(0, Math.min(measured.length - 1, at + by))]);
		return true;
	};
	return (
		<div ref={attach}>
			<Figure
				title="Settings and what they gave"
				name={`tune-${answer.name}-settings`}
				says={`${measured.length} settings, the best on top${best ? `: ${best.settings}, ${scoreInWords(best.score, answer.unit)}` : ""}`}
				label={`${measured.length} settings of ${answer.knobs.length} knobs as lines to their ${answer.objective}. Up and down walk from worse to better.`}
				height={PARALLEL}
				paint={paint}
				onPress={(at) => choose(settingUnder(measured, answer, width, at))}
				onKey={onKey}
			/>
		</div>
	);
}
