import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { format } from "../../draw/units";
import { Choose } from "../../parts/choose";
import { Figure } from "../../parts/figure";
import { Shown } from "../../parts/notice";
import { DataTable } from "../../parts/table";
import { column, type Cell, type Table } from "../../source";
import { useAnswer } from "../../state/answers";
import { change, given } from "../../state/state";
import { HEIGHT, paintDays } from "./paint";
import { days, facts, inWords, TABLES, type CentreAnswer, type JobAnswer, type TableName } from "./query";

/** Rows of each table before it pages. */
const FIRST = 5;
/** Of a job's row: its columns, and what they are called here. */
const FACTS = { path: "run", command: "command", status: "ended", started: "started", ranks: "ranks", nodes: "nodes", cause: "cause", lost_by: "finding", notes: "notes" };

export function Centre(): JSX.Element {
	const answer = useAnswer<{ name: string; path: string }[]>("lakes", {});
	return (
		<Shown answer={answer} height={500}>
			{(open) => {
				const names = open.map((one) => one.name);
				const name = names.find((one) => one === given("lake")) ?? names[0];
				if (!name) {
					return (
						<div class="notice">
							No lake is open here: <code>fathom view LAKE</code> shows what <code>fathom collect</code> keeps of all jobs.
						</div>
					);
				}
				return (
					<>
						{names.length > 1 && <Choose label="lake" options={names} chosen={name} choose={(one) => change({ lake: one, job: null })} />}
						<Lake key={name} name={name} />
					</>
				);
			}}
		</Shown>
	);
}

function Lake({ name }: { name: string }): JSX.Element {
	const answer = useAnswer<CentreAnswer>("centre", { name });
	return (
		<Shown answer={answer} height={500}>
			{({ total, tables }) => (
				<>
					<p class="verdict">{inWords(total)}</p>
					{total.jobs > 0 && (
						<>
							<Days table={tables.days} />
							<div class="lake">
								{(Object.keys(TABLES) as TableName[]).filter((one) => one !== "days").map((one) => (
									<Losers key={one} table={one} rows={tables[one]} />
								))}
							</div>
							{given("job") && <Job key={given("job")} lake={name} job={given("job")} />}
						</>
					)}
				</>
			)}
		</Shown>
	);
}

/** One table; a job opens its row. */
function Losers({ table, rows }: { table: TableName; rows: Table }): JSX.Element {
	const [what, title] = TABLES[table];
	const id = (row: Cell[]): string => String(row[column(rows, "id")]);
	const opens = table === "jobs" ? { onOpen: (row: Cell[]): void => change({ job: id(row) }), selected: (row: Cell[]): boolean => id(row) === given("job"), columns: rows.columns.map((one) => one.name).filter((one) => one !== "id") } : {};
	return (
		<section class={table === "jobs" || table === "servers" ? "wide" : ""}>
			<h2>{title}</h2>
			<DataTable table={rows} caption={title} name={`centre-${table}`} what={what} page={FIRST} {...opens} />
		</section>
	);
}

function Days({ table }: { table: Table }): JSX.Element {
	const all = useMemo(() => days(table), [table]);
	const paint = useMemo(() => paintDays(all), [all]);
	const last = all.at(-1);
	return (
		<Figure
			title="Node hours in I/O by day, and lost"
			name="centre-days"
			says="wide: in I/O; narrow: lost"
			label={`Node hours of ${all.length} days.${last ? ` The last, ${last.day}: ${format(last.io, "hours")} in I/O, ${format(last.lost, "hours")} lost.` : ""}`}
			height={HEIGHT}
			paint={paint}
			table={() => table}
			what="days"
		/>
	);
}

/** Its row, and measures beside its program's earlier runs; brought into view where it was chosen above. */
function Job({ lake, job }: { lake: string; job: string }): JSX.Element {
	const answer = useAnswer<JobAnswer>("centre_job", { name: lake, job });
	const place = useRef<HTMLElement>(null);
	useEffect(() => place.current?.scrollIntoView?.({ block: "nearest" }), [answer.value]);
	return (
		<section ref={place} aria-label="Job">
			<Shown answer={answer} height={300}>
				{(shown) => (
					<>
						<h2>
							{String(shown.job["name"])}: {String(shown.job["program"] ?? "")} {shown.job["user"] && <small>of {String(shown.job["user"])}</small>}
						</h2>
						<dl class="facts">
							{facts(shown.job, FACTS).map(([name, value]) => (
								<div key={name} class={name === "command" || name === "notes" || name === "run" ? "wide" : ""}>
									<dt>{name}</dt>
									<dd>{value}</dd>
								</div>
							))}
						</dl>
						<p class="quiet">{beside(shown)}</p>
						<div class="lake">
							<Measures table={shown.measures.seconds} what="measures" title="Seconds" />
							<Measures table={shown.measures.bytes} what="amounts" title="Bytes" />
							<Measures table={shown.measures.cause} what="causes" title="Causes of the slowest process" />
						</div>
					</>
				)}
			</Shown>
		</section>
	);
}

function beside({ runs, ranks }: JobAnswer): string {
	if (runs === 0) return "No earlier run of this program is in the lake.";
	return `Beside ${runs.toLocaleString("en-US")} earlier ${runs === 1 ? "run" : "runs"} of the program${ranks === null ? "" : ` with ${ranks.toLocaleString("en-US")} ${ranks === 1 ? "rank" : "ranks"}`}.`;
}

function Measures({ table, what, title }: { table: Table; what: string; title: string }): JSX.Element {
	return (
		<section>
			<h3>{title}</h3>
			<DataTable table={table} caption={title} name={`centre-job-${what}`} what={what} />
		</section>
	);
}
