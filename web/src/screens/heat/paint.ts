import { diamond, fit, hatch, SMALL, type Box, type Ink } from "../../draw/ink";
import { logShare, place, ticks, timeLabels, value, type Scale } from "../../draw/scale";
import { heat, type Palette } from "../../draw/theme";
import { format } from "../../draw/units";
import type { Unit } from "../../source";
import type { View } from "../../state/window";
import { margins, type Grid, type Mark, type Metric } from "./query";

export const UNITS: Record<Metric, Unit> = { time: "ns", bytes: "bytes", calls: "count", longest: "ns" };

const LEFT = 78;
const RIGHT = 128; // sums: a bar and its figure
const BAR = 54; // of that
const NARROW = 500;
const TOP = 40;
const BOTTOM = 46;
const STEPS = 48;

/** Where time and lanes lie in the picture. */
export interface Frame {
	x: Scale;
	y: Scale;
}

export function frame(view: View, { width, height }: Box): Frame {
	const narrow = width < NARROW;
	return {
		x: { from: view.time[0], to: view.time[1], start: narrow ? 64 : LEFT, end: width - (narrow ? 8 : RIGHT) },
		y: { from: view.lanes[0], to: view.lanes[1], start: TOP, end: height - BOTTOM },
	};
}

export function heightFor(lanes: number): number {
	return TOP + BOTTOM + Math.max(120, Math.min(420, lanes * 22));
}

export interface HeatPicture {
	view: View;
	grid: Grid | null;
	metric: Metric;
	marks: Mark[];
	/** Name of a lane on the axis. */
	lane: (lane: number) => string;
	loading: boolean;
	scale: ColourScale;
}

export const SCALES = ["linear", "log"] as const;
export type ColourScale = (typeof SCALES)[number];

/** Time in calls has an end, the bin itself, so halves look like halves; what spans decades is seen on a log scale only. */
export function usualScale(metric: Metric): ColourScale {
	return metric === "time" ? "linear" : "log";
}

/** What first and last colour stand for. */
export interface Range {
	scale: ColourScale;
	least: number;
	most: number;
	/** Is there less than `least`, in the first colour too? */
	cut: boolean;
}

export function paintHeat(picture: HeatPicture): (ink: Ink, box: Box, palette: Palette) => void {
	return (ink, box, palette) => {
		const at = frame(picture.view, box);
		if (picture.grid) {
			const range = extent(picture.grid.values[picture.metric], picture.scale);
			cells(ink, at, picture, palette, range);
			margin(ink, at, picture, box, palette);
			legend(ink, at, box, palette, range, picture.metric);
		}
		if (picture.loading) hatch(ink, at.x.start, at.y.start, at.x.end - at.x.start, at.y.end - at.y.start, palette.quiet);
		axes(ink, at, picture, palette);
		for (const mark of [...picture.marks].reverse()) tick(ink, at, mark, palette);
	};
}

const DECADES = 1000; // on a log scale what is less than that part of the most has the first colour, so that the rest has room

/** From which value to which colours change: linear from zero, log from the least that is not zero; to the most. */
export function extent(values: Float64Array, scale: ColourScale): Range {
	let [smallest, most] = [Infinity, 0];
	for (const one of values) {
		if (one > 0 && one < smallest) smallest = one;
		if (one > most) most = one;
	}
	if (scale === "linear") return { scale, least: 0, most, cut: false };
	const least = Math.max(Math.min(smallest, most), most / DECADES);
	return { scale, least, most, cut: smallest < least };
}

/** Place of a value on the range, 0 to 1. */
export function shareOf({ scale, least, most }: Range, value: number): number {
	return scale === "log" ? logShare(value, least, most) : most > 0 ? Math.min(1, value / most) : 0;
}

