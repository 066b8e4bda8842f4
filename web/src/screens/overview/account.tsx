/** What the page begins with: where the run's time went, by cause. */
import type { JSX } from "preact";
import { useCallback, useMemo, useRef, useState } from "preact/hooks";
import { causeColour, palette, type Palette } from "../../draw/theme";
import { time } from "../../draw/units";
import type { Paint } from "../../parts/export";
import { Figure } from "../../parts/figure";
import { Empty, Shown } from "../../parts/notice";
import { Series } from "../../parts/series";
import { DataTable } from "../../parts/table";
import type { AccountAnswer, AccountShare, OverTimeAnswer, Table } from "../../source";
import { useAnswer } from "../../state/answers";
import { scope } from "../../state/state";
import { SPLIT_HEIGHT, paintMarked, paintSplit, paintSwatch, partAt, type SplitBar } from "./paint";
import { NOT_IO, OTHERS, meaning, ofRun, overTime, scale, partText } from "./query";

export function Account(): JSX.Element {
	const { run } = scope.value;
	const answer = useAnswer<AccountAnswer>("account", { run });
	return (
		<section class="account" aria-labelledby="account">
			<h2 id="account" class="unseen">
				Where the time went
			</h2>
			<Shown answer={answer} height={190}>
				{(account) => (account.processes.length === 0 ? <Empty note={account.table.note} what="I/O calls" /> : <Split account={account} />)}
			</Shown>
		</section>
	);
}

function Split({ account }: { account: AccountAnswer }): JSX.Element {
	const [pointed, point] = useState<Pointed>(null);
	const across = useRef(0);
	const drawn = account.processes;
	const pictures = useMemo<SplitBar[]>(() => drawn.map(({ title, parts }) => ({ title, parts, whole: account.width })), [account]);
	const paint = useMemo<Paint>(() => {
		const split = paintSplit(pictures);
		return (ink, box, colours) => {
			across.current = box.width;
			split(ink, box, colours);
		};
	}, [pictures]);
	const over = useMemo(() => paintMarked(pictures, pointed?.cause ?? null, (row) => (row === pointed?.row ? describePart(drawn[row], pointed.cause, account) : null)), [pictures, pointed]);
	return (
		<Figure
			title="Where the time went, by cause"
			says={scale(account)}
			name="account"
			label={drawn.map((bar) => `${bar.title}: ${bar.parts.map((one) => `${one.cause} ${time(one.seconds * 1e9)}`).join(", ")}`).join(". ")}
			height={drawn.length * SPLIT_HEIGHT}
			paint={paint}
			over={over}
			onHover={(at) => point(at && partAt(pictures, across.current, at.x, at.y))}
			table={() => account.table}
			sql={account.table.sql}
			what="causes"
		>
			<Legend account={account} drawn={drawn} pointed={pointed} point={point} />
		</Figure>
	);
}

/** What the mouse is on: a part of a bar, or a cause of the legend, which has no row. */
type Pointed = { row: number | null; cause: string } | null;

function describePart(bar: AccountShare | undefined, cause: string, account: AccountAnswer): string | null {
	const part = bar?.parts.find((one) => one.cause === cause);
	return part ? partText(part, account) : null;
}

/** Every part with its colour and the slowest process's figures, in the order of the bars; what it is, one unfolds. */
function Legend({ account, drawn, pointed, point }: { account: AccountAnswer; drawn: AccountShare[]; pointed: Pointed; point: (at: Pointed) => void }): JSX.Element {
	const causes = [...new Set(drawn.flatMap((bar) => bar.parts.map((one) => one.cause)))].sort((a, b) => place(a) - place(b));
	return (
		<>
			<ul class="legend" aria-label="Colours of the bars">
				{causes.map((cause) => (
					<li key={cause} class={pointed?.cause === cause ? "pointed" : ""} title={meaning(cause, account)} onMouseEnter={() => point({ row: null, cause })} onMouseLeave={() => point(null)}>
						<Swatch cause={cause} /> {cause} <span class="quiet">{drawn[0] && figures(drawn[0], cause, account)}</span>
					</li>
				))}
			</ul>
			<details class="behind">
				<summary>What the causes are</summary>
				<Causes account={account} drawn={drawn} causes={causes} />
			</details>
			<OverTime />
		</>
	);
}

function Causes({ account, drawn, causes }: { account: AccountAnswer; drawn: AccountShare[]; causes: string[] }): JSX.Element {
	return (
		<div class="scroll" tabIndex={0} role="region" aria-label="What the causes are">
			<table class="causes">
				<caption class="unseen">What the causes are</caption>
				<thead>
					<tr>
						<th scope="col">cause</th>
						<th scope="col">what it is</th>
						{drawn.map((share) => (
							<th key={share.which} scope="col" class="number">
								{drawn.length > 1 ? share.which : share.label}
							</th>
						))}
					</tr>
				</thead>
				<tbody>
					{causes.map((cause) => (
						<tr key={cause}>
							<th scope="row">
								<Swatch cause={cause} /> {cause}
							</th>
							<td>{meaning(cause, account)}</td>
							{drawn.map((bar) => (
								<td key={bar.which} class="number">
									{figures(bar, cause, account)}
								</td>
							))}
						</tr>
					))}
				</tbody>
			</table>
		</div>
	);
}

/** When each cause took its seconds; asked for when somebody unfolds it. */
function OverTime(): JSX.Element {
	const [open, setOpen] = useState(false);
	return (
		<details class="behind" onToggle={(event) => setOpen(event.currentTarget.open)}>
			<summary>When</summary>
			{open && <Causing />}
		</details>
	);
}

function Causing(): JSX.Element {
	const { run } = scope.value;
	const answer = useAnswer<OverTimeAnswer>("account_over_time", { run });
	return <Shown answer={answer}>{({ table }) => <CausesOverTime table={table} />}</Shown>;
}

function CausesOverTime({ table }: { table: Table }): JSX.Element {
	const series = useMemo(() => overTime(table), [table]);
	const lines = useMemo(() => series.causes.map(({ cause, processes }) => ({ name: cause, colour: (colours: Palette) => causeColour(colours, cause), values: processes })), [series]);
	return (
		<>
			{lines.length > 0 && <Series times={series.times} lines={lines} unit="processes" height={150} label={`How many processes are in calls, by cause: ${series.causes.map((one) => one.cause).join(", ")}`} />}
			<DataTable table={table} caption="Causes over time" name="account_over_time" what="bins" />
		</>
	);
}

/** What is no cause comes behind all that are. */
function place(cause: string): number {
	return cause === NOT_IO ? 2 : cause === OTHERS ? 1 : 0;
}

function figures(bar: AccountShare, cause: string, account: AccountAnswer): string {
	const part = bar.parts.find((one) => one.cause === cause);
	return part ? `${time(part.seconds * 1e9)} · ${ofRun(part.seconds, account)}` : "–";
}

const SWATCH = 14;

function Swatch({ cause }: { cause: string }): JSX.Element {
	const colours = palette.value;
	const ground = useCallback(
		(canvas: HTMLCanvasElement | null) => {
			const ink = canvas?.getContext("2d");
			if (!canvas || !ink) return;
			const dots = devicePixelRatio || 1;
			canvas.width = canvas.height = Math.round(SWATCH * dots);
			ink.scale(dots, dots);
			paintSwatch(cause)(ink, { width: SWATCH, height: SWATCH }, colours);
		},
		[cause, colours],
	);
	return <canvas class="swatch" ref={ground} aria-hidden="true" />;
}
