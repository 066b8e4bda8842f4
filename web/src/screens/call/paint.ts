import { FONT, fit, SMALL, type Box, type Ink } from "../../draw/ink";
import { contrast, layerColour, type Palette } from "../../draw/theme";
import { place, ticks, timeLabels, type Scale } from "../../draw/scale";
import { time } from "../../draw/units";
import { flat, rowsOf, type Node, type Placed } from "./query";

const ROW = 24;
const AXIS = 24;
const LETTER = 7; // pixels
export const WATERFALL_ROW = 18;
const MOST_ROWS = 40;
const NAMES = 260;

export function icicleHeight(root: Node): number {
	return rowsOf(root).rows * ROW + AXIS;
}

function across(root: Node, start: number, end: number): Scale {
	const from = Math.min(...flat(root).map((one) => one.start));
	const to = Math.max(...flat(root).map((one) => one.start + one.duration));
	return { from, to: Math.max(to, from + 1), start, end };
}

interface Drawn {
	node: Node;
	x: number;
	y: number;
	width: number;
	height: number;
}

function drawn(root: Node, box: Box): Drawn[] {
	const scale = across(root, 0, box.width);
	return rowsOf(root).placed.map(({ node, row }: Placed) => {
		const x = place(scale, node.start);
		return { node, x, y: row * ROW, width: Math.max(2, place(scale, node.start + node.duration) - x), height: ROW - 2 };
	});
}

/** Layers from top to bottom, time from left to right: a call stands below the one that made it, as wide as it lasted. */
export function paintIcicle(root: Node, focus: string): (ink: Ink, box: Box, palette: Palette) => void {
	return (ink, box, palette) => {
		for (const { node, x, y, width, height } of drawn(root, box)) {
			const colour = layerColour(palette, node.layer);
			ink.fillStyle = colour;
			ink.fillRect(x, y, Math.max(1, width - 1), height);
			if (node.calls > 1) stripes(ink, x, y, width, height, palette);
			label(ink, node, x, y, width, height, colour);
			if (node.call === focus) ring(ink, x, y, width, height, palette);
		}
		axis(ink, across(root, 0, box.width), box, palette);
	};
}

/** A bundle is one box that is ruled, so that it cannot be taken for one call. */
function stripes(ink: Ink, x: number, y: number, width: number, height: number, palette: Palette): void {
	ink.strokeStyle = palette.background;
	ink.lineWidth = 1;
	ink.beginPath();
	for (const at of [0.25, 0.75]) {
		ink.moveTo(x, y + height * at);
		ink.lineTo(x + width, y + height * at);
	}
	ink.stroke();
}

function label(ink: Ink, node: Node, x: number, y: number, width: number, height: number, colour: string): void {
	const name = node.calls > 1 ? `${node.calls.toLocaleString("en-US")} × ${node.op}` : node.op;
	const text = [`${name}  ${time(node.duration)}`, name].find((one) => one.length * LETTER <= width - 8);
	if (!text) return;
	ink.font = FONT;
	ink.textBaseline = "middle";
	ink.textAlign = "left";
	ink.fillStyle = contrast(colour, "#000000") > contrast(colour, "#ffffff") ? "#000000" : "#ffffff";
	ink.fillText(text, x + 4, y + height / 2);
}

function ring(ink: Ink, x: number, y: number, width: number, height: number, palette: Palette): void {
	ink.strokeStyle = palette.text;
	ink.lineWidth = 3;
	ink.strokeRect(x + 0.5, y + 1, Math.max(3, width - 2), height - 2);
}

function axis(ink: Ink, scale: Scale, box: Box, palette: Palette): void {
	const at = ticks(0, scale.to - scale.from, Math.max(2, (scale.end - scale.start) / 130));
	ink.font = SMALL;
	ink.fillStyle = palette.quiet;
	ink.textBaseline = "top";
	timeLabels(at).forEach((text, index) => {
		const x = place(scale, scale.from + (at[index] ?? 0));
		ink.textAlign = x > scale.end - 30 ? "right" : index === 0 ? "left" : "center";
		ink.fillText(text, x, box.height - AXIS + 6);
	});
	ink.textAlign = "left";
}

/** The node under a point of the icicle. */
export function nodeUnder(root: Node, box: Box, x: number, y: number): Node | null {
	return drawn(root, box).find((one) => x >= one.x && x < one.x + one.width && y >= one.y && y < one.y + one.height)?.node ?? null;
}

/** Rows of the waterfall: the first in the order of the tree, and how many are not shown. */
export function waterfallRows(root: Node): { nodes: Node[]; folded: number } {
	const all = flat(root);
	return { nodes: all.slice(0, MOST_ROWS), folded: Math.max(0, all.length - MOST_ROWS) };
}

export function waterfallHeight(root: Node): number {
	return waterfallRows(root).nodes.length * WATERFALL_ROW + AXIS;
}

/** One row for each call, names on the left, what it did itself full and what others did for it outlined. */
export function paintWaterfall(root: Node, focus: string, lane: (lane: number) => string): (ink: Ink, box: Box, palette: Palette) => void {
	return (ink, box, palette) => {
		const names = Math.min(NAMES, box.width * 0.4);
		const scale = across(root, names, box.width - 4);
		waterfallRows(root).nodes.forEach((node, row) => {
			const y = row * WATERFALL_ROW;
			const indent = Math.min(node.depth * 10, names / 2);
			ink.font = node.call === focus ? `bold ${SMALL}` : SMALL;
			ink.textBaseline = "middle";
			ink.fillStyle = palette.text;
			const where = node.lane === root.lane ? "" : ` (${node.server ?? lane(node.lane)})`;
			ink.fillText(fit(`${node.calls > 1 ? `${node.calls} × ` : ""}${node.op}${where}`, names - indent - 6, 6.4), indent, y + WATERFALL_ROW / 2);
			bar(ink, node, scale, y, palette);
		});
		axis(ink, scale, box, palette);
	};
}

function bar(ink: Ink, node: Node, scale: Scale, y: number, palette: Palette): void {
	const [from, to] = [place(scale, node.start), place(scale, node.start + node.duration)];
	const colour = layerColour(palette, node.layer);
	const own = node.duration > 0 ? Math.max(0, 1 - node.nested / node.duration) : 1;
	ink.strokeStyle = colour;
	ink.lineWidth = 1;
	ink.strokeRect(from + 0.5, y + 3.5, Math.max(2, to - from), WATERFALL_ROW - 8);
	ink.fillStyle = colour;
	ink.fillRect(from, y + 3, Math.max(2, (to - from) * own), WATERFALL_ROW - 7);
}
