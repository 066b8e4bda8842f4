import type { JSX } from "preact";
import { theme } from "../draw/theme";
import { screensOf } from "../screens/registry";
import { isReport } from "../state/answers";
import { currentRun, now, runs } from "../state/runs";
import { address, change, given, page } from "../state/state";
import { openHelp } from "./help";
import { clock } from "./running";

export function Header(): JSX.Element {
	return (
		<header class="top">
			<div class="bar">
				<span class="brand">Fathom</span>
				<RunChooser />
				{currentRun.value?.live && <span class="badge">running{now.value ? `, as of ${clock(now.value.time)}` : ""}</span>}
				{isReport() && <span class="badge">report</span>}
				<span class="grow" />
				<ThemeChooser />
				<button type="button" onClick={openHelp} aria-label="Keys and help">
					?
				</button>
			</div>
			<nav aria-label="Screens" class="tabs">
				{screensOf(isReport(), runs.value?.runs.length ?? 1).map((screen) => (
					<a key={screen.name} href={address(screen.name)} aria-current={page.value.screen === screen.name ? "page" : undefined}>
						{screen.title}
					</a>
				))}
			</nav>
		</header>
	);
}

function RunChooser(): JSX.Element | null {
	const open = runs.value?.runs ?? [];
	if (open.length === 0) return null;
	if (open.length === 1) return <span class="run">{open[0]?.name}</span>;
	return (
		<label>
			<span class="unseen">Run</span>
			<select value={given("run")} onChange={(event) => change({ run: event.currentTarget.value, call: null, w: null, wl: null })}>
				{open.map((one) => (
					<option key={one.name} value={one.name}>
						{one.name}
					</option>
				))}
			</select>
		</label>
	);
}

const NEXT = { "": "dark", dark: "light", light: "" } as const;

function ThemeChooser(): JSX.Element {
	const wanted = given("theme");
	const now = wanted === "dark" || wanted === "light" ? wanted : "";
	return (
		<button type="button" onClick={() => change({ theme: NEXT[now] }, true)} title="Colours: as the system, dark, light">
			{now === "" ? `system (${theme.value})` : now}
		</button>
	);
}
