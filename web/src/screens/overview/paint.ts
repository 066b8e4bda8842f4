import { FONT, SMALL, type Box, type Ink } from "../../draw/ink";
import { layerColour, type Palette } from "../../draw/theme";
import { share, time } from "../../draw/units";

/** Time of a layer of the run, summed over its calls: with and without what it called. */
export interface LayerBar {
	layer: string;
	inclusive: number;
	exclusive: number;
}

export const BAR_HEIGHT = 26;
const LABEL = 70;
const VALUE = 150;

export function barsHeight(bars: LayerBar[]): number {
	return bars.length * BAR_HEIGHT + 4;
}

/** A bar for each layer, top of the stack first: full where the layer itself spent it, outlined where layers below did. */
export function paintBars(bars: LayerBar[]): (ink: Ink, box: Box, palette: Palette) => void {
	return (ink, box, palette) => {
		const most = Math.max(...bars.map((one) => one.inclusive), 1);
		const room = Math.max(20, box.width - LABEL - VALUE);
		ink.textBaseline = "middle";
		bars.forEach((one, row) => {
			const middle = row * BAR_HEIGHT + BAR_HEIGHT / 2 + 2;
			const colour = layerColour(palette, one.layer);
			ink.font = FONT;
			ink.fillStyle = palette.text;
			ink.fillText(one.layer, 0, middle);
			ink.fillStyle = colour;
			ink.fillRect(LABEL, middle - 8, (one.exclusive / most) * room, 16);
			ink.strokeStyle = colour;
			ink.lineWidth = 1;
			ink.strokeRect(LABEL + 0.5, middle - 7.5, Math.max(1, (one.inclusive / most) * room), 15);
			ink.fillStyle = palette.quiet;
			ink.font = SMALL;
			ink.fillText(`${time(one.exclusive)} itself, ${share(one.exclusive / most)}`, LABEL + (one.inclusive / most) * room + 6, middle);
		});
	};
}
