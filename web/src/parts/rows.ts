/** A picture of rows: a pointer or the arrow keys stand on one, a click or Enter takes it. */
import { useMemo, useState } from "preact/hooks";
import type { Paint } from "./export";
import type { Gestures } from "./figure";
import { say } from "./say";

interface Rows {
	count: number;
	/** Pixels above the first row, and of each. */
	top: number;
	height: number;
	/** A row in words. */
	describe: (row: number) => string;
	take: (row: number) => void;
}

interface Walked {
	row: number | null;
	over: Paint;
	gestures: Gestures;
}

/** The row that a key leads to from another; null: the key is none of ours. */
export function stepTo(key: string, from: number | null, count: number): number | null {
	const last = count - 1;
	const at = from ?? -1;
	const next = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + 10, PageUp: at - 10, Home: 0, End: last }[key];
	return next === undefined || count === 0 ? null : Math.max(0, Math.min(last, next));
}

/** Gestures of such a picture, and what marks the row that it stands on. */
export function useRows({ count, top, height, describe, take }: Rows): Walked {
	const [row, setRow] = useState<number | null>(null);
	const current = row !== null && row < count ? row : null;
	const over = useMemo<Paint>(
		() => (ink, box, palette) => {
			if (current === null) return;
			ink.strokeStyle = palette.select;
			ink.lineWidth = 2;
			ink.strokeRect(1, top + current * height + 1, box.width - 2, height - 2);
		},
		[current, top, height],
	);
	const at = (y: number): number | null => {
		const index = Math.floor((y - top) / height);
		return index >= 0 && index < count ? index : null;
	};
	const onKey = (event: KeyboardEvent): boolean => {
		if (event.key === "Enter" && current !== null) return (take(current), true);
		const next = stepTo(event.key, current, count);
		if (next === null) return false;
		setRow(next);
		say(describe(next));
		return true;
	};
	const gestures: Gestures = {
		onHover: (point) => setRow(point ? at(point.y) : null),
		onPress: (point) => {
			const pressed = at(point.y);
			if (pressed !== null) take(pressed);
		},
		onKey,
	};
	return { row: current, over, gestures };
}
