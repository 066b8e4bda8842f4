/** A picture of cells: columns along, rows up or down, brightness by a logarithmic scale. */
import type { Axis } from "./axis";
import { fit, SMALL, type Box, type Ink } from "./ink";
import { logShare } from "./scale";
import { heat, type Palette } from "./theme";

export interface CellMap {
	x: Axis;
	y: Axis;
	/** Row 0 at the top; offsets and latencies grow upwards. */
	down?: boolean;
	/** Column, row, value above 0. */
	cells: readonly (readonly [number, number, number])[];
	/** A value in words. */
	says: (value: number) => string;
	/** What a value is: "calls", "bytes". */
	what: string;
	/** Lines across at these values of y: stripes, a threshold. */
	lines?: { at: number[]; label: string }[];
}

export interface Frame {
	left: number;
	right: number;
	top: number;
	bottom: number;
}

export function frameOf(map: CellMap, box: Box): Frame {
	const longest = Math.max(...map.y.ticks(99).map((one) => one.label.length), 4);
	return { left: Math.min(box.width * 0.35, longest * 6.6 + 10), right: box.width - 8, top: 6, bottom: box.height - 42 };
}

/** Corner of a cell: column to the right, row up, or down. */
export function corner(map: CellMap, frame: Frame, column: number, row: number): [number, number] {
	const up = map.down ? row / map.y.bins : 1 - row / map.y.bins;
	return [frame.left + ((frame.right - frame.left) * column) / map.x.bins, frame.top + (frame.bottom - frame.top) * up];
}

/** Column and row under a point; null outside. */
export function cellUnder(map: CellMap, frame: Frame, x: number, y: number): [number, number] | null {
	if (x < frame.left || x >= frame.right || y < frame.top || y >= frame.bottom) return null;
	const up = (y - frame.top) / (frame.bottom - frame.top);
	const column = Math.floor(((x - frame.left) / (frame.right - frame.left)) * map.x.bins);
	return [column, Math.min(map.y.bins - 1, Math.floor((map.down ? up : 1 - up) * map.y.bins))];
}

/** Rectangle from one cell to another, both included. */
export function boxOf(map: CellMap, frame: Frame, a: readonly [number, number], b: readonly [number, number]): [number, number, number, number] {
	const [left, first] = corner(map, frame, Math.min(a[0], b[0]), Math.min(a[1], b[1]));
	const [right, last] = corner(map, frame, Math.max(a[0], b[0]) + 1, Math.max(a[1], b[1]) + 1);
	const top = Math.min(first, last);
	return [left, top, right - left, Math.max(first, last) - top];
}

/** Of the scale: where all cells have the same. */
const MIDDLE = 0.5;

export function paintCells(map: CellMap): (ink: Ink, box: Box, palette: Palette) => void {
	const most = map.cells.reduce((far, one) => Math.max(far, one[2]), 0);
	const least = map.cells.reduce((near, one) => Math.min(near, one[2]), most);
	return (ink, box, palette) => {
		const frame = frameOf(map, box);
		axes(ink, map, frame, palette);
		for (const [column, row, value] of map.cells) {
			const [x, y, width, height] = boxOf(map, frame, [column, row], [column, row]);
			const [left, top] = [Math.round(x), Math.round(y)]; // whole pixels: no seams between cells
			ink.fillStyle = heat(palette, most > least ? logShare(value, least, most) : MIDDLE);
			ink.fillRect(left, top, Math.max(1, Math.round(x + width) - left), Math.max(1, Math.round(y + height) - top));
		}
		lines(ink, map, frame, palette);
		if (most > 0) legend(ink, map, frame, box, palette, least, most);
	};
}

function axes(ink: Ink, map: CellMap, frame: Frame, palette: Palette): void {
	ink.strokeStyle = palette.line;
	ink.lineWidth = 1;
	ink.strokeRect(frame.left + 0.5, frame.top + 0.5, frame.right - frame.left - 1, frame.bottom - frame.top - 1);
	ink.font = SMALL;
	ink.fillStyle = palette.quiet;
	ink.textBaseline = "top";
	for (const one of map.x.ticks(Math.floor((frame.right - frame.left) / 90))) {
		const [x] = corner(map, frame, one.at, 0);
		ink.textAlign = x > frame.right - 24 ? "right" : x < frame.left + 24 ? "left" : "center";
		ink.fillText(one.label, x, frame.bottom + 4);
	}
	ink.textAlign = "right";
	ink.textBaseline = "middle";
	const room = Math.max(2, Math.floor((frame.bottom - frame.top) / 26));
	for (const one of map.y.ticks(room)) {
		const [, y] = corner(map, frame, 0, one.at);
		ink.fillText(fit(one.label, frame.left - 4), frame.left - 5, Math.max(frame.top + 5, Math.min(frame.bottom - 5, y)));
	}
}

function lines(ink: Ink, map: CellMap, frame: Frame, palette: Palette): void {
	for (const { at } of map.lines ?? []) {
		ink.strokeStyle = palette.mark;
		ink.lineWidth = 1;
		ink.setLineDash([4, 4]);
		ink.beginPath();
		for (const row of at) {
			const [, y] = corner(map, frame, 0, row);
			ink.moveTo(frame.left, y);
			ink.lineTo(frame.right, y);
		}
		ink.stroke();
		ink.setLineDash([]);
	}
}

const STEPS = 24;

function legend(ink: Ink, map: CellMap, frame: Frame, box: Box, palette: Palette, least: number, most: number): void {
	const [width, y] = [Math.min(140, (frame.right - frame.left) / 4), box.height - 14];
	ink.font = SMALL;
	ink.fillStyle = palette.quiet;
	ink.textBaseline = "middle";
	ink.textAlign = "left";
	if (map.says(least) === map.says(most)) {
		ink.fillStyle = heat(palette, MIDDLE);
		ink.fillRect(frame.left, y, 10, 10);
		ink.fillStyle = palette.quiet;
		ink.fillText(`${map.says(most)} ${map.what}`, frame.left + 16, y + 5);
		return;
	}
	const low = map.says(least);
	ink.fillText(low, frame.left, y + 5);
	const start = frame.left + low.length * 6.4 + 6;
	ink.fillText(`${map.says(most)} ${map.what}`, start + width + 6, y + 5);
	for (let at = 0; at < STEPS; at++) {
		ink.fillStyle = heat(palette, at / (STEPS - 1));
		ink.fillRect(start + (at * width) / STEPS, y, width / STEPS + 0.5, 10);
	}
}
