/** The timeline under a hand: wheel, drag, click, mouse, search. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { answers, RUN, SLOW } from "./fixture";
import { openBrowser, openPage, writeReport } from "./page";

let browser: Browser;
let url: string;

beforeAll(async () => {
	browser = await openBrowser();
	url = writeReport(answers());
});
afterAll(() => browser.close());

interface Picture {
	page: Page;
	/** Of the picture, on screen. */
	box: { x: number; y: number; width: number; height: number };
}

/** Ranks 36 to 38. */
async function timeline(more = ""): Promise<Picture> {
	const { page } = await openPage(browser, `${url}#v1/timeline?lanes=36-38&run=${RUN}${more}`);
	await page.waitForSelector("main .legend");
	return { page, box: (await page.locator("canvas.above").boundingBox())! };
}

/** Times on screen, in seconds. */
async function view(page: Page): Promise<[number, number]> {
	await page.waitForTimeout(50);
	const times = /[?&]w=(\d+)-(\d+)/.exec(page.url());
	return times ? [Number(times[1]) / 1e9, Number(times[2]) / 1e9] : [0, 8];
}

const LEFT = 120; // of the times, beside the names
const across = ({ box }: Picture, seconds: number): number => box.x + LEFT + ((box.width - LEFT - 6) * seconds) / 8;
/** The strip of posix of rank 37, the third of the second lane, of three each. */
const slowAt = (picture: Picture): [number, number] => [across(picture, 3.5), picture.box.y + 24 + (3 * 18 + 6) + 2.5 * 18];

describe("the wheel", () => {
	test("zooms at the mouse, and out again; the page does not scroll", async () => {
		const picture = await timeline();
		const { page, box } = picture;
		await page.mouse.move(across(picture, 2), box.y + 60);
		await page.mouse.wheel(0, -400);
		const [from, to] = await view(page);
		expect(to - from).toBeLessThan(8 * 0.6);
		expect((2 - from) / (to - from)).toBeCloseTo(2 / 8, 1);
		await page.mouse.wheel(0, 2000);
		expect(await view(page)).toEqual([0, 8]);
		expect(await page.evaluate(() => scrollY)).toBe(0);
	});
});

test("a drag moves what is seen, and filters nothing; with Shift it filters", async () => {
	const picture = await timeline("&w=2000000000-4000000000");
	const { page, box } = picture;
	const drag = async (by: number): Promise<void> => {
		await page.mouse.move(box.x + 600, box.y + 60);
		await page.mouse.down();
		await page.mouse.move(box.x + 600 + by, box.y + 60, { steps: 5 });
		await page.mouse.up();
	};
	await drag(-(box.width - LEFT - 6) / 2);
	const [from, to] = await view(page);
	expect(from).toBeCloseTo(3, 1);
	expect(to - from).toBeCloseTo(2, 3);
	expect(page.url()).not.toContain("&t=");
	await page.keyboard.down("Shift");
	await drag(100);
	await page.keyboard.up("Shift");
	await expect.poll(() => page.url()).toContain("&t=");
});

test("the mouse is told function, rank, time, bytes and file; a click opens details beside the picture", async () => {
	const picture = await timeline();
	const { page } = picture;
	await page.mouse.move(...slowAt(picture));
	const tip = await page.locator(".tip").innerText();
	for (const part of ["pwrite, rank 37, 900 ms", "8 KiB", "/scratch/<b>out</b>.h5", "at 3.1 s"]) expect(tip).toContain(part);
	await page.mouse.click(...slowAt(picture));
	const details = page.locator("aside.details");
	await expect.poll(() => details.innerText()).toContain("MPI_File_write_all");
	expect(page.url()).toContain(`call=${SLOW}`);
	expect(await details.innerText()).not.toContain(SLOW);
	const [picturebox, beside] = [(await page.locator("figure").boundingBox())!, (await details.boundingBox())!];
	expect(beside.x).toBeGreaterThanOrEqual(picturebox.x + picturebox.width);
	await details.getByRole("button", { name: "Zoom to it" }).click();
	expect((await view(page)).map((one) => Math.round(one))).toEqual([3, 4]);
	await details.getByRole("button", { name: "Close the details" }).click();
	expect(await details.count()).toBe(0);
});

test("a click on a name pins its row", async () => {
	const { page, box } = await timeline();
	await page.mouse.click(box.x + 20, box.y + 24 + 3 * 18 + 6 + 5);
	await expect.poll(() => page.url()).toContain("pin=37");
});

test("keys work before the picture was clicked; a search goes from match to match", async () => {
	const { page } = await timeline();
	await page.keyboard.press("w");
	expect(await view(page)).toEqual([2, 6]);
	await page.keyboard.press("/");
	await page.keyboard.type("write_all");
	await page.keyboard.press("Enter");
	await expect.poll(() => page.locator("aside.details h2").innerText()).toBe("MPI_File_write_all, rank 36, 800 ms");
	await page.keyboard.press("Enter");
	await expect.poll(() => page.locator("aside.details h2").innerText()).toBe("MPI_File_write_all, rank 37, 800 ms");
});
