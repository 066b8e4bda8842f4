import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { byteAxis } from "../../draw/axis";
import { size } from "../../draw/units";
import { Cells } from "../../parts/cells";
import { Choose } from "../../parts/choose";
import { Figure } from "../../parts/figure";
import { Empty, Shown } from "../../parts/notice";
import { TrackFigure } from "../../parts/tracks";
import { column, type Parameters, type Table } from "../../source";
import { isReport, useAnswer } from "../../state/answers";
import { choose, chosen } from "../../state/choice";
import { laneWord } from "../../state/lanes";
import { formatRange } from "../../state/page";
import { currentRun } from "../../state/runs";
import { change, given, scope } from "../../state/state";
import { paintSizes, sizesHeight } from "./paint";
import { accessMap, COVERED, coverageTracks, KINDS, ORDERS, sizeBars, type AccessAnswer, type CoverageAnswer, type FilesAnswer, type Moved, type Order } from "./query";
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

/** The file of the maps: as asked, else of the longest call on a file. */
function OneFile(): JSX.Element {
	const asked = given("file");
	const longest = useAnswer<FilesAnswer>("files", asked ? null : { ...scope.value, by: "call", ...(isReport() ? {} : { limit: "1" }) });
	if (asked) return <Maps file={asked} />;
	return (
		<Shown answer={longest} height={300}>
			{({ table }) => {
				const first = table.rows[0]?.[column(table, "file")];
				return typeof first === "number" ? <Maps file={String(first)} /> : <Empty note={table.note} what="calls on files one by one" />;
			}}
		</Shown>
	);
}

function Maps({ file }: { file: string }): JSX.Element {
	const path = useAnswer<AccessAnswer>("access", accessOf(file, "time")).value?.path;
	const moved = chosen<Moved>("moved", KINDS);
	return (
		<section aria-labelledby="file">
			<div class="bar">
				<h2 id="file">{path ?? `file ${file}`}</h2>
				<Choose label="bytes" options={KINDS} chosen={moved} choose={choose("moved", KINDS[0])} />
				<button type="button" onClick={() => change({ files: file })}>
					Select this file in all screens
				</button>
			</div>
			<div class="columns">
				<Access file={file} across="time" moved={moved} />
				<Access file={file} across="lane" moved={moved} />
			</div>
			<SizesOf file={file} />
			<Coverage file={file} />
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

/** From the same answer as the map over time, which is kept. */
function SizesOf({ file }: { file: string }): JSX.Element | null {
	const answer = useAnswer<AccessAnswer>("access", accessOf(file, "time"));
	return answer.value && <Sizes sizes={answer.value.sizes} layers={answer.value.layers} />;
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
	const sums = Object.entries(COVERED).flatMap(([name, says]) => {
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
