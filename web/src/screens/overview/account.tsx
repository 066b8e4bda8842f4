/** What the page begins with: where the run's time went, by cause, and what loses the most of it. */
import type { JSX } from "preact";
import { useCallback, useMemo, useRef, useState } from "preact/hooks";
import { palette } from "../../draw/theme";
import { time } from "../../draw/units";
import type { Paint } from "../../parts/export";
import { Figure } from "../../parts/figure";
import { Empty, Shown } from "../../parts/notice";
import type { AccountAnswer, Finding, FindingsAnswer } from "../../source";
import { useAnswer } from "../../state/answers";
import { address, scope } from "../../state/state";
import { SPLIT_HEIGHT, paintMarked, paintSplit, paintSwatch, partAt, type SplitBar } from "./paint";
import { NOT_IO, OTHERS, WORST, bars, headline, heading, meaning, ofRun, opens, ranked, scale, told, width, won, type Bar } from "./query";

export function Account(): JSX.Element {
	const { run } = scope.value;
	const answer = useAnswer<AccountAnswer>("account", { run });
	return (
		<section class="account" aria-labelledby="account">
			<h2 id="account" class="unseen">
				Where the time went
			</h2>
			<Shown answer={answer} height={220}>
				{(account) => (account.processes.length === 0 ? <Empty note={account.table.note} what="I/O calls" /> : <Split account={account} />)}
			</Shown>
			<Worst />
		</section>
	);
}

function Split({ account }: { account: AccountAnswer }): JSX.Element {
	const [pointed, point] = useState<Pointed>(null);
	const across = useRef(0);
	const drawn = useMemo(() => bars(account), [account]);
	const pictures = useMemo<SplitBar[]>(() => drawn.map((bar) => ({ title: heading(bar, account), parts: bar.parts, whole: width(account) })), [drawn]);
	const paint = useMemo<Paint>(() => {
		const split = paintSplit(pictures);
		return (ink, box, colours) => {
			across.current = box.width;
			split(ink, box, colours);
		};
	}, [pictures]);
	const over = useMemo(() => paintMarked(pictures, pointed?.cause ?? null, (row) => (row === pointed?.row ? said(drawn[row], pointed.cause, account) : null)), [pictures, pointed]);
	return (
		<Figure
			title="Where the time went, by cause"
			says={scale(account)}
			name="account"
			label={drawn.map((bar) => `${heading(bar, account)}: ${bar.parts.map((one) => `${one.cause} ${time(one.seconds * 1e9)}`).join(", ")}`).join(". ")}
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

function said(bar: Bar | undefined, cause: string, account: AccountAnswer): string | null {
	const part = bar?.parts.find((one) => one.cause === cause);
	return part ? told(part, account) : null;
}

/** Every part with its colour, meaning and figures, in the order of the bars. */
function Legend({ account, drawn, pointed, point }: { account: AccountAnswer; drawn: Bar[]; pointed: Pointed; point: (at: Pointed) => void }): JSX.Element {
	const causes = [...new Set(drawn.flatMap((bar) => bar.parts.map((one) => one.cause)))].sort((a, b) => place(a) - place(b));
	return (
		<div class="scroll" tabIndex={0} role="region" aria-label="Colours of the bars">
			<table class="causes">
				<caption class="unseen">Colours of the bars</caption>
				<thead>
					<tr>
						<th scope="col">cause</th>
						<th scope="col">what it is</th>
						{drawn.map(({ share }) => (
							<th key={share.which} scope="col" class="number">
								{drawn.length > 1 ? share.which : share.label}
							</th>
						))}
					</tr>
				</thead>
				<tbody>
					{causes.map((cause) => (
						<tr key={cause} class={pointed?.cause === cause ? "pointed" : ""} onMouseEnter={() => point({ row: null, cause })} onMouseLeave={() => point(null)}>
							<th scope="row">
								<Swatch cause={cause} /> {cause}
							</th>
							<td>{meaning(cause, account)}</td>
							{drawn.map((bar) => (
								<td key={bar.share.which} class="number">
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

/** What is no cause comes behind all that are. */
function place(cause: string): number {
	return cause === NOT_IO ? 2 : cause === OTHERS ? 1 : 0;
}

function figures(bar: Bar, cause: string, account: AccountAnswer): string {
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

/** The worst findings, and the way to all of them. */
function Worst(): JSX.Element {
	const { run } = scope.value;
	const answer = useAnswer<FindingsAnswer>("findings", { run });
	return (
		<section class="worst" aria-labelledby="worst">
			<h2 id="worst">
				What loses time, and what to do <small class="quiet">seconds of run time that mending would win, and their least and most</small>
			</h2>
			<Shown answer={answer} height={120}>
				{(reply) => (reply.findings.length === 0 ? <p class="quiet">{headline(reply)}</p> : <Most findings={ranked(reply.findings)} />)}
			</Shown>
		</section>
	);
}

function Most({ findings }: { findings: Finding[] }): JSX.Element {
	return (
		<>
			<ol>
				{findings.slice(0, WORST).map((one) => (
					<OneOfMost key={`${one.name} ${one.sentence}`} finding={one} />
				))}
			</ol>
			<button type="button" onClick={showAll}>
				{findings.length > WORST ? `All ${findings.length} findings` : "More on these findings"}
			</button>
		</>
	);
}

/** The list is no place of its own in the address, so the button moves the focus itself. */
function showAll(): void {
	const list = document.getElementById("findings");
	list?.scrollIntoView();
	list?.focus({ preventScroll: true });
}

function OneOfMost({ finding }: { finding: Finding }): JSX.Element {
	const { best, range } = won(finding);
	return (
		<li>
			<div class="won">
				<strong class={finding.level}>{best}</strong>
				{range && <span class="quiet">{range}</span>}
			</div>
			<div>
				<h3>
					<a href={address(finding.screen, opens(finding))}>{finding.title}</a>
				</h3>
				<p>{finding.sentence}</p>
				<p class="do">
					<strong>Do</strong> {finding.advice}
				</p>
				{finding.sites.map((site) => (
					<p key={site} class="quiet">
						<code>{site}</code>
					</p>
				))}
			</div>
		</li>
	);
}
