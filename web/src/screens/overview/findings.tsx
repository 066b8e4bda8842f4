/** What loses time: of each finding its seconds, what to do, and the command that proves it. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { copy } from "../../parts/copy";
import { Shown } from "../../parts/notice";
import { Sql } from "../../parts/table";
import type { Finding, FindingsAnswer } from "../../source";
import { useAnswer } from "../../state/answers";
import { address, scope } from "../../state/state";
import { WORST, nothingFound, opens, ranked, won } from "./query";

/** An answer of its own: of a large run it takes longer than the rest of the page. */
export function Findings(): JSX.Element {
	const { run } = scope.value;
	const answer = useAnswer<FindingsAnswer>("findings", { run });
	return (
		<section class="worst" aria-labelledby="worst">
			<h2 id="worst">
				What loses time, and what to do <small class="quiet">seconds of run time that mending would win, and their least and most</small>
			</h2>
			<Shown answer={answer} height={120}>
				{(reply) => <List reply={reply} />}
			</Shown>
		</section>
	);
}

function List({ reply }: { reply: FindingsAnswer }): JSX.Element {
	const [all, setAll] = useState(false);
	const findings = ranked(reply.findings);
	return (
		<>
			{findings.length === 0 && <p class="quiet">{nothingFound(reply)}</p>}
			<ol>
				{findings.slice(0, all ? findings.length : WORST).map((one) => (
					<OneFinding key={`${one.name} ${one.sentence}`} finding={one} />
				))}
			</ol>
			{findings.length > WORST && (
				<button type="button" aria-expanded={all} onClick={() => setAll(!all)}>
					{all ? `The first ${WORST} only` : `All ${findings.length} findings`}
				</button>
			)}
			{reply["not asked"].map((why) => (
				<p key={why} class="quiet">
					{why}
				</p>
			))}
		</>
	);
}

function OneFinding({ finding }: { finding: Finding }): JSX.Element {
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
				{finding.knob && (
					<p>
						<strong>Knob</strong> <code>{finding.knob}</code>
					</p>
				)}
				{finding.proof && <Proof command={finding.proof} />}
				{finding.sites.map((site) => (
					<p key={site} class="quiet">
						line <code>{site}</code>
					</p>
				))}
				<details class="behind">
					<summary>How it was seen</summary>
					<Seen finding={finding} />
				</details>
			</div>
		</li>
	);
}

function Proof({ command }: { command: string }): JSX.Element {
	return (
		<p class="proof">
			<strong>Proof</strong> <code>{command}</code>{" "}
			<button type="button" class="small" onClick={() => copy(command, "Command")}>
				Copy<span class="unseen"> the command that proves it</span>
			</button>
		</p>
	);
}

function Seen({ finding }: { finding: Finding }): JSX.Element {
	return (
		<>
			<p>
				{Math.round(finding.sure * 100)} % sure
				{finding.evidence.length > 0 && "; calls that show it:"}
			</p>
			<ul>
				{finding.evidence.slice(0, 5).map(([call, name]) => (
					<li key={call}>
						<a href={address("call", { call })}>{name}</a>
					</li>
				))}
			</ul>
			<Sql text={finding.sql} />
		</>
	);
}
