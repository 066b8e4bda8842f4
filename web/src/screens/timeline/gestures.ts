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
			const selected = hand.cursor && items.includes(hand.cursor) ? hand.cursor : null;
			if (event.key.startsWith("Arrow")) stand(selected ? neighbour(items, [...at.tops.keys()], selected, event.key) : (items[0] ?? null));
			else if (event.key === "Enter" && selected) go("call", { call: selected.call });
			else return moveView(event.key, setting, selected) || mark(event.key, setting, selected);
			return true;
		},
	};
}

function around([from, to]: [number, number], by: number, at: number): [number, number] {
	return [at - (at - from) * by, at + (to - at) * by];
}

/** w s a d as in other trace viewers; 0 is the whole run. */
function moveView(key: string, { run, view }: Setting, selected: Item | null): boolean {
	const width = view.time[1] - view.time[0];
	const inside = selected && selected.start >= view.time[0] && selected.start < view.time[1];
	const middle = inside ? selected.start : (view.time[0] + view.time[1]) / 2;
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
function mark(key: string, { hand, setHand }: Setting, selected: Item | null): boolean {
	if (key === "p" && selected) {
		const pinned = lanesOf(given("pin"), LANES);
		const next = pinned.includes(selected.lane) ? pinned.filter((one) => one !== selected.lane) : [...pinned, selected.lane];
		change({ pin: next.join(",") });
	} else if (key === "r") {
		const time = (hand.hover ?? selected)?.start;
		const done = hand.ruler.length === 2 || time === undefined;
		setHand({ ...hand, ruler: done ? [] : [...hand.ruler, time] });
	} else return false;
	return true;
}
