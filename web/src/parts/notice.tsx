/** Why there is nothing to see: four different reasons, in four different sentences. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { NoAnswer } from "../source";
import type { Answer } from "../state/answers";
import { SELECTION, type SelectionName } from "../state/page";
import { currentRun } from "../state/runs";
import { change, selection } from "../state/state";

export function clearSelection(): void {
	change(Object.fromEntries(SELECTION.map((name: SelectionName) => [name, null])));
}

/** Loading; the space is kept, so that nothing jumps when the answer comes. */
export function Loading({ height }: { height?: number }): JSX.Element {
	return (
		<div class="notice loading" style={{ minHeight: `${height ?? 48}px` }} role="status">
			Asking…
			<Waits />
		</div>
	);
}

const SHORT = 3; // seconds that need no reason
const LARGE = 1_000_000; // calls; of more an answer on the whole run is worked out once and kept

/** Why it takes long, and how long already: of a large run the first to look waits. */
function Waits(): JSX.Element | null {
	const [seconds, setSeconds] = useState(0);
	useEffect(() => {
		const timer = setInterval(() => setSeconds((before) => before + 1), 1000);
		return () => clearInterval(timer);
	}, []);
	const calls = currentRun.value?.events ?? 0;
	if (seconds < SHORT) return null;
	return (
		<>
			{calls > LARGE && ` This run has ${calls.toLocaleString("en-US")} calls. What is said of all of them is worked out now, and kept: the next opening has it at once.`}
			<span aria-hidden="true">{` ${seconds} s`}</span>
		</>
	);
}

export function Failed({ error }: { error: Error }): JSX.Element {
	const frozen = error instanceof NoAnswer && error.frozen;
	return (
		<div class={frozen ? "notice" : "notice failed"} role={frozen ? "status" : "alert"}>
			<strong>{frozen ? "Not in this report. " : "No answer. "}</strong>
			<Message text={error.message} />
		</div>
	);
}

/** Of several lines one may point at a letter of the one above it. */
function Message({ text }: { text: string }): JSX.Element {
	return text.includes("\n") ? <pre class="message">{text}</pre> : <>{text}</>;
}

/** An empty answer: in the server's words if it said why, else by what the page knows. */
export function Empty({ note, what }: { note?: string | null; what: string }): JSX.Element {
	if (note) return <div class="notice">{note}</div>;
	if (Object.keys(selection.value).length === 0) return <div class="notice">No data: this run has no {what}.</div>;
	return (
		<div class="notice">
			Filtered out: no {what} in the selection.{" "}
			<button type="button" onClick={clearSelection}>
				Clear the selection
			</button>
		</div>
	);
}

/** An answer's value, or why it is not there. An older value stays, dimmed, while a newer one is on its way. */
export function Shown<T>({ answer, height, children }: { answer: Answer<T>; height?: number; children: (value: T) => ComponentChildren }): JSX.Element {
	if (answer.error) return <Failed error={answer.error} />;
	if (answer.value === null) return <Loading {...(height === undefined ? {} : { height })} />;
	return (
		<div class={answer.loading ? "stale" : ""} aria-busy={answer.loading}>
			{children(answer.value)}
		</div>
	);
}
