/** The source as text: blocks are marked, the line with the mistake too; the cursor says where a point is placed. */
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { isPoint, lineOf, placeBelow } from "./edit";
import { blocks, cursor, type, wanted, type Draft } from "./draft";
import type { Mistake } from "./query";

const LINE = 18; // pixels; style.css has the same

export function Editor({ draft, mistake }: { draft: Draft; mistake: Mistake | null }): JSX.Element {
	const area = useRef<HTMLTextAreaElement>(null);
	const scroller = useRef<HTMLDivElement>(null);
	const lines = draft.text.split("\n");
	const cursorLine = lineOf(draft.text, cursor.value);
	const widest = lines.reduce((most, one) => Math.max(most, one.replaceAll("\t", "        ").length), 0);
	useEffect(() => {
		const go = wanted.value;
		if (!go || !area.current || !scroller.current) return;
		area.current.focus({ preventScroll: true });
		area.current.setSelectionRange(go.start, go.end);
		cursor.value = go.start;
		scroller.current.scrollTop = Math.max(0, (lineOf(draft.text, go.start) - 5) * LINE);
		wanted.value = null;
	}, [wanted.value]);
	const follow = (): void => {
		if (area.current) cursor.value = area.current.selectionStart;
	};
	return (
		<div class="editor" ref={scroller}>
			<pre class="gutter" aria-hidden="true">
				{lines.map((_, at) => at + 1).join("\n")}
			</pre>
			<div class="page" style={{ height: `${lines.length * LINE + LINE}px`, minWidth: `${widest + 2}ch` }}>
				<Bands text={draft.text} cursorLine={cursorLine} mistake={mistake} />
				<textarea
					ref={area}
					aria-label={`Text of ${draft.name}`}
					aria-invalid={mistake !== null}
					spellcheck={false}
					wrap="off"
					value={draft.text}
					onInput={(event) => {
						type(event.currentTarget.value);
						follow();
					}}
					onKeyUp={follow}
					onClick={follow}
					onFocus={follow}
				/>
			</div>
		</div>
	);
}

/** Behind the text: where blocks are, what was generated, the line of the cursor, that of the mistake. */
function Bands({ text, cursorLine, mistake }: { text: string; cursorLine: number; mistake: Mistake | null }): JSX.Element {
	const band = (name: string, from: number, to: number, key: string): JSX.Element => (
		<div key={key} class={`band ${name}`} style={{ top: `${(from - 1) * LINE}px`, height: `${Math.max(1, to - from) * LINE}px` }} />
	);
	const bands = blocks.value.flatMap((one, at) => {
		const [from, end, behind] = [one.start, one.end, one.behind].map((place) => lineOf(text, place)) as [number, number, number];
		const own = band(isPoint(one) ? "point" : "says", from, end, `b${at}`);
		return behind > end ? [own, band("made", end, behind, `m${at}`)] : [own];
	});
	return (
		<div aria-hidden="true">
			{band("here", cursorLine, cursorLine + 1, "here")}
			{bands}
			{mistake && band("wrong", mistake.line, mistake.line + 1, "wrong")}
		</div>
	);
}

/** The line below which a point would be placed, in words. */
export function below(text: string): string {
	const at = placeBelow(text, blocks.value, cursor.value);
	const line = lineOf(text, at) - (text[at - 1] === "\n" ? 1 : 0);
	const content = (text.split("\n")[line - 1] ?? "").trim();
	return `below line ${line}${content ? `: ${content.length > 40 ? `${content.slice(0, 40)}…` : content}` : ""}`;
}
