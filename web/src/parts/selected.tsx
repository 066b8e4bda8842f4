/** What is selected, in words, each with a way to take it back. */
import type { JSX } from "preact";
import { time } from "../draw/units";
import { lanesWord } from "../state/lanes";
import { parseRange, SELECTION, type SelectionName } from "../state/page";
import { change, selection } from "../state/state";
import { clearSelection } from "./notice";

const NAMES: Record<SelectionName, string> = {
	t: "time",
	lanes: "lanes",
	layers: "layers",
	kinds: "kinds",
	ops: "calls",
	files: "files",
	servers: "servers",
};

/** One part of the selection as a person reads it. */
export function inWords(name: SelectionName, value: string): string {
	const range = name === "t" ? parseRange(value) : null;
	return range ? `${time(range[0])} to ${time(range[1])}` : value;
}

export function Selected(): JSX.Element | null {
	const parts = SELECTION.filter((name) => selection.value[name]);
	if (parts.length === 0) return null;
	return (
		<section class="selected" aria-label="Selection">
			{parts.map((name) => (
				<span class="chip" key={name}>
					{name === "lanes" ? lanesWord(2) : NAMES[name]}: {inWords(name, selection.value[name] ?? "")}
					<button type="button" aria-label={`Take back ${NAMES[name]}`} onClick={() => change({ [name]: null })}>
						×
					</button>
				</span>
			))}
			<button type="button" onClick={clearSelection}>
				Clear
			</button>
		</section>
	);
}
