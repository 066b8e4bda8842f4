/** Hand and keys on the heat map: both move one cursor, brush one selection, zoom one view. */
import { useState } from "preact/hooks";
import type { Brush, Gestures, Point } from "../../parts/figure";
import { say } from "../../parts/say";
import { column, type Run, type Table } from "../../source";
import { value } from "../../draw/scale";
import { askJson } from "../../state/answers";
import { formatRange } from "../../state/page";
import { change, go, scope } from "../../state/state";
import { formatLanes, scaled, whole, within, zoom, type View } from "../../state/window";
import { cellInWords, markIn, moved, placeOf, standing, viewOf, type Place } from "./cursor";
import { frame, under } from "./paint";
import type { Grid, Mark } from "./query";

/** What is drawn above the picture. */
export interface Pointing {
	cursor: View | null;
	hover: Place | null;
	/** Where the mouse is. */
	mouse: Point | null;
	brush: View | null;
}

export interface Setting {
	run: Run;
	view: View;
	grid: Grid | null;
	marks: Mark[];
	width: number;
	height: number;
	lane: (lane: number) => string;
	layer: string;
	pointing: Pointing;
	setPointing: (pointing: Pointing) => void;
}

export function useHeatGestures(setting: Setting): Gestures & { place: Place | null } {
	const { run, view, grid, marks, pointing, setPointing } = setting;
	const [anchor, setAnchor] = useState<Place | null>(null);
	const cursor = pointing.cursor;
	const place = grid && cursor ? standing(grid.plan, marks, cursor) : null;
	const stand = (at: Place): void => {
		if (!grid) return;
		setPointing({ cursor: viewOf(grid.plan, at), hover: null, mouse: null, brush: anchor ? viewOf(grid.plan, anchor, at) : null });
		say(cellInWords(grid, at, setting.lane));
	};
	const at = ({ x, y }: Point): Place | null => grid && under(frame(view, setting), grid, x, y);
	const select = (part: View): void => change({ t: formatRange(...part.time), lanes: formatLanes(part.lanes) });
	return {
		place,
		onHover: (point) => setPointing({ ...pointing, hover: point && at(point), mouse: point }),
		onPress: (point) => {
			const pressed = at(point);
			if (pressed) stand(pressed);
		},
		onBrush: (brush, ended) => {
			const part = brushed(setting, brush);
			setPointing({ ...pointing, hover: null, mouse: null, brush: ended ? null : part });
			if (ended && brush.shift) zoom(run, part);
			else if (ended) select(part);
		},
		onDouble: () => out(run, view),
		onFocus: () => !place && grid && stand(firstPlace(setting, grid)),
		onKey: (event) => {
			if (!grid) return false;
			const step = arrows(event);
			const cursorPlace = place ?? firstPlace(setting, grid);
			if (step) stand(moved(grid.plan, cursorPlace, ...step));
			else if (event.key === "b") {
				if (anchor) select(viewOf(grid.plan, anchor, cursorPlace));
				setAnchor(anchor ? null : cursorPlace);
			} else return command(event.key, setting, grid, cursorPlace, stand);
			return true;
		},
	};
}

/** Arrows move by a cell, with Shift by eight. */
function arrows({ key, shiftKey }: KeyboardEvent): [number, number] | null {
	const by = shiftKey ? 8 : 1;
	const step = { ArrowLeft: [-by, 0], ArrowRight: [by, 0], ArrowUp: [0, -by], ArrowDown: [0, by] }[key];
	return step ? [step[0] ?? 0, step[1] ?? 0] : null;
}

function command(key: string, setting: Setting, grid: Grid, cursorPlace: Place, stand: (at: Place) => void): boolean {
	const { run, view } = setting;
	const cell = viewOf(grid.plan, cursorPlace);
	const [middle, lane] = [(cell.time[0] + cell.time[1]) / 2, (cell.lanes[0] + cell.lanes[1]) / 2];
	if (key === "Enter") void open(setting, grid, cursorPlace);
	else if (key === "+" || key === "=") zoom(run, scaled(view, 0.5, middle, lane));
	else if (key === "-") zoom(run, scaled(view, 2, middle, lane));
	else if (key === "0") change({ w: null, wl: null });
	else if (key === "n" || key === "N") jump(setting, grid, cursorPlace, key === "n" ? 1 : -1, stand);
	else return false;
	return true;
}

/** The longest call in view, else its first cell. */
function firstPlace({ marks }: Setting, grid: Grid): Place {
	const first = marks[0];
	return first ? placeOf(grid.plan, first.start, first.lane) : { bin: grid.plan.bins[0], row: grid.plan.rows[0] };
}

/** From one of the longest calls to the next shorter or longer one. */
function jump({ marks }: Setting, grid: Grid, cursorPlace: Place, by: number, stand: (at: Place) => void): void {
	const places = marks.map((one) => placeOf(grid.plan, one.start, one.lane));
	const now = places.findIndex((one) => one.bin === cursorPlace.bin && one.row === cursorPlace.row);
	const next = places[(now + by + places.length) % places.length];
	if (next) stand(next);
}

/** Opens the longest call of a cell: the marked one, else it is asked for. */
async function open({ marks, layer }: Setting, grid: Grid, cursorPlace: Place): Promise<void> {
	const known = markIn(grid, marks, cursorPlace);
	if (known) return go("call", { call: known.call });
	const cell = viewOf(grid.plan, cursorPlace);
	const parameters = { ...scope.value, t: formatRange(...cell.time), lanes: formatLanes(cell.lanes), layers: layer, limit: 1, by: "duration" };
	try {
		const table = await askJson<Table>("slowest", parameters, new AbortController().signal);
		const call = table.rows[0]?.[column(table, "call")];
		if (call === undefined) say("No call begins in this cell");
		else go("call", { call: String(call) });
	} catch (error) {
		say(error instanceof Error ? error.message : String(error));
	}
}

function out(run: Run, view: View): void {
	zoom(run, scaled(view, 4, (view.time[0] + view.time[1]) / 2, (view.lanes[0] + view.lanes[1]) / 2));
}

/** Times and lanes of a brush: whole lanes, cut to the run. */
function brushed(setting: Setting, { from, to }: Brush): View {
	const at = frame(setting.view, setting);
	const sorted = (a: number, b: number): [number, number] => (a < b ? [a, b] : [b, a]);
	const [first, last] = sorted(value(at.y, from.y), value(at.y, to.y));
	return within({ time: sorted(value(at.x, from.x), value(at.x, to.x)), lanes: [Math.floor(first), Math.floor(last) + 1] }, whole(setting.run));
}
