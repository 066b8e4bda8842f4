import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { time } from "../../draw/units";
import { Failed, Shown } from "../../parts/notice";
import { say } from "../../parts/say";
import { act, useAnswer } from "../../state/answers";
import type { Parameters } from "../../source";
import { address, change, given, revision } from "../../state/state";
import { RunForm } from "./form";
import { formatForm, OVER, parseForm, request, type Field, type Form, type Progress, type SetupAnswer } from "./query";

const PAUSE = 300; // ms without a key before the server is asked
const LOOK_AGAIN = 1000; // ms between two looks at a job

/** A value that follows another once that rests. */
function useRested<T>(value: T, key: string): T {
	const [rested, setRested] = useState(value);
	useEffect(() => {
		const timer = setTimeout(() => setRested(value), PAUSE);
		return () => clearTimeout(timer);
	}, [key]);
	return rested;
}

export function Setup(): JSX.Element {
	const form = parseForm(given("form"));
	const set = (name: Field, value: string): void => change({ form: formatForm({ ...form, [name]: value }) }, true);
	const parameters = useRested(request(form), given("form"));
	const answer = useAnswer<SetupAnswer>("setup", parameters);
	return (
		<div class="setup">
			<RunForm form={form} set={set} />
			<div>
				{parameters ? (
					<Shown answer={answer} height={300}>
						{(setup) => <Commands setup={setup} form={form} />}
					</Shown>
				) : (
					<p class="notice">Name a program: the command, the selection file and the batch script that record it follow as you type.</p>
				)}
			</div>
		</div>
	);
}

function Commands({ setup, form }: { setup: SetupAnswer; form: Form }): JSX.Element {
	return (
		<>
			{setup.problems.length > 0 && (
				<ul class="notice problems" aria-label="What will not work">
					{setup.problems.map((one) => (
						<li key={one}>{one}</li>
					))}
				</ul>
			)}
			{setup.build && <Text title="Build" text={setup.build} />}
			<Text title="Command" text={setup.line} />
			{setup.selection && <Text title={`Selection file ${setup.selection.file}`} text={setup.selection.text} />}
			{setup.forwarding && <Text title={`Forwarding servers ${setup.forwarding.file}: start them first with "${setup.forwarding.start}"`} text={setup.forwarding.text} />}
			<Text title="Batch script" text={setup.script} />
			{setup["can start"] ? (
				<Start form={form} />
			) : (
				<p class="quiet">
					To start runs from this page: <code>fathom view --allow-start RUN</code>
				</p>
			)}
		</>
	);
}

/** Text that is copied with one press. */
function Text({ title, text }: { title: string; text: string }): JSX.Element {
	const copy = (): void => {
		navigator.clipboard.writeText(text).then(
			() => say(`${title} copied`),
			() => say("The browser does not let this page copy; select the text"),
		);
	};
	return (
		<div>
			<div class="bar">
				<strong>{title}</strong>
				<span class="grow" />
				<button type="button" onClick={copy} aria-label={`Copy ${title}`}>
					Copy
				</button>
			</div>
			<pre class="text" tabIndex={0} role="region" aria-label={title}>
				{text}
			</pre>
		</div>
	);
}

/** Starts the job, looks at it until it is over, and opens its run. Answers are not kept: each is of its moment. */
function Start({ form }: { form: Form }): JSX.Element {
	const [progress, setProgress] = useState<Progress | null>(null);
	const [error, setError] = useState<Error | null>(null);
	const send = (name: string, parameters: Parameters): void => {
		act<Progress>(name, parameters, name === "progress").then(
			(state) => (setProgress(state), setError(null)),
			(failed: unknown) => setError(failed instanceof Error ? failed : new Error(String(failed))),
		);
	};
	const running = progress !== null && !OVER.includes(progress.state);
	useEffect(() => {
		if (!running) return;
		const timer = setTimeout(() => send("progress", { job: progress.job }), LOOK_AGAIN);
		return () => clearTimeout(timer);
	}, [progress, error]);
	useEffect(() => {
		if (progress?.run) revision.value += 1; // there is one run more
	}, [progress?.run]);
	return (
		<section aria-labelledby="start">
			<div class="bar">
				<h2 id="start">Here, now</h2>
				<button type="button" disabled={running} onClick={() => send("start", request(form) ?? {})}>
					Start
				</button>
				<button type="button" disabled={!running} onClick={() => progress && send("stop", { job: progress.job })}>
					Stop
				</button>
				<span role="status">{progress ? stateInWords(progress) : ""}</span>
				{progress?.run && <a href={address("overview", { run: progress.run })}>Open the result</a>}
			</div>
			{error && <Failed error={error} />}
			{progress && (
				<pre class="text" tabIndex={0} role="region" aria-label="Output">
					{progress.output || "no output yet"}
				</pre>
			)}
		</section>
	);
}

function stateInWords({ state, seconds, status, error }: Progress): string {
	const why = error ?? (status ? `exit status ${status}` : "");
	return `${state} ${OVER.includes(state) ? "after" : "for"} ${time(Math.round(seconds * 1e9))}${why ? `: ${why}` : ""}`;
}
