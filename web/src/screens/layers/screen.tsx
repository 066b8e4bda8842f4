import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { share, time } from "../../draw/units";
import { Choose } from "../../parts/choose";
import { Figure } from "../../parts/figure";
import { Empty, Shown } from "../../parts/notice";
import { useRows } from "../../parts/rows";
import { DataTable } from "../../parts/table";
import { column, type Table } from "../../source";
import { useAnswer } from "../../state/answers";
import { choose, chosen } from "../../state/choice";
import { laneWord, useLaneNames } from "../../state/lanes";
import { currentRun } from "../../state/runs";
import { change, given, go, scope } from "../../state/state";
import { height, paintBreakdown, ROW, TOP, type Drawn } from "./paint";
import { bars, BY, columnsOf, COUNTED, DRAWN, extremes, knowsWall, narrows, OF, type Bar, type By, type Counted } from "./query";

export function Layers(): JSX.Element {
	const [by, of] = [chosen("by", BY), chosen("of", OF)];
	const answer = useAnswer<Table>("breakdown", { ...scope.value, by, of });
	return (
		<>
			<Tools by={by} of={of} wall={answer.value !== null && of === "inclusive" && knowsWall(answer.value)} />
			<Shown answer={answer} height={400}>
				{(table) => (table.rows.length === 0 ? <Empty note={table.note} what="calls" /> : <Breakdown table={table} by={by} of={of} />)}
			</Shown>
		</>
	);
}

function Tools({ by, of, wall }: { by: By; of: string; wall: boolean }): JSX.Element {
	return (
		<div class="bar" role="group" aria-label="What is shown">
			<Choose label="by" options={BY} chosen={by} choose={choose("by", BY[0])} says={(one) => (one === "lane" ? laneWord.value : one)} />
			<Choose label="time" options={OF} chosen={of} choose={choose("of", OF[0])} />
			{wall && <Choose label="counted" options={COUNTED} chosen={chosen("counted", COUNTED)} choose={choose("counted", COUNTED[0])} />}
			<Choose label="axis" options={["linear", "logarithmic"]} chosen={given("axis") || "linear"} choose={choose("axis", "linear")} />
		</div>
	);
}

const WORDS = {
	exclusive: "time that each layer kept for itself: the parts of a bar add up",
	inclusive: "with the layers below: the parts of a bar hold one another and do not add up",
};

function Breakdown({ table, by, of }: { table: Table; by: By; of: "inclusive" | "exclusive" }): JSX.Element {
	const counted: Counted = of === "inclusive" && knowsWall(table) ? chosen("counted", COUNTED) : "summed";
	const lane = useLaneNames(by === "lane" ? currentRun.value : null);
	const word = by === "lane" ? laneWord.value : by;
	const all = useMemo(() => bars(table, by, counted, currentRun.value?.layers ?? [], lane), [table, by, counted, lane]);
	const shown = all.slice(0, DRAWN);
	const logarithmic = given("axis") === "logarithmic";
	const drawn = useMemo<Drawn>(() => ({ bars: shown, grouped: of === "inclusive" || logarithmic, logarithmic, marks: marksOf(by, all) }), [all, of, logarithmic]);
	const paint = useMemo(() => paintBreakdown(drawn), [drawn]);
	const take = (bar: Bar | undefined): void => {
		const narrower = bar && narrows(by, bar.key);
		if (narrower) change(narrower);
		else if (bar) go("call", { call: bar.key });
	};
	const { row, over, gestures } = useRows({ count: shown.length, top: TOP, height: ROW, describe: (at) => inWords(shown[at]), take: (at) => take(shown[at]) });
	const keyAt = column(table, "key");
	return (
		<>
			<Figure
				title={`${of === "exclusive" ? "Exclusive" : "Inclusive"} time by ${word}`}
				name={`breakdown-${by}-${of}`}
				says={`${WORDS[of]}${all.length > DRAWN ? `; ${DRAWN} of ${all.length.toLocaleString("en-US")} drawn` : ""}`}
				label={`${shown.length} bars: ${shown.slice(0, 6).map(inWords).join("; ")}. Arrow keys move, Enter ${by === "call" ? "opens" : "selects"}.`}
				height={height(drawn)}
				paint={paint}
				over={over}
				sql={table.sql}
				{...gestures}
			>
				<p class="readout quiet">{row === null ? `Click a bar to ${by === "call" ? "open the call" : "select it in all screens"}.` : inWords(shown[row])}</p>
			</Figure>
			<DataTable table={table} caption={`Time by ${word}`} name={`breakdown-${by}`} what="rows" columns={columnsOf(table, by)} text={(one, value) => (one.name === "key" && by === "lane" ? lane(Number(value)) : null)} onOpen={(opened) => take(all.find((one) => one.key === String(opened[keyAt])))} />
		</>
	);
}

function marksOf(by: By, all: Bar[]): Map<string, string> {
	const loaded = by === "server" ? extremes(all) : null;
	return new Map(loaded ? [[loaded.most, "most"], [loaded.least, "least"]] : []);
}

function inWords(bar: Bar | undefined): string {
	if (!bar) return "";
	const parts = bar.parts.map((one) => `${one.layer} ${time(one.time)}${bar.total > 0 && bar.parts.length > 1 ? ` (${share(one.time / bar.total)})` : ""} in ${one.calls.toLocaleString("en-US")} calls`);
	return `${bar.label}: ${parts.join(", ")}`;
}
