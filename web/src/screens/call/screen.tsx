import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { Empty, Shown } from "../../parts/notice";
import { DataTable, OF_CALLS } from "../../parts/table";
import { column, type CallAnswer, type Cell, type Run, type Table } from "../../source";
import { useAnswer } from "../../state/answers";
import { bindKeys } from "../../state/keys";
import { useLaneNames } from "../../state/lanes";
import { currentRun } from "../../state/runs";
import { change, given, scope } from "../../state/state";
import { About, Collective, Links } from "./about";
import { idOf, outermost } from "./query";
import { Siblings } from "./siblings";
import { Source } from "./source";
import { Unfolded } from "./unfolded";

/** The focus; without one the longest calls, to choose from. */
export function CallExplorer(): JSX.Element {
	const call = given("call");
	return call ? <OneCall call={call} /> : <Slowest />;
}

export function focus(call: string | null): void {
	if (call) change({ call, bundle: null });
}

function Slowest(): JSX.Element {
	const answer = useAnswer<Table>("slowest", scope.value);
	return (
		<Shown answer={answer} height={300}>
			{(table) => (
				<>
					<p>The longest calls of the selection; choose one to see where its time went.</p>
					<DataTable table={table} caption="Longest calls" name="slowest" what="calls" columns={OF_CALLS} onOpen={(row) => focus(callIn(table, row))} />
				</>
			)}
		</Shown>
	);
}

function callIn(table: Table, row: Cell[]): string {
	return String(row[column(table, "call")]);
}

function OneCall({ call }: { call: string }): JSX.Element | null {
	const run = currentRun.value;
	const answer = useAnswer<CallAnswer>("call", run && { run: run.name, call });
	if (!run) return null;
	return (
		<Shown answer={answer} height={500}>
			{(reply) => <Explorer answer={reply} of={run} />}
		</Shown>
	);
}

function Explorer({ answer, of }: { answer: CallAnswer; of: Run }): JSX.Element {
	const run = of.name;
	const id = idOf(answer.call);
	const root = outermost(answer.call, answer.ancestors);
	const tree = useAnswer<Table>("tree", { run, call: root });
	useEffect(() => callKeys(answer), [answer]);
	const lane = useLaneNames(of);
	return (
		<>
			<About answer={answer} lane={lane} />
			<Siblings answer={answer} run={run} />
			<Shown answer={tree} height={300}>
				{(table) => (table.rows.length ? <Unfolded table={table} focus={id} lane={lane} run={run} /> : <Empty note={table.note} what="calls below" />)}
			</Shown>
			<Links links={answer.links} lane={lane} />
			<Collective collective={answer.collective} lane={lane} />
			{answer.source && <Source source={answer.source} run={run} />}
		</>
	);
}

function callKeys({ siblings, ancestors, call }: CallAnswer): () => void {
	const parent = call["parent"] === null || call["parent"] === undefined ? null : String(call["parent"]);
	return bindKeys([
		{ key: "]", says: "next sibling", run: () => focus(siblings.next) },
		{ key: "[", says: "previous sibling", run: () => focus(siblings.previous) },
		{ key: "x", says: "slowest sibling", run: () => focus(siblings.slowest) },
		{ key: "m", says: "median sibling", run: () => focus(siblings.median) },
		{ key: "u", says: "the call it was made from", run: () => focus(parent ?? (ancestors.length ? outermost(call, ancestors) : null)) },
	]);
}
