import { bucketAxis } from "../../draw/axis";
import { SMALL, type Box, type Ink } from "../../draw/ink";
import { layerColour, type Palette } from "../../draw/theme";
import { count, share } from "../../draw/units";
import { ecdf, type Histogram } from "./query";

export const HEIGHT = 230;
const [LEFT, RIGHT, TOP, BOTTOM] = [52, 46, 18, 22];

export interface Drawn {
	one: Histogram;
	first: number;
	bins: number;
	slow: number | null;
}

/** Bucket under a point of the picture. */
export function bucketUnder({ first, bins }: Drawn, width: number, x: number): number {
	const at = Math.floor(((x - LEFT) / (width - LEFT - RIGHT)) * bins);
	return first + Math.max(0, Math.min(bins - 1, at));
}

/** Bars: calls of each latency, the slow ones in the colour of marks. The line: share of calls that took at most so long. */
export function paintHistogram(drawn: Drawn): (ink: Ink, box: Box, palette: Palette) => void {
	const { one, first, bins, slow } = drawn;
	const most = Math.max(...one.calls.values(), 1);
	return (ink, box, palette) => {
		const [width, height] = [box.width - LEFT - RIGHT, box.height - TOP - BOTTOM];
		const step = width / bins;
		frame(ink, box, palette, most);
		for (const [bucket, calls] of one.calls) {
			const tall = Math.max(1, (calls / most) * height);
			ink.fillStyle = slow !== null && bucket >= slow ? palette.mark : layerColour(palette, one.layer);
			ink.fillRect(LEFT + (bucket - first) * step, TOP + height - tall, Math.max(1, step - 1), tall);
		}
		line(ink, palette, ecdf(one, first, bins), step, height);
		ink.textAlign = "center";
		ink.textBaseline = "top";
		ink.fillStyle = palette.quiet;
		for (const tick of bucketAxis(first, bins).ticks(Math.floor(width / 70))) ink.fillText(tick.label, LEFT + tick.at * step, TOP + height + 5);
	};
}

function frame(ink: Ink, box: Box, palette: Palette, most: number): void {
	const height = box.height - TOP - BOTTOM;
	ink.font = SMALL;
	ink.fillStyle = palette.quiet;
	ink.textBaseline = "middle";
	for (const part of [0, 0.5, 1]) {
		const y = TOP + height * (1 - part);
		ink.strokeStyle = palette.line;
		ink.lineWidth = 1;
		ink.beginPath();
		ink.moveTo(LEFT, y);
		ink.lineTo(box.width - RIGHT, y);
		ink.stroke();
		ink.textAlign = "right";
		ink.fillText(count(Math.round(most * part)), LEFT - 5, y);
		ink.textAlign = "left";
		ink.fillText(share(part), box.width - RIGHT + 5, y);
	}
	ink.fillText("calls", 2, 8);
	ink.textAlign = "right";
	ink.fillText("line: share of calls", box.width - 4, 8);
}

function line(ink: Ink, palette: Palette, shares: number[], step: number, height: number): void {
	ink.strokeStyle = palette.text;
	ink.lineWidth = 1.5;
	ink.beginPath();
	ink.moveTo(LEFT, TOP + height);
	let before = 0;
	shares.forEach((one, at) => {
		ink.lineTo(LEFT + at * step, TOP + height * (1 - before));
		ink.lineTo(LEFT + (at + 1) * step, TOP + height * (1 - one));
		before = one;
	});
	ink.stroke();
}
