import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { time } from "../../draw/units";
import { Figure, useWidth } from "../../parts/figure";
import { Longest } from "../../parts/longest";
import { Empty, Shown } from "../../parts/notice";
import type { Paint } from "../../parts/export";
import { column, type CallAnswer, type Levels, type Run, type Strips, type Table } from "../../source";
import { useAnswer } from "../../state/answers";
import { laneWord, lanesWord, useLaneNames } from "../../state/lanes";
import { formatRange, parseRange } from "../../state/page";
import { currentRun } from "../../state/runs";
import { change, given, go, scope } from "../../state/state";
import { currentView, type View } from "../../state/window";
import { outliers } from "../heat/query";
import { useTimelineGestures, type Hand } from "./gestures";
import { arrow, layout, paintTimeline, ring, ruler, type Layout, type Placed } from "./paint";
import { itemsOf, laneCount, LANES, lanesAsked, lanesOf, phasesOf, shownLanes, WIDTH, type Item, type Phase } from "./query";

export function Timeline(): JSX.Element | null {
	const run = currentRun.value;
	return run && <Lanes run={run} />;
}

/** What is asked for a view: filters as selected, times and lanes as on screen. */
function request(run: Run, view: View, lanes: number[]): Record<string, string | number | null> {
	const whole = view.time[0] <= 0 && view.time[1] >= run.duration;
	return { ...scope.value, t: whole ? null : formatRange(...view.time), lanes: lanesAsked(run, lanes), width: WIDTH };
}

/** Those that are selected and of which calls were recorded one by one: each has its longest. */
function layersOf(run: Run, known: Levels | null): string[] {
	const wanted = given("layers").split(",").filter(Boolean);
	const recorded = new Set(known?.outliers.map((one) => one.layer));
	return run.layers.filter((one) => (wanted.length === 0 || wanted.includes(one)) && (recorded.size === 0 || recorded.has(one)));
}

function Lanes({ run }: { run: Run }): JSX.Element {
	const view = currentView(run);
	const from = Number(given("from")) || 0;
	const lanes = shownLanes(run, given("pin"), given("lanes"), view, from);
	const answer = useAnswer<Strips>("strips", request(run, view, lanes));
	const levels = useAnswer<Levels>("levels", { run: run.name });
	const critical = useAnswer<Table>("critical", { run: run.name });
	if (answer.error) return <Shown answer={answer}>{() => null}</Shown>;
	const key = JSON.stringify([lanes, view.time, given("layers")]);
	return <Drawing run={run} view={view} lanes={lanes} strips={answer.value} known={levels.value} critical={critical.value} loading={answer.loading} shape={key} />;
}

interface Props {
	run: Run;
	view: View;
	lanes: number[];
	strips: Strips | null;
	known: Levels | null;
	critical: Table | null;
	loading: boolean;
	/** Changes when lanes, times or layers do. */
	shape: string;
}

/** Items, with the times that they cover: those of the last answer until the next is there. */
function useItems({ strips, view, loading }: Props): { items: Item[]; covered: [number, number] } {
	const last = useRef<{ strips: Strips | null; items: Item[]; covered: [number, number] }>({ strips: null, items: [], covered: [0, 0] });
	if (!loading && strips && strips !== last.current.strips) last.current = { strips, items: itemsOf(strips, view.time), covered: view.time };
	return last.current;
}

function Drawing(props: Props): JSX.Element {
	const { run, view, lanes, strips, known, shape } = props;
	const [attach, width] = useWidth<HTMLDivElement>();
	const lane = useLaneNames(run);
	const { items, covered } = useItems(props);
	const layers = useMemo(() => layersOf(run, known), [run, shape, known]);
	const at = useMemo(() => layout(lanes, layers, view.time, width), [shape, width, layers]);
	const marks = useMemo(() => (known ? layers.flatMap((layer) => outliers(known.outliers, [], layer, { time: view.time, lanes: [0, run.lanes] }).map((one) => ({ ...one, layer }))) : []), [known, shape, layers]);
	const pinned = lanesOf(given("pin"), LANES);
	const critical = useMemo(() => phasesOf(props.critical), [props.critical]);
	const paint = useMemo(() => paintTimeline(at, { items, covered, marks, critical, lane, pinned }), [at, items, marks, critical, lane, given("pin")]);
	const [hand, setHand] = useState<Hand>({ cursor: null, hover: null, brush: null, ruler: [] });
	const gestures = useTimelineGestures({ run, view, items, at, lane, hand, setHand });
	const chain = useChain(run);
	const over = useMemo<Paint>(() => above(at, hand, chain, parseRange(given("t"))), [at, hand, chain, given("t")]);
	const pointed = hand.hover ?? hand.cursor;
	return (
		<div ref={attach}>
			<Figure
				title={`Calls of each ${laneWord.value} over time`}
				name="timeline"
				says={says(strips, lanes.length, laneCount(run, given("lanes"), view))}
				label={`Timeline of ${lanes.length} ${lanesWord(lanes.length)}, ${layers.length} layers each. w and s zoom, a and d move, arrow keys walk from call to call, Enter opens.`}
				height={at.height}
				paint={paint}
				over={over}
				{...tableOf(strips)}
				tools={<Paging run={run} view={view} />}
				{...gestures}
			>
				<p class="readout quiet">{pointed ? itemInWords(pointed, lane) : "w s zoom, a d move, arrows walk, Enter opens, p pins the row, r measures."}</p>
			</Figure>
			{critical.length > 0 && <p class="quiet">Critical: {phasesInWords(critical, lane)}.</p>}
			{strips && !props.loading && items.length === 0 && <Empty note={strips.spans?.note ?? strips.bins?.note ?? null} what="calls at these times" />}
			<Longest marks={[...marks].sort((a, b) => b.duration - a.duration)} lane={lane} />
		</div>
	);
}

