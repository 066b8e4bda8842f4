/** Fields of the form: each is a window on a place in the text. */
import type { ComponentChildren, JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { hints, put } from "./draft";
import { clean, removed, replaced } from "./edit";
import type { Part, Statement } from "./query";
import { holds } from "./words";

interface CellProps {
	label: string;
	part: Part;
	/** What is said above it; none: the label is for those who do not see the table around it. */
	title?: string;
	hint?: string;
	wide?: boolean;
	/** What may stand there, to choose from; anything else may be typed. */
	offers?: string[];
}

/** A part of a statement as a field. What was typed stays as it was typed: blanks at its ends are no part of the text. */
export function Cell({ label, part, title, hint, wide, offers = [] }: CellProps): JSX.Element {
	const list = useId();
	const [typed, setTyped] = useState("");
	const wrong = holds(part, hints.value?.mistake?.at) && part.end > part.start;
	return (
		<label class={`field${wide ? " wide" : ""}`}>
			{title && <span>{title}</span>}
			<input
				type="text"
				spellcheck={false}
				autocomplete="off"
				aria-label={label}
				aria-invalid={wrong}
				placeholder={hint}
				list={offers.length ? list : undefined}
				value={clean(typed) === part.text ? typed : part.text}
				onInput={(event) => {
					setTyped(event.currentTarget.value);
					put({ start: part.start, end: part.end, text: clean(event.currentTarget.value) });
				}}
			/>
			{offers.length > 0 && (
				<datalist id={list}>
					{offers.map((one) => (
						<option key={one} value={one} />
					))}
				</datalist>
			)}
		</label>
	);
}

/** A field that is only a part of what stands at a place. */
export function Field({ label, title, value, set }: { label: string; title: string; value: string; set: (to: string) => void }): JSX.Element {
	return (
		<label class="field">
			<span>{title}</span>
			<input type="text" spellcheck={false} autocomplete="off" aria-label={label} value={value} onInput={(event) => set(clean(event.currentTarget.value))} />
		</label>
	);
}

/** One of a few words; what the text says is among them, whatever it is. */
export function Pick({ label, title, options, chosen, choose, says = (one) => one }: { label: string; title?: string; options: readonly string[]; chosen: string; choose: (word: string) => void; says?: (word: string) => string }): JSX.Element {
	const all = options.includes(chosen) ? options : [chosen, ...options];
	return (
		<label class="field">
			{title && <span>{title}</span>}
			<select aria-label={label} value={chosen} onChange={(event) => choose(event.currentTarget.value)}>
				{all.map((one) => (
					<option key={one} value={one}>
						{says(one) || "—"}
					</option>
				))}
			</select>
		</label>
	);
}

/** Several parts, chosen as one. */
export function PickPart({ part, ...rest }: { part: Part; label: string; title?: string; options: readonly string[] }): JSX.Element {
	return <Pick {...rest} chosen={part.text} choose={(word) => put(replaced([part], word))} />;
}

export function Remove({ what, statement, text }: { what: string; statement: { start: number; end: number }; text: string }): JSX.Element {
	return (
		<button type="button" class="small" aria-label={`Remove ${what}`} title={`Remove ${what}`} onClick={() => put(removed(text, statement))}>
			×
		</button>
	);
}

/** What is wrong with a statement, below its row. */
export function Wrong({ statement }: { statement: Statement }): JSX.Element | null {
	const mistake = hints.value?.mistake;
	if (!mistake || !holds(statement, mistake.at)) return null;
	return (
		<p class="wrong" role="alert">
			<strong>{mistake.what}.</strong> {mistake.remedy}
		</p>
	);
}

export function Group({ title, says, children }: { title: string; says?: string; children: ComponentChildren }): JSX.Element {
	return (
		<fieldset class="part">
			<legend>{title}</legend>
			{says && <p class="quiet wide">{says}</p>}
			{children}
		</fieldset>
	);
}
