/** The same call made by the same parent, before and after: is this one unusual? */
import type { JSX } from "preact";
import { format } from "../../draw/units";
import { Shown } from "../../parts/notice";
import { DataTable } from "../../parts/table";
import type { CallAnswer } from "../../source";
import { useAnswer } from "../../state/answers";
import { change, given } from "../../state/state";
import { differences, idOf, unitOf } from "./query";
import { focus } from "./screen";

export function Siblings({ answer, run }: { answer: CallAnswer; run: string }): JSX.Element {
	const { siblings } = answer;
	const ways: [string, string | null][] = [
		["Previous", siblings.previous],
		["Next", siblings.next],
		["Slowest", siblings.slowest],
		["Median", siblings.median],
	];
	const comparing = given("with") === "median" && siblings.median !== null && siblings.median !== idOf(answer.call);
	return (
		<section aria-label="Siblings">
			<div class="bar">
				<span>
					{siblings.count.toLocaleString("en-US")} {siblings.count === 1 ? "sibling" : "siblings"}
				</span>
				{ways.map(([name, call]) => (
					<button key={name} type="button" disabled={!call || call === idOf(answer.call)} onClick={() => focus(call)}>
						{name}
					</button>
				))}
				<button type="button" aria-pressed={comparing} disabled={!siblings.median || siblings.median === idOf(answer.call)} onClick={() => change({ with: comparing ? null : "median" })}>
					Compare with median
				</button>
			</div>
			{comparing && <Compared answer={answer} run={run} />}
		</section>
	);
}

function Compared({ answer, run }: { answer: CallAnswer; run: string }): JSX.Element {
	const median = useAnswer<CallAnswer>("call", { run, call: answer.siblings.median });
	return (
		<Shown answer={median}>
			{(other) => (
				<DataTable
					table={differences(answer.call, other.call)}
					caption="This call and the median sibling"
					name="compared"
					what="values that differ"
					text={(column, value, row) => (column.unit === "text" ? format(value, unitOf(String(row[0]))) : value === null ? "" : `${Number(value).toFixed(2)} ×`)}
				/>
			)}
		</Shown>
	);
}
