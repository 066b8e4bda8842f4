/** Who owns what of a variable: two of its dimensions, the others at one place each. */
import { FONT, hatch, SMALL, type Ink } from "../../draw/ink";
import { contrast, type Palette } from "../../draw/theme";
import type { Paint } from "../../parts/export";
import type { Owned } from "./query";

// Okabe and Ito's; each box also says its rank, so colour alone says nothing.
const COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#9C7BC0"];
const SKIP = 3; // so that with 8 ranks to a row those below each other differ too
export const LEFT = 64;
export const TOP = 22;
const RIGHT = 8;
const FOOT = 20;
const CELLS = 65_536; // of the grid that all borders make; of more, overlaps and gaps are not looked for
const LABEL = 13;

export interface View {
	/** Dimensions by number; `down` is null where there is only one. */
	down: number | null;
	across: number;
	/** Where the others are looked at. */
	at: number[];
}

export interface Area {
	rank: number;
	x: number;
	y: number;
	width: number;
	height: number;
}

export function colour(rank: number): string {
	return COLOURS[(rank + Math.floor(rank / COLOURS.length) * SKIP) % COLOURS.length] ?? "#888888";
}

/** The two dimensions that are cut most. */
export function firstView({ dimensions, boxes }: Owned): View {
	const many = dimensions.length;
	const cuts = dimensions.map((_, d) => new Set(boxes.map((box) => box[1 + d])).size);
	const order = [...dimensions.keys()].sort((a, b) => (cuts[b] ?? 0) - (cuts[a] ?? 0) || (dimensions[b]?.length ?? 0) - (dimensions[a]?.length ?? 0) || b - a);
	const [a = 0, b = 0] = order.slice(0, 2).sort((x, y) => x - y);
	return many < 2 ? { down: null, across: 0, at: [0] } : { down: a, across: b, at: dimensions.map(() => 0) };
}

/** Boxes that meet the view, in elements. */
export function areas({ dimensions, boxes }: Owned, { down, across, at }: View): Area[] {
	const many = dimensions.length;
	const shown: Area[] = [];
	for (const box of boxes) {
		const start = (d: number): number => box[1 + d] ?? 0;
		const count = (d: number): number => box[1 + many + d] ?? 0;
		const meets = dimensions.every((_, d) => d === down || d === across || (start(d) <= (at[d] ?? 0) && (at[d] ?? 0) < start(d) + count(d)));
		if (meets) shown.push({ rank: box[0] ?? 0, x: start(across), width: count(across), y: down === null ? 0 : start(down), height: down === null ? 1 : count(down) });
	}
	return shown;
}

export interface Cell extends Area {
	owners: number;
}

/** Parts of the array that no rank has or several have, in the grid that all borders make. */
export function faults(all: Area[], width: number, height: number): Cell[] {
	const edges = (most: number, ends: (one: Area) => number[]): number[] => [...new Set([0, most, ...all.flatMap(ends)])].filter((one) => one >= 0 && one <= most).sort((a, b) => a - b);
	const xs = edges(width, (one) => [one.x, one.x + one.width]);
	const ys = edges(height, (one) => [one.y, one.y + one.height]);
	if (xs.length * ys.length > CELLS) return [];
	const columns = xs.length - 1;
	const owners = new Uint16Array(columns * Math.max(0, ys.length - 1));
	const [column, row] = [new Map(xs.map((one, at) => [one, at])), new Map(ys.map((one, at) => [one, at]))];
	for (const one of all) {
		const [from, to] = [column.get(Math.max(0, one.x)) ?? 0, column.get(Math.min(width, one.x + one.width)) ?? columns];
		const [first, last] = [row.get(Math.max(0, one.y)) ?? 0, row.get(Math.min(height, one.y + one.height)) ?? ys.length - 1];
		for (let y = first; y < last; y++) for (let x = from; x < to; x++) owners[y * columns + x] = (owners[y * columns + x] ?? 0) + 1;
	}
	const faulty: Cell[] = [];
	owners.forEach((many, at) => {
		if (many === 1) return;
		const [x, y] = [at % columns, Math.floor(at / columns)];
		const [left, top] = [xs[x] ?? 0, ys[y] ?? 0];
		faulty.push({ rank: -1, owners: many, x: left, y: top, width: (xs[x + 1] ?? left) - left, height: (ys[y + 1] ?? top) - top });
	});
	return faulty;
}

interface Scale {
	x: (at: number) => number;
	y: (at: number) => number;
}