function tableOf(strips: Strips | null): { table?: () => NonNullable<Strips["spans"]>; sql?: string; what?: string; onOpenRow?: (row: (string | number | boolean | null)[]) => void } {
	const table = strips?.spans ?? strips?.bins;
	if (!table) return {};
	return { table: () => table, sql: table.sql, what: strips?.spans ? "calls" : "bins", onOpenRow: (row) => go("call", { call: String(row[column(table, "call")]) }) };
}

function says(strips: Strips | null, shown: number, all: number): string {
	if (!strips) return "";
	const what = strips.spans ? `${strips.spans.rows.length.toLocaleString("en-US")} calls one by one` : `${WIDTH} bins, each with its longest call; zoom in for calls`;
	return `${shown} of ${all.toLocaleString("en-US")} ${lanesWord(all)}; ${what}`;
}

export function itemInWords(item: Item, lane: (lane: number) => string): string {
	const busy = item.busy < 1 ? `, ${Math.round(item.busy * 100)} % busy, longest` : ":";
	return `${lane(item.lane)}, ${item.layer} ${item.op}${busy} ${time(item.longest)}, at ${time(item.start)}`;
}

const PHASES = 8; // in words; the picture has all

function phasesInWords(phases: Phase[], lane: (lane: number) => string): string {
	const words = phases.slice(0, PHASES).map((phase) => phaseInWords(phase, lane));
	return [...words, ...(phases.length > PHASES ? [`${phases.length - PHASES} more phases`] : [])].join("; ");
}

export function phaseInWords({ lane: which, start, end, share }: Phase, lane: (lane: number) => string): string {
	const part = share === null ? "" : `, ${Math.round(share * 100)} % of it in I/O`;
	return `${lane(which)} from ${time(start)} to ${time(end)}${part}`;
}

/** The call in focus and what it is linked with: the only arrows there are. */
function useChain(run: Run): [Placed, Placed][] {
	const call = given("call");
	const answer = useAnswer<CallAnswer>("call", call ? { run: run.name, call } : null);
	return useMemo(() => {
		if (!answer.value || !call) return [];
		const focused = placed(answer.value.call);
		const linked = answer.value.links.flatMap(({ call: other, direction }): [Placed, Placed][] => {
			if (typeof other !== "object") return [];
			return [direction === "to" ? [focused, placed(other)] : [placed(other), focused]];
		});
		const stack = [...answer.value.ancestors.map(placed), focused];
		return [...stack.slice(1).map((one, above): [Placed, Placed] => [stack[above] ?? one, one]), ...linked];
	}, [answer.value, call]);
}

function placed(call: Record<string, unknown>): Placed {
	const start = Number(call["start"]);
	return { lane: Number(call["lane"]), layer: String(call["layer"]), start, end: start + Number(call["duration"]) };
}

function above(at: Layout, hand: Hand, chain: [Placed, Placed][], selected: [number, number] | null): Paint {
	return (ink, box, palette) => {
		for (const [from, to] of chain) arrow(ink, at, from, to, palette.text);
		const [a, b] = [hand.ruler[0], hand.ruler[1] ?? hand.hover?.start ?? hand.cursor?.start];
		if (a !== undefined) ruler(ink, at, [a, b ?? a], box, palette);
		for (const part of [selected, hand.brush]) {
			if (part) ruler(ink, at, part, box, palette);
		}
		if (hand.cursor) ring(ink, at, hand.cursor, palette.mark);
	};
}

function Paging({ run, view }: { run: Run; view: View }): JSX.Element {
	const all = laneCount(run, given("lanes"), view);
	const from = Number(given("from")) || 0;
	return (
		<>
			{all > LANES && (
				<span class="pager">
					<button type="button" disabled={from === 0} onClick={() => change({ from: Math.max(0, from - LANES) || null })}>
						Rows before
					</button>
					<button type="button" disabled={from + LANES >= all} onClick={() => change({ from: from + LANES })}>
						Rows after
					</button>
				</span>
			)}
			<button type="button" disabled={!given("w")} onClick={() => change({ w: null })}>
				Whole run
			</button>
		</>
	);
}
