/** The form of `fathom generate`: source, form and code side by side, one text below all of them. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Failed, Loading, Shown } from "../../parts/notice";
import { say } from "../../parts/say";
import { useAnswer } from "../../state/answers";
import { blocks, canUndo, cursor, draft, failed, hints, open, put, undo, useHints, wanted, type Draft } from "./draft";
import { addBlock, placeBelow } from "./edit";
import { below, Editor } from "./editor";
import { HintsForm } from "./form";
import type { FormAnswer, Hints, Mistake } from "./query";
import { Result } from "./result";
import { accessesFor, blockName, FIRST, FIRST_ACCESS, fresh, isBare, names, steps } from "./words";

const MOST = 4_000_000; // letters of a source that is opened

export function Generate(): JSX.Element {
	const answer = useAnswer<FormAnswer>("form", {});
	return (
		<Shown answer={answer} height={300}>
			{(form) => <Opened form={form} />}
		</Shown>
	);
}

function Opened({ form }: { form: FormAnswer }): JSX.Element {
	useEffect(() => {
		if (form.source && !draft.value) open(form.source.name, form.source.text, form.source.text);
	}, [form]);
	useHints();
	const now = draft.value;
	const reply = hints.value;
	return (
		<div class="generate">
			<Steps mistake={reply?.mistake ?? null} opened={now !== null && now.text.trim() !== ""} />
			{failed.value && <Failed error={failed.value} />}
			{now === null || now.text.trim() === "" ? <Begin form={form} now={now} /> : reply ? <Work form={form} now={now} reply={reply} /> : <Loading height={300} />}
		</div>
	);
}

function Steps({ mistake, opened }: { mistake: Mistake | null; opened: boolean }): JSX.Element {
	const all = steps(blocks.value, mistake, opened);
	const next = all.findIndex((one) => !one.done);
	return (
		<ol class="steps" aria-label="Steps">
			{all.map((one, at) => (
				<li key={one.title} class={one.done ? "done" : at === next ? "next" : ""} {...(at === next ? { "aria-current": "step" as const } : {})}>
					<span class="mark" aria-hidden="true">
						{one.done ? "✓" : at + 1}
					</span>
					<strong>{one.title}</strong>
					<span class="unseen">{one.done ? " done" : ""}</span>
					{at === next && <span class="quiet">{one.says}</span>}
				</li>
			))}
			{next < 0 && <li class="quiet">Download or write the files, then build and start as said below the code.</li>}
		</ol>
	);
}

/** Nothing is open yet, or it is empty. */
function Begin({ form, now }: { form: FormAnswer; now: Draft | null }): JSX.Element {
	const begin = (name: string, text: string): void => {
		if (now) put({ start: 0, end: now.text.length, text });
		else open(name, text, null);
	};
	const fortran = /\.(f|for|f\d\d)$/i.test(now?.name ?? "");
	return (
		<section class="begin">
			<h2>{now ? `${now.name} is empty` : "Your program"}</h2>
			<p>
				{now ? "Begin with a small MPI program that fills an array, and put its I/O where it belongs." : "Open the source of your program: C, C++ or Fortran, or hints alone (.iog). It stays in this page until you download or write the result."}
			</p>
			<div class="bar">
				{!now && <OpenFile />}
				{(!now || !fortran) && (
					<button type="button" class="main" onClick={() => begin("solver.c", form.beginnings.c)}>
						Begin with a small C program
					</button>
				)}
				{(!now || fortran) && (
					<button type="button" class="main" onClick={() => begin("solver.f90", form.beginnings.fortran)}>
						Begin with a small Fortran program
					</button>
				)}
			</div>
		</section>
	);
}

function OpenFile(): JSX.Element {
	const [error, setError] = useState("");
	const read = (file: File | undefined): void => {
		if (!file) return;
		if (file.size > MOST) return setError(`${file.name} has more than ${MOST / 1e6} MB: is it a source?`);
		file.text().then(
			(text) => (setError(""), open(file.name, text, null)),
			() => setError(`${file.name} cannot be read`),
		);
	};
	return (
		<>
			<label class="button">
				Open a source…
				<input class="unseen" type="file" onChange={(event) => read(event.currentTarget.files?.[0])} />
			</label>
			{error && (
				<span class="wrong" role="alert">
					{error}
				</span>
			)}
		</>
	);
}

function Work({ form, now, reply }: { form: FormAnswer; now: Draft; reply: Hints }): JSX.Element {
	return (
		<div class="work">
			<HintsForm text={now.text} form={form} reply={reply} />
			<div class="beside">
				<section class="source-part" aria-label="Source">
					<Place now={now} reply={reply} />
					<Banner mistake={reply.mistake} />
					<Editor draft={now} mistake={isBare(blocks.value, reply.mistake) ? null : reply.mistake} />
				</section>
				<Result now={now} form={form} reply={reply} />
			</div>
		</div>
	);
}

/** Puts a point below the line of the cursor. */
function Place({ now, reply }: { now: Draft; reply: Hints }): JSX.Element {
	const place = (kind: string): void => {
		const all = blocks.value;
		const taken = all.filter((one) => one.kind === kind).map((one) => one.name || kind);
		const name = blockName(kind, fresh(kind, taken));
		const at = placeBelow(now.text, all, cursor.value);
		const bare = names(all, "variables").length === 0;
		const point = addBlock(now.text, reply.language, at, name, bare ? [FIRST_ACCESS] : accessesFor(all, now.text, kind));
		put(point);
		if (bare) for (const [of, lines] of [...FIRST].reverse()) putDefinitions(of, lines, reply, at);
		wanted.value = { start: draft.value?.text.indexOf(point.text) ?? at, end: draft.value?.text.indexOf(point.text) ?? at };
		say(`${name} placed`);
	};
	return (
		<div class="bar">
			<strong>{now.name}</strong>
			<OpenFile />
			<button type="button" disabled={!canUndo()} onClick={undo}>
				Undo
			</button>
			<span class="grow" />
			<span class="quiet place">{below(now.text)}</span>
			<button type="button" class="main" onClick={() => place("write")}>
				Write below
			</button>
			<button type="button" onClick={() => place("read")}>
				Read below
			</button>
		</div>
	);
}

/** Blocks that a first point needs, in front of it: where declarations may stand, or right before it. */
function putDefinitions(kind: string, lines: string[], reply: Hints, point: number): void {
	if (!draft.value || blocks.value.some((one) => one.kind === kind)) return;
	put(addBlock(draft.value.text, reply.language, Math.min(reply.declare, point), kind, lines));
}

/** The first mistake in words; nothing where the steps say what is missing. */
function Banner({ mistake }: { mistake: Mistake | null }): JSX.Element {
	if (!mistake || isBare(blocks.value, mistake)) return <></>;
	return (
		<div class="notice failed mistake" role="alert">
			<button type="button" class="small" onClick={() => (wanted.value = { start: mistake.at, end: mistake.at })}>
				line {mistake.line}, column {mistake.column}
			</button>{" "}
			<strong>{mistake.what}.</strong> {mistake.remedy}
			{mistake.picture && <pre>{mistake.picture}</pre>}
		</div>
	);
}
