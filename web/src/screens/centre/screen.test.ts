import { expect, test } from "vitest";
import { SvgInk } from "../../draw/ink";
import { palettes } from "../../draw/theme";
import type { Table } from "../../source";
import { HEIGHT, paintDays } from "./paint";
import { days, facts, inWords, type Total } from "./query";

const total: Total = { jobs: 1200, days: 2, users: 1, first_day: "2026-11-27", last_day: "2026-11-28", node_seconds: 360_000, io_node_seconds: 36_000, lost_node_seconds: 18_000 };
const names = ["day", "jobs", "users", "node h", "in I/O h", "lost node h", "cause"];
const table: Table = {
	columns: names.map((name) => ({ name, unit: "text" })),
	rows: [
		["2026-11-27", 5, 2, 40, 8, 2, "sync"],
		["2026-11-28", 6, 2, 60, 2, 4, null],
	],
	total: 2,
	sql: "",
	note: null,
};

test("all jobs in a sentence, in node hours", () => {
	expect(inWords(total)).toBe("1,200 jobs of 1 user, 2026-11-27 to 2026-11-28: 5 of 100 node hours lost (5 %), 10 in I/O.");
	expect(inWords({ ...total, jobs: 1, first_day: "2026-11-28" })).toContain("1 job of 1 user, on 2026-11-28:");
	expect(inWords({ ...total, node_seconds: 0, lost_node_seconds: 0 })).toContain("0 of 0 node hours lost, ");
	expect(inWords({ ...total, node_seconds: 9e9, lost_node_seconds: 3_600_000, io_node_seconds: 7 })).toContain("1,000 of 2,500,000 node hours lost (0.04 %), <0.01 in I/O.");
	expect(inWords({ ...total, jobs: 0 })).toBe("No job is in the lake.");
});

test("a day has a bar of its I/O, and one of what is lost, also where that is more", () => {
	const box = { width: 600, height: HEIGHT };
	const ink = new SvgInk(box);
	paintDays(days(table))(ink, box, palettes.light);
	const heights = [...ink.document("#fff").matchAll(/<rect [^>]*height="([\d.]+)"/g)].map((one) => Number(one[1]));
	const [io, lost, nextIo, nextLost] = heights.slice(-4) as [number, number, number, number];
	expect([io / lost, nextIo / nextLost].map((one) => Number(one.toFixed(1)))).toEqual([4, 0.5]);
	expect(ink.document("#fff")).toContain("2026-11-28");
});

test("a job's facts are those that its row has", () => {
	expect(facts({ path: "/run", notes: "", hosts: ["a", "b"], ranks: 4, cause: null }, { path: "run", notes: "notes", hosts: "hosts", ranks: "ranks", cause: "cause" })).toEqual([
		["run", "/run"],
		["hosts", "a, b"],
		["ranks", "4"],
	]);
});
