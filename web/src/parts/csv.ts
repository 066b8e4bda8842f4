import type { Cell, Column } from "../source";

function cell(value: Cell): string {
	if (value === null) return "";
	if (typeof value !== "string") return String(value);
	// A spreadsheet runs text that begins like a formula, and names of files are anybody's text.
	const safe = /^[=+\-@\t\r]/.test(value) && Number.isNaN(Number(value)) ? `'${value}` : value;
	return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Rows as CSV, raw values; the first line has names with units. */
export function csv(columns: Column[], rows: Cell[][]): string {
	const plain = ["text", "count", "call", "lane", "file"];
	const head = columns.map((one) => cell(plain.includes(one.unit) ? one.name : `${one.name} [${one.unit}]`));
	return [head, ...rows.map((row) => row.map(cell))].map((line) => `${line.join(",")}\n`).join("");
}
