import { computed, signal } from "@preact/signals";
import { changed, formatHash, onScreen, parseHash, selectionOf, type Change, type Page } from "./page";

const FIRST = "overview";

/** The state of this page; changed by `go` and `change` alone. */
export const page = signal<Page>({ screen: FIRST, given: {} });

/** True when the address was written by a viewer with another form of addresses. */
export const foreignAddress = signal(false);

/** Counts up when a live run has grown, so that what is on screen is asked again. */
export const revision = signal(0);

export const selection = computed(() => selectionOf(page.value));
export const run = computed(() => page.value.given["run"] ?? "");

/** Is what a run-time did to be among what the program did? */
export const everything = computed(() => page.value.given["all"] === "1");

/** Run and selection, as every request has them. */
export const scope = computed(() => ({ run: run.value, ...selection.value }));

/** A parameter of the page; "" when it is not given. */
export function given(name: string): string {
	return page.value.given[name] ?? "";
}

/** Changes parameters of this screen. With `replace`, Back leads past the change. */
export function change(wanted: Change, replace = false): void {
	show(changed(page.value, wanted), replace);
}

/** Opens a screen with the same run, selection and focus. */
export function go(screen: string, wanted: Change = {}): void {
	show(onScreen(page.value, screen, wanted), false);
}

/** The address that `go` would lead to. */
export function address(screen: string, wanted: Change = {}): string {
	return formatHash(onScreen(page.value, screen, wanted));
}

function show(next: Page, replace: boolean): void {
	const hash = formatHash(next);
	if (hash === formatHash(page.value) && location.hash === hash) return;
	page.value = next;
	foreignAddress.value = false;
	if (replace) history.replaceState(null, "", hash);
	else history.pushState(null, "", hash);
}

/** Follows the address bar from now on. */
export function followAddress(): void {
	const read = (): void => {
		const next = parseHash(location.hash, FIRST);
		foreignAddress.value = next === null;
		if (next) page.value = next;
	};
	read();
	addEventListener("popstate", read);
	addEventListener("hashchange", read);
}
