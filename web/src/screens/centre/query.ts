/** A lake of `fathom collect`: what the jobs of a centre lose. */
import { format, share } from "../../draw/units";
import { column, type Cell, type Table } from "../../source";

/** Tables of the screen, in its order: what a row is, and above it. */
export const TABLES = {
	users: ["users", "Users who lose most"],
	programs: ["programs", "Programs that lose most"],
	mounts: ["file systems", "File systems at which most is lost"],
	causes: ["causes", "Causes"],
	jobs: ["jobs", "Jobs that lose most"],
	risen: ["names", "Far above their own usual day, on the last one"],
	servers: ["servers", "Servers of all jobs, the slowest first"],
	days: ["days", "By day"],
} as const;
export type TableName = keyof typeof TABLES;

export interface Total {
	jobs: number;
	days: number;
	users: number;
	first_day: string | null;
	last_day: string | null;
	node_seconds: number;
	io_node_seconds: number;
	lost_node_seconds: number;
}

export interface CentreAnswer {
	total: Total;
	tables: Record<TableName, Table>;
}

export interface JobAnswer {
	/** Its row of the lake's table `jobs`. */
	job: Record<string, Cell | string[]>;
	/** Of the same program, before it. */
	runs: number;
	/** Each of these had so many; null: any number. */
	ranks: number | null;
	measures: Record<"seconds" | "bytes" | "cause", Table>;
}

/** A day in node hours: all, in I/O, and lost. */
export interface Day {
	day: string;
	all: number;
	io: number;
	lost: number;
}

export function days(table: Table): Day[] {
	const [day, all, io, lost] = ["day", "node h", "in I/O h", "lost node h"].map((name) => column(table, name)) as [number, number, number, number];
	return table.rows.map((row) => ({ day: String(row[day]), all: Number(row[all]), io: Number(row[io]), lost: Number(row[lost]) }));
}

const HOUR = 3600;

/** All jobs in a sentence. */
export function inWords({ jobs, users, first_day: first, last_day: last, node_seconds: all, io_node_seconds: io, lost_node_seconds: lost }: Total): string {
	if (jobs === 0) return "No job is in the lake.";
	const when = first === last ? `on ${first ?? ""}` : `${first ?? ""} to ${last ?? ""}`;
	const part = all > 0 ? ` (${share(lost / all)})` : "";
	return `${jobs.toLocaleString("en-US")} ${jobs === 1 ? "job" : "jobs"} of ${users.toLocaleString("en-US")} ${users === 1 ? "user" : "users"}, ${when}: ${hours(lost)} of ${hours(all)} node hours lost${part}, ${hours(io)} in I/O.`;
}

export function hours(seconds: number): string {
	return format(seconds / HOUR, "hours");
}

/** What a job's row says of it, in the order of its table, without what other places of the screen say. */
export function facts(job: JobAnswer["job"], names: Readonly<Record<string, string>>): [string, string][] {
	return Object.entries(names).flatMap(([name, words]): [string, string][] => {
		const value = job[name];
		if (value === null || value === undefined || value === "") return [];
		return [[words, Array.isArray(value) ? value.join(", ") : String(value)]];
	});
}
