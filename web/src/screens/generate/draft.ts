/** The text that is worked on: it outlives a change of screen. Form and editor change it by `put`. */
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { act } from "../../state/answers";
import { difference, edited, moved, type Edit } from "./edit";
import type { Block, Hints } from "./query";

const PAUSE = 250; // ms without a key before the server is asked
const UNDONE = 200; // steps back that are kept

export interface Draft {
	name: string;
	text: string;
	/** As the server's file had it, line ends and all; null for one that is no file of the server's. */
	was: string | null;
	crlf: boolean;
}

export const draft = signal<Draft | null>(null);
export const hints = signal<Hints | null>(null);
/** Of the text as it is now: the server's, moved along with what was typed since. */
export const blocks = signal<Block[]>([]);
/** Why the server could not be asked. */
export const failed = signal<Error | null>(null);
export const selfCheck = signal(false);
/** Ranks that the picture shows; 0: as the options say. */
export const ranks = signal(0);
/** Where the cursor is; and where it is to go. */
export const cursor = signal(0);
export const wanted = signal<{ start: number; end: number } | null>(null);
const past = signal<string[]>([]);

/** Opens a text; the page does not keep the one before. */
export function open(name: string, text: string, was: string | null): void {
	draft.value = { name, text: text.replaceAll("\r\n", "\n"), was, crlf: text.includes("\r\n") };
	hints.value = null;
	blocks.value = [];
	past.value = [];
	cursor.value = 0;
	ranks.value = 0;
}

export function put(edit: Edit): void {
	const now = draft.value;
	if (!now) return;
	const text = edited(now.text, edit);
	if (text === now.text) return;
	past.value = [...past.value.slice(-UNDONE), now.text];
	show(text, edit);
}

/** What was typed into the editor. */
export function type(text: string): void {
	if (draft.value) put(difference(draft.value.text, text));
}

export function canUndo(): boolean {
	return past.value.length > 0;
}

export function undo(): void {
	const text = past.value.at(-1);
	if (text === undefined || !draft.value) return;
	past.value = past.value.slice(0, -1);
	show(text, difference(draft.value.text, text));
}

function show(text: string, edit: Edit): void {
	if (!draft.value) return;
	blocks.value = moved(blocks.value, edit, text);
	draft.value = { ...draft.value, text };
}

/** What `hints`, `archive` and `save` are asked with. */
export function requestOf(now: Draft): Record<string, string> {
	return { name: now.name, text: now.text, ends: now.crlf ? "crlf" : "lf", check: selfCheck.value ? "yes" : "no" };
}

/** Asks what the text means whenever it rests. An answer of an older text is not shown. */
export function useHints(): void {
	const now = draft.value;
	const [check, count] = [selfCheck.value, ranks.value];
	useEffect(() => {
		if (!now) return;
		const timer = setTimeout(() => {
			act<Hints>("hints", { ...requestOf(now), ...(count ? { processes: String(count) } : {}) }).then(
				(reply) => {
					if (draft.value !== now || ranks.value !== count) return;
					hints.value = reply;
					failed.value = null;
					if (reply.blocks) blocks.value = reply.blocks;
				},
				(error: unknown) => (failed.value = error instanceof Error ? error : new Error(String(error))),
			);
		}, hints.value ? PAUSE : 0);
		return () => clearTimeout(timer);
	}, [now, check, count]);
}
