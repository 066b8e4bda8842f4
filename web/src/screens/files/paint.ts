import { SMALL, type Box, type Ink } from "../../draw/ink";
import { layerColour, type Palette } from "../../draw/theme";
import { count } from "../../draw/units";
import type { SizeBar } from "./query";

const ROW = 30;
const LEFT = 150;

export function sizesHeight(bars: SizeBar[]): number {
	return bars.length * ROW + 4;
}

/** Of each size of access how many calls read and wrote. */
export function paintSizes(bars: SizeBar[]): (ink: Ink, box: Box, palette: Palette) => void {
	const most = Math.max(...bars.map((one) => Math.max(one.read, one.written)), 1);
	return (ink, box, palette) => {
		const room = Math.max(20, box.width - LEFT - 120);
		ink.font = SMALL;
		ink.textBaseline = "middle";
		bars.forEach((bar, row) => {
			const top = row * ROW + 2;
			ink.textAlign = "right";
			ink.fillStyle = palette.text;
			ink.fillText(bar.label, LEFT - 8, top + ROW / 2);
			ink.textAlign = "left";
			const kinds = [["read", bar.read, "mpiio"], ["written", bar.written, "pnetcdf"]] as const;
			kinds.forEach(([word, calls, colour], at) => {
				if (calls === 0) return;
				const [y, width] = [top + 2 + at * 13, Math.max(1, (calls / most) * room)];
				ink.fillStyle = layerColour(palette, colour);
				ink.fillRect(LEFT, y, width, 11);
				ink.fillStyle = palette.quiet;
				ink.fillText(`${count(calls)} ${word}`, LEFT + width + 5, y + 6);
			});
		});
	};
}
