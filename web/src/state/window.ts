/** The times and lanes that are zoomed to, shared by the pictures over time. */
import type { Run } from "../source";
import { formatRange, parseRange } from "./page";
import { change, given } from "./state";

export interface View {
	/** ns, [from, to). */
	time: [number, number];
	/** Lanes, [first, after). */
	lanes: [number, number];
}

export function whole(run: Run): View {
	return { time: [0, Math.max(1, run.duration)], lanes: [0, Math.max(1, run.lanes)] };
}

/** "A-B" of lanes, both included; also one lane alone. */
export function parseLanes(text: string): [number, number] | null {
	const match = /^(\d+)(?:-(\d+))?$/.exec(text);
	if (!match) return null;
	const [first, last] = [Number(match[1]), Number(match[2] ?? match[1])];
	return first <= last ? [first, last + 1] : null;
}

export function formatLanes([first, after]: [number, number]): string {
	return after - first === 1 ? String(first) : `${first}-${after - 1}`;
}

/** What the page is zoomed to, never outside the run. */
export function currentView(run: Run): View {
	const all = whole(run);
	return within({ time: parseRange(given("w")) ?? all.time, lanes: parseLanes(given("wl")) ?? all.lanes }, all);
}

/** A view moved and cut until it lies in the run. */
export function within(view: View, all: View): View {
	const fit = ([from, to]: [number, number], [least, most]: [number, number], smallest: number): [number, number] => {
		const width = Math.min(most - least, Math.max(smallest, to - from));
		const start = Math.max(least, Math.min(from, most - width));
		return [Math.floor(start), Math.ceil(start + width)];
	};
	return { time: fit(view.time, all.time, 100), lanes: fit(view.lanes, all.lanes, 1) };
}

/** A view scaled around a point of it; below 1 is in. */
export function scaled(view: View, by: number, time: number, lane: number): View {
	const around = ([from, to]: [number, number], at: number): [number, number] => [at - (at - from) * by, at + (to - at) * by];
	return { time: around(view.time, time), lanes: around(view.lanes, lane) };
}

/** Zooms; what shows all of the run leaves the address. */
export function zoom(run: Run, wanted: View, replace = false): void {
	const all = whole(run);
	const view = within(wanted, all);
	const allTime = view.time[0] <= all.time[0] && view.time[1] >= all.time[1];
	const allLanes = view.lanes[0] <= all.lanes[0] && view.lanes[1] >= all.lanes[1];
	change({ w: allTime ? null : formatRange(...view.time), wl: allLanes ? null : formatLanes(view.lanes) }, replace);
}

/** The view that the selection's times and lanes make, to be drawn as a box; null when neither is given. */
export function selectedView(run: Run): View | null {
	const [time, lanes] = [parseRange(given("t")), parseLanes(given("lanes"))];
	const all = whole(run);
	return time || lanes ? { time: time ?? all.time, lanes: lanes ?? all.lanes } : null;
}
