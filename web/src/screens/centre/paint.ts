import { BOTTOM, frame, LEFT, RIGHT, TOP, type Paint } from "../../draw/frame";
import type { Box, Ink } from "../../draw/ink";
import { place, type Scale } from "../../draw/scale";
import { layerColour, type Palette } from "../../draw/theme";
import type { Day } from "./query";

export const HEIGHT = 200;
const LABEL = 76; // pixels that a day's name takes
const WIDEST = 48;

/** A bar a day: node hours in I/O, and in front of them those that are lost, in the colour of what is marked. */
export function paintDays(all: Day[]): Paint {
	const most = Math.max(...all.map((one) => Math.max(one.io, one.lost)), 1e-9);
	return (ink, box, palette) => {
		const y: Scale = { from: 0, to: most, start: box.height - BOTTOM, end: TOP };
		const step = (box.width - LEFT - RIGHT) / Math.max(1, all.length);
		const width = Math.max(1, Math.min(WIDEST, step * 0.7));
		frame(ink, box, palette, y, "node hours", 4);
		const each = Math.max(1, Math.ceil(LABEL / step));
		all.forEach((one, at) => {
			const middle = LEFT + (at + 0.5) * step;
			bar(ink, y, { left: middle - width / 2, width, value: one.io, colour: layerColour(palette, "posix") });
			bar(ink, y, { left: middle - width / 4, width: width / 2, value: one.lost, colour: palette.mark });
			if ((all.length - 1 - at) % each === 0) named(ink, box, palette, one.day, middle);
		});
	};
}

interface Bar {
	left: number;
	width: number;
	value: number;
	colour: string;
}

function bar(ink: Ink, y: Scale, { left, width, value, colour }: Bar): void {
	ink.fillStyle = colour;
	ink.fillRect(left, place(y, value), width, y.start - place(y, value));
}

function named(ink: Ink, box: Box, palette: Palette, day: string, middle: number): void {
	ink.fillStyle = palette.quiet;
	ink.textAlign = "center";
	ink.textBaseline = "top";
	ink.fillText(day, Math.min(middle, box.width - LABEL / 2), box.height - BOTTOM + 6);
}
