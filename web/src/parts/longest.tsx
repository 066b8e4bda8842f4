import type { JSX } from "preact";
import { time } from "../draw/units";
import { address } from "../state/state";

interface Call {
	call: string;
	lane: number;
	start: number;
	duration: number;
	op: string;
}

/** The longest calls of a picture by name: those on lanes out of sight too. */
export function Longest({ marks, lane }: { marks: Call[]; lane: (lane: number) => string }): JSX.Element | null {
	if (marks.length === 0) return null;
	return (
		<section aria-labelledby="longest">
			<h2 id="longest">Longest calls here</h2>
			<ol class="longest">
				{marks.slice(0, 8).map((one) => (
					<li key={one.call}>
						<a href={address("call", { call: one.call })}>
							{one.op} of {lane(one.lane)}
						</a>{" "}
						at {time(one.start)}: <strong>{time(one.duration)}</strong>
					</li>
				))}
			</ol>
		</section>
	);
}
