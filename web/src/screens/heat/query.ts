/** Which tiles a view takes, and what they hold as one grid. */
import { decodeTile, requestKey, TILE_BINS, TILE_ROWS, type Zoom, type Zooms, type Outlier, type Tile } from "../../source";
import { ask } from "../../state/answers";
import type { View } from "../../state/window";

export const METRICS = ["time", "bytes", "calls", "longest"] as const;
export type Metric = (typeof METRICS)[number];

/** A zoom and the bins and rows of it that cover a view, after the last exclusive. */
export interface Plan {
	zoom: Zoom;
	bin: number; // ns
	bins: [number, number];
	rows: [number, number];
}

export interface Mark {
	call: string;
	lane: number;
	start: number;
	duration: number;
	op: string;
}

/** Cells of a plan, row by row. Counts add up over cells, `longest` is a maximum. */
export interface Grid {
	plan: Plan;
	values: Record<Metric, Float64Array>;
	/** Of a cell: the op of its longest call, as an index into `ops`; -1 where nothing was called. */
	op: Int32Array;
	ops: string[];
	/** The longest calls that the tiles know, placed at their cell. */
	marks: Mark[];
}

const TILES = 24; // at most, for one view
const READ = 1_000_000; // calls that are read at most for a view, where no tiles lie ready
const CELL = 3; // pixels that a cell should have at least
const ROW = 6;

/** The coarsest zoom whose cells are fine enough for the pixels, else the finest that is not too much. `calls`: of a lane; null where only what lies ready is there. */
export function planFor(zooms: Zooms, view: View, width: number, height: number, calls: number | null): Plan {
	const plans = zooms.zooms.map((zoom) => cover(zooms, zoom, view));
	const most = Math.max(1, ...zooms.zooms.map((one) => one.rows));
	const isCheap = (plan: Plan): boolean => {
		const count = tilesOf(plan).length;
		const lanes = Math.min(most, TILE_ROWS * plan.zoom.lanes_per_row);
		return count <= TILES && (plan.zoom.ready || (calls !== null && count * lanes * calls <= READ));
	};
	const enough = (plan: Plan): boolean => {
		const lanes = view.lanes[1] - view.lanes[0];
		return plan.bins[1] - plan.bins[0] >= width / CELL / 2 && plan.rows[1] - plan.rows[0] >= Math.min(lanes, height / ROW / 2);
	};
	const affordable = plans.filter(isCheap);
	const chosen = affordable.find(enough) ?? affordable.at(-1) ?? plans[0];
	if (!chosen) throw new Error("this run has no tiles: pack it again with this version of Fathom");
	return chosen;
}

function cover(zooms: Zooms, zoom: Zoom, view: View): Plan {
	const bin = zooms.width / 2 ** zoom.z;
	const clamp = (at: number, most: number): number => Math.max(0, Math.min(at, most));
	const range = (from: number, to: number, width: number, most: number): [number, number] => {
		const first = clamp(Math.floor(from / width), most - 1);
		return [first, clamp(Math.ceil(to / width), most) || first + 1];
	};
	return { zoom, bin, bins: range(...view.time, bin, zoom.bins), rows: range(...view.lanes, zoom.lanes_per_row, zoom.rows) };
}

/** (x, y) of the tiles that a plan takes. */
export function tilesOf({ bins, rows }: Plan): [number, number][] {
	const tiles: [number, number][] = [];
	for (let y = Math.floor(rows[0] / TILE_ROWS); y * TILE_ROWS < rows[1]; y++) {
		for (let x = Math.floor(bins[0] / TILE_BINS); x * TILE_BINS < bins[1]; x++) tiles.push([x, y]);
	}
	return tiles;
}

export function planKey(plan: Plan, scope: Record<string, string>, layer: string): string {
	return `heat ${requestKey("", { ...scope, layer, z: plan.zoom.z })} ${plan.bins.join()} ${plan.rows.join()}`;
}

export async function loadGrid(plan: Plan, scope: Record<string, string>, layer: string, signal: AbortSignal): Promise<Grid> {
	const places = tilesOf(plan);
	const tiles = await Promise.all(
		places.map(([x, y]) => {
			const parameters = { ...scope, layer, z: plan.zoom.z, x, y };
			return ask(requestKey("tile", parameters), async (source, cancel) => decodeTile(await source.bytes("tile", parameters, cancel)), signal);
		}),
	);
	return gather(
		plan,
		tiles.map((tile, at) => ({ tile, at: places[at] ?? [0, 0] })),
	);
}