/** Colour by colour, since a change of it costs more than a rectangle. */
function cells(ink: Ink, at: Frame, { grid, metric }: HeatPicture, palette: Palette, range: Range): void {
	if (!grid) return;
	const width = grid.plan.bins[1] - grid.plan.bins[0];
	const bySteps: number[][] = Array.from({ length: STEPS }, () => []);
	grid.values[metric].forEach((one, cell) => {
		if (one > 0) bySteps[Math.min(STEPS - 1, Math.floor(shareOf(range, one) * STEPS))]?.push(cell);
	});
	bySteps.forEach((members, step) => {
		ink.fillStyle = heat(palette, step / (STEPS - 1));
		for (const cell of members) {
			const box = cellBox(at, grid, (cell % width) + grid.plan.bins[0], Math.floor(cell / width) + grid.plan.rows[0]);
			if (box) ink.fillRect(...box);
		}
	});
}

/** The pixels of a cell within the frame; null when it lies outside. Edges are whole pixels, so that neighbours meet. */
export function cellBox(at: Frame, grid: Grid, bin: number, row: number): [number, number, number, number] | null {
	const lanes = grid.plan.zoom.lanes_per_row;
	const [left, right] = span(at.x, bin * grid.plan.bin, (bin + 1) * grid.plan.bin);
	const [top, bottom] = span(at.y, row * lanes, (row + 1) * lanes);
	return right > left && bottom > top ? [left, top, right - left, bottom - top] : null;
}

function span(scale: Scale, from: number, to: number): [number, number] {
	const clamp = (one: number): number => Math.max(scale.start, Math.min(scale.end, Math.round(one)));
	return [clamp(place(scale, from)), clamp(place(scale, to))];
}

/** Sums above and beside the picture, each with its figure where there is room; of the longest call the longest. */
function margin(ink: Ink, at: Frame, { grid, metric }: HeatPicture, box: Box, palette: Palette): void {
	if (!grid) return;
	const sums = margins(grid, metric);
	const [mostBin, mostRow] = [Math.max(...sums.bins, 1e-9), Math.max(...sums.rows, 1e-9)];
	ink.font = SMALL;
	ink.textBaseline = "middle";
	ink.fillStyle = palette.quiet;
	sums.bins.forEach((one, index) => {
		const from = (index + grid.plan.bins[0]) * grid.plan.bin;
		const [left, right] = span(at.x, from, from + grid.plan.bin);
		const height = (one / mostBin) * (TOP - 8);
		if (right > left && height > 0) ink.fillRect(left, TOP - 4 - height, right - left, height);
	});
	if (box.width < NARROW) return;
	ink.fillText(`≤ ${format(mostBin, UNITS[metric])} a bin`, at.x.end + 4, 10);
	const lanes = grid.plan.zoom.lanes_per_row;
	sums.rows.forEach((one, index) => {
		const from = (index + grid.plan.rows[0]) * lanes;
		const [top, bottom] = span(at.y, from, from + lanes);
		if (bottom <= top || one <= 0) return;
		const length = Math.max(1, (one / mostRow) * BAR);
		ink.fillRect(at.x.end + 4, top, length, Math.max(1, bottom - top - (bottom - top > 4 ? 1 : 0)));
		if (bottom - top >= 12) ink.fillText(format(one, UNITS[metric]), at.x.end + 4 + BAR + 6, (top + bottom) / 2);
	});
	const [top, bottom] = span(at.y, grid.plan.rows[0] * lanes, (grid.plan.rows[0] + 1) * lanes);
	if (bottom - top < 12) ink.fillText(`≤ ${format(mostRow, UNITS[metric])} a row`, at.x.end + 4, at.y.end + 10);
}

