/** One polite live region for the page: what a cursor stands on, what was copied. */
import { signal } from "@preact/signals";
import type { JSX } from "preact";

const announcement = signal("");

export function say(text: string): void {
	announcement.value = text;
}

export function LiveRegion(): JSX.Element {
	return (
		<div class="unseen" role="status" aria-live="polite">
			{announcement.value}
		</div>
	);
}
