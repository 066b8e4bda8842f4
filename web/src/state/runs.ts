import { computed, signal } from "@preact/signals";
import type { Now, Run, Runs } from "../source";
import { run } from "./state";

/** All runs of this viewer, once they are known. */
export const runs = signal<Runs | null>(null);

/** The run on screen. */
export const currentRun = computed<Run | null>(() => runs.value?.runs.find((one) => one.name === run.value) ?? null);

/** The last look at the run on screen, while it runs. */
export const now = signal<Now | null>(null);
