import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, test, vi } from "vitest";
import { LiveSource } from "./live";
import { ReportSource, unpackReport } from "./report";
import { NoAnswer, requestKey } from "./source";
import { decodeTile } from "./tile";

test("a request has one text, whatever the order it was asked in", () => {
	expect(requestKey("tile", { z: 0, run: "a b", layer: "posix", t: null })).toBe("tile?layer=posix&run=a+b&z=0");
	expect(requestKey("runs", {})).toBe("runs");
});

describe("report", () => {
	const payload = gzipSync(JSON.stringify({ runs: { runs: [] }, "tile?x=0": Buffer.from([1, 2, 250]).toString("base64") })).toString("base64");
	const source = new ReportSource(unpackReport(`\n${payload}\n`));

	test("answers as the server would", async () => {
		expect(await source.json("runs", {})).toEqual({ runs: [] });
		expect([...new Uint8Array(await source.bytes("tile", { x: 0 }))]).toEqual([1, 2, 250]);
	});

	test("what it does not hold is said to be left out, not to be empty", async () => {
		const error = await source.json("call", { call: "1" }).catch((one: unknown) => one);
		expect(error).toBeInstanceOf(NoAnswer);
		expect((error as NoAnswer).frozen).toBe(true);
	});
});

describe("live", () => {
	afterEach(() => vi.unstubAllGlobals());

	test("the server's sentence is the error", async () => {
		vi.stubGlobal("fetch", () => Promise.resolve(new Response('{"error": "t=x: not a range, give A-B"}', { status: 400 })));
		await expect(new LiveSource(() => "k").json("overview", { t: "x" })).rejects.toThrow("t=x: not a range, give A-B");
	});

	test("what is to be done is posted", async () => {
		const asked = vi.fn(() => Promise.resolve(new Response("{}")));
		vi.stubGlobal("fetch", asked);
		await new LiveSource(() => "k").act("save", { name: "a.c" });
		expect(asked).toHaveBeenCalledWith("api/v1/save", expect.objectContaining({ method: "POST", body: `{"name":"a.c"}` }));
	});

	test("each request has the key, and a long one goes as a body", async () => {
		const asked = vi.fn(() => Promise.resolve(new Response("{}")));
		vi.stubGlobal("fetch", asked);
		const source = new LiveSource(() => "k");
		await source.json("runs", {});
		await source.json("sql", { q: "x".repeat(9000) });
		const headers = expect.objectContaining({ Authorization: "Bearer k" }) as unknown;
		expect(asked).toHaveBeenNthCalledWith(1, "api/v1/runs", expect.objectContaining({ headers }));
		expect(asked).toHaveBeenNthCalledWith(2, "api/v1/sql", expect.objectContaining({ method: "POST", headers }));
	});

	test("at most four requests are under way, and one that was given up is never sent", async () => {
		const open: (() => void)[] = [];
		const asked = vi.fn(() => new Promise<Response>((answer) => open.push(() => answer(new Response("{}")))));
		vi.stubGlobal("fetch", asked);
		const source = new LiveSource(() => "k");
		const cancel = new AbortController();
		const all = [1, 2, 3, 4].map((x) => source.json("tile", { x }));
		const fifth = source.json("tile", { x: 5 }, cancel.signal);
		await Promise.resolve();
		expect(asked).toHaveBeenCalledTimes(4);
		cancel.abort();
		open.forEach((answer) => answer());
		await Promise.all(all);
		await expect(fifth).rejects.toThrow();
		expect(asked).toHaveBeenCalledTimes(4);
	});
});

describe("tile", () => {
	test("is read as it was written", () => {
		const ops = Buffer.from('[["pwrite","write"]]');
		const body = Buffer.alloc(12 + 2 * 20 + ops.length + 20);
		body.write("FTL1");
		body.writeUInt32LE(2, 4);
		body.writeUInt32LE(ops.length, 8);
		[258, 511].forEach((cell, i) => body.writeUInt16LE(cell, 12 + 2 * i));
		[3, 4].forEach((calls, i) => body.writeUInt32LE(calls, 20 + 4 * i));
		[0.5, 9].forEach((longest, i) => body.writeFloatLE(longest, 44 + 4 * i));
		ops.copy(body, 52);
		body.writeUInt16LE(511, 52 + ops.length);
		body.writeBigUInt64LE(2n ** 63n + 1n, 56 + ops.length);
		body.writeDoubleLE(9e8, 64 + ops.length);
		const tile = decodeTile(new Uint8Array(body).buffer);
		expect([...tile.cell]).toEqual([258, 511]);
		expect([...tile.calls]).toEqual([3, 4]);
		expect([...tile.longest]).toEqual([0.5, 9]);
		expect(tile.ops).toEqual([["pwrite", "write"]]);
		expect(tile.marked).toEqual([{ cell: 511, op: 0, call: "9223372036854775809", duration: 9e8 }]);
	});

	test("another format is said", () => {
		expect(() => decodeTile(new Uint8Array(12).buffer)).toThrow("FTL1");
	});
});
