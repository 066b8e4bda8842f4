/** Hand and keys on the timeline. */
import { useRef } from "preact/hooks";
import { value } from "../../draw/scale";
import type { Gestures, Point } from "../../parts/figure";
import { say } from "../../parts/say";
import type { Run } from "../../source";
import { formatRange } from "../../state/page";
import { change, given, go } from "../../state/state";
import { zoom, type View } from "../../state/window";
import { itemUnder, laneAt, type Layout } from "./paint";
import { lanesOf, LANES, neighbour, type Item } from "./query";
import { itemInWords } from "./words";

export interface Hand {
	/** The item that was clicked or walked to; another view of its call has another. */
	cursor: Item | null;
	hover: { item: Item; at: Point } | null;
	brush: [number, number] | null;
	/** One time: the ruler is being drawn; two: it stays. */
	ruler: number[];
}

export interface Setting {
	run: Run;
	view: View;
	items: Item[];
	at: Layout;
	lane: (lane: number) => string;
	/** The item of the call in focus. */
	cursor: Item | null;
	hand: Hand;
	setHand: (hand: Hand) => void;
}

type Times = [number, number];

export function useTimelineGestures(setting: Setting): Gestures {
	const { run, view, items, at, cursor, hand, setHand } = setting;
	const grip = useRef<Times | null>(null); // the times on screen when a drag began
	const hover = (point: Point | null): Hand["hover"] => {
		const item = point && itemUnder(at, items, point.x, point.y);
		return item && point ? { item, at: point } : null;
	};
	return {
		onHover: (point) => setHand({ ...hand, hover: hover(point) }),
		onPress: ({ x, y }) => {
			const name = laneAt(at, x, y);
			if (name !== null) pin(name);
			else stand(setting, itemUnder(at, items, x, y));
		},
		onBrush: ({ from, to, shift }, ended) => {
			grip.current ??= view.time;
			if (shift) select(setting, [from.x, to.x], ended);
			else zoom(run, { ...view, time: moved(grip.current, (from.x - to.x) / (at.x.end - at.x.start)) }, true);
			if (ended) grip.current = null;
		},
		onDouble: ({ x, y }) => {
			const item = itemUnder(at, items, x, y);
			if (item) zoomTo(setting, item);
			else zoom(run, { ...view, time: around(view.time, 4, value(at.x, x)) });
		},
		onWheel: ({ x }, event) => {
			const across = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
			const turned = (event.deltaY || event.deltaX) * (event.deltaMode === 1 ? LINE : 1);
			const next = across ? moved(view.time, turned / (at.x.end - at.x.start)) : around(view.time, Math.exp(turned * PER_PIXEL), value(at.x, Math.max(at.x.start, x)));
			zoom(run, { ...view, time: next }, true);
		},
		onKey: (event) => {
			if (event.key.startsWith("Arrow")) {
				const next = cursor ? neighbour(items, [...at.tops.keys()], cursor, event.key) : (items[0] ?? null);
				if (next) stand(setting, next);
				else say("no further call this way");
			} else if (event.key === "Enter" && cursor) go("call", { call: cursor.call });
			else if (event.key === "Escape") stand(setting, null);
			else return false;
			return true;
		},
	};
}

const PER_PIXEL = 0.0018; // of a wheel: a notch of 100 pixels shows 5/6 of the time, or 6/5
const LINE = 16; // pixels that a wheel means by a line

/** Makes an item's call the one in focus, or none. */
export function stand({ hand, setHand, lane }: Setting, item: Item | null): void {
	setHand({ ...hand, cursor: item, hover: null });
	change({ call: item?.call ?? null }, true);
	if (item) say(itemInWords(item, lane));
}

/** Times that are filtered in all screens, once the drag has ended. */
function select({ at, hand, setHand }: Setting, ends: [number, number], ended: boolean): void {
	const times = ends.map((x) => Math.max(0, value(at.x, x))).sort((a, b) => a - b) as Times;
	setHand({ ...hand, hover: null, brush: ended ? null : times });
	if (ended) change({ t: formatRange(...times) });
}

function around([from, to]: Times, by: number, at: number): Times {
	return [at - (at - from) * by, at + (to - at) * by];
}

/** Later by a part of what is on screen. */
function moved([from, to]: Times, part: number): Times {
	return [from + (to - from) * part, to + (to - from) * part];
}

export function zoomTo({ run, view }: Pick<Setting, "run" | "view">, { start, end }: Item): void {
	zoom(run, { ...view, time: [start - (end - start) / 4, end + (end - start) / 4] });
}

function pin(lane: number): void {
	const pinned = lanesOf(given("pin"), LANES);
	change({ pin: (pinned.includes(lane) ? pinned.filter((one) => one !== lane) : [...pinned, lane]).join(",") });
}

/** Keys of the whole screen, as in other trace viewers: the picture need not have the focus. */
export function timelineKeys(latest: () => Setting): { key: string; says: string; run: () => void }[] {
	const show = (times: (setting: Setting) => Times): (() => void) => {
		return () => {
			const setting = latest();
			zoom(setting.run, { ...setting.view, time: times(setting) }, true);
		};
	};
	const zoomed = (by: number) => show(({ view, cursor }) => around(view.time, by, middle(view.time, cursor)));
	return [
		{ key: "w", says: "zoom in", run: zoomed(0.5) },
		{ key: "s", says: "zoom out", run: zoomed(2) },
		{ key: "a", says: "earlier", run: show(({ view }) => moved(view.time, -0.25)) },
		{ key: "d", says: "later", run: show(({ view }) => moved(view.time, 0.25)) },
		{ key: "f", says: "zoom to the selected call", run: () => onCursor(latest(), zoomTo) },
		{ key: "p", says: "pin the row of the selected call", run: () => onCursor(latest(), (_, item) => pin(item.lane)) },
		{ key: "r", says: "begin or end the ruler", run: () => measure(latest()) },
		{ key: "/", says: "search", run: () => document.getElementById("find")?.focus() },
	];
}

function middle([from, to]: Times, cursor: Item | null): number {
	return cursor && cursor.start >= from && cursor.start < to ? cursor.start : (from + to) / 2;
}

function onCursor(setting: Setting, what: (setting: Setting, item: Item) => void): void {
	if (setting.cursor) what(setting, setting.cursor);
	else say("no call is selected");
}

function measure({ cursor, hand, setHand }: Setting): void {
	const time = (hand.hover?.item ?? cursor)?.start;
	const done = hand.ruler.length === 2 || time === undefined;
	setHand({ ...hand, ruler: done ? [] : [...hand.ruler, time] });
}
