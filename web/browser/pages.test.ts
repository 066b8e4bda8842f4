/** Every screen in a real browser, from a report on disk without a network: what it names, keys, exports, accessibility. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { answers, RUN, SLOW } from "./fixture";
import { openBrowser, openPage, writeReport, type Opened } from "./page";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const SCREENS = ["overview", "heat", "timeline", `timeline?call=${SLOW}&lanes=36-38&run=${RUN}`, "call", `call?call=${SLOW}&run=${RUN}`];
const EMPTY = { columns: [], rows: [], total: 0, sql: "", note: null };

let browser: Browser;
let url: string;

beforeAll(async () => {
	browser = await openBrowser();
	url = writeReport(answers());
});
afterAll(() => browser.close());

async function violations(page: Page): Promise<string[]> {
	await page.evaluate(AXE);
	return page.evaluate(async () => {
		const axe = (window as unknown as { axe: { run: () => Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> } }).axe;
		return (await axe.run()).violations.map((one) => `${one.id}: ${one.nodes[0]?.html ?? ""}`);
	});
}

async function settled({ page }: Opened): Promise<void> {
	await page.waitForSelector("main h1, main .notice");
	await page.waitForFunction(() => !document.querySelector("main .loading, main [aria-busy=true]"));
}

async function on(screen: string, scheme: "light" | "dark" = "light", width = 1280): Promise<Opened> {
	const opened = await openPage(browser, `${url}#v1/${screen}`, { width, height: 900 }, scheme);
	await settled(opened);
	return opened;
}

describe.each(SCREENS)("%s", (screen) => {
	test.each(["light", "dark"] as const)("is clean for axe, in %s, without a request or an error", async (scheme) => {
		const { page, complaints } = await on(screen, scheme);
		expect(await violations(page)).toEqual([]);
		expect(complaints).toEqual([]);
	});

	test("fits a telephone and stays below 3,000 nodes", async () => {
		const { page } = await on(screen, "dark", 360);
		expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
		expect(await page.evaluate(() => document.querySelectorAll("*").length)).toBeLessThan(3000);
	});
});

test("axe bites: a page that is broken on purpose has violations", async () => {
	const { page } = await on("overview");
	await page.evaluate(() => document.querySelector("main")?.append(document.createElement("button")));
	expect((await violations(page)).join()).toContain("button-name");
});

describe("states", () => {
	test("no data, filtered out, not captured and newer are four sentences, each clean for axe", async () => {
		const notices: string[] = [];
		const runOf = (note: string | null): Record<string, unknown> => ({ ...answers(), [`slowest?run=${RUN}`]: { ...EMPTY, note }, [`slowest?ops=x&run=${RUN}`]: EMPTY });
		for (const [hash, note] of [
			["v1/call", null],
			[`v1/call?ops=x&run=${RUN}`, null],
			["v1/call", "Calls were not captured: the run was recorded at level job."],
			["v9/call", null],
		] as const) {
			const opened = await openPage(browser, `${writeReport(runOf(note))}#${hash}`);
			await settled(opened);
			notices.push(await opened.page.locator("main .notice").innerText());
			expect(await violations(opened.page)).toEqual([]);
		}
		expect(notices.map((one) => /No data|Filtered out|not captured|newer format/.exec(one)?.[0])).toEqual(["No data", "Filtered out", "not captured", "newer format"]);
	});

	test("what a report left out names the command that has it", async () => {
		const { page } = await on(`call?call=5&run=${RUN}`);
		expect(await page.locator("main").innerText()).toContain("fathom view");
		expect(await violations(page)).toEqual([]);
	});
});

describe("the planted write", () => {
	test("is named on the first screen, beside the straggler and the hot server", async () => {
		const { page } = await on("overview");
		const landmarks = await page.locator(".landmarks").innerText();
		for (const name of ["900 ms", "Rank 37", "oss-03"]) expect(landmarks).toContain(name);
	});

	test("is reached by keys alone: heat map, cursor, Enter", async () => {
		const { page } = await on("heat");
		for (let i = 0; i < 40; i++) {
			await page.keyboard.press("Tab");
			if (await page.evaluate(() => document.activeElement?.tagName === "CANVAS")) break;
		}
		await expect.poll(() => page.locator("[aria-live]").innerText()).toContain("rank 37");
		await page.keyboard.press("Enter");
		await page.waitForSelector("text=pwrite of rank 37: 900 ms");
		expect(page.url()).toContain(`call=${SLOW}`);
	});

	test("stays marked at every zoom, in the colour of marks", async () => {
		const { page } = await on("heat", "dark");
		await page.locator("canvas.above").focus();
		for (let zoom = 0; zoom < 6; zoom++) {
			await settled({ page, complaints: [] });
			await expect.poll(() => marked(page)).toBeGreaterThan(5);
			await page.keyboard.press("+");
		}
	});
});

/** Pixels of the mark's colour in dark mode. */
function marked(page: Page): Promise<number> {
	return page.evaluate(() => {
		const canvas = document.querySelector<HTMLCanvasElement>(".picture canvas");
		const { data } = canvas!.getContext("2d")!.getImageData(0, 0, canvas!.width, canvas!.height);
		let pixels = 0;
		for (let i = 0; i < data.length; i += 4) if (data[i] === 0xff && data[i + 1] === 0x8a && data[i + 2] === 0x80) pixels++;
		return pixels;
	});
}

