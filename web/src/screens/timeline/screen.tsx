import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { KINDS, kindColour, kindGroup } from "../../draw/kinds";
import { layerColour, palette } from "../../draw/theme";
import { Choose } from "../../parts/choose";
import type { Paint } from "../../parts/export";
import { Figure, useWidth } from "../../parts/figure";
import { Longest } from "../../parts/longest";
import { Empty, Shown } from "../../parts/notice";
import { say } from "../../parts/say";
import { column, type CallAnswer, type Zooms, type Run, type Strips, type Table } from "../../source";
import { isReport, useAnswer, type Answer } from "../../state/answers";
import { bindKeys } from "../../state/keys";
import { laneWord, lanesWord, useLaneNames } from "../../state/lanes";
import { formatRange, parseRange } from "../../state/page";
import { currentRun } from "../../state/runs";
import { change, everything, given, go, scope } from "../../state/state";
import { currentView, whole, type View } from "../../state/window";
import { outliers } from "../heat/query";
import { Details, Tooltip } from "./details";
import { stand, timelineKeys, useTimelineGestures, zoomTo, type Hand, type Setting } from "./gestures";
import { arrow, layout, paintTimeline, ring, ruler, type Layout, type Placed } from "./paint";
import { COLOURS, itemsOf, laneCount, LANES, lanesAsked, lanesOf, nextMatch, phasesOf, rowName, rowsOf, shownLanes, WIDTH, type Colouring, type Item } from "./query";
import { phasesInWords } from "./words";

export function Timeline(): JSX.Element | null {
	const run = currentRun.value;
	return run && <Lanes run={run} />;
}

/** What is asked for a view: filters as selected, times and lanes as on screen. */
function request(run: Run, time: [number, number], lanes: number[]): Record<string, string | number | null> {
	const isWhole = time[0] <= 0 && time[1] >= run.duration;
	return { ...scope.value, t: isWhole ? null : formatRange(...time), lanes: lanesAsked(run, lanes), width: WIDTH };
}

/** Those that are selected; of all, those of which calls were recorded one by one, without Fathom's own. */
function layersOf(run: Run, known: Zooms | null): string[] {
	const wanted = given("layers").split(",").filter(Boolean);
	if (wanted.length > 0) return run.layers.filter((one) => wanted.includes(one));
	const recorded = new Set(known?.outliers.map((one) => one.layer));
	return run.layers.filter((one) => (one !== "fathom" || everything.value) && (recorded.size === 0 || recorded.has(one)));
}

const STILL = 80; // ms

/** The times once they have stood still: a wheel passes many, and each would be asked for. */
function useStill(time: [number, number]): [number, number] {
	const [still, setStill] = useState(time);
	const key = time.join();
	useEffect(() => {
		if (still.join() === key) return;
		const timer = setTimeout(() => setStill(time), STILL);
		return () => clearTimeout(timer);
	}, [key]);
	return still;
}

function Lanes({ run }: { run: Run }): JSX.Element {
	const view = currentView(run);
	const still = useStill(view.time);
	const asked = isReport() ? whole(run).time : still; // a report has no other times, and often every call
	const from = Number(given("from")) || 0;
	const lanes = shownLanes(run, given("pin"), given("lanes"), view, from);
	const answer = useAnswer<Strips>("strips", request(run, asked, lanes));
	const zooms = useAnswer<Zooms>("zooms", { run: run.name });
	const critical = useAnswer<Table>("critical", { run: run.name });
	if (answer.error) return <Shown answer={answer}>{() => null}</Shown>;
	return <Drawing run={run} view={view} asked={asked} lanes={lanes} strips={answer.value} known={zooms.value} critical={critical.value} loading={answer.loading || (!isReport() && still.join() !== view.time.join())} />;
}

interface Props {
	run: Run;
	view: View;
	/** Times that the answer is of. */
	asked: [number, number];
	lanes: number[];
	strips: Strips | null;
	known: Zooms | null;
	critical: Table | null;
	loading: boolean;
}

interface Covered {
	strips: Strips | null;
	items: Item[];
	/** Times that they cover. */
	covered: [number, number];
}

/** Items, with the times that they cover: those of the last answer until the next is there. */
function useItems({ strips, asked, loading }: Props): Covered {
	const last = useRef<Covered>({ strips: null, items: [], covered: [0, 0] });
	if (!loading && strips && strips !== last.current.strips) last.current = { strips, items: itemsOf(strips, asked), covered: asked };
	return last.current;
}

