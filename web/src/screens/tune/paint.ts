import { BOTTOM, frame, LEFT, RIGHT, TOP, type Paint } from "../../draw/frame";
import { diamond, fit, FONT, SMALL, type Box, type Ink } from "../../draw/ink";
import { place, ticks, type Scale } from "../../draw/scale";
import { heat, layerColour, type Palette } from "../../draw/theme";
import { bestSoFar, range, type Knob, type SearchAnswer, type Setting, type Trial } from "./query";

export const HEIGHT = 260;
const LINES = 5;
/** Failed trials stand on a line of their own. */
const FAILED = 14;
/** Shapes say the stage too, not the colour alone. */
const BEFORE: Record<string, string> = { look: "app", default: "mpiio" };

function across(box: Box, trials: number): Scale {
	return { from: 0.5, to: Math.max(1, trials) + 0.5, start: LEFT, end: box.width - RIGHT };
}

/** The trial under a place of the history. */
export function trialUnder(all: Trial[], width: number, x: number): Trial | undefined {
	const scale = across({ width, height: HEIGHT }, all.length);
	const at = Math.round(scale.from + ((x - scale.start) / (scale.end - scale.start)) * (scale.to - scale.from)) - 1;
	return all[Math.max(0, Math.min(all.length - 1, at))];
}

/** What each trial gave, the best so far as a line. */
export function paintHistory(all: Trial[], answer: SearchAnswer, chosen: number): Paint {
	const [least, most] = range(all);
	const best = bestSoFar(all, answer.more);
	return (ink, box, palette) => {
		const x = across(box, all.length);
		const y: Scale = { from: least, to: most, start: box.height - BOTTOM - FAILED, end: TOP };
		frame(ink, box, palette, y, answer.unit, LINES);
		numbers(ink, box, palette, x);
		bestLine(ink, palette, best, x, y);
		all.forEach((one, at) => {
			const where = { x: place(x, at + 1), y: one.score === null ? box.height - BOTTOM - FAILED / 2 : place(y, one.score) };
			mark(ink, palette, one, where);
			if (one.trial === chosen) ring(ink, palette, where);
		});
	};
}

function numbers(ink: Ink, box: Box, palette: Palette, x: Scale): void {
	ink.fillStyle = palette.quiet;
	ink.textAlign = "center";
	ink.textBaseline = "top";
	for (const one of ticks(1, x.to, Math.floor((box.width - LEFT - RIGHT) / 60))) {
		if (Number.isInteger(one)) ink.fillText(String(one), place(x, one), box.height - BOTTOM + 6);
	}
}

function bestLine(ink: Ink, palette: Palette, best: (number | null)[], x: Scale, y: Scale): void {
	ink.strokeStyle = palette.text;
	ink.lineWidth = 1.5;
	ink.beginPath();
	let begun = false;
	best.forEach((one, at) => {
		if (one === null) return;
		const [from, to] = [place(x, at + 1), place(x, Math.min(at + 2, best.length))];
		if (begun) ink.lineTo(from, place(y, one));
		else ink.moveTo(from, place(y, one));
		begun = true;
		ink.lineTo(to, place(y, one));
	});
	ink.stroke();
}

interface Place {
	x: number;
	y: number;
}

/** An empty square: as the program is; a full one: search; a diamond: a fresh run; a cross: it counts for nothing. */
function mark(ink: Ink, palette: Palette, one: Trial, { x, y }: Place): void {
	ink.fillStyle = ink.strokeStyle = one.score === null ? palette.mark : layerColour(palette, BEFORE[one.stage] ?? (one.stage === "search" ? "posix" : "pnetcdf"));
	ink.lineWidth = 2;
	if (one.score === null) cross(ink, x, y);
	else if (one.stage in BEFORE) ink.strokeRect(x - 4, y - 4, 8, 8);
	else if (one.stage === "search") ink.fillRect(x - 3, y - 3, 6, 6);
	else diamond(ink, x, y);
}

function cross(ink: Ink, x: number, y: number): void {
	ink.beginPath();
	ink.moveTo(x - 4, y - 4);
	ink.lineTo(x + 4, y + 4);
	ink.moveTo(x + 4, y - 4);
	ink.lineTo(x - 4, y + 4);
	ink.stroke();
}

function ring(ink: Ink, palette: Palette, { x, y }: Place): void {
	ink.strokeStyle = palette.select;
	ink.lineWidth = 2;
	ink.strokeRect(x - 8, y - 8, 16, 16);
}

export const PARALLEL = 300;
const [EDGE, HEAD, FOOT] = [70, 34, 14];

/** Where the axes stand: one for each knob, the last for the score. */
function axes(width: number, knobs: number): number[] {
	return Array.from({ length: knobs + 1 }, (_, at) => EDGE + (at / Math.max(1, knobs)) * (width - 2 * EDGE));
}

function corners(one: Setting, knobs: Knob[], score: Scale, width: number): [number, number][] {
	const at = axes(width, knobs.length);
	const line = one.point.map((value, knob): [number, number] => [at[knob] ?? 0, valuePlace(value, knobs[knob]?.values.length ?? 1)]);
	return [...line, [at[knobs.length] ?? 0, place(score, one.score)]];
}

/** Values stand evenly, the first ("not set") at the bottom. */
function valuePlace(value: number, values: number): number {
	const bottom = PARALLEL - FOOT;
	return values < 2 ? (bottom + HEAD) / 2 : bottom - 6 - (value / (values - 1)) * (bottom - HEAD - 12);
}

