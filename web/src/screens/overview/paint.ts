import { FONT, SMALL, fit, type Box, type Ink } from "../../draw/ink";
import { COMMUNICATION, causeColour, causeTexture, contrast, layerColour, type Palette } from "../../draw/theme";
import { share, time } from "../../draw/units";
import type { AccountPart } from "../../source";
import { NOT_IO } from "./query";

/** Time of a layer of the run, summed over its calls: with and without what it called. */
export interface LayerBar {
	layer: string;
	inclusive: number;
	exclusive: number;
	/** What its library asked of MPI meanwhile. */
	communication: number;
}

export const BAR_HEIGHT = 26;
const LABEL = 70;
const VALUE = 150;
const TALK = 130; // more, where communication is told too
const LETTER = 6.2; // pixels
const FONT_LETTER = 6; // of a sentence, on average

export function barsHeight(bars: LayerBar[]): number {
	return bars.length * BAR_HEIGHT + 4;
}

/** A bar for each layer, top of the stack first: full where the layer itself spent it, then what it communicated, outlined where layers below did. */
export function paintBars(bars: LayerBar[]): (ink: Ink, box: Box, palette: Palette) => void {
	return (ink, box, palette) => {
		const most = Math.max(...bars.map((one) => one.inclusive), 1);
		const says = bars.map((one) => `${time(one.exclusive)} itself, ${share(one.exclusive / most)}${talk(one)}`);
		const value = Math.max(VALUE + (bars.some((one) => one.communication > 0) ? TALK : 0), ...says.map((one) => one.length * LETTER + 12));
		const room = Math.max(20, box.width - LABEL - value);
		const length = (ns: number): number => (ns / most) * room;
		ink.textBaseline = "middle";
		bars.forEach((one, row) => {
			const middle = row * BAR_HEIGHT + BAR_HEIGHT / 2 + 2;
			const colour = layerColour(palette, one.layer);
			ink.font = FONT;
			ink.fillStyle = palette.text;
			ink.fillText(one.layer, 0, middle);
			ink.fillStyle = colour;
			ink.fillRect(LABEL, middle - 8, length(one.exclusive), 16);
			ink.fillStyle = layerColour(palette, COMMUNICATION);
			if (one.communication > 0) ink.fillRect(LABEL + length(one.exclusive), middle - 8, Math.max(1, length(one.communication)), 16);
			ink.strokeStyle = colour;
			ink.lineWidth = 1;
			ink.strokeRect(LABEL + 0.5, middle - 7.5, Math.max(1, length(one.inclusive)), 15);
			ink.fillStyle = palette.quiet;
			ink.font = SMALL;
			ink.fillText(says[row] ?? "", LABEL + length(one.inclusive) + 6, middle);
		});
	};
}

function talk({ communication }: LayerBar): string {
	return communication > 0 ? `; ${time(communication)} communication` : "";
}

/** A bar of the account: whose it is and its parts, in seconds of `whole`. */
export interface SplitBar {
	title: string;
	parts: AccountPart[];
	whole: number;
}

export const SPLIT_HEIGHT = 58;
const TITLE = 22; // above the bar
const THICK = 28;
const PAD = 6; // of a word in its part
const APART = 1; // pixel between two parts
const STRIPES = 8; // pixels from one line of a texture to the next

/** Where the parts of a bar begin and end, in pixels; the last one ends where it must, whatever was rounded. */
export function edges({ parts, whole }: SplitBar, width: number): [number, number][] {
	let reached = 0;
	return parts.map(({ seconds }) => {
		const from = (reached / whole) * width;
		reached += seconds;
		return [Math.round(from), Math.round(Math.min(1, reached / whole) * width)];
	});
}

/** Row and part at a place of the picture; null: there is none. */
export function partAt(bars: SplitBar[], width: number, x: number, y: number): { row: number; cause: string } | null {
	const row = Math.floor(y / SPLIT_HEIGHT);
	const bar = bars[row];
	const within = y - row * SPLIT_HEIGHT;
	if (!bar || within < TITLE || within > TITLE + THICK) return null;
	const at = edges(bar, width).findIndex(([from, to]) => x >= from && x < to);
	const cause = bar.parts[at]?.cause;
	return cause === undefined ? null : { row, cause };
}