/** The rows that had calls since this screen was opened: a zoom into a quiet time moves none. */
function useRows(items: Item[], lanes: number[], layers: string[]): Map<number, string[]> {
	const seen = useRef(new Map<string, Item>());
	for (const item of items) seen.current.set(rowName(item.lane, item.layer), item);
	const key = JSON.stringify([lanes, layers, [...seen.current.keys()].sort()]);
	return useMemo(() => rowsOf([...seen.current.values()], lanes, layers), [key]);
}

function Drawing(props: Props): JSX.Element {
	const { run, view, lanes, strips, known } = props;
	const [attach, width] = useWidth<HTMLDivElement>();
	const lane = useLaneNames(run);
	const { items, covered } = useItems(props);
	const layers = useMemo(() => layersOf(run, known), [run, known, given("layers"), everything.value]);
	const rows = useRows(items, lanes, layers);
	const at = useMemo(() => layout(rows, view.time, width), [rows, view.time.join(), width]);
	const marks = useMemo(() => (known ? layers.flatMap((layer) => outliers(known.outliers, [], layer, { time: view.time, lanes: [0, run.lanes] }).map((one) => ({ ...one, layer }))) : []), [known, view.time.join(), layers]);
	const critical = useMemo(() => phasesOf(props.critical), [props.critical]);
	const colours: Colouring = given("colour") === "layer" ? "layer" : "operation";
	const paint = useMemo(() => paintTimeline(at, { items, covered, marks, critical, lane, pinned: lanesOf(given("pin"), LANES), colours, find: given("find") }), [at, items, marks, critical, lane, given("pin"), colours, given("find")]);
	const [hand, setHand] = useState<Hand>({ cursor: null, hover: null, brush: null, ruler: [] });
	const cursor = focused(items, hand);
	const setting: Setting = { run, view, items, at, lane, cursor, hand, setHand };
	const gestures = useTimelineGestures(setting);
	useScreenKeys(setting);
	const focus = useFocus(run);
	const chain = useMemo(() => chainOf(focus), [focus.value, given("call")]);
	const over = useMemo<Paint>(() => above(at, hand, cursor, chain, parseRange(given("t"))), [at, hand, cursor, chain, given("t")]);
	const hidden = lanes.length - at.rows.size;
	const drawn = useMemo(() => items.filter((one) => at.tops.has(rowName(one.lane, one.layer))), [items, rows]);
	return (
		<div class={given("call") ? "timeline with-details" : "timeline"}>
			<div ref={attach}>
				<Figure
					title={`Calls of each ${laneWord.value} over time`}
					name="timeline"
					says={says(strips, drawn.length, lanes.length, laneCount(run, given("lanes"), view), items.length > 0 ? hidden : 0)}
					label={`Timeline of ${at.rows.size} ${lanesWord(at.rows.size)}. The wheel, w and s zoom, a and d move, arrow keys walk from call to call, Enter opens.`}
					height={at.height}
					paint={paint}
					over={over}
					tip={hand.hover && { at: hand.hover.at, says: <Tooltip run={run} item={hand.hover.item} lane={lane} /> }}
					{...tableOf(strips)}
					tools={<Tools {...setting} colours={colours} />}
					{...gestures}
				>
					<Legend items={items} layers={layers} colours={colours} />
					<p class="hint quiet">Wheel: zoom. Drag: move. Click: select; on a name: pin. Shift and drag: filter all screens. ? has the keys.</p>
				</Figure>
			</div>
			{given("call") && <Details item={cursor} answer={focus} lane={lane} close={() => stand(setting, null)} zoomTo={(item) => zoomTo(setting, item)} />}
			<div class="rest">
				{critical.length > 0 && <p class="quiet">Critical: {phasesInWords(critical, lane)}.</p>}
				{strips && !props.loading && items.length === 0 && <Empty note={strips.spans?.note ?? strips.bins?.note ?? null} what="calls at these times" />}
				<Longest marks={[...marks].sort((a, b) => b.duration - a.duration)} lane={lane} />
			</div>
		</div>
	);
}

/** The item that stands for the call in focus. */
function focused(items: Item[], hand: Hand): Item | null {
	const call = given("call");
	if (!call) return null;
	if (hand.cursor?.call === call && items.includes(hand.cursor)) return hand.cursor;
	return items.find((one) => one.call === call) ?? null;
}

function useScreenKeys(setting: Setting): void {
	const latest = useRef(setting);
	latest.current = setting;
	useEffect(() => bindKeys(timelineKeys(() => latest.current)), []);
}

function tableOf(strips: Strips | null): { table?: () => NonNullable<Strips["spans"]>; sql?: string; what?: string; onOpenRow?: (row: (string | number | boolean | null)[]) => void } {
	const table = strips?.spans ?? strips?.bins;
	if (!table) return {};
	return { table: () => table, sql: table.sql, what: strips?.spans ? "calls" : "bins", onOpenRow: (row) => go("call", { call: String(row[column(table, "call")]) }) };
}

