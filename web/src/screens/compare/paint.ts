import { fit, FONT, SMALL, type Box, type Ink } from "../../draw/ink";
import { layerColour, type Palette } from "../../draw/theme";
import { time } from "../../draw/units";
import type { Change } from "./query";

const ROW = 24;
const TOP = 22;

export function changesHeight(all: Change[]): number {
	return TOP + all.length * ROW + 2;
}

/** To the right what takes longer in the other run, to the left what takes less; sign and side say it, not the colour alone. */
export function paintChanges(all: Change[], other: string): (ink: Ink, box: Box, palette: Palette) => void {
	const most = Math.max(...all.map((one) => Math.abs(one.difference)), 1e-12);
	return (ink, box, palette) => {
		const names = Math.min(box.width * 0.36, Math.max(80, ...all.map((one) => one.name.length * 7 + 10)));
		const half = (box.width - names) / 2;
		const middle = names + half;
		const room = Math.max(10, half - 96);
		ink.textBaseline = "middle";
		ink.font = SMALL;
		ink.fillStyle = palette.quiet;
		ink.textAlign = "right";
		ink.fillText(fit(`less in ${other}`, half - 8), middle - 6, 10);
		ink.textAlign = "left";
		ink.fillText(fit(`more in ${other}`, half - 8), middle + 6, 10);
		all.forEach((one, row) => bar(ink, palette, one, { top: TOP + row * ROW, names, middle, room, most }));
		ink.strokeStyle = palette.line;
		ink.lineWidth = 1;
		ink.beginPath();
		ink.moveTo(middle, 0);
		ink.lineTo(middle, box.height);
		ink.stroke();
	};
}

interface Place {
	top: number;
	names: number;
	middle: number;
	room: number;
	most: number;
}

function bar(ink: Ink, palette: Palette, one: Change, { top, names, middle, room, most }: Place): void {
	const width = Math.max(1, (Math.abs(one.difference) / most) * room);
	const more = one.difference > 0;
	ink.font = FONT;
	ink.textAlign = "left";
	ink.fillStyle = palette.text;
	ink.fillText(fit(one.name, names - 8), 2, top + ROW / 2);
	ink.fillStyle = layerColour(palette, more ? "pnetcdf" : "mpiio");
	ink.fillRect(more ? middle : middle - width, top + 4, width, ROW - 8);
	ink.font = SMALL;
	ink.fillStyle = palette.quiet;
	ink.textAlign = more ? "left" : "right";
	ink.fillText(`${more ? "+" : "−"}${time(Math.abs(one.difference) * 1e9)}`, middle + (more ? width + 5 : -width - 5), top + ROW / 2);
}
