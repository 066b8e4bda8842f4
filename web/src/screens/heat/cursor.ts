/** The cell that the keys stand on, and what it says. */
import { format, time } from "../../draw/units";
import type { Cell, Table } from "../../source";
import type { View } from "../../state/window";
import { UNITS } from "./paint";
import { cellAt, METRICS, type Grid, type Mark, type Metric, type Plan } from "./query";

export interface Place {
	bin: number;
	row: number;
}

/** A place moved, but not out of the plan. */
export function moved(plan: Plan, at: Place, bins: number, rows: number): Place {
	const clamp = (one: number, [first, after]: [number, number]): number => Math.max(first, Math.min(after - 1, one));
	return { bin: clamp(at.bin + bins, plan.bins), row: clamp(at.row + rows, plan.rows) };
}

/** Where a time and lane lie on a plan. */
export function placeOf(plan: Plan, at: number, lane: number): Place {
	return moved(plan, { bin: Math.floor(at / plan.bin), row: Math.floor(lane / plan.zoom.lanes_per_row) }, 0, 0);
}

/** Times and lanes of a cell, or of the box that two cells span. */
export function viewOf(plan: Plan, from: Place, to: Place = from): View {
	const lanes = plan.zoom.lanes_per_row;
	return {
		time: [Math.min(from.bin, to.bin) * plan.bin, (Math.max(from.bin, to.bin) + 1) * plan.bin],
		lanes: [Math.floor(Math.min(from.row, to.row) * lanes), Math.ceil((Math.max(from.row, to.row) + 1) * lanes)],
	};
}

/** Where the cell of a plan before lies on this one: at its longest marked call, else at its first part. */
export function standing(plan: Plan, marks: Mark[], cell: View): Place {
	const mark = longestIn(marks, cell);
	return placeOf(plan, Math.max(mark?.start ?? 0, cell.time[0]), mark?.lane ?? cell.lanes[0]);
}

export function lanesInWords([first, after]: [number, number], lane: (lane: number) => string): string {
	return after - first === 1 ? lane(first) : `${lane(first)} to ${lane(after - 1)}`;
}

/** What a cell holds, as one line of text. */
export function cellInWords(grid: Grid, at: Place, lane: (lane: number) => string): string {
	const [where = "", ...parts] = cellParts(grid, at, lane);
	return `${where}: ${parts.join(", ")}`;
}

/** Where a cell is, then what it holds. A call counts where it begins, its time and bytes where they pass. */
export function cellParts(grid: Grid, at: Place, lane: (lane: number) => string): string[] {
	const view = viewOf(grid.plan, at);
	const where = `${lanesInWords(view.lanes, lane)}, ${time(view.time[0])} to ${time(view.time[1])}`;
	const cell = cellAt(grid.plan, at.bin, at.row);
	if (cell < 0 || (grid.op[cell] ?? -1) < 0) return [where, "nothing"];
	const says = (metric: Metric): string => format(grid.values[metric][cell] ?? 0, UNITS[metric]);
	const calls = grid.values.calls[cell] ?? 0;
	const begin = calls === 0 ? "no call begins here" : `${says("calls")} ${calls === 1 ? "call begins" : "calls begin"} here`;
	return [where, `${says("time")} in calls`, says("bytes"), begin, `longest ${says("longest")} (${grid.ops[grid.op[cell] ?? 0] ?? ""})`];
}

/** The call marked in a cell, the longest first. */
export function markIn(grid: Grid, marks: Mark[], at: Place): Mark | undefined {
	return longestIn(marks, viewOf(grid.plan, at));
}

function longestIn(marks: Mark[], view: View): Mark | undefined {
	return marks.find((one) => one.start < view.time[1] && one.start + one.duration >= view.time[0] && one.lane >= view.lanes[0] && one.lane < view.lanes[1]);
}

/** Exactly the cells that are drawn. */
export function gridTable(grid: Grid): Table {
	const width = grid.plan.bins[1] - grid.plan.bins[0];
	const rows: Cell[][] = [];
	grid.op.forEach((op, cell) => {
		if (op < 0) return;
		const view = viewOf(grid.plan, { bin: (cell % width) + grid.plan.bins[0], row: Math.floor(cell / width) + grid.plan.rows[0] });
		rows.push([view.time[0], view.time[1], view.lanes[0], view.lanes[1] - 1, grid.ops[op] ?? "", ...METRICS.map((metric) => grid.values[metric][cell] ?? 0)]);
	});
	const columns = [
		{ name: "from", unit: "ns" as const },
		{ name: "to", unit: "ns" as const },
		{ name: "first lane", unit: "lane" as const },
		{ name: "last lane", unit: "lane" as const },
		{ name: "longest is", unit: "text" as const },
		...METRICS.map((metric) => ({ name: metric, unit: UNITS[metric] })),
	];
	return { columns, rows, total: rows.length, sql: "", note: null };
}
