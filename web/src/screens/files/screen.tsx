import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { byteAxis } from "../../draw/axis";
import { size } from "../../draw/units";
import { Cells } from "../../parts/cells";
import { Choose } from "../../parts/choose";
import { Figure } from "../../parts/figure";
import { Empty, Shown } from "../../parts/notice";
import { TrackFigure } from "../../parts/tracks";
import type { Parameters, Table } from "../../source";
import { useAnswer } from "../../state/answers";
import { choose, chosen } from "../../state/choice";
import { laneWord } from "../../state/lanes";
import { formatRange } from "../../state/page";
import { currentRun } from "../../state/runs";
import { change, given, scope } from "../../state/state";
import { paintSizes, sizesHeight } from "./paint";
import { accessMap, covered, coverageTracks, KINDS, ORDERS, sizeBars, type AccessAnswer, type CoverageAnswer, type Moved, type Order } from "./query";
import { Tree } from "./tree";

export function Files(): JSX.Element {
	const order = chosen<Order>("tree", ORDERS);
	return (
		<>
			<div class="bar">
				<Choose label="tree" options={ORDERS} chosen={order} choose={choose("tree", ORDERS[0])} />
			</div>
			<Tree key={order} order={order} />
			<OneFile />
		</>
	);
}

/** Maps of the file that was asked for, else of that of the longest call on one. */
function OneFile(): JSX.Element {
	const asked = given("file");
	const answer = useAnswer<AccessAnswer>("access", accessOf(asked, "time"));
	return answer.value?.file === null ? <Empty note={answer.value.cells.note} what="calls on files one by one" /> : <Maps asked={asked} access={answer.value} />;
}

function Maps({ asked, access }: { asked: string; access: AccessAnswer | null }): JSX.Element {
	const moved = chosen<Moved>("moved", KINDS);
	return (
		<section aria-labelledby="file">
			<div class="bar">
				<h2 id="file">{access?.path ?? "One file"}</h2>
				<Choose label="bytes" options={KINDS} chosen={moved} choose={choose("moved", KINDS[0])} />
				<button type="button" disabled={!access} onClick={() => access && change({ files: access.file })}>
					Select this file in all screens
				</button>
			</div>
			<div class="columns">
				<Access file={asked} across="time" moved={moved} />
				<Access file={asked} across="lane" moved={moved} />
			</div>
			{access && <Sizes sizes={access.sizes} layers={access.layers} />}
			<Coverage file={asked} />
		</section>
	);
}

function accessOf(file: string, across: string): Parameters {
	return { ...scope.value, file, across };
}

interface Asked {
	file: string;
	across: "time" | "lane";
	moved: Moved;
}

function Access({ file, across, moved }: Asked): JSX.Element {
	const answer = useAnswer<AccessAnswer>("access", accessOf(file, across));
	return (
		<section>
			<Shown answer={answer} height={340}>
				{(access) => <AccessMap access={access} across={across} moved={moved} />}
			</Shown>
		</section>
	);
}

function AccessMap({ access, across, moved }: { access: AccessAnswer } & Omit<Asked, "file">): JSX.Element {
	const lanes = currentRun.value?.lanes ?? 1;
	const map = useMemo(() => accessMap(access, across, moved, lanes), [access, across, moved, lanes]);
	if (map.cells.length === 0) return <Empty note={access.cells.note} what={`bytes ${moved} in this file`} />;
	const select = (from: readonly [number, number], to: readonly [number, number]): void => {
		const [a, b] = [from[0], to[0]].sort((one, other) => one - other) as [number, number];
		if (across === "time") change({ t: formatRange(map.x.value(a), map.x.value(b + 1)) });
		else change({ lanes: `${map.x.value(a)}-${map.x.value(b + 1) - 1}` });
	};
	return (
		<>
			<Cells
				title={across === "time" ? "Where in the file, and when" : `Where in the file, by ${laneWord.value}`}
				name={`access-${across}`}
				says={`layer ${access.layers.join(", ")}`}
				label={`Where in the file bytes were ${moved}, by ${across === "time" ? across : laneWord.value}. Arrow keys move, Enter selects.`}
				map={map}
				height={320}
				select={select}
				table={() => access.cells}
				sql={access.cells.sql}
			/>
			{access.cells.note && <p class="quiet">{access.cells.note}</p>}
		</>
	);
}

function Sizes({ sizes, layers }: { sizes: Table; layers: string[] }): JSX.Element {
	const bars = useMemo(() => sizeBars(sizes, layers), [sizes, layers]);
	const paint = useMemo(() => paintSizes(bars), [bars]);
	if (bars.length === 0) return <Empty note={sizes.note} what="sizes of accesses" />;
	const label = bars.map((one) => `${one.label}: ${one.read} read, ${one.written} written`).join("; ");
	return <Figure title="Sizes of accesses" name="access-sizes" label={label} height={sizesHeight(bars)} paint={paint} table={() => sizes} sql={sizes.sql} />;
}

function Coverage({ file }: { file: string }): JSX.Element {
	const answer = useAnswer<CoverageAnswer>("coverage", { ...scope.value, file });
	return (
		<Shown answer={answer} height={260}>
			{(coverage) => <CoverageMap coverage={coverage} />}
		</Shown>
	);
}

function CoverageMap({ coverage }: { coverage: CoverageAnswer }): JSX.Element {
	const tracks = useMemo(() => ({ axis: byteAxis({ begin: coverage.begin, width: coverage.step, bins: coverage.bins.rows.length }), tracks: coverageTracks(coverage) }), [coverage]);
	const sums = covered(coverage).flatMap(([name, says]) => {
		const bytes = coverage.sums[name];
		return typeof bytes === "number" ? [`${says} ${size(bytes)}`] : [];
	});
	if (tracks.tracks.length === 0) return <Empty note={coverage.bins.note} what="bytes of this file" />;
	return (
		<>
			<TrackFigure
				title="Coverage of the file"
				name="coverage"
				says={sums.join(" · ")}
				label={`Coverage of the file: ${sums.join(", ")}`}
				tracks={tracks}
				select={null}
				table={() => coverage.bins}
				sql={coverage.bins.sql}
			/>
			{coverage.bins.note && <p class="quiet">{coverage.bins.note}</p>}
		</>
	);
}
