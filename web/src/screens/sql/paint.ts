import { fit, FONT, SMALL, type Box, type Ink } from "../../draw/ink";
import { layerColour, type Palette } from "../../draw/theme";
import { format } from "../../draw/units";
import type { Unit } from "../../source";
import type { Bar } from "./query";

const ROW = 20;

export function barsHeight(bars: Bar[]): number {
	return bars.length * ROW + 4;
}

/** A bar for each row; what is below 0 stands left of the line. */
export function paintRows(bars: Bar[], unit: Unit): (ink: Ink, box: Box, palette: Palette) => void {
	const least = Math.min(0, ...bars.map((one) => one.value));
	const most = Math.max(0, ...bars.map((one) => one.value));
	return (ink, box, palette) => {
		const names = Math.min(box.width * 0.36, Math.max(60, ...bars.map((one) => one.label.length * 7 + 12)));
		const room = Math.max(10, box.width - names - 90);
		const scale = room / (most - least || 1);
		const zero = names - least * scale;
		ink.textBaseline = "middle";
		ink.textAlign = "left";
		bars.forEach((bar, row) => {
			const middle = row * ROW + ROW / 2 + 2;
			const end = zero + bar.value * scale;
			ink.font = FONT;
			ink.fillStyle = palette.text;
			ink.fillText(fit(bar.label, names - 8), 2, middle);
			ink.fillStyle = layerColour(palette, "mpiio");
			ink.fillRect(Math.min(zero, end), middle - 7, Math.max(1, Math.abs(end - zero)), 14);
			ink.font = SMALL;
			ink.fillStyle = palette.quiet;
			ink.fillText(format(bar.value, unit === "text" ? "count" : unit), Math.max(zero, end) + 5, middle);
		});
	};
}
