import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { Cells } from "../../parts/cells";
import { Choose } from "../../parts/choose";
import { Empty, Shown } from "../../parts/notice";
import { DataTable } from "../../parts/table";
import { TrackFigure } from "../../parts/tracks";
import type { Table } from "../../source";
import { isReport, useAnswer } from "../../state/answers";
import { choose, chosen } from "../../state/choice";
import { parseRange } from "../../state/page";
import { currentRun } from "../../state/runs";
import { change, given, scope } from "../../state/state";
import { axisOf, BINS, DRAWN, GROUPS, inWords, METRICS, narrowed, OTHERS, PANELS, sampleTracks, series, serverMap, serverOf, serverTracks, type Group, type Metric, type ServersAnswer } from "./query";

export function Servers(): JSX.Element {
	const answer = useAnswer<ServersAnswer>("servers", scope.value);
	return (
		<>
			<Shown answer={answer} height={400}>
				{(servers) => <Balance servers={servers} />}
			</Shown>
			<System />
		</>
	);
}

const STAND_IN = "No server was recorded. What files lie on stands for them: the OSTs of Lustre where their layout is known, else the file system as a whole. Figures are those of this run's calls on these files, as the clients saw them; what other programs asked is not in them. What was asked less than 1 % of the most is in the table alone.";

function Balance({ servers }: { servers: ServersAnswer }): JSX.Element {
	const metric = chosen<Metric>("shows", METRICS);
	const all = useMemo(() => series(servers, metric), [servers, metric]);
	const take = (server: string | undefined): void => {
		const narrower = server && narrowed(server);
		if (narrower) change(narrower);
	};
	return (
		<>
			{all.length > 0 && servers.stands === "storage" && <p class="notice">{STAND_IN}</p>}
			{all.length === 0 ? <Empty note={servers.bins.note ?? servers.totals.note} what="servers over time" /> : <OverTime servers={servers} all={all} metric={metric} take={take} />}
			{servers.totals.rows.length > 0 && (
				<DataTable table={servers.totals} caption="What each server was asked" name="servers" what="servers" page={12} onOpen={(row) => take(serverOf(servers.totals.columns, row))} />
			)}
		</>
	);
}

interface Balanced {
	servers: ServersAnswer;
	all: ReturnType<typeof series>;
	metric: Metric;
	take: (server: string | undefined) => void;
}

function OverTime({ servers, all, metric, take }: Balanced): JSX.Element {
	const axis = useMemo(() => axisOf(servers), [servers]);
	const tracks = useMemo(() => ({ axis, tracks: serverTracks(all, metric, servers.width) }), [axis, all, metric]);
	const map = useMemo(() => serverMap(all, metric, axis, servers.width), [axis, all, metric]);
	const first = tracks.tracks.length > Math.min(all.length, PANELS) ? 1 : 0; // the imbalance stands above the servers
	const busiest = [...all].filter((one) => one.server !== OTHERS).sort((a, b) => b.total - a.total)[0];
	return (
		<>
			<TrackFigure
				title={`${metric} of servers over time`}
				name={`servers-${metric}`}
				says={`${Math.min(all.length, PANELS)} of ${serversIn(all.length)}, farthest from the mean first; × is against the mean`}
				label={`${serversIn(all.length)} over time. Most: ${busiest?.server ?? "none"}, ${busiest?.ofMean.toFixed(2) ?? ""} times the mean.`}
				tracks={tracks}
				take={(row) => take(all[row - first]?.server)}
				table={() => servers.bins}
				sql={servers.bins.sql}
				tools={<Choose label="shows" options={METRICS} chosen={metric} choose={choose("shows", METRICS[0])} />}
			/>
			{all.length > PANELS && (
				<Cells
					title="All servers"
					name={`servers-${metric}-all`}
					label={`Heat map of ${metric}, ${serversIn(all.length)} by time`}
					map={map}
					height={Math.max(160, Math.min(700, all.length * 14 + 50))}
					select={(from, to) => take(from[1] === to[1] ? all[from[1]]?.server : undefined)}
					table={() => servers.bins}
					sql={servers.bins.sql}
				/>
			)}
			{busiest && <p class="quiet">{`Most of ${metric}: ${busiest.server}, ${inWords(metric, servers.width * BINS)(busiest.total)}, ${busiest.ofMean.toFixed(2)} times the mean.`}</p>}
		</>
	);
}

/** What the nodes did, on the same axis. */
function System(): JSX.Element {
	const names = Object.keys(GROUPS) as [Group, ...Group[]];
	const group = chosen<Group>("system", names);
	const time = given("t");
	const answer = useAnswer<Table>("samples", { run: scope.value.run, t: time, ...(isReport() ? {} : { what: GROUPS[group] }) });
	return (
		<section aria-labelledby="system">
			<div class="bar">
				<h2 id="system">System at the same time</h2>
				<Choose label="samples of" options={names} chosen={group} choose={choose("system", names[0])} />
			</div>
			<Shown answer={answer} height={200}>
				{(table) => <Samples table={table} group={group} />}
			</Shown>
		</section>
	);
}

function Samples({ table, group }: { table: Table; group: Group }): JSX.Element {
	const all = useMemo(() => sampleTracks(table, group), [table, group]);
	const [begin, end] = parseRange(given("t")) ?? [0, currentRun.value?.duration ?? 1];
	const tracks = useMemo(() => ({ axis: axisOf({ begin, width: Math.max(1, Math.ceil((end - begin) / BINS)) }), tracks: all.slice(0, DRAWN) }), [all, begin, end]);
	if (all.length === 0) return <Empty note={table.rows.length > 0 ? "All of these were 0 for the whole time." : table.note} what="samples" />;
	return (
		<>
			<TrackFigure
				title={`Samples of ${group}`}
				name={`samples-${group}`}
				says={all.length > DRAWN ? `${DRAWN} of ${all.length} drawn` : "least and most of each bin"}
				label={`${tracks.tracks.length} samples over time: ${tracks.tracks.map((one) => one.name).join(", ")}`}
				tracks={tracks}
				table={() => table}
				sql={table.sql}
			/>
			{table.note && <p class="quiet">{table.note}</p>}
		</>
	);
}

function serversIn(count: number): string {
	return `${count.toLocaleString("en-US")} server${count === 1 ? "" : "s"}`;
}