function axes(ink: Ink, at: Frame, { view, lane }: HeatPicture, palette: Palette): void {
	ink.strokeStyle = palette.line;
	ink.lineWidth = 1;
	ink.strokeRect(at.x.start - 0.5, at.y.start - 0.5, at.x.end - at.x.start + 1, at.y.end - at.y.start + 1);
	ink.font = SMALL;
	ink.fillStyle = palette.quiet;
	ink.textBaseline = "top";
	ink.textAlign = "center";
	const times = ticks(...view.time, Math.max(2, (at.x.end - at.x.start) / 110));
	timeLabels(times).forEach((label, index) => ink.fillText(label, place(at.x, times[index] ?? 0), at.y.end + 5));
	ink.textAlign = "right";
	ink.textBaseline = "middle";
	const room = (at.y.end - at.y.start) / 16;
	const lanes = ticks(view.lanes[0], view.lanes[1] - 1, room).filter(Number.isInteger);
	for (const one of view.lanes[1] - view.lanes[0] === 1 ? [view.lanes[0]] : lanes) ink.fillText(fit(lane(one), at.x.start - 8), at.x.start - 5, place(at.y, one + 0.5));
	ink.textAlign = "left";
}

/** One of the longest calls: as wide as it lasted, never too small to see. */
function tick(ink: Ink, at: Frame, mark: Mark, palette: Palette): void {
	const [left, right] = span(at.x, mark.start, mark.start + mark.duration);
	const y = Math.round(place(at.y, mark.lane + 0.5));
	if (y < at.y.start || y > at.y.end) return;
	const middle = Math.round((left + right) / 2);
	ink.fillStyle = palette.mark;
	ink.strokeStyle = palette.background;
	ink.lineWidth = 1.5;
	if (right - left > 8) ink.fillRect(left, y - 1.5, right - left, 3);
	diamond(ink, middle, y);
	ink.stroke();
}

/** Colours with what both ends and the middle stand for. */
function legend(ink: Ink, at: Frame, box: Box, palette: Palette, range: Range, metric: Metric): void {
	const { scale, least, most, cut } = range;
	if (most <= 0) return;
	const [width, y] = [Math.min(240, (at.x.end - at.x.start) / 2.5), box.height - 22];
	for (let i = 0; i < STEPS; i++) {
		ink.fillStyle = heat(palette, i / (STEPS - 1));
		ink.fillRect(at.x.start + (i * width) / STEPS, y, width / STEPS + 0.5, 8);
	}
	ink.font = SMALL;
	ink.fillStyle = palette.quiet;
	ink.textBaseline = "top";
	const says = (value: number): string => format(value, UNITS[metric]);
	const middle = scale === "log" ? Math.sqrt(least * most) : most / 2;
	ink.textAlign = "left";
	ink.fillText(`${cut ? "≤ " : ""}${says(least)}`, at.x.start, y + 10);
	ink.textAlign = "center";
	if (width > 180 && !(metric === "calls" && most < 4)) ink.fillText(says(metric === "calls" ? Math.round(middle) : middle), at.x.start + width / 2, y + 10);
	ink.textAlign = "right";
	ink.fillText(says(most), at.x.start + width, y + 10);
	ink.textAlign = "left";
	ink.textBaseline = "middle";
	ink.fillText(`${metric === "time" ? "time in calls" : metric} of a cell, ${scale}`, at.x.start + width + 8, y + 4);
}

/** Bin and lane under a point; null outside the frame. */
export function under(at: Frame, grid: Grid, x: number, y: number): { bin: number; row: number } | null {
	if (x < at.x.start || x >= at.x.end || y < at.y.start || y >= at.y.end) return null;
	return { bin: Math.floor(value(at.x, x) / grid.plan.bin), row: Math.floor(value(at.y, y) / grid.plan.zoom.lanes_per_row) };
}

/** A box around a part of the picture: the cursor, a brush, the selection. */
export function outline(ink: Ink, at: Frame, view: View, colour: string, dashed = false): void {
	const [left, right] = span(at.x, ...view.time);
	const [top, bottom] = span(at.y, ...view.lanes);
	if (right < at.x.start || left > at.x.end || bottom < at.y.start || top > at.y.end) return;
	ink.strokeStyle = colour;
	ink.lineWidth = 2;
	ink.setLineDash(dashed ? [5, 4] : []);
	ink.strokeRect(left - 1, top - 1, Math.max(4, right - left) + 2, Math.max(4, bottom - top) + 2);
	ink.setLineDash([]);
}
