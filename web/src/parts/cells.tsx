/** A picture of cells with a cursor: arrows walk, Enter or a drag selects. */
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { boxOf, cellUnder, frameOf, paintCells, type CellMap } from "../draw/cells";
import type { Table } from "../source";
import type { Paint } from "./export";
import { Figure, useWidth, type Brush } from "./figure";
import { say } from "./say";

type Place = readonly [number, number];

interface Props {
	title: string;
	name: string;
	map: CellMap;
	height: number;
	label: string;
	says?: string;
	/** First and last cell of what was chosen. */
	select: (from: Place, to: Place) => void;
	table?: () => Table;
	sql?: string;
	tools?: JSX.Element;
}

const STEP: Record<string, Place> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

/** Where a key leads; the first key leads to the cell with the most. */
export function walk(map: CellMap, key: string, from: Place | null): Place | null {
	const by = STEP[key];
	if (!by) return null;
	if (!from) {
		const most = map.cells.reduce<readonly [number, number, number]>((best, one) => (one[2] > best[2] ? one : best), [0, 0, -1]);
		return [most[0], most[1]];
	}
	const up = map.down ? -by[1] : by[1];
	const inside = (at: number, bins: number): number => Math.max(0, Math.min(bins - 1, at));
	return [inside(from[0] + by[0], map.x.bins), inside(from[1] + up, map.y.bins)];
}

export function Cells(props: Props): JSX.Element {
	const { map, height, select } = props;
	const [attach, width] = useWidth<HTMLDivElement>();
	const [place, setPlace] = useState<{ at: Place; to: Place } | null>(null);
	const frame = frameOf(map, { width, height });
	const values = useMemo(() => new Map(map.cells.map(([x, y, value]) => [x + y * map.x.bins, value])), [map]);
	const words = ([x, y]: Place): string => {
		const value = values.get(x + y * map.x.bins);
		return `${map.x.says(x)}, ${map.y.says(y)}: ${value === undefined ? "nothing" : `${map.says(value)} ${map.what}`}`;
	};
	const paint = useMemo(() => paintCells(map), [map]);
	const over = useMemo<Paint>(
		() => (ink, box, palette) => {
			if (!place) return;
			ink.strokeStyle = palette.select;
			ink.lineWidth = 2;
			const [x, y, w, h] = boxOf(map, frameOf(map, box), place.at, place.to);
			ink.strokeRect(x - 1, y - 1, Math.max(4, w + 2), Math.max(4, h + 2));
		},
		[map, place],
	);
	const onBrush = ({ from, to }: Brush, ended: boolean): void => {
		const [a, b] = [from, to].map((one) => cellUnder(map, frame, clamp(one.x, frame.left, frame.right), clamp(one.y, frame.top, frame.bottom)));
		if (!a || !b) return;
		setPlace({ at: a, to: b });
		if (ended) select(a, b);
	};
	const onKey = (event: KeyboardEvent): boolean => {
		if (event.key === "Enter" && place) return (select(place.at, place.to), true);
		const next = walk(map, event.key, place?.to ?? null);
		if (!next) return false;
		setPlace({ at: event.shiftKey && place ? place.at : next, to: next });
		say(words(next));
		return true;
	};
	const onHover = (point: { x: number; y: number } | null): void => {
		const at = point && cellUnder(map, frame, point.x, point.y);
		setPlace(at ? { at, to: at } : null);
	};
	return (
		<div ref={attach}>
			<Figure {...props} paint={paint} over={over} onBrush={onBrush} onHover={onHover} onKey={onKey}>
				<p class="readout quiet">{place ? words(place.to) : "Point at a cell, or focus the picture and use the arrow keys. Drag, or Enter: select in all screens."}</p>
				{(map.lines ?? []).map((one) => (
					<p key={one.label} class="quiet">{`dashed: ${one.label}`}</p>
				))}
			</Figure>
		</div>
	);
}

function clamp(at: number, least: number, most: number): number {
	return Math.max(least, Math.min(most - 0.01, at));
}
