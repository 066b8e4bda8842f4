import { fit, hatch, SMALL, type Box, type Ink } from "../../draw/ink";
import { kindColour, kindGroup } from "../../draw/kinds";
import { place, ticks, timeLabels, type Scale } from "../../draw/scale";
import { contrast, layerColour, type Palette } from "../../draw/theme";
import { time } from "../../draw/units";
import type { Mark } from "../heat/query";
import { matches, rowName, type Colouring, type Item, type Phase } from "./query";

const TOP = 24;
const GAP = 6;
const LETTER = 7.2; // pixels
const ROOM = 560; // pixels that lanes share before their rows are as low as may be
const PALE = 0.15; // of what a search does not mean

/** Where lanes and their layers stand. */
export interface Layout {
	x: Scale;
	/** Height of one layer's strip. */
	row: number;
	/** Top of a strip by `rowName`. */
	tops: Map<string, number>;
	/** Layers of each lane that is shown, top to bottom. */
	rows: Map<number, string[]>;
	height: number;
}

const LEAST = 13; // of a lane: its name needs that

/** Lanes without layers are left out. */
export function layout(rows: Map<number, string[]>, view: [number, number], width: number): Layout {
	const shown = new Map([...rows].filter(([, layers]) => layers.length > 0));
	const strips = [...shown.values()].reduce((sum, layers) => sum + layers.length, 0);
	const row = Math.max(6, Math.min(18, Math.floor((ROOM - shown.size * GAP) / Math.max(1, strips))));
	const tops = new Map<string, number>();
	let top = TOP;
	for (const [lane, layers] of shown) {
		layers.forEach((layer, below) => tops.set(rowName(lane, layer), top + below * row));
		top += Math.max(LEAST, layers.length * row) + GAP;
	}
	const start = width < 500 ? 64 : 120;
	return { x: { from: view[0], to: view[1], start, end: width - 6 }, row, tops, rows: shown, height: Math.max(top, TOP + 60) };
}

export interface TimelinePicture {
	items: Item[];
	/** Times that the items cover: the rest of the view is still coming. */
	covered: [number, number];
	marks: Mark[];
	critical: Phase[];
	lane: (lane: number) => string;
	pinned: number[];
	colours: Colouring;
	/** Words of a search: what they do not mean is pale. */
	find: string;
}

export function paintTimeline(at: Layout, picture: TimelinePicture): (ink: Ink, box: Box, palette: Palette) => void {
	return (ink, box, palette) => {
		ground(ink, at, picture, palette);
		for (const phase of picture.critical) critical(ink, at, phase, palette);
		for (const item of picture.items) strip(ink, at, item, picture, palette);
		for (const [from, to] of missing(at.x, picture.covered)) hatch(ink, from, TOP, to - from, box.height - TOP - GAP, palette.line);
		for (const mark of picture.marks) pointer(ink, at, mark, palette);
		axis(ink, at, box, palette);
	};
}

/** Names of lanes, a line for each, and of layers where there is room. */
function ground(ink: Ink, at: Layout, { lane, pinned }: TimelinePicture, palette: Palette): void {
	ink.font = SMALL;
	ink.textBaseline = "middle";
	for (const [one, layers] of at.rows) {
		const top = at.tops.get(rowName(one, layers[0] ?? "")) ?? 0;
		ink.fillStyle = palette.line;
		ink.fillRect(0, top - GAP / 2 - 0.5, at.x.end, 1);
		ink.fillStyle = palette.text;
		ink.textAlign = "left";
		ink.fillText(fit(`${pinned.includes(one) ? "▪ " : ""}${lane(one)}`, at.row >= 11 ? 62 : at.x.start), 0, top + Math.max(at.row, 12) / 2);
		if (at.row < 11 || at.x.start < 100) continue;
		ink.textAlign = "right";
		ink.fillStyle = palette.quiet;
		layers.forEach((layer, below) => ink.fillText(fit(layer, 52), at.x.start - 4, top + (below + 0.5) * at.row));
	}
	ink.textAlign = "left";
}

/** The lane whose name is at this place; null: there is none. */
export function laneAt(at: Layout, x: number, y: number): number | null {
	if (x >= at.x.start) return null;
	for (const [lane, layers] of at.rows) {
		const top = at.tops.get(rowName(lane, layers[0] ?? "")) ?? 0;
		if (y >= top && y < top + Math.max(LEAST, layers.length * at.row)) return lane;
	}
	return null;
}

/** Pixels of an item, whole ones, so that bins side by side show no seams; at least one wide, so that a short call is not lost. Null outside. */
export function itemBox(at: Layout, item: Pick<Item, "lane" | "layer" | "start" | "end">): [number, number, number, number] | null {
	const top = at.tops.get(rowName(item.lane, item.layer));
	if (top === undefined || item.end < at.x.from || item.start > at.x.to) return null;
	const left = Math.round(Math.max(at.x.start, place(at.x, item.start)));
	const right = Math.round(Math.min(at.x.end, place(at.x, item.end)));
	return [left, top, Math.max(1, right - left), at.row - 1];
}

export function itemColour(palette: Palette, item: Item, colours: Colouring): string {
	return colours === "layer" ? layerColour(palette, item.layer) : kindColour(palette, kindGroup(item.kind));
}

