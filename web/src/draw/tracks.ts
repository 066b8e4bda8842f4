/** Small charts under each other on one axis of time. */
import type { Axis } from "./axis";
import { fit, SMALL, type Box, type Ink } from "./ink";
import type { Palette } from "./theme";

export interface Track {
	name: string;
	/** Least and most of each bin; null where nothing is known. */
	least: (number | null)[];
	most: (number | null)[];
	says: (value: number) => string;
	colour: (palette: Palette) => string;
	/** End of its scale; without it, its own greatest value. */
	top?: number;
}

export interface Tracks {
	axis: Axis;
	tracks: Track[];
}

export const TRACK = 44;
const AXIS = 24;

export function tracksHeight({ tracks }: Tracks): number {
	return tracks.length * TRACK + AXIS;
}

export function tracksLeft(box: Box): number {
	return Math.min(220, box.width * 0.34);
}

export function peak(track: Track): number {
	return track.most.reduce<number>((far, one) => Math.max(far, one ?? 0), 0);
}

/** Track and bin under a point; null outside. */
export function trackUnder({ axis, tracks }: Tracks, box: Box, x: number, y: number): [number, number] | null {
	const [left, row] = [tracksLeft(box), Math.floor(y / TRACK)];
	if (row < 0 || row >= tracks.length) return null;
	return [row, Math.max(0, Math.min(axis.bins - 1, Math.floor(((x - left) / (box.width - left)) * axis.bins)))];
}

/** Each on a scale from 0, full up to the least of a bin and thinner up to the most. */
export function paintTracks(all: Tracks): (ink: Ink, box: Box, palette: Palette) => void {
	return (ink, box, palette) => {
		const left = tracksLeft(box);
		all.tracks.forEach((track, row) => one(ink, palette, track, { left, width: box.width - left, top: row * TRACK }, all.axis.bins));
		ink.font = SMALL;
		ink.fillStyle = palette.quiet;
		ink.textBaseline = "top";
		for (const tick of all.axis.ticks(Math.floor((box.width - left) / 80))) {
			const x = left + ((box.width - left) * tick.at) / all.axis.bins;
			ink.textAlign = x > box.width - 24 ? "right" : "left";
			ink.fillText(tick.label, x, all.tracks.length * TRACK + 6);
		}
	};
}

function one(ink: Ink, palette: Palette, track: Track, at: { left: number; width: number; top: number }, bins: number): void {
	const high = track.top ?? peak(track);
	const [floor, room, step] = [at.top + TRACK - 5, TRACK - 10, at.width / bins];
	ink.font = SMALL;
	ink.textAlign = "left";
	ink.textBaseline = "middle";
	ink.fillStyle = palette.text;
	ink.fillText(fit(track.name, at.left - 8), 2, at.top + 14);
	ink.fillStyle = palette.quiet;
	ink.fillText(fit(`at most ${track.says(peak(track))}`, at.left - 8), 2, at.top + 30);
	ink.strokeStyle = palette.line;
	ink.lineWidth = 1;
	ink.beginPath();
	ink.moveTo(at.left, floor + 0.5);
	ink.lineTo(at.left + at.width, floor + 0.5);
	ink.stroke();
	ink.fillStyle = track.colour(palette);
	track.most.forEach((most, bin) => {
		if (most === null || high <= 0 || most <= 0) return;
		const tall = Math.max(1, (Math.min(most, high) / high) * room);
		const full = (Math.min(track.least[bin] ?? most, high) / high) * room;
		const x = Math.round(at.left + bin * step); // whole pixels: no seams between bins
		const width = Math.max(1, Math.round(at.left + (bin + 1) * step) - x);
		ink.fillRect(x, floor - full, width, full);
		if (tall > full) ink.fillRect(x + width / 4, floor - tall, Math.max(width / 2, 0.7), tall - full);
	});
}
