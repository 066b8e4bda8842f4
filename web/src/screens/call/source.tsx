/** The lines of the program around a call; in the margin what I/O each does, in all processes, and what loses time there. */
import { Fragment, type JSX } from "preact";
import type { Finding, FindingsAnswer, SourceLines } from "../../source";
import { useAnswer } from "../../state/answers";
import { address } from "../../state/state";
import { opens, won } from "../overview/query";
import { findingsAt, MARGIN, margin } from "./query";

export function Source({ source, run }: { source: SourceLines; run: string }): JSX.Element {
	const { value } = useAnswer<FindingsAnswer>("findings", { run });
	return (
		<section aria-labelledby="source">
			<h2 id="source">
				{source.path}:{source.line}
			</h2>
			<pre class="source" tabIndex={0} role="region" aria-label="Source, and the I/O of each line in all processes">
				<code class="quiet">{`${MARGIN}\n`}</code>
				{source.text.map(([number, words, amounts]) => (
					<Fragment key={number}>
						<code class={number === source.line ? "here" : ""}>
							<span class="quiet">{margin(amounts)}</span>
							{`${String(number).padStart(6)}  ${words.replaceAll("\t", "    ")}\n`}
						</code>
						{findingsAt(value?.findings ?? [], source.path, number).map((one) => (
							<Mark key={one.name} finding={one} />
						))}
					</Fragment>
				))}
			</pre>
		</section>
	);
}

function Mark({ finding }: { finding: Finding }): JSX.Element {
	return (
		<code class="mark">
			{" ".repeat(MARGIN.length + 4)}
			<strong class={finding.level}>{won(finding).best}</strong> <a href={address(finding.screen, opens(finding))}>{finding.title}</a>
			{"\n"}
		</code>
	);
}