function scoreScale(all: Setting[], more: boolean): Scale {
	const [least, most] = range(all);
	const [from, to] = more ? [least, most] : [most, least]; // the best on top
	return { from, to, start: PARALLEL - FOOT, end: HEAD };
}

/** The setting whose line is nearest to a place. */
export function settingUnder(all: Setting[], { knobs, more }: SearchAnswer, width: number, { x, y }: Place): Setting | undefined {
	const score = scoreScale(all, more);
	const away = (one: Setting): number => Math.min(...segments(corners(one, knobs, score, width)).map(([a, b]) => distance(a, b, { x, y })));
	return [...all].sort((a, b) => away(a) - away(b))[0];
}

type Corner = [number, number];

function segments(all: Corner[]): [Corner, Corner][] {
	return all.slice(1).map((to, at) => [all[at] ?? to, to]);
}

function distance([ax, ay]: Corner, [bx, by]: Corner, { x, y }: Place): number {
	const [dx, dy] = [bx - ax, by - ay];
	const along = Math.max(0, Math.min(1, ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy || 1)));
	return Math.hypot(x - ax - along * dx, y - ay - along * dy);
}

/** A line for each setting, through its value of each knob to its score: the better, the further along the scale of colours, and on top. */
export function paintParallel(all: Setting[], answer: SearchAnswer, chosen: number): Paint {
	const score = scoreScale(all, answer.more);
	return (ink, box, palette) => {
		all.forEach((one, at) => {
			ink.strokeStyle = heat(palette, all.length > 1 ? at / (all.length - 1) : 1);
			ink.lineWidth = at === all.length - 1 ? 3 : 1;
			ink.globalAlpha = at === all.length - 1 ? 1 : 0.6;
			line(ink, corners(one, answer.knobs, score, box.width));
		});
		ink.globalAlpha = 1;
		const one = all.find((setting) => setting.trials.includes(chosen));
		if (one) {
			ink.strokeStyle = palette.select;
			ink.lineWidth = 3;
			line(ink, corners(one, answer.knobs, score, box.width));
		}
		axes(box.width, answer.knobs.length).forEach((x, at) => axis(ink, box, palette, x, answer, at, score));
	};
}

function line(ink: Ink, all: Corner[]): void {
	ink.beginPath();
	all.forEach(([x, y], at) => (at ? ink.lineTo(x, y) : ink.moveTo(x, y)));
	ink.stroke();
}

function axis(ink: Ink, box: Box, palette: Palette, x: number, answer: SearchAnswer, at: number, score: Scale): void {
	const knob = answer.knobs[at];
	const room = (box.width - 2 * EDGE) / Math.max(1, answer.knobs.length);
	ink.strokeStyle = palette.quiet;
	ink.lineWidth = 1;
	line(ink, [[x, HEAD], [x, PARALLEL - FOOT]]);
	ink.textAlign = "center";
	ink.textBaseline = "middle";
	ink.font = FONT;
	ink.fillStyle = palette.text;
	ink.fillText(fit(knob?.name ?? answer.objective, room - 6), x, 14);
	ink.font = SMALL;
	ink.textAlign = knob ? "left" : "right";
	const words = knob ? knob.values.map((word, value) => ({ word, y: valuePlace(value, knob.values.length) })) : ticks(Math.min(score.from, score.to), Math.max(score.from, score.to), 6).map((one) => ({ word: String(Number(one.toPrecision(6))), y: place(score, one) }));
	for (const { word, y } of words) label(ink, palette, fit(word, room / 2), knob ? x + 5 : x - 5, y);
}

/** On a ground of its own, so that lines below do not hide it. */
function label(ink: Ink, palette: Palette, text: string, x: number, y: number): void {
	const width = text.length * 6.2 + 4;
	ink.fillStyle = palette.background;
	ink.globalAlpha = 0.8;
	ink.fillRect(ink.textAlign === "right" ? x - width + 2 : x - 2, y - 7, width, 14);
	ink.globalAlpha = 1;
	ink.fillStyle = palette.text;
	ink.fillText(text, x, y);
}

/** Predicted against measured: on the line the model is right. */
export function paintFit(pairs: [number, number][], unit: string): Paint {
	const [least, most] = range(pairs.flat().map((score) => ({ score })));
	return (ink, box, palette) => {
		const y: Scale = { from: least, to: most, start: box.height - BOTTOM, end: TOP };
		const x: Scale = { from: least, to: most, start: LEFT, end: Math.min(box.width - RIGHT, LEFT + box.height * 1.4) };
		frame(ink, { ...box, width: x.end + RIGHT }, palette, y, `measured, ${unit}`, LINES);
		ink.strokeStyle = palette.quiet;
		ink.setLineDash([4, 4]);
		line(ink, [[place(x, least), place(y, least)], [place(x, most), place(y, most)]]);
		ink.setLineDash([]);
		ink.fillStyle = palette.quiet;
		ink.textBaseline = "top";
		ink.textAlign = "center";
		for (const one of ticks(least, most, 5)) ink.fillText(String(Number(one.toPrecision(6))), place(x, one), box.height - BOTTOM + 6);
		ink.textAlign = "left";
		ink.fillText(`predicted, ${unit}`, x.end + 8, box.height - BOTTOM + 6);
		ink.fillStyle = layerColour(palette, "posix");
		for (const [predicted, measured] of pairs) ink.fillRect(place(x, predicted) - 3, place(y, measured) - 3, 6, 6);
	};
}
