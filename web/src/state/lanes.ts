/** Names of lanes: rank, or process where there is no MPI. */
import { computed } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { column, type Run, type Table } from "../source";
import { useAnswer } from "./answers";
import { currentRun } from "./runs";

const NAMED = 4096; // beyond that a lane goes by its number: the list would outweigh the picture

/** What a lane is: a rank, where each process is one. */
export const laneWord = computed(() => (currentRun.value && currentRun.value.ranks === currentRun.value.lanes ? "rank" : "process"));

export function lanesWord(count: number): string {
	if (count === 1) return laneWord.value;
	return laneWord.value === "rank" ? "ranks" : "processes";
}

/** Null: no lane is to be named. */
export function useLaneNames(run: Run | null): (lane: number) => string {
	const answer = useAnswer<Table>("lanes", run && run.lanes <= NAMED ? { run: run.name } : null);
	return useMemo(() => naming(answer.value), [answer.value]);
}

function naming(table: Table | null): (lane: number) => string {
	if (!table) return (lane) => `${laneWord.peek()} ${lane}`;
	const [at, label] = [column(table, "lane"), column(table, "label")];
	const names = new Map(table.rows.map((row) => [Number(row[at]), String(row[label])]));
	return (lane) => names.get(lane) ?? `${laneWord.peek()} ${lane}`;
}
