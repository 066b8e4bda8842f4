import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { copy } from "../../parts/copy";
import { Shown } from "../../parts/notice";
import { useAnswer } from "../../state/answers";
import { currentRun } from "../../state/runs";
import { change, given } from "../../state/state";
import { RunForm } from "./form";
import { formatForm, ofRun, parseForm, request, type Field, type SetupAnswer } from "./query";

const PAUSE = 300; // ms without a key before the server is asked

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
	const form = given("form") ? parseForm(given("form")) : ofRun(currentRun.value);
	const set = (name: Field, value: string): void => change({ form: formatForm({ ...form, [name]: value }) }, true);
	const asked = request(form);
	const parameters = useRested(asked, formatForm(form)) ?? asked;
	const answer = useAnswer<SetupAnswer>("setup", parameters);
	return (
		<div class="setup">
			<div>
				{currentRun.value && !given("form") && (
					<p class="quiet">
						Filled from the run {currentRun.value.name}; what you change is yours.
					</p>
				)}
				<RunForm form={form} set={set} />
			</div>
			<div>
				{parameters ? (
					<Shown answer={answer} height={300}>
						{(setup) => <Commands setup={setup} />}
					</Shown>
				) : (
					<p class="notice">Name a program: the command, the selection file and the batch script that record it follow as you type.</p>
				)}
			</div>
		</div>
	);
}

function Commands({ setup }: { setup: SetupAnswer }): JSX.Element {
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
		</>
	);
}

/** Text that is copied with one press. */
function Text({ title, text }: { title: string; text: string }): JSX.Element {
	return (
		<div>
			<div class="bar">
				<strong>{title}</strong>
				<span class="grow" />
				<button type="button" onClick={() => copy(text, title)} aria-label={`Copy ${title}`}>
					Copy
				</button>
			</div>
			<pre class="text" tabIndex={0} role="region" aria-label={title}>
				{text}
			</pre>
		</div>
	);
}
