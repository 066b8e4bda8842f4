/** A run that still runs: looked at again and again, and read again where a screen shows how it grows. */
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Again, Following, Run } from "../source";
import { act, isReport } from "./answers";
import { hear, now, readAt } from "./runs";
import { given, page } from "./state";

const LOOK_AGAIN = 2000; // ms between two looks
const READ_AGAIN = 5000; // ms between two readings, at least
const PART = 10; // the tenth part of the time is spent reading, at most: the node is the program's
/** Screens over time: they follow unless they are held. */
const GROWING = ["heat", "timeline"];

/** Is the run being read at this moment? */
export const reading = signal(false);

/** Does the screen follow the run that it shows? */
export function follows(): boolean {
	return canFollow() && given("follow") !== "no";
}

export function canFollow(): boolean {
	return GROWING.includes(page.value.screen);
}

/** Reads what has come into the run's files; gives the seconds that took. */
export async function readAgain(run: string): Promise<number> {
	reading.value = true;
	try {
		const reply = await act<Again>("again", { run });
		readAt.value = reply["as of"];
		hear(reply.generation);
		return reply.took;
	} finally {
		reading.value = false;
	}
}

/** Calls again and again, each time so many ms after the one before was done, until the returned function is called. */
function repeat(work: () => Promise<number>, first: number): () => void {
	let timer = 0;
	let over = false;
	const turn = (): void => {
		void work().then((wait) => {
			if (!over) timer = window.setTimeout(turn, wait);
		});
	};
	timer = window.setTimeout(turn, first);
	return () => {
		over = true;
		clearTimeout(timer);
	};
}

async function look(run: string): Promise<number> {
	try {
		const reply = await act<Following>("now", { run }, true);
		now.value = reply.now;
		readAt.value = reply["as of"];
		hear(reply.generation);
	} catch {
		now.value = null; // the server has gone: what the next question says
	}
	return LOOK_AGAIN;
}

async function read(run: string): Promise<number> {
	if (document.hidden) return READ_AGAIN;
	const took = await readAgain(run).catch(() => 0); // what is wrong, the next look says
	return Math.max(READ_AGAIN, took * 1000 * PART);
}

/** Follows the run on screen as long as it runs. */
export function useFollowing(shown: Run | null): void {
	const followed = shown?.live && !isReport() ? shown.name : null;
	const grows = follows();
	useEffect(() => {
		if (!followed) return;
		const end = repeat(() => look(followed), 0);
		return () => {
			end();
			now.value = null;
		};
	}, [followed]);
	useEffect(() => (followed && grows ? repeat(() => read(followed), 0) : undefined), [followed, grows]);
}