/** A bar for each process, parts of one cause alike in all of them, named where there is room. */
export function paintSplit(bars: SplitBar[]): (ink: Ink, box: Box, palette: Palette) => void {
	return (ink, box, palette) => {
		ink.textBaseline = "middle";
		bars.forEach((bar, row) => {
			const top = row * SPLIT_HEIGHT;
			ink.font = FONT;
			ink.fillStyle = palette.text;
			ink.fillText(fit(bar.title, box.width, FONT_LETTER), 0, top + TITLE / 2);
			edges(bar, box.width).forEach(([from, to], at) => {
				const part = bar.parts[at];
				if (part) paintPart(ink, palette, part, bar.whole, { x: from, y: top + TITLE, width: to - from - APART, height: THICK });
			});
		});
	};
}

interface Place {
	x: number;
	y: number;
	width: number;
	height: number;
}

function paintPart(ink: Ink, palette: Palette, part: AccountPart, whole: number, place: Place): void {
	const { x, y, width, height } = place;
	if (width < 1) return;
	const colour = causeColour(palette, part.cause);
	paintGround(ink, palette, part.cause, place);
	const words = label(part, whole, width - 2 * PAD);
	if (words === "") return;
	const ground = part.cause === NOT_IO ? palette.background : colour;
	if (part.cause !== NOT_IO && causeTexture(part.cause) !== "full") {
		ink.fillStyle = colour;
		ink.fillRect(x, y + 4, Math.min(width, words.length * LETTER + 2 * PAD + 4), height - 8);
	}
	ink.font = FONT;
	ink.fillStyle = part.cause === NOT_IO ? palette.quiet : legible(ground);
	ink.fillText(words, x + PAD, y + height / 2);
}

/** Black or white, whichever is read better. */
function legible(ground: string): string {
	return contrast("#000000", ground) >= contrast("#ffffff", ground) ? "#000000" : "#ffffff";
}

/** As many words as there is room for. */
function label({ cause, seconds }: AccountPart, whole: number, room: number): string {
	const says = [`${cause} ${time(seconds * 1e9)}, ${share(seconds / whole)}`, `${cause} ${time(seconds * 1e9)}`, cause];
	return says.find((one) => one.length * 7 <= room) ?? "";
}

/** A cause's colour and texture; an outline of what was no I/O. */
function paintGround(ink: Ink, palette: Palette, cause: string, place: Place): void {
	const { x, y, width, height } = place;
	if (cause === NOT_IO) {
		ink.strokeStyle = palette.quiet;
		ink.lineWidth = 1;
		ink.strokeRect(x + 0.5, y + 0.5, Math.max(0, width - 1), height - 1);
		return;
	}
	ink.fillStyle = causeColour(palette, cause);
	ink.fillRect(x, y, width, height);
	paintTexture(ink, cause, place, palette.background);
}

/** A cause as it is drawn, for the legend. */
export function paintSwatch(cause: string): (ink: Ink, box: Box, palette: Palette) => void {
	return (ink, box, palette) => paintGround(ink, palette, cause, { x: 0, y: 0, ...box });
}

/** Lines over a colour, told apart where colours are not. */
function paintTexture(ink: Ink, cause: string, { x, y, width, height }: Place, colour: string): void {
	const texture = causeTexture(cause);
	if (texture === "full") return;
	const lean = texture === "diagonal" ? height : 0;
	ink.strokeStyle = colour;
	ink.lineWidth = 1;
	ink.beginPath();
	for (let at = STRIPES / 2 - lean; at < width; at += STRIPES) {
		const [low, high] = [Math.max(at, 0), Math.min(at + lean, width)];
		ink.moveTo(x + low, y + height - (low - at));
		ink.lineTo(x + high, lean ? y + height - (high - at) : y);
	}
	ink.stroke();
}

/** A frame around the parts of one cause, and what is to be read of the one that is pointed at instead of the row's title. */
export function paintMarked(bars: SplitBar[], cause: string | null, says: (row: number) => string | null): (ink: Ink, box: Box, palette: Palette) => void {
	return (ink, box, palette) => {
		if (cause === null) return;
		ink.textBaseline = "middle";
		bars.forEach((bar, row) => {
			const at = bar.parts.findIndex((one) => one.cause === cause);
			const [from, to] = edges(bar, box.width)[at] ?? [0, 0];
			if (to <= from) return;
			const top = row * SPLIT_HEIGHT;
			ink.strokeStyle = palette.text;
			ink.lineWidth = 2;
			ink.strokeRect(from + 1, top + TITLE - 1, Math.max(1, to - from - APART - 2), THICK + 2);
			const words = says(row);
			if (words === null) return;
			ink.fillStyle = palette.background;
			ink.fillRect(0, top, box.width, TITLE - 3);
			ink.fillStyle = palette.text;
			ink.font = FONT;
			ink.fillText(fit(words, box.width, FONT_LETTER), 0, top + TITLE / 2);
		});
	};
}
