import { fit, FONT, SMALL, type Box, type Ink } from "../../draw/ink";
import type { Palette } from "../../draw/theme";
import { format } from "../../draw/units";
import { ends, partsOf, unitOf, type Picture } from "./typed";

const ROW = 16;

export function typedHeight({ labels }: Picture): number {
	return labels.length * ROW + 4;
}

/** A layer has its own colour in each theme; a server that of the picture. */
export function colourOf({ name, colour }: Picture["series"][number], palette: Palette): string {
	return palette.layers[name] ?? colour;
}

/** From a value to a length; a logarithmic one begins at half of the smallest value. */
function scaleOf(picture: Picture, room: number): (value: number) => number {
	const most = Math.max(...ends(picture), 0) || 1;
	if (!picture.logarithmic) return (value) => (value / most) * room;
	const least = Math.min(...picture.series.flatMap((one) => one.values.filter((value) => value > 0)), most) / 2;
	return (value) => (value <= least ? 0 : (Math.log(value / least) / Math.log(most / least)) * room);
}

/** A row for each bar, its parts in their colours, its length in words. */
export function paintTyped(picture: Picture): (ink: Ink, box: Box, palette: Palette) => void {
	const unit = unitOf(picture);
	const names = picture.labels.map((label, bar) => [label, picture.below[bar]].filter(Boolean).join(" · "));
	const tops = ends(picture);
	return (ink, box, palette) => {
		const left = Math.min(box.width * 0.3, Math.max(40, ...names.map((name) => name.length * 7 + 12)));
		const length = scaleOf(picture, Math.max(10, box.width - left - 110));
		ink.textBaseline = "middle";
		ink.textAlign = "left";
		names.forEach((name, bar) => {
			const top = bar * ROW + 2;
			ink.font = FONT;
			ink.fillStyle = palette.text;
			ink.fillText(fit(name, left - 8), 2, top + ROW / 2);
			for (const part of partsOf(picture, bar)) {
				const series = picture.series[part.series];
				if (!series) continue;
				ink.fillStyle = colourOf(series, palette);
				ink.fillRect(left + length(part.from), top + 2, Math.max(1, length(part.to) - length(part.from)), ROW - 4);
			}
			ink.font = SMALL;
			ink.fillStyle = palette.quiet;
			const mark = picture.marks[bar];
			ink.fillText(format(tops[bar], unit) + (mark ? ` · server ${mark}` : ""), left + length(tops[bar] ?? 0) + 5, top + ROW / 2);
		});
	};
}
