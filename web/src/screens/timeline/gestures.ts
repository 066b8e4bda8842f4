/** Hand and keys on the timeline. */
import { value } from "../../draw/scale";
import type { Gestures } from "../../parts/figure";
import { say } from "../../parts/say";
import type { Run } from "../../source";
import { formatRange } from "../../state/page";
import { change, given, go } from "../../state/state";
import { zoom, type View } from "../../state/window";
import { itemUnder, type Layout } from "./paint";
import { lanesOf, LANES, neighbour, type Item } from "./query";
import { itemInWords } from "./screen";

export interface Hand {
	cursor: Item | null;
	hover: Item | null;
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
	hand: Hand;
	setHand: (hand: Hand) => void;
}

export function useTimelineGestures(setting: Setting): Gestures {
	const { run, view, items, at, hand, setHand } = setting;
	const stand = (item: Item | null): void => {
		if (!item) return say("no further call this way");
		setHand({ ...hand, cursor: item, hover: null });
		say(itemInWords(item, setting.lane));
	};
	return {
		onHover: (point) => setHand({ ...hand, hover: point && itemUnder(at, items, point.x, point.y) }),
		onPress: ({ x, y }) => {
			const item = itemUnder(at, items, x, y);
			if (item && item === hand.cursor) go("call", { call: item.call });
			else if (item) stand(item);
		},
		onBrush: ({ from, to, shift }, ended) => {
			const times = [value(at.x, from.x), value(at.x, to.x)].map((one) => Math.max(0, one)).sort((a, b) => a - b) as [number, number];
			setHand({ ...hand, hover: null, brush: ended ? null : times });
			if (ended && shift) zoom(run, { ...view, time: times });
			else if (ended) change({ t: formatRange(...times) });
		},
		onDouble: ({ x }) => zoom(run, { ...view, time: around(view.time, 4, value(at.x, x)) }),
		onKey: (event) => {
			const here = hand.cursor && items.includes(hand.cursor) ? hand.cursor : null;
			if (event.key.startsWith("Arrow")) stand(here ? neighbour(items, [...at.tops.keys()], here, event.key) : (items[0] ?? null));
			else if (event.key === "Enter" && here) go("call", { call: here.call });
			else return moveView(event.key, setting, here) || mark(event.key, setting, here);
			return true;
		},
	};
}

function around([from, to]: [number, number], by: number, at: number): [number, number] {
	return [at - (at - from) * by, at + (to - at) * by];
}

/** w s a d as in other trace viewers; 0 is the whole run. */
function moveView(key: string, { run, view }: Setting, here: Item | null): boolean {
	const width = view.time[1] - view.time[0];
	const inside = here && here.start >= view.time[0] && here.start < view.time[1];
	const middle = inside ? here.start : (view.time[0] + view.time[1]) / 2;
	const moved: Record<string, [number, number]> = {
		w: around(view.time, 0.5, middle),
		s: around(view.time, 2, middle),
		a: [view.time[0] - width / 4, view.time[1] - width / 4],
		d: [view.time[0] + width / 4, view.time[1] + width / 4],
		0: [0, run.duration],
	};
	const next = moved[key];
	if (!next) return false;
	zoom(run, { ...view, time: next }, true);
	return true;
}

/** p pins the cursor's lane, r begins and ends the ruler. */
function mark(key: string, { hand, setHand }: Setting, here: Item | null): boolean {
	if (key === "p" && here) {
		const pinned = lanesOf(given("pin"), LANES);
		const next = pinned.includes(here.lane) ? pinned.filter((one) => one !== here.lane) : [...pinned, here.lane];
		change({ pin: next.join(",") });
	} else if (key === "r") {
		const time = (hand.hover ?? here)?.start;
		const done = hand.ruler.length === 2 || time === undefined;
		setHand({ ...hand, ruler: done ? [] : [...hand.ruler, time] });
	} else return false;
	return true;
}