interface Placed {
	tile: Tile;
	at: [number, number];
}

export function gather(plan: Plan, tiles: Placed[]): Grid {
	const cells = (plan.bins[1] - plan.bins[0]) * (plan.rows[1] - plan.rows[0]);
	const make = (): Float64Array => new Float64Array(cells);
	const values = { time: make(), bytes: make(), calls: make(), longest: make() };
	const grid: Grid = { plan, values, op: new Int32Array(cells).fill(-1), ops: [], marks: [] };
	for (const placed of tiles) addTile(grid, placed);
	return grid;
}

/** Index of a bin and row in a grid; -1 outside. */
export function cellAt(plan: Plan, bin: number, row: number): number {
	const inside = bin >= plan.bins[0] && bin < plan.bins[1] && row >= plan.rows[0] && row < plan.rows[1];
	return inside ? (row - plan.rows[0]) * (plan.bins[1] - plan.bins[0]) + bin - plan.bins[0] : -1;
}

function addTile({ plan, values, op, ops, marks }: Grid, { tile, at: [x, y] }: Placed): void {
	const names = tile.ops.map(([name]) => (ops.includes(name) ? ops.indexOf(name) : ops.push(name) - 1));
	const place = (cell: number): [number, number] => [x * TILE_BINS + (cell % TILE_BINS), y * TILE_ROWS + Math.floor(cell / TILE_BINS)];
	for (let i = 0; i < tile.cell.length; i++) {
		const at = cellAt(plan, ...place(tile.cell[i] ?? 0));
		if (at < 0) continue;
		const longest = tile.longest[i] ?? 0;
		if (longest >= (values.longest[at] ?? 0)) op[at] = names[tile.op[i] ?? 0] ?? -1;
		values.time[at] = (values.time[at] ?? 0) + (tile.time[i] ?? 0);
		values.bytes[at] = (values.bytes[at] ?? 0) + (tile.bytes[i] ?? 0);
		values.calls[at] = (values.calls[at] ?? 0) + (tile.calls[i] ?? 0);
		values.longest[at] = Math.max(values.longest[at] ?? 0, longest);
	}
	for (const one of tile.marked) {
		const [bin, row] = place(one.cell);
		if (cellAt(plan, bin, row) < 0) continue;
		const lane = Math.floor(row * plan.zoom.lanes_per_row);
		marks.push({ call: one.call, lane, start: bin * plan.bin, duration: one.duration, op: tile.ops[one.op]?.[0] ?? "" });
	}
}

const MARKS = 24;

/** The longest calls that last into a view: those of the whole run first, which know their place exactly. */
export function outliers(known: Outlier[], marks: Mark[], layer: string, view: View): Mark[] {
	const seen = new Map<string, Mark>();
	for (const one of [...marks, ...known.filter((each) => each.layer === layer)]) {
		const inside = one.start < view.time[1] && one.start + one.duration >= view.time[0] && one.lane >= view.lanes[0] && one.lane < view.lanes[1];
		if (inside) seen.set(one.call, one);
	}
	return [...seen.values()].sort((a, b) => b.duration - a.duration).slice(0, MARKS);
}

/** Sums over rows and over bins; of `longest` the maximum. */
export function margins(grid: Grid, metric: Metric): { bins: number[]; rows: number[] } {
	const { bins, rows } = grid.plan;
	const [width, height] = [bins[1] - bins[0], rows[1] - rows[0]];
	const sums = { bins: new Array<number>(width).fill(0), rows: new Array<number>(height).fill(0) };
	const join = metric === "longest" ? Math.max : (a: number, b: number): number => a + b;
	grid.values[metric].forEach((one, at) => {
		if (one === 0) return;
		const [bin, row] = [at % width, Math.floor(at / width)];
		sums.bins[bin] = join(sums.bins[bin] ?? 0, one);
		sums.rows[row] = join(sums.rows[row] ?? 0, one);
	});
	return sums;
}
