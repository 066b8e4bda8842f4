/** The built page with answers in it, as `fathom report` writes it, in a real browser without a network. */
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { chromium, type Browser, type Page } from "playwright-core";

const DIST = new URL("../dist/index.html", import.meta.url);

export function writeReport(answers: Record<string, unknown>): string {
	if (!existsSync(DIST)) throw new Error("web/dist/index.html is missing: npm run build comes first");
	const payload = gzipSync(JSON.stringify(answers)).toString("base64");
	const page = readFileSync(DIST, "utf8").replace('<div id="fathom">', () => `<script type="text/plain" id="fathom-report">${payload}</script><div id="fathom">`);
	const file = join(mkdtempSync(join(tmpdir(), "fathom-web-")), "report.html");
	writeFileSync(file, page);
	return pathToFileURL(file).href;
}

export function openBrowser(): Promise<Browser> {
	const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
	return chromium.launch({ executablePath, args: ["--no-sandbox", "--force-color-profile=srgb", "--font-render-hinting=none"] });
}

export interface Opened {
	page: Page;
	/** What must stay empty: errors on the console, requests to anywhere. */
	complaints: string[];
}

export async function openPage(browser: Browser, url: string, size = { width: 1280, height: 900 }, scheme: "light" | "dark" = "light"): Promise<Opened> {
	const context = await browser.newContext({ viewport: size, colorScheme: scheme, offline: true, acceptDownloads: true });
	const page = await context.newPage();
	const complaints: string[] = [];
	page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
	page.on("pageerror", (error) => complaints.push(String(error)));
	page.on("request", (request) => !/^(file|data|blob):/.test(request.url()) && complaints.push(request.url()));
	await page.goto(url);
	return { page, complaints };
}
