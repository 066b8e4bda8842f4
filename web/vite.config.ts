import { defineConfig } from "vitest/config";
import { viteSingleFile } from "vite-plugin-singlefile";
import { CAUSES, type CauseStyle } from "./src/draw/causes.ts";
import { LAYERS } from "./src/draw/layers.ts";
import { RAMP, onRamp } from "./src/draw/ramp.ts";

const DARK = "@media (prefers-color-scheme: dark)";

interface Class {
	name: string;
	onWhite: string;
	onBlack: string;
}

/** Steps of the heat map's colours (report/pictures.py). */
const STEPS = 8;

/** Colours of causes, layers and heat as classes, for the first screen of a report, which is there without scripts (report/first.py). */
function coloursAsClasses(): string {
	const causes = Object.entries(CAUSES).map(([cause, style]: [string, CauseStyle]): Class => ({ name: `cause-${cause}`, ...style }));
	const layers = LAYERS.map((layer): Class => ({ name: `layer-${layer.name}`, onWhite: layer.onWhite, onBlack: layer.onBlack }));
	const heat = Array.from({ length: STEPS }, (_, step): Class => {
		const share = step / (STEPS - 1);
		return { name: `heat-${step}`, onWhite: onRamp(RAMP.onWhite, share), onBlack: onRamp(RAMP.onBlack, share) };
	});
	const all = [...causes, ...layers, ...heat];
	const rules = (colour: (one: Class) => string): string => all.map((one) => `.${one.name}{color:${colour(one)}}`).join("");
	const over = Object.entries(CAUSES)
		.map(([cause, { texture }]) => `.over-${cause}{fill:${texture === "full" ? "none" : `url(#${texture})`}}`)
		.join("");
	return `${rules((one) => one.onWhite)}${DARK}{${rules((one) => one.onBlack)}}${over}`;
}

const colours = {
	name: "colours-as-classes",
	transformIndexHtml: () => [{ tag: "style", children: coloursAsClasses(), injectTo: "head" as const }],
};

// FATHOM_SERVER: where `fathom view` listens, for `npm run dev`.
export default defineConfig({
	plugins: [colours, viteSingleFile()],
	build: { target: "es2022", reportCompressedSize: false },
	server: { proxy: { "/api": process.env["FATHOM_SERVER"] ?? "http://127.0.0.1:8000" } },
	test: { include: ["src/**/*.test.ts", "src/**/*.test.tsx"], passWithNoTests: false },
});
