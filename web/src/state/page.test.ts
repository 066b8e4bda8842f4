import { describe, expect, test } from "vitest";
import { changed, formatHash, formatRange, onScreen, parseHash, parseRange, selectionOf } from "./page";

describe("address", () => {
	test("round trip keeps hostile text", () => {
		const page = { screen: "heat", given: { run: "a b/<&>#?=", t: "0-5", ops: "posix:pwrite" } };
		expect(parseHash(formatHash(page), "overview")).toEqual(page);
	});

	test("the same page has one address, whatever the order of its parameters", () => {
		const a = formatHash({ screen: "heat", given: { t: "0-5", run: "x" } });
		expect(a).toBe(formatHash({ screen: "heat", given: { run: "x", t: "0-5" } }));
		expect(a).toBe("#v1/heat?run=x&t=0-5");
	});

	test("an address of another version is told apart from an empty one", () => {
		expect(parseHash("#v2/heat", "overview")).toBeNull();
		expect(parseHash("", "overview")).toEqual({ screen: "overview", given: {} });
	});

	test("a change of screen keeps run, selection and focus, and drops what belongs to the screen", () => {
		const page = { screen: "heat", given: { run: "x", t: "0-5", call: "7", of: "inclusive" } };
		expect(onScreen(page, "call", { call: 9 })).toEqual({ screen: "call", given: { run: "x", t: "0-5", call: "9" } });
		expect(onScreen(page, "heat").given["of"]).toBe("inclusive");
		expect(selectionOf(page)).toEqual({ t: "0-5" });
	});

	test("an empty value takes a parameter away", () => {
		expect(changed({ screen: "heat", given: { t: "0-5" } }, { t: null }).given).toEqual({});
	});
});

test("ranges cover what they are made of, and are never empty", () => {
	expect(formatRange(1.2, 5.6)).toBe("1-6");
	expect(formatRange(3, 3)).toBe("3-4");
	expect(parseRange("12.5e9-18e9")).toEqual([12.5e9, 18e9]);
	expect(parseRange("5-5")).toBeNull();
	expect(parseRange("x")).toBeNull();
});
