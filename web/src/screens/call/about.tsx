/** What is known of the call itself: where it stands, its values, links, its collective. */
import type { JSX } from "preact";
import { format, size, time } from "../../draw/units";
import { DataTable } from "../../parts/table";
import type { Call, CallAnswer, Link } from "../../source";
import { address } from "../../state/state";
import { callTable, details, idOf, kernelWords, known, pathOf, siteOf, unitOf } from "./query";
import { focus } from "./screen";

type Named = (lane: number) => string;

export function About({ answer, lane }: { answer: CallAnswer; lane: Named }): JSX.Element {
	const { call, ancestors } = answer;
	const where = call["path"] ?? call["object"];
	const stack = [...ancestors].sort((a, b) => Number(a["start"]) - Number(b["start"]) || Number(b["duration"]) - Number(a["duration"]));
	return (
		<section aria-labelledby="about">
			<h2 id="about">
				{String(call["op"])} of {lane(Number(call["lane"] ?? 0))}: {time(Number(call["duration"] ?? 0))}
			</h2>
			<nav aria-label="Called from">
				<ol class="stack">
					{stack.map((one) => (
						<li key={idOf(one)}>
							<a href={address("call", { call: idOf(one) })}>
								{String(one["op"])} <span class="quiet">{time(Number(one["duration"] ?? 0))}</span>
							</a>
						</li>
					))}
					<li aria-current="true">{String(call["op"])}</li>
				</ol>
			</nav>
			{where && <p class="quiet">{String(where)}</p>}
			{siteOf(call) && (
				<p class="quiet">
					called from <code>{siteOf(call)}</code>
				</p>
			)}
			{pathOf(call).length > 0 && (
				<details>
					<summary>All functions that led to it</summary>
					<ol>
						{pathOf(call).map((frame, at) => (
							<li key={at}>
								<code>{frame}</code>
							</li>
						))}
					</ol>
				</details>
			)}
			<Where breakdown={answer.breakdown.layers} duration={Number(call["duration"] ?? 0)} />
			{answer.kernel && <p>The kernel: {kernelWords(answer.kernel) || "no page came into its cache, no device was asked"}.</p>}
			<details>
				<summary>All that is known of this call</summary>
				<Values pairs={known(call).map(([name, value]) => [name, format(value, unitOf(name))])} />
				<Values title="Arguments" pairs={details(call, "args")} />
				<Values title="Hints in force" pairs={details(call, "hints")} />
			</details>
		</section>
	);
}

function Where({ breakdown, duration }: { breakdown: [string, number][]; duration: number }): JSX.Element | null {
	const parts = breakdown.filter(([, ns]) => ns > 0);
	if (parts.length === 0) return null;
	return (
		<p>
			Its time:{" "}
			{parts.map(([layer, ns], at) => (
				<span key={layer}>
					{at > 0 && ", "}
					<strong>{layer}</strong> {time(ns)} ({format(duration > 0 ? ns / duration : null, "share")})
				</span>
			))}
		</p>
	);
}

function Values({ title, pairs }: { title?: string; pairs: [string, string][] }): JSX.Element | null {
	if (pairs.length === 0) return null;
	return (
		<>
			{title && <h3>{title}</h3>}
			<dl class="values">
				{pairs.map(([name, value]) => (
					<div key={name}>
						<dt>{name}</dt>
						<dd>{value}</dd>
					</div>
				))}
			</dl>
		</>
	);
}

// What a link says, seen from the call it leads out of and the call it leads to.
const WORDS: Record<string, [string, string]> = {
	serves: ["serves", "is served by"],
	carries: ["carries bytes of", "has its bytes carried by"],
	completes: ["completes", "is completed by"],
	matched: ["matches", "is matched by"],
};

function words({ kind, direction }: Link): string {
	const [out, back] = WORDS[kind] ?? [kind, kind];
	return direction === "to" || direction === "out" ? out : back;
}

export function Links({ links, lane }: { links: Link[]; lane: Named }): JSX.Element | null {
	if (links.length === 0) return null;
	return (
		<section aria-labelledby="links">
			<h2 id="links">Linked calls</h2>
			<ul>
				{links.slice(0, 200).map((link) => (
					<li key={`${link.kind} ${link.direction} ${linked(link)}`}>
						This call {words(link)} <a href={address("call", { call: linked(link) })}>{linkName(link, lane)}</a>
						{link.bytes !== null && <span class="quiet"> {size(link.bytes)}</span>}
						{link.confidence !== null && link.confidence < 1 && <span class="quiet"> {Math.round(link.confidence * 100)} % sure</span>}
					</li>
				))}
			</ul>
			{links.length > 200 && <p class="quiet">{(links.length - 200).toLocaleString("en-US")} more are not shown.</p>}
		</section>
	);
}

function linked({ call }: Link): string {
	return typeof call === "object" ? idOf(call) : String(call);
}

function linkName({ call }: Link, lane: Named): string {
	return typeof call === "object" ? `${String(call["op"])} of ${lane(Number(call["lane"] ?? 0))}` : `call ${call}`;
}

const MEMBER = ["call", "lane", "op", "start", "duration", "bytes"] as const;

export function Collective({ collective, lane }: { collective: CallAnswer["collective"]; lane: Named }): JSX.Element | null {
	if (!collective) return null;
	const members: Call[] = collective.members;
	const starts = members.map((one) => Number(one["start"] ?? 0));
	const last = members[starts.indexOf(Math.max(...starts))];
	return (
		<section aria-labelledby="collective">
			<h2 id="collective">Collective: {members.length} calls</h2>
			<p>
				They began within {time(Math.max(...starts) - Math.min(...starts))} of each other{last && `; the last was ${lane(Number(last["lane"] ?? 0))}`}.
			</p>
			<DataTable table={callTable(members, MEMBER)} caption="Members of the collective" name="collective" what="calls" page={10} onOpen={(row) => focus(String(row[0]))} />
		</section>
	);
}
