import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { copy } from "./parts/copy";
import { Header } from "./parts/header";
import { Help, openHelp } from "./parts/help";
import { Failed, Loading } from "./parts/notice";
import { LiveRegion } from "./parts/say";
import { Running } from "./parts/running";
import { Selected } from "./parts/selected";
import type { Run, Runs } from "./source";
import { SCREENS, screensOf } from "./screens/registry";
import { isReport, useAnswer } from "./state/answers";
import { useFollowing } from "./state/following";
import { bindKeys } from "./state/keys";
import { currentRun, hear, runs } from "./state/runs";
import { change, everything, foreignAddress, go, page, run } from "./state/state";

export function App(): JSX.Element {
	const answer = useAnswer<Runs>("runs", {});
	useEffect(() => {
		runs.value = answer.value;
		if (answer.value) hear(answer.value.generation);
		const first = answer.value?.runs[0];
		if (first && !run.value && !foreignAddress.value) change({ run: first.name }, true);
	}, [answer.value, run.value]);
	useEffect(pageKeys, []);
	const shown = currentRun.value;
	useFollowing(shown);
	return (
		<>
			<a class="skip" href="#main" onClick={skip}>
				Skip to the screen
			</a>
			<Header />
			<Selected />
			<main id="main" tabIndex={-1}>
				{answer.error ? <Failed error={answer.error} /> : <Main run={shown} loaded={answer.value !== null} />}
			</main>
			{shown && <Foot run={shown} />}
			<Help />
			<LiveRegion />
		</>
	);
}

/** Why no screen can be shown; null when one can. */
function obstacle(shown: Run | null, loaded: boolean): JSX.Element | null {
	if (foreignAddress.value) {
		return <div class="notice failed">The address is none that this page knows; a newer Fathom may have written it. Choose a screen above.</div>;
	}
	if (!SCREENS.some((one) => one.name === page.value.screen)) return <div class="notice failed">There is no screen “{page.value.screen}”; choose one above.</div>;
	if (!loaded) return <Loading height={200} />;
	if (SCREENS.find((one) => one.name === page.value.screen)?.alone) return null;
	if (runs.value?.runs.length === 0) return <div class="notice">No run is open here: <code>fathom view RUN</code> opens one.</div>;
	if (!shown && !run.value) return <Loading height={200} />;
	if (!shown) return <div class="notice failed">The run “{run.value}” is not open here; choose one above.</div>;
	return null;
}

function Main({ run: shown, loaded }: { run: Run | null; loaded: boolean }): JSX.Element {
	const screen = SCREENS.find((one) => one.name === page.value.screen);
	const why = obstacle(shown, loaded);
	if (why || !screen) {
		return (
			<>
				<h1 class="unseen">Fathom</h1>
				{why}
			</>
		);
	}
	return (
		<>
			<h1>
				{screen.title} <small>{screen.question}</small>
			</h1>
			{shown && <Running />}
			{shown?.["in part"].map((one) => (
				<p key={one} class="quiet">
					Recorded in part: {one}
				</p>
			))}
			<screen.Show key={screen.alone ? "" : shown?.name} />
		</>
	);
}

function Foot({ run: shown }: { run: Run }): JSX.Element {
	const counted = shown.counted > 0 ? `, ${shown.counted.toLocaleString("en-US")} as counters` : "";
	const share = `${shown.events.toLocaleString("en-US")} calls are here one by one${counted}`;
	return (
		<footer class="quiet">
			<code>{shown.command}</code>
			<span>{share}</span>
			{shown["left out"] && <LeftOut what={shown["left out"]} />}
			<span>Fathom {runs.value?.version}</span>
		</footer>
	);
}

/** What is not the program's, and the switch that puts it in; a report has no more than it has. */
function LeftOut({ what }: { what: string }): JSX.Element {
	if (isReport()) return <span>left out: {what}</span>;
	return (
		<label>
			<input type="checkbox" checked={everything.value} onChange={(event) => change({ all: event.currentTarget.checked ? "1" : null })} /> put in what is left out: {what}
		</label>
	);
}

/** The screen is no place of its own in the address, so the link moves the focus itself. */
function skip(event: Event): void {
	event.preventDefault();
	document.getElementById("main")?.focus();
}

function openExport(): void {
	document.querySelector<HTMLElement>("main .export > summary")?.click();
}

function pageKeys(): () => void {
	return bindKeys([
		{ key: "?", says: "list of keys", run: openHelp },
		{ key: "Backspace", says: "back", run: () => history.back() },
		{ key: "L", says: "copy the address of this view", run: () => copy(location.href, "Address") },
		{ key: "E", says: "export", run: openExport },
		...screensOf(isReport(), 2).map((screen) => ({ key: screen.key, says: screen.title, run: () => go(screen.name) })),
	]);
}
