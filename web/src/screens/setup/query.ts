/** A run that is prepared here: what its form holds, and what the server makes of it. */
import { LAYERS as ALL } from "../../draw/layers";
import type { Parameters, Run } from "../../source";

export interface SetupAnswer {
	name: string;
	line: string;
	build: string | null;
	selection: { file: string; text: string } | null;
	forwarding: { file: string; text: string; start: string } | null;
	script: string;
	problems: string[];
}

export type Field = "program" | "arguments" | "directory" | "build" | "name" | "mpi" | "ranks" | "nodes" | "minutes" | "batch" | "level" | "layers" | "operations" | "files" | "lines" | "record" | "servers";
export type Form = Partial<Record<Field, string>>;

/** What is used where nothing is given; it stays out of the address. */
export const USUAL: Form = { mpi: "none", ranks: "1", nodes: "1", minutes: "30", batch: "plain", level: "call", operations: "both" };
export const MPIS = ["none", "mpich", "openmpi", "srun"] as const;
export const LEVELS = ["call", "file", "job"] as const;
export const OPERATIONS = ["both", "read", "write"] as const;
export const BATCHES = ["plain", "slurm", "pbs"] as const;
export const ROLES = ["forward", "metadata", "data"] as const;
export const LAYERS = ALL.filter((layer) => layer.selectable && !["server", "disk"].includes(layer.name)).map((layer) => layer.name);

/** The form as one parameter of the address. */
export function formatForm(form: Form): string {
	const given = Object.entries(form).filter(([name, value]) => value !== "" && value !== USUAL[name as Field]);
	return new URLSearchParams(given.sort(([a], [b]) => a.localeCompare(b))).toString();
}

export function parseForm(text: string): Form {
	return { ...USUAL, ...Object.fromEntries(new URLSearchParams(text)) };
}

/** The form that would record this run again; of none, an empty one. */
export function ofRun(run: Run | null): Form {
	return { ...USUAL, ...run?.form };
}

/** What is asked; nothing until there is a program. */
export function request(form: Form): Parameters | null {
	if (!form.program?.trim()) return null;
	return Object.fromEntries(new URLSearchParams(formatForm(form)));
}

export interface ServerRow {
	role: string;
	host: string;
	path: string;
	port: string;
}

/** Servers as the form has them: `ROLE HOST PATH PORT`, commas between; a dash for what is left open. */
export function formatServers(rows: ServerRow[]): string {
	const word = (text: string): string => text.trim().replace(/[\s,]+/g, "") || "-";
	return rows.map((one) => [one.role, one.host, one.path, one.port].map(word).join(" ")).join(",");
}

export function parseServers(text: string): ServerRow[] {
	const open = (word: string | undefined): string => (word === undefined || word === "-" ? "" : word);
	return text
		.split(",")
		.filter((one) => one.trim() !== "")
		.map((one) => {
			const [role, host, path, port] = one.trim().split(/\s+/);
			return { role: open(role) || ROLES[0], host: open(host), path: open(path), port: open(port) };
		});
}

/** A list with commas, one word more or less in it. */
export function toggled(list: string, word: string): string {
	const words = list.split(",").filter(Boolean);
	return (words.includes(word) ? words.filter((one) => one !== word) : [...words, word]).join(",");
}
