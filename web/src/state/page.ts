/** The whole state of the page is its address: `#v1/SCREEN?parameters`. */

export const VERSION = "v1";

/** Parameters that narrow what every screen asks. */
export const SELECTION = ["t", "lanes", "layers", "kinds", "ops", "files", "servers"] as const;
export type SelectionName = (typeof SELECTION)[number];

/** Parameters that outlive a change of screen; all others belong to one screen. */
const SHARED: readonly string[] = ["run", "all", "call", "metric", "theme", "w", "wl", ...SELECTION];

export interface Page {
	screen: string;
	given: Readonly<Record<string, string>>;
}

export type Change = Readonly<Record<string, string | number | null | undefined>>;

/** An address as a page; null when another version of the viewer wrote it. */
export function parseHash(hash: string, first: string): Page | null {
	const text = hash.replace(/^#/, "");
	if (text === "") return { screen: first, given: {} };
	const [path = "", query = ""] = splitOnce(text, "?");
	const [version, screen = ""] = splitOnce(path, "/");
	if (version !== VERSION) return null;
	return { screen: screen || first, given: Object.fromEntries(new URLSearchParams(query)) };
}

export function formatHash(page: Page): string {
	const names = Object.keys(page.given).sort();
	const query = new URLSearchParams(names.map((name) => [name, page.given[name] ?? ""])).toString();
	return `#${VERSION}/${page.screen}${query ? `?${query}` : ""}`;
}

/** The page with some parameters changed; null, undefined and "" take one away. */
export function changed(page: Page, change: Change): Page {
	const given: Record<string, string> = { ...page.given };
	for (const [name, value] of Object.entries(change)) {
		if (value === null || value === undefined || value === "") Reflect.deleteProperty(given, name);
		else given[name] = String(value);
	}
	return { screen: page.screen, given };
}

/** Another screen with the same run, selection and focus. */
export function onScreen(page: Page, screen: string, change: Change = {}): Page {
	const shared = Object.entries(page.given).filter(([name]) => screen === page.screen || SHARED.includes(name));
	return changed({ screen, given: Object.fromEntries(shared) }, change);
}

/** The part of a page that narrows what is asked. */
export function selectionOf(page: Page): Record<string, string> {
	return Object.fromEntries(SELECTION.flatMap((name) => (page.given[name] ? [[name, page.given[name]]] : [])));
}

/** "A-B" as two numbers, A < B; null when it is no range. */
export function parseRange(text: string | undefined): [number, number] | null {
	const match = /^(-?[\d.e+]+)-([\d.e+]+)$/.exec(text ?? "");
	if (!match) return null;
	const [from, to] = [Number(match[1]), Number(match[2])];
	return Number.isFinite(from) && Number.isFinite(to) && from < to ? [from, to] : null;
}

export function formatRange(from: number, to: number): string {
	return `${Math.floor(from)}-${Math.max(Math.ceil(to), Math.floor(from) + 1)}`;
}

function splitOnce(text: string, mark: string): [string, string] {
	const at = text.indexOf(mark);
	return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}
