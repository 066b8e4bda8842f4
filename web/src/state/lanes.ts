/** Names of lanes: rank, or process where there is no MPI. */
import { useMemo } from "preact/hooks";
import { column, type Run, type Table } from "../source";
import { useAnswer } from "./answers";

const NAMED = 4096; // beyond that a lane is said by its number: the list would outweigh the picture

export function useLaneNames(run: Run): (lane: number) => string {
	const answer = useAnswer<Table>("lanes", run.lanes <= NAMED ? { run: run.name } : null);
	return useMemo(() => naming(answer.value), [answer.value]);
}

function naming(table: Table | null): (lane: number) => string {
	if (!table) return (lane) => `lane ${lane}`;
	const [at, label] = [column(table, "lane"), column(table, "label")];
	const names = new Map(table.rows.map((row) => [Number(row[at]), String(row[label])]));
	return (lane) => names.get(lane) ?? `lane ${lane}`;
}