export function scaleOf(owned: Owned, view: View, box: { width: number; height: number }): Scale {
	const columns = owned.dimensions[view.across]?.length ?? 1;
	const rows = view.down === null ? 1 : (owned.dimensions[view.down]?.length ?? 1);
	const [width, height] = [box.width - LEFT - RIGHT, box.height - TOP - FOOT];
	return { x: (at) => LEFT + (at / Math.max(1, columns)) * width, y: (at) => TOP + (at / Math.max(1, rows)) * height };
}

export function sizeOf(owned: Owned, view: View): [number, number] {
	return [owned.dimensions[view.across]?.length ?? 1, view.down === null ? 1 : (owned.dimensions[view.down]?.length ?? 1)];
}

export function paintOwners(owned: Owned, view: View, chosen: number | null): Paint {
	const all = areas(owned, view);
	const [columns, rows] = sizeOf(owned, view);
	const wrong = faults(all, columns, rows);
	return (ink, box, palette) => {
		const scale = scaleOf(owned, view, box);
		const rect = (one: Area): [number, number, number, number] => {
			const [x, y] = [scale.x(one.x), scale.y(one.y)];
			return [x, y, Math.max(1, scale.x(one.x + one.width) - x), Math.max(1, scale.y(one.y + one.height) - y)];
		};
		for (const one of all) paintBox(ink, one, rect(one), palette, chosen);
		for (const one of wrong) paintFault(ink, one, rect(one), palette);
		paintEdges(ink, owned, view, scale, box, palette);
	};
}

function paintBox(ink: Ink, { rank }: Area, [x, y, width, height]: [number, number, number, number], palette: Palette, chosen: number | null): void {
	ink.globalAlpha = chosen === null || chosen === rank ? 1 : 0.25;
	ink.fillStyle = colour(rank);
	ink.fillRect(x, y, width, height);
	ink.globalAlpha = 1;
	ink.strokeStyle = chosen === rank ? palette.text : palette.background;
	ink.lineWidth = chosen === rank ? 2 : 1;
	if (width > 3 && height > 3) ink.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
	const label = `rank ${rank}`;
	const text = width > label.length * 7 ? label : width > String(rank).length * 8 ? String(rank) : "";
	if (!text || height < LABEL || (chosen !== null && chosen !== rank)) return;
	ink.fillStyle = contrast(colour(rank), "#000000") > contrast(colour(rank), "#ffffff") ? "#000000" : "#ffffff";
	ink.font = FONT;
	ink.textAlign = "center";
	ink.textBaseline = "middle";
	ink.fillText(text, x + width / 2, y + height / 2);
}

/** A gap is empty and hatched, an overlap hatched over its colours; both say so where there is room. */
function paintFault(ink: Ink, { owners }: Cell, [x, y, width, height]: [number, number, number, number], palette: Palette): void {
	hatch(ink, x, y, width, height, owners ? "#000000" : palette.quiet);
	ink.strokeStyle = palette.mark;
	ink.lineWidth = 2;
	ink.strokeRect(x + 1, y + 1, Math.max(1, width - 2), Math.max(1, height - 2));
	const text = owners ? `${owners} ranks` : "no rank";
	if (width < text.length * 8 || height < LABEL + 2) return;
	ink.fillStyle = palette.background;
	ink.fillRect(x + width / 2 - text.length * 3.8, y + height / 2 - 8, text.length * 7.6, 16);
	ink.fillStyle = palette.mark;
	ink.font = FONT;
	ink.textAlign = "center";
	ink.textBaseline = "middle";
	ink.fillText(text, x + width / 2, y + height / 2);
}

function paintEdges(ink: Ink, owned: Owned, view: View, scale: Scale, box: { width: number; height: number }, palette: Palette): void {
	const [columns, rows] = sizeOf(owned, view);
	ink.strokeStyle = palette.quiet;
	ink.lineWidth = 1;
	ink.strokeRect(scale.x(0) - 0.5, scale.y(0) - 0.5, scale.x(columns) - scale.x(0) + 1, scale.y(rows) - scale.y(0) + 1);
	ink.fillStyle = palette.text;
	ink.font = SMALL;
	ink.textBaseline = "alphabetic";
	ink.textAlign = "left";
	ink.fillText(`${owned.dimensions[view.across]?.name ?? ""} →`, LEFT, TOP - 8);
	ink.textAlign = "right";
	ink.fillText(String(columns), box.width - RIGHT, box.height - 6);
	ink.textAlign = "left";
	ink.fillText("0", LEFT, box.height - 6);
	if (view.down === null) return;
	ink.textAlign = "right";
	ink.fillText(`${owned.dimensions[view.down]?.name ?? ""} ↓`, LEFT - 8, TOP + 10);
	ink.fillText(String(rows), LEFT - 8, box.height - FOOT);
}