/** A bin is as high as it is busy, and never so low that it vanishes. */
function strip(ink: Ink, at: Layout, item: Item, { colours, find }: TimelinePicture, palette: Palette): void {
	const box = itemBox(at, item);
	if (!box) return;
	const [left, top, width, height] = box;
	const colour = itemColour(palette, item, colours);
	const meant = matches(item, find);
	ink.globalAlpha = meant ? 1 : PALE;
	const filled = Math.max(Math.min(3, height), height * item.busy);
	ink.fillStyle = colour;
	ink.fillRect(left, top + height - filled, width > 4 && item.busy === 1 ? width - 1 : width, filled);
	ink.globalAlpha = 1;
	if (!meant || height < 11 || width < 40 || item.busy < 1) return;
	ink.fillStyle = contrast(colour, "#000000") > contrast(colour, "#ffffff") ? "#000000" : "#ffffff";
	ink.font = SMALL;
	ink.textBaseline = "middle";
	const text = [`${item.op} ${time(item.longest)}`, item.op].find((one) => one.length * LETTER <= width - 6);
	if (text) ink.fillText(text, left + 3, top + height / 2);
}

/** Pixels of the view for which nothing came yet. */
function missing(x: Scale, [from, to]: [number, number]): [number, number][] {
	const [start, end] = [Math.max(x.start, Math.min(x.end, place(x, from))), Math.max(x.start, Math.min(x.end, place(x, to)))];
	return [
		[x.start, start],
		[end, x.end],
	].filter(([a = 0, b = 0]) => b - a > 1) as [number, number][];
}

/** All rows of who is critical, on a ground of the marks' colour, with a line above. */
function critical(ink: Ink, at: Layout, phase: Phase, palette: Palette): void {
	const layers = at.rows.get(phase.lane) ?? [];
	const box = itemBox(at, { ...phase, layer: layers[0] ?? "" });
	if (!box) return;
	const [left, top, width] = box;
	ink.fillStyle = palette.mark;
	ink.globalAlpha = 0.15;
	ink.fillRect(left, top, width, layers.length * at.row);
	ink.globalAlpha = 1;
	ink.fillRect(left, top - 2, width, 2);
}

/** A small arrow that points at a call from above: a longest one, however short it is on screen; its label stays free. */
function pointer(ink: Ink, at: Layout, mark: Mark & { layer?: string }, palette: Palette): void {
	const box = itemBox(at, { lane: mark.lane, layer: mark.layer ?? "", start: mark.start, end: mark.start + mark.duration });
	if (!box) return;
	const [x, y] = [box[0] + box[2] / 2, box[1] + 3];
	ink.fillStyle = palette.mark;
	ink.strokeStyle = palette.background;
	ink.lineWidth = 1;
	ink.beginPath();
	ink.moveTo(x, y);
	ink.lineTo(x - 4, y - 6);
	ink.lineTo(x + 4, y - 6);
	ink.closePath();
	ink.fill();
	ink.stroke();
}

function axis(ink: Ink, at: Layout, box: Box, palette: Palette): void {
	const values = ticks(at.x.from, at.x.to, Math.max(2, (at.x.end - at.x.start) / 110));
	ink.font = SMALL;
	ink.textBaseline = "top";
	timeLabels(values).forEach((label, index) => {
		const x = place(at.x, values[index] ?? 0);
		ink.fillStyle = palette.line;
		ink.globalAlpha = 0.5;
		ink.fillRect(x, TOP - 6, 1, box.height - TOP);
		ink.globalAlpha = 1;
		ink.fillStyle = palette.quiet;
		ink.textAlign = x > at.x.end - 30 ? "right" : "center";
		ink.fillText(label, x, 2);
	});
	ink.textAlign = "left";
}

/** The item under a point: the innermost, which is drawn last. */
export function itemUnder(at: Layout, items: Item[], x: number, y: number): Item | null {
	return (
		items.findLast((item) => {
			const box = itemBox(at, item);
			return box && x >= box[0] - 1 && x <= box[0] + box[2] + 1 && y >= box[1] && y <= box[1] + box[3];
		}) ?? null
	);
}

/** A frame around an item. */
export function ring(ink: Ink, at: Layout, item: Item, colour: string): void {
	const box = itemBox(at, item);
	if (!box) return;
	ink.strokeStyle = colour;
	ink.lineWidth = 2;
	ink.strokeRect(box[0] - 1, box[1] - 1, Math.max(3, box[2]) + 2, box[3] + 2);
}

export type Placed = Pick<Item, "lane" | "layer" | "start" | "end">;

/** An arrow from the end of one call to the begin of another, where both are on screen. */
export function arrow(ink: Ink, at: Layout, from: Placed, to: Placed, colour: string): void {
	const [a, b] = [itemBox(at, from), itemBox(at, to)];
	if (!a || !b) return;
	const [x0, y0, x1, y1] = [a[0] + a[2] / 2, a[1] + a[3] / 2, b[0] + b[2] / 2, b[1] + b[3] / 2];
	const angle = Math.atan2(y1 - y0, x1 - x0);
	ink.strokeStyle = colour;
	ink.lineWidth = 1.5;
	ink.beginPath();
	ink.moveTo(x0, y0);
	ink.lineTo(x1, y1);
	for (const turn of [2.6, -2.6]) {
		ink.moveTo(x1, y1);
		ink.lineTo(x1 + 8 * Math.cos(angle + turn), y1 + 8 * Math.sin(angle + turn));
	}
	ink.stroke();
}

/** Two lines and the time between them. */
export function ruler(ink: Ink, at: Layout, [from, to]: [number, number], box: Box, palette: Palette): void {
	const [a, b] = [place(at.x, from), place(at.x, to)];
	ink.strokeStyle = palette.select;
	ink.lineWidth = 1.5;
	ink.beginPath();
	for (const x of [a, b]) {
		ink.moveTo(x, TOP - 4);
		ink.lineTo(x, box.height);
	}
	ink.moveTo(a, TOP);
	ink.lineTo(b, TOP);
	ink.stroke();
	ink.font = `bold ${SMALL}`;
	ink.fillStyle = palette.select;
	ink.textBaseline = "top";
	ink.fillText(time(Math.abs(to - from)), Math.min(a, b) + 4, TOP + 2);
}
