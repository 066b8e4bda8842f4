/** The lines of a picture's values, and what they are. */
import { SMALL, type Box, type Ink } from "./ink";
import { place, ticks, type Scale } from "./scale";
import type { Palette } from "./theme";

export type Paint = (ink: Ink, box: Box, palette: Palette) => void;

/** Pixels around what is drawn. */
export const [LEFT, RIGHT, TOP, BOTTOM] = [64, 12, 22, 24];

/** At most so many lines, about. */
export function frame(ink: Ink, box: Box, palette: Palette, y: Scale, unit: string, lines: number): void {
	ink.font = SMALL;
	ink.textBaseline = "middle";
	ink.textAlign = "right";
	for (const one of ticks(y.from, y.to, lines)) {
		ink.strokeStyle = palette.line;
		ink.lineWidth = 1;
		ink.beginPath();
		ink.moveTo(LEFT, place(y, one));
		ink.lineTo(box.width - RIGHT, place(y, one));
		ink.stroke();
		ink.fillStyle = palette.quiet;
		ink.fillText(String(Number(one.toPrecision(6))), LEFT - 6, place(y, one));
	}
	ink.textAlign = "left";
	ink.fillText(unit, 2, 8);
}
