import { expect, test } from "vitest";
import { screensOf } from "./registry";

const names = (report: boolean, runs: number): string[] => screensOf(report, runs).map((screen) => screen.name);

test("a report has the screens that its answers fill", () => {
	expect(names(true, 2)).toEqual(["overview", "heat", "timeline", "call", "layers", "files", "servers", "latency", "compare"]);
	expect(names(true, 1)).not.toContain("compare");
});

test("without a run there are those that need none", () => {
	expect(names(false, 0)).toEqual(["centre", "tune", "setup", "generate"]);
	expect(names(false, 1)).toContain("sql");
});
