/** One polite live region for the page: what a cursor stands on, what was copied. */
import { signal } from "@preact/signals";
import type { JSX } from "preact";

const said = signal("");

export function say(text: string): void {
	said.value = text;
}

export function Said(): JSX.Element {
	return (
		<div class="unseen" role="status" aria-live="polite">
			{said.value}
		</div>
	);
}