function says(strips: Strips | null, calls: number, shown: number, all: number, hidden: number): string {
	if (!strips) return "";
	const what = strips.spans ? `${calls.toLocaleString("en-US")} calls one by one` : `${WIDTH} bins, each with its longest call; zoom in for calls`;
	const without = hidden > 0 ? `; ${hidden} without calls here ${hidden === 1 ? "is" : "are"} not drawn` : "";
	return `${shown} of ${all.toLocaleString("en-US")} ${lanesWord(all)}; ${what}${without}`;
}

/** The call in focus, with what it is linked with. */
function useFocus(run: Run): Answer<CallAnswer> {
	const call = given("call");
	return useAnswer<CallAnswer>("call", call ? { run: run.name, call } : null);
}

/** From the outermost call down to the one in focus, and its links: the only arrows there are. */
function chainOf({ value }: Answer<CallAnswer>): [Placed, Placed][] {
	if (!value || String(value.call["call"]) !== given("call")) return [];
	const focus = placed(value.call);
	const linked = value.links.flatMap(({ call: other, direction }): [Placed, Placed][] => {
		if (typeof other !== "object") return [];
		return [direction === "to" ? [focus, placed(other)] : [placed(other), focus]];
	});
	const stack = [...value.ancestors.map(placed), focus];
	return [...stack.slice(1).map((one, above): [Placed, Placed] => [stack[above] ?? one, one]), ...linked];
}

function placed(call: Record<string, unknown>): Placed {
	const start = Number(call["start"]);
	return { lane: Number(call["lane"]), layer: String(call["layer"]), start, end: start + Number(call["duration"]) };
}

function above(at: Layout, hand: Hand, cursor: Item | null, chain: [Placed, Placed][], selected: [number, number] | null): Paint {
	return (ink, box, palette) => {
		for (const [from, to] of chain) arrow(ink, at, from, to, palette.text);
		const [a, b] = [hand.ruler[0], hand.ruler[1] ?? hand.hover?.item.start ?? cursor?.start];
		if (a !== undefined) ruler(ink, at, [a, b ?? a], box, palette);
		for (const part of [selected, hand.brush]) {
			if (part) ruler(ink, at, part, box, palette);
		}
		if (hand.hover) ring(ink, at, hand.hover.item, palette.text);
		if (cursor) ring(ink, at, cursor, palette.mark);
	};
}

/** What each colour means: of those that are on screen. */
function Legend({ items, layers, colours }: { items: Item[]; layers: string[]; colours: Colouring }): JSX.Element | null {
	const ink = palette.value;
	const parts = useMemo((): [string, string][] => {
		if (colours === "layer") return layers.filter((one) => items.some((item) => item.layer === one)).map((one) => [one, layerColour(ink, one)]);
		const groups = new Set(items.map((one) => kindGroup(one.kind)));
		return [...KINDS.filter((one) => groups.has(one)), ...[...groups].filter((one) => !KINDS.includes(one))].map((one) => [one.name, kindColour(ink, one)]);
	}, [items, layers, colours, ink]);
	if (parts.length === 0) return null;
	return (
		<ul class="legend" aria-label="Colours">
			{parts.map(([name, colour]) => (
				<li key={name}>
					<span class="swatch" style={{ background: colour }} /> {name}
				</li>
			))}
			<li class="quiet">
				<span class="pointer" aria-hidden="true" /> one of the longest calls
			</li>
		</ul>
	);
}

function Tools(props: Setting & { colours: Colouring }): JSX.Element {
	const { run, view, colours } = props;
	const all = laneCount(run, given("lanes"), view);
	const from = Number(given("from")) || 0;
	return (
		<>
			<Search {...props} />
			<Choose label="colour" options={COLOURS} chosen={colours} choose={(one) => change({ colour: one === COLOURS[0] ? null : one }, true)} says={(one) => `by ${one}`} />
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

/** What it does not mean is drawn pale; Enter goes from match to match. */
function Search(setting: Setting): JSX.Element {
	const next = (words: string): void => {
		const match = nextMatch(setting.items, words, setting.cursor);
		if (!match) return say(`no call here matches ${words}`);
		stand(setting, match.item);
		say(`${match.at} of ${match.of}`);
	};
	return (
		<input
			id="find"
			type="search"
			class="find"
			placeholder="function, layer or file"
			aria-label="Search calls by function, layer or file"
			value={given("find")}
			onInput={(event) => change({ find: event.currentTarget.value }, true)}
			onKeyDown={(event) => event.key === "Enter" && next(event.currentTarget.value)}
		/>
	);
}
