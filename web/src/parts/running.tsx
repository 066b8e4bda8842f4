/** A run that still runs: as of when, and what it does now. */
import type { JSX } from "preact";
import { rate, size } from "../draw/units";
import type { Now } from "../source";
import { choose, chosen } from "../state/choice";
import { canFollow, follows, readAgain, reading } from "../state/following";
import { now, readAt } from "../state/runs";
import { page, run } from "../state/state";
import { Choose } from "./choose";
import { say } from "./say";
import { DataTable } from "./table";

const GROUPS = ["layer", "function", "file", "rank", "line"] as const;
const BARS = "▁▂▃▄▅▆▇█";
const DRAWN = 60; // looks

/** The last rates as bars of one letter, the highest as high as can be. */
export function sparkline(rates: number[]): string {
	const shown = rates.slice(-DRAWN);
	const most = Math.max(...shown, 0);
	return shown.map((one) => BARS[most > 0 ? Math.ceil((one / most) * (BARS.length - 1)) : 0]).join("");
}

/** hh:mm:ss of here. */
export function clock(ns: number): string {
	return new Date(ns / 1e6).toTimeString().slice(0, 8);
}

export function Running(): JSX.Element | null {
	const shown = now.value;
	if (!shown) return null;
	if (page.value.screen === "overview") return <Figures now={shown} />;
	return (
		<div class="notice bar">
			<span>{`Running. This screen shows what had come into files by ${clock(readAt.value ?? shown.time)}; all screens show the whole run when it is over.`}</span>
			<span class="grow" />
			{canFollow() && <Choose label="follow" options={["yes", "no"]} chosen={follows() ? "yes" : "no"} choose={choose("follow", "yes")} />}
			<ReadAgain />
		</div>
	);
}

function ReadAgain(): JSX.Element {
	const read = (): void => {
		readAgain(run.value).then(
			() => say("Read again"),
			(error: unknown) => say(error instanceof Error ? error.message : String(error)),
		);
	};
	return (
		<button type="button" disabled={reading.value} onClick={read}>
			Read again
		</button>
	);
}

function Figures({ now: shown }: { now: Now }): JSX.Element {
	const by = chosen("now", GROUPS);
	const table = shown.groups[by];
	const { running, ended, killed } = shown.processes;
	return (
		<section class="notice" aria-labelledby="running">
			<div class="bar">
				<h2 id="running">{`Running, as of ${clock(shown.time)}`}</h2>
				<span class="grow" />
				<Choose label="now by" options={GROUPS} chosen={by} choose={choose("now", GROUPS[0])} />
			</div>
			<p>
				{`${shown.calls.toLocaleString("en-US")} I/O calls and ${size(shown.bytes)} so far; now ${Math.round(shown["calls per second"]).toLocaleString("en-US")} calls/s, ${rate(shown["bytes per second"])} `}
				<span aria-hidden="true">{sparkline(shown.rates)}</span>
			</p>
			<p class="quiet">{`Processes: ${running} running, ${ended} ended${killed ? `, ${killed} killed` : ""}. Below is what had come into files by ${clock(readAt.value ?? shown.time)}; the whole run when it is over. `}<ReadAgain /></p>
			{table && <DataTable table={table} caption={`Busiest now, by ${by}`} name={`now-${by}`} what="busiest" page={10} />}
		</section>
	);
}