test("canvas text is inked for the theme, which axe cannot see", async () => {
	const brightest: Record<string, number> = {};
	for (const scheme of ["light", "dark"] as const) {
		const { page } = await on("overview", scheme);
		brightest[scheme] = await page.evaluate(() => {
			const canvas = document.querySelector<HTMLCanvasElement>(".uplot canvas");
			const { data } = canvas!.getContext("2d")!.getImageData(0, 0, 50 * devicePixelRatio, canvas!.height);
			let most = 0;
			for (let i = 0; i < data.length; i += 4) if ((data[i + 3] ?? 0) > 200) most = Math.max(most, data[i] ?? 0);
			return most;
		});
	}
	expect(brightest["light"]).toBeLessThan(130);
	expect(brightest["dark"]).toBeGreaterThan(150);
});

test("a finding says what to do, the command that proves it, and its calls by name", async () => {
	const { page } = await on("overview");
	const first = page.locator(".worst ol > li").first();
	expect(await first.innerText()).toContain("Do Collective buffering");
	expect(await first.locator(".proof code").innerText()).toBe("fathom tune s3d --try cb_write=enable");
	await first.locator("details summary").first().click();
	await first.getByRole("link", { name: "pwrite, rank 37, 900 ms" }).click();
	await expect.poll(() => page.url()).toContain(`call=${SLOW}`);
});

test("a brush selects on all screens, Back takes it away, a copied address shows the same", async () => {
	const { page } = await on("heat");
	const box = (await page.locator("canvas.above").boundingBox())!;
	await page.mouse.move(box.x + 300, box.y + 100);
	await page.mouse.down();
	await page.mouse.move(box.x + 500, box.y + 200, { steps: 4 });
	await page.mouse.up();
	await page.waitForSelector(".selected .chip");
	const chips = await page.locator(".selected").innerText();
	const copy = await openPage(browser, page.url());
	await settled(copy);
	expect(await copy.page.locator(".selected").innerText()).toBe(chips);
	await page.goBack();
	await expect.poll(() => page.locator(".selected").count()).toBe(0);
});

test("the exported CSV adds up to the screen, the PNG and SVG are pictures", async () => {
	const { page } = await on("heat");
	const shown = Number((/([\d,]+) calls/.exec(await page.locator("figcaption").innerText())?.[1] ?? "").replaceAll(",", ""));
	const saved: Record<string, Buffer> = {};
	for (const kind of ["CSV", "PNG", "SVG"]) {
		await page.locator("figcaption .export > summary").click();
		const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: kind, exact: true }).click()]);
		saved[kind] = readFileSync(await download.path());
	}
	const [head = "", ...lines] = (saved["CSV"] ?? Buffer.of()).toString().trim().split("\n");
	const at = head.split(",").indexOf("calls");
	expect(lines.reduce((sum, line) => sum + Number(line.split(",")[at]), 0)).toBe(shown);
	expect(saved["PNG"]?.subarray(1, 4).toString()).toBe("PNG");
	expect(saved["SVG"]?.toString()).toMatch(/^<svg[\s\S]*rank 0[\s\S]*<\/svg>$/);
});

test("names of files are text, whatever they hold", async () => {
	const { page, complaints } = await on("overview");
	expect(await page.locator(".landmarks").innerText()).toContain("<img src=x onerror=alert(1)>");
	expect(await page.locator("main img, main b, main script").count()).toBe(0);
	expect(complaints).toEqual([]);
});

test("keys are listed, and the list closes", async () => {
	const { page } = await on("overview");
	await page.keyboard.press("?");
	expect(await page.locator("dialog").innerText()).toContain("copy the address");
	expect(await violations(page)).toEqual([]);
	await page.keyboard.press("Escape");
	expect(await page.locator("dialog[open]").count()).toBe(0);
	await page.keyboard.press("4");
	await expect.poll(() => page.url()).toContain("v1/call");
});
