/** What is made of the text: files, who owns what, the plan and its reasons. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { save as saveFile } from "../../parts/export";
import { Failed } from "../../parts/notice";
import { say } from "../../parts/say";
import { act } from "../../state/answers";
import { requestOf, draft, open, selfCheck, type Draft } from "./draft";
import { Pick } from "./fields";
import { setOption, valueOf } from "./form";
import { Owners } from "./owners";
import type { Archive, FormAnswer, Hints, Plan, Saved } from "./query";

const TABS = { code: "Code", owners: "Who owns what", plan: "Plan and reasons" } as const;
type Tab = keyof typeof TABS;

interface Props {
	now: Draft;
	form: FormAnswer;
	reply: Hints;
}

export function Result(props: Props): JSX.Element {
	const [tab, setTab] = useState<Tab>("code");
	return (
		<section class="result" aria-label="What is made of it">
			<div class="bar" role="group" aria-label="Show">
				{(Object.keys(TABS) as Tab[]).map((one) => (
					<button key={one} type="button" aria-pressed={tab === one} onClick={() => setTab(one)}>
						{TABS[one]}
					</button>
				))}
				<span class="grow" />
				<Take {...props} />
			</div>
			{tab === "code" && <Code {...props} />}
			{tab === "owners" && <Owners hints={props.reply} />}
			{tab === "plan" && <Plans {...props} />}
		</section>
	);
}

/** Download, or write beside the source. */
function Take({ now, form, reply }: Props): JSX.Element {
	const [error, setError] = useState<Error | null>(null);
	const none = reply.files.length === 0;
	const refuse = (why: unknown): void => setError(why instanceof Error ? why : new Error(String(why)));
	const download = (): void => {
		setError(null);
		act<Archive>("archive", requestOf(now)).then(({ name, base64 }) => {
			const bytes = Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));
			saveFile(name, new Blob([bytes], { type: "application/zip" }));
		}, refuse);
	};
	const write = (): void => {
		setError(null);
		act<Saved>("save", { ...requestOf(now), was: now.was ?? "" }).then(({ written, text }) => {
			open(now.name, text, text);
			say(written.length ? `Written: ${written.join(", ")}` : "Nothing has changed");
		}, refuse);
	};
	return (
		<>
			<label class="choose" title="Also a program that writes known values and reads them back">
				<input type="checkbox" checked={selfCheck.value} onChange={(event) => (selfCheck.value = event.currentTarget.checked)} /> self-check
			</label>
			<button type="button" class="main" disabled={none} onClick={download}>
				Download all
			</button>
			{form["may write"] && now.was !== null && (
				<button type="button" class="main" disabled={none} onClick={write}>
					Write beside {now.name}
				</button>
			)}
			{error && <Failed error={error} />}
		</>
	);
}

function Code({ now, reply }: Props): JSX.Element {
	const [chosen, choose] = useState("");
	const own = reply.files.find((one) => one.name.endsWith("_io.c") || one.name.endsWith("_io.cpp") || one.name.endsWith("_io.f90"));
	const file = reply.files.find((one) => one.name === chosen) ?? own ?? reply.files[0];
	if (!file) return <p class="notice">The code follows as soon as nothing is wrong with the text.</p>;
	return (
		<>
			<div class="bar" role="group" aria-label="File">
				{reply.files.map(({ name }) => (
					<button key={name} type="button" class="file" aria-pressed={name === file.name} onClick={() => choose(name)}>
						{name}
					</button>
				))}
				<span class="grow" />
				<button type="button" aria-label={`Download ${file.name}`} onClick={() => saveFile(file.name, new Blob([file.text], { type: "text/plain" }))}>
					Download
				</button>
			</div>
			<pre class="code" tabIndex={0} role="region" aria-label={file.name}>
				{file.text}
			</pre>
			{reply.notes.map((one) => (
				<p key={one} class="notice problems">
					{one}
				</p>
			))}
			<p class="quiet build">
				Build and start, in the folder of {now.name}: <code>{reply.build}</code> <code>{reply.start}</code>
			</p>
		</>
	);
}

function Plans({ now, form, reply }: Props): JSX.Element {
	if (reply.plans.length === 0) return <p class="notice">What is decided, and why, follows as soon as nothing is wrong with the text.</p>;
	return (
		<div class="plans" tabIndex={0} role="region" aria-label="Plan and reasons">
			{reply.plans.map((one) => (
				<OnePlan key={one.point} plan={one} form={form} now={now} title={reply.title} />
			))}
		</div>
	);
}

function OnePlan({ plan, form, now, title }: { plan: Plan; form: FormAnswer; now: Draft; title: string }): JSX.Element {
	const kind = plan.reading ? "reads" : "writes";
	return (
		<section aria-label={plan.point}>
			<h2>
				{plan.point} <small class="quiet">by {title}</small>
			</h2>
			<p class="verdict">
				{plan.raw.map(([ranks, count]) => `${ranks} ranks: ${count.toLocaleString("en-US")} raw ${kind} of data`).join("; ")} <span class="quiet">(predicted for ROMIO, one node)</span>
			</p>
			<table>
				<thead>
					<tr>
						<th scope="col">rule</th>
						<th scope="col">decides</th>
						<th scope="col">chosen</th>
						<th scope="col">why</th>
					</tr>
				</thead>
				<tbody>
					{plan.decisions.map((one) => (
						<tr key={one.rule}>
							<td class="number">{one.rule}</td>
							<td>{one.subject}</td>
							<td>{form.overrides[one.option] ? <Override name={one.option} choices={form.overrides[one.option] ?? []} point={plan.point} now={now} /> : one.choice}</td>
							<td>{one.reason}</td>
						</tr>
					))}
				</tbody>
			</table>
			<p class="quiet">
				Calls in order: {plan.steps.map((one) => `${one.call} ${one.object}`).join(" → ")}
			</p>
		</section>
	);
}

/** What a rule decided can be said otherwise: it becomes an option in the text. */
function Override({ name, choices, point, now }: { name: string; choices: string[]; point: string; now: Draft }): JSX.Element {
	const option = valueOf("options", name, now.text);
	return <Pick label={`${name} of ${point}`} options={choices} chosen={option || (choices[0] ?? "")} choose={(to) => setOption("options", name, to === choices[0] ? "" : to, draft.value?.text ?? "")} />;
}
