import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { count, format, hours, megabytes, share, size, time, times } from "./units";

const FILE = readFileSync(new URL("../../../catalog/units.toml", import.meta.url), "utf8");
const WRITTEN: Record<string, (value: number) => string> = { seconds: (value) => time(value * 1e9), size, rate: megabytes, percent: share, hours, count, times };

/** The cases of a table of the catalog: its arrays are JSON but for a comma at their end. */
function cases(table: string): [number, string][] {
	const text = new RegExp(`\\[\\[${table}\\]\\]\\s*cases = (\\[[\\s\\S]*?\\])\\n(\\n|$)`).exec(FILE)?.[1] ?? "[]";
	return JSON.parse(text.replace(/,(\s*\])/g, "$1")) as [number, string][];
}

describe.each(Object.keys(WRITTEN))("%s", (table) => {
	test("is written as the commands write it", () => {
		const all = cases(table);
		expect(all.length).toBeGreaterThan(2);
		expect(all.map(([value]) => WRITTEN[table]?.(value))).toEqual(all.map(([, text]) => text));
	});
});

test("a value of an answer by its unit; nothing is a dash", () => {
	expect(format(1.5e6, "bytes/s")).toBe("1.5 MB/s");
	expect(format(null, "ns")).toBe("-");
});
