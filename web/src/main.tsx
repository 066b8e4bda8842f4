import { effect } from "@preact/signals";
import { render } from "preact";
import { App } from "./app";
import { followSystem, theme } from "./draw/theme";
import { openSource } from "./source";
import { askFrom } from "./state/answers";
import { pressed } from "./state/keys";
import { followAddress } from "./state/state";
import "./style.css";

askFrom(openSource(document));
followSystem();
followAddress();
effect(() => {
	document.documentElement.dataset["theme"] = theme.value;
});
addEventListener("keydown", pressed);
const root = document.getElementById("fathom");
root?.replaceChildren(); // a report's first screen for who runs no script
if (root) render(<App />, root);
