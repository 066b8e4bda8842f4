import { computed, signal } from "@preact/signals";
import type { Run, Runs } from "../source";
import { run } from "./state";

/** All runs of this viewer, once they are known. */
export const runs = signal<Runs | null>(null);

/** The run on screen. */
export const currentRun = computed<Run | null>(() => runs.value?.runs.find((one) => one.name === run.value) ?? null);
