import { computed, signal } from "@preact/signals";
import type { Now, Run, Runs } from "../source";
import { everything, revision, run } from "./state";

/** All runs of this viewer, once they are known. */
export const runs = signal<Runs | null>(null);

/** The run on screen. */
export const currentRun = computed<Run | null>(() => {
	const shown = runs.value?.runs.find((one) => one.name === run.value) ?? null;
	return shown && everything.value ? { ...shown, layers: shown["layers of all"] } : shown;
});

/** The last look at the run on screen, while it runs. */
export const now = signal<Now | null>(null);

/** When what the other answers say of a run that runs was read, ns since 1970. */
export const readAt = signal<number | null>(null);

let heard: number | null = null;

/** What the server counts when a run was opened anew: then what is on screen is asked again. */
export function hear(generation: number): void {
	if (heard !== null && generation > heard) revision.value += 1;
	heard = Math.max(heard ?? 0, generation);
}
