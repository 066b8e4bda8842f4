import { FONT, SMALL, type Box, type Ink } from "../../draw/ink";
import { COMMUNICATION, layerColour, type Palette } from "../../draw/theme";
import { share, time } from "../../draw/units";

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
