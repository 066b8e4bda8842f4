/** Small charts on one axis: a drag or Enter selects a part of it, a click takes a track. */
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { paintTracks, TRACK, tracksHeight, tracksLeft, trackUnder, type Tracks } from "../draw/tracks";
import type { Table } from "../source";
import { formatRange } from "../state/page";
import { change } from "../state/state";
import type { Paint } from "./export";
import { Figure, useWidth, type Brush } from "./figure";
import { say } from "./say";

interface Props {
	title: string;
	name: string;
	tracks: Tracks;
	label: string;
	says?: string;
	take?: (row: number) => void;
	/** What is selected, from one value of the axis to another: a time when nothing is said, nothing when null. */
	select?: ((from: number, to: number) => void) | null;
	table?: () => Table;
	sql?: string;
	tools?: JSX.Element;
}

interface Place {
	row: number;
	from: number;
	to: number;
}

const STEP: Record<string, [number, number]> = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

function selectTime(from: number, to: number): void {
	change({ t: formatRange(from, to) });
}

export function TrackFigure(props: Props): JSX.Element {
	const { tracks, take, select: chosen = selectTime } = props;
	const [attach, width] = useWidth<HTMLDivElement>();
	const [place, setPlace] = useState<Place | null>(null);
	const box = { width, height: tracksHeight(tracks) };
	const paint = useMemo(() => paintTracks(tracks), [tracks]);
	const over = useMemo(() => paintPlace(tracks, place), [tracks, place]);
	const select = (one: Place): void => {
		const ends = [one.from, one.to].sort((a, b) => a - b) as [number, number];
		chosen?.(tracks.axis.value(ends[0]), tracks.axis.value(ends[1] + 1));
	};
	const onBrush = ({ from, to }: Brush, ended: boolean): void => {
		const [a, b] = [trackUnder(tracks, box, from.x, from.y), trackUnder(tracks, box, to.x, from.y)];
		if (!a || !b) return;
		const brushed = { row: a[0], from: a[1], to: b[1] };
		setPlace(brushed);
		if (ended) select(brushed);
	};
	const onKey = (event: KeyboardEvent): boolean => {
		if (event.key === "Enter" && place) return (select(place), true);
		const by = STEP[event.key];
		if (!by) return false;
		const next = walked(tracks, place, by, event.shiftKey);
		setPlace(next);
		say(words(tracks, next));
		return true;
	};
	const pointed = (point: { x: number; y: number } | null): Place | null => {
		const at = point && trackUnder(tracks, box, point.x, point.y);
		return at ? { row: at[0], from: at[1], to: at[1] } : null;
	};
	return (
		<div ref={attach}>
			<Figure
				{...props}
				height={box.height}
				paint={paint}
				over={over}
				onBrush={onBrush}
				onKey={onKey}
				onHover={(point) => setPlace(pointed(point))}
				{...(take ? { onPress: (point: { x: number; y: number }) => point.x < tracksLeft(box) && take(pointed(point)?.row ?? -1) } : {})}
			>
				<p class="readout quiet">{place ? words(tracks, place) : hint(chosen !== null, take !== undefined)}</p>
			</Figure>
		</div>
	);
}

function hint(selects: boolean, takes: boolean): string {
	if (!selects) return "Point at a bin, or focus the picture and use the arrow keys.";
	return `Drag, or arrow keys and Enter: select a time in all screens.${takes ? " Click a name: select it." : ""}`;
}

function walked({ axis, tracks }: Tracks, from: Place | null, [down, along]: [number, number], extend: boolean): Place {
	if (!from) return { row: 0, from: 0, to: 0 };
	const row = Math.max(0, Math.min(tracks.length - 1, from.row + down));
	const to = Math.max(0, Math.min(axis.bins - 1, from.to + along));
	return { row, to, from: extend ? from.from : to };
}

function words({ axis, tracks }: Tracks, { row, to }: Place): string {
	const track = tracks[row];
	const [least, most] = [track?.least[to] ?? null, track?.most[to] ?? null];
	if (!track || most === null) return `${track?.name ?? ""}, ${axis.says(to)}: nothing`;
	const value = least === null || least === most ? track.says(most) : `${track.says(least)} to ${track.says(most)}`;
	return `${track.name}, ${axis.says(to)}: ${value}`;
}

function paintPlace(tracks: Tracks, place: Place | null): Paint {
	return (ink, box, palette) => {
		if (!place) return;
		const left = tracksLeft(box);
		const step = (box.width - left) / tracks.axis.bins;
		const [from, to] = [Math.min(place.from, place.to), Math.max(place.from, place.to) + 1];
		ink.strokeStyle = palette.select;
		ink.lineWidth = 1;
		ink.strokeRect(left + from * step, 0.5, Math.max(1, (to - from) * step), tracks.tracks.length * TRACK);
		ink.lineWidth = 2;
		ink.strokeRect(left + from * step - 1, place.row * TRACK + 1, Math.max(3, (to - from) * step + 2), TRACK - 2);
	};
}
