import { fit, FONT, SMALL, type Box, type Ink } from "../../draw/ink";
import { logShare } from "../../draw/scale";
import { layerColour, type Palette } from "../../draw/theme";
import { time } from "../../draw/units";
import type { Bar, Part } from "./query";

export const ROW = 24;
export const TOP = 26;
const LETTER = 6.4;
const LEAST = 1e3; // ns: where a logarithmic axis begins

export interface Drawn {
	bars: Bar[];
	/** Beside each other, each from the axis on; else one behind the other. */
	grouped: boolean;
	logarithmic: boolean;
	/** A word after a bar's name: server with the most time, with the least. */
	marks: Map<string, string>;
}

export function height({ bars }: Drawn): number {
	return TOP + bars.length * ROW + 4;
}

/** Room for names: as long as they are, a third of the picture at most. */
function label({ bars, marks }: Drawn, width: number): number {
	return Math.min(width * 0.35, Math.max(60, ...bars.map((one) => (one.label.length + (marks.has(one.key) ? 7 : 0)) * 7.2 + 14)));
}

/** A bar per key with a part per layer. Parts that hold one another stand under each other, others one behind the other. */
export function paintBreakdown(drawn: Drawn): (ink: Ink, box: Box, palette: Palette) => void {
	const { bars, grouped, logarithmic } = drawn;
	const ofBar = (bar: Bar): number => (grouped ? Math.max(...bar.parts.map((one) => one.time)) : bar.total);
	const longest = Math.max(...bars.map(ofBar), 1);
	const values = bars.map((bar) => time(ofBar(bar)));
	const value = 14 + LETTER * Math.max(...values.map((one) => one.length), 11);
	return (ink, box, palette) => {
		const start = label(drawn, box.width);
		const room = Math.max(20, box.width - start - value);
		const length = (ns: number): number => (logarithmic ? logShare(ns, LEAST, longest) : ns / longest) * room;
		legend(ink, bars, palette);
		bars.forEach((bar, row) => {
			const top = TOP + row * ROW;
			name(ink, palette, bar, drawn, top, start - 8);
			const end = grouped ? group(ink, palette, bar.parts, start, top, length) : stack(ink, palette, bar.parts, start, top, length);
			ink.font = SMALL;
			ink.fillStyle = palette.quiet;
			ink.textAlign = "left";
			ink.fillText(values[row] ?? "", end + 6, top + ROW / 2);
		});
	};
}

function name(ink: Ink, palette: Palette, bar: Bar, drawn: Drawn, top: number, width: number): void {
	const mark = drawn.marks.get(bar.key);
	ink.font = FONT;
	ink.textBaseline = "middle";
	ink.textAlign = "left";
	ink.fillStyle = mark ? palette.mark : palette.text;
	ink.fillText(fit(mark ? `${bar.label} · ${mark}` : bar.label, width), 2, top + ROW / 2);
}

type Length = (ns: number) => number;

function stack(ink: Ink, palette: Palette, parts: Part[], start: number, top: number, length: Length): number {
	let at = start;
	for (const part of parts) {
		const width = length(part.time);
		ink.fillStyle = layerColour(palette, part.layer);
		ink.fillRect(at, top + 4, Math.max(width - 0.5, part.time > 0 ? 0.5 : 0), ROW - 8);
		at += width;
	}
	return at;
}

function group(ink: Ink, palette: Palette, parts: Part[], start: number, top: number, length: Length): number {
	const each = (ROW - 6) / Math.max(parts.length, 1);
	parts.forEach((part, at) => {
		ink.fillStyle = layerColour(palette, part.layer);
		ink.fillRect(start, top + 3 + at * each, Math.max(1, length(part.time)), Math.max(1, each - 0.5));
	});
	return start + Math.max(...parts.map((one) => length(one.time)), 0);
}

function legend(ink: Ink, bars: Bar[], palette: Palette): void {
	const layers = [...new Set(bars.flatMap((bar) => bar.parts.map((part) => part.layer)))];
	let at = 2;
	ink.font = SMALL;
	ink.textBaseline = "middle";
	ink.textAlign = "left";
	for (const layer of layers) {
		ink.fillStyle = layerColour(palette, layer);
		ink.fillRect(at, 6, 10, 10);
		ink.fillStyle = palette.quiet;
		ink.fillText(layer, at + 14, 11);
		at += 26 + layer.length * LETTER;
	}
}
