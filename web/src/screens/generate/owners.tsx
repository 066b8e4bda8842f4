/** The picture of who owns what. */
import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { Choose } from "../../parts/choose";
import { Figure, type Point } from "../../parts/figure";
import { say } from "../../parts/say";
import type { Table } from "../../source";
import { ranks } from "./draft";
import { areas, firstView, LEFT, paintOwners, scaleOf, sizeOf, TOP, type View } from "./paint";
import type { Hints, Owned } from "./query";

const HEIGHT = 200;
const FLAT = 110;
const MOST_RANKS = 4096;

export function Owners({ hints }: { hints: Hints }): JSX.Element {
	const label = (one: Owned): string => `${one.point}: ${one.variable}`;
	const labels = hints.owners.map(label);
	const [chosen, choose] = useState("");
	const shown = hints.owners.find((one) => label(one) === chosen) ?? hints.owners[0];
	if (!shown) return <p class="notice">Once a variable and an access are described, the picture shows which rank moves which part.</p>;
	return (
		<>
			<div class="bar">
				<Choose label="show" options={labels} chosen={label(shown)} choose={choose} />
				<label class="choose">
					with{" "}
					<input class="count" type="number" min={1} max={MOST_RANKS} value={hints.processes} onChange={(event) => (ranks.value = Math.min(MOST_RANKS, Math.max(0, Math.floor(Number(event.currentTarget.value)))))} /> ranks
				</label>
			</div>
			<Picture key={`${label(shown)} ${shown.dimensions.length}`} owned={shown} />
		</>
	);
}

function Picture({ owned }: { owned: Owned }): JSX.Element {
	const usual = firstView(owned);
	const [own, setOwn] = useState<Partial<View>>({});
	const view: View = { ...usual, ...own };
	const [rank, setRank] = useState<number | null>(null);
	const key = JSON.stringify([owned, view]);
	const paint = useMemo(() => paintOwners(owned, view, rank), [key, rank]);
	const box = useRef({ width: 1, height: 1 }); // what was painted last
	const measured = useMemo<typeof paint>(
		() => (ink, size, palette) => {
			box.current = size;
			paint(ink, size, palette);
		},
		[paint],
	);
	const last = Math.max(0, ...owned.boxes.map((one) => one[0] ?? 0));
	const stand = (next: number | null): void => {
		setRank(next);
		if (next !== null) say(describe(owned, next));
	};
	const onKey = (event: KeyboardEvent): boolean => {
		const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
		if (event.key === "Escape" && rank !== null) return (stand(null), true);
		if (by === undefined) return false;
		stand(rank === null ? 0 : Math.min(last, Math.max(0, rank + by)));
		return true;
	};
	const names = owned.dimensions.map((one) => one.name);
	return (
		<Figure
			title={`Who owns what of ${owned.variable}`}
			name={`owners-${owned.variable}`}
			says={`${owned.dimensions.map((one) => `${one.name} ${one.length.toLocaleString("en-US")}`).join(" × ")}${owned.all > owned.boxes.length ? `; the first ${owned.boxes.length} of ${owned.all} boxes` : ""}`}
			label={`${owned.boxes.slice(0, 8).map((one) => describe(owned, one[0] ?? 0)).join("; ")}. Arrow keys go from rank to rank.`}
			height={view.down === null ? FLAT : HEIGHT}
			paint={measured}
			onHover={(point) => setRank(point ? at(owned, view, box.current, point) : null)}
			onPress={(point) => stand(at(owned, view, box.current, point))}
			onKey={onKey}
			table={() => tableOf(owned)}
			what="boxes"
			tools={view.down !== null && <Axes names={names} view={view} set={setOwn} owned={owned} />}
		>
			<p class="readout quiet">{rank === null ? "Point at a rank, or use the arrow keys." : describe(owned, rank)}</p>
		</Figure>
	);
}

interface AxesProps {
	names: string[];
	view: View;
	owned: Owned;
	set: (own: Partial<View>) => void;
}

/** Which dimensions are drawn, and where the others are looked at. */
function Axes({ names, view, owned, set }: AxesProps): JSX.Element {
	if (names.length < 3) return <></>;
	const number = (name: string): number => names.indexOf(name);
	const others = names.filter((_, d) => d !== view.down && d !== view.across);
	const usable = (not: number | null): string[] => names.filter((_, d) => d !== not);
	return (
		<>
			<Choose label="down" options={usable(view.across)} chosen={names[view.down ?? 0] ?? ""} choose={(one) => set({ ...view, down: number(one) })} />
			<Choose label="across" options={usable(view.down)} chosen={names[view.across] ?? ""} choose={(one) => set({ ...view, across: number(one) })} />
			{others.map((one) => (
				<label key={one} class="choose">
					at {one} {view.at[number(one)]}{" "}
					<input
						type="range"
						min={0}
						max={Math.max(0, (owned.dimensions[number(one)]?.length ?? 1) - 1)}
						value={view.at[number(one)] ?? 0}
						onInput={(event) => set({ ...view, at: view.at.map((was, d) => (d === number(one) ? Number(event.currentTarget.value) : was)) })}
					/>
				</label>
			))}
		</>
	);
}

function at(owned: Owned, view: View, box: { width: number; height: number }, { x, y }: Point): number | null {
	const scale = scaleOf(owned, view, box);
	const [columns, rows] = sizeOf(owned, view);
	const column = ((x - LEFT) / (scale.x(columns) - LEFT)) * columns;
	const row = ((y - TOP) / (scale.y(rows) - TOP)) * rows;
	return areas(owned, view).find((one) => one.x <= column && column < one.x + one.width && one.y <= row && row < one.y + one.height)?.rank ?? null;
}

/** All of a rank's boxes in words. */
export function describe({ variable, dimensions, boxes }: Owned, rank: number): string {
	const mine = boxes.filter((one) => one[0] === rank);
	const part = (box: number[]): string =>
		dimensions.map((one, d) => `${one.name} ${box[1 + d] ?? 0} to ${(box[1 + d] ?? 0) + (box[1 + dimensions.length + d] ?? 0) - 1}`).join(", ");
	return `rank ${rank}: ${variable}[${mine.slice(0, 4).map(part).join("] and [")}]${mine.length > 4 ? ` and ${mine.length - 4} more` : ""}`;
}

function tableOf({ dimensions, boxes, all }: Owned): Table {
	const columns = ["rank", ...dimensions.map((one) => `start ${one.name}`), ...dimensions.map((one) => `count ${one.name}`)];
	return { columns: columns.map((name) => ({ name, unit: "count" as const })), rows: boxes, total: all, sql: "", note: null };
}
