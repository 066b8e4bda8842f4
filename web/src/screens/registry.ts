/** All screens, in the order of the tabs: a new one is a folder and a row here. */
import type { ComponentType } from "preact";
import { CallExplorer } from "./call/screen";
import { Centre } from "./centre/screen";
import { Compare } from "./compare/screen";
import { Files } from "./files/screen";
import { Generate } from "./generate/screen";
import { Heat } from "./heat/screen";
import { Latency } from "./latency/screen";
import { Layers } from "./layers/screen";
import { Overview } from "./overview/screen";
import { Servers } from "./servers/screen";
import { Setup } from "./setup/screen";
import { Sql } from "./sql/screen";
import { Timeline } from "./timeline/screen";
import { Tune } from "./tune/screen";

export interface Screen {
	/** As in addresses, and as findings name it. */
	name: string;
	title: string;
	question: string;
	/** Opens it. */
	key: string;
	/** Says nothing of a run, so it needs none. */
	alone?: true;
	/** Asks the server for what no report holds. */
	live?: true;
	Show: ComponentType;
}

export const SCREENS: Screen[] = [
	{ name: "overview", title: "Overview", question: "Is I/O my problem, where, and what first?", key: "1", Show: Overview },
	{ name: "heat", title: "Heat map", question: "When, and on which ranks?", key: "2", Show: Heat },
	{ name: "timeline", title: "Timeline", question: "What does each rank do, on each layer, at each moment?", key: "3", Show: Timeline },
	{ name: "call", title: "Call explorer", question: "Where did this call's time go, layer by layer?", key: "4", Show: CallExplorer },
	{ name: "layers", title: "Layers", question: "Which layer costs, for what, at whom?", key: "5", Show: Layers },
	{ name: "files", title: "Files", question: "Who touches which file, and where in it?", key: "6", Show: Files },
	{ name: "servers", title: "Servers", question: "Are the servers balanced, and what did the system do?", key: "7", Show: Servers },
	{ name: "latency", title: "Latency", question: "How bad are the tails, when, and which calls?", key: "8", Show: Latency },
	{ name: "compare", title: "Compare", question: "What takes more or less time, and what was set otherwise?", key: "9", Show: Compare },
	{ name: "sql", title: "SQL", question: "Anything else, in SQL or as a query", key: "0", live: true, Show: Sql },
	{ name: "centre", title: "Centre", question: "Which jobs, users, programs and servers lose most, and what is new?", key: "J", alone: true, live: true, Show: Centre },
	{ name: "tune", title: "Tune", question: "With which settings is my program fastest, and what was tried?", key: "T", alone: true, live: true, Show: Tune },
	{ name: "setup", title: "Set up", question: "How do I record my program?", key: "N", alone: true, live: true, Show: Setup },
	{ name: "generate", title: "Generate", question: "Parallel I/O for my program: described here, checked, written as code", key: "G", alone: true, live: true, Show: Generate },
];

/** Those that have something to show: in a report, of so many runs. */
export function screensOf(report: boolean, runs: number): Screen[] {
	return SCREENS.filter((screen) => (screen.alone || runs > 0) && !(report && (screen.live || (screen.name === "compare" && runs < 2))));
}
