/** Colours of pictures. Pages take theirs from style.css; a canvas cannot, so it is given an ink. */
import { computed, signal } from "@preact/signals";
import { given } from "../state/state";
import { CAUSES, type Texture } from "./causes";
import { LAYERS } from "./layers";
import { RAMP, onRamp } from "./ramp";

export interface Palette {
	name: "light" | "dark" | "forced";
	background: string;
	text: string;
	quiet: string;
	line: string;
	mark: string;
	select: string;
	/** From little to much. */
	heat: string[];
	layers: Record<string, string>;
	causes: Record<string, string>;
	other: string;
}

// catalog/layers.toml has them: told apart with every kind of colour blindness; a label always says the same.
const ON_WHITE = Object.fromEntries([["app", "#767676"], ...LAYERS.map((layer) => [layer.name, layer.onWhite])]) as Record<string, string>;
const ON_BLACK = Object.fromEntries([["app", "#8a8a8a"], ...LAYERS.map((layer) => [layer.name, layer.onBlack])]) as Record<string, string>;
const CAUSES_ON_WHITE = Object.fromEntries(Object.entries(CAUSES).map(([cause, style]) => [cause, style.onWhite]));
const CAUSES_ON_BLACK = Object.fromEntries(Object.entries(CAUSES).map(([cause, style]) => [cause, style.onBlack]));

const LIGHT: Palette = {
	name: "light",
	background: "#ffffff",
	text: "#1b1f24",
	quiet: "#545d68",
	line: "#d0d7de",
	mark: "#b3261e",
	select: "#0b57d0",
	heat: RAMP.onWhite,
	layers: ON_WHITE,
	causes: CAUSES_ON_WHITE,
	other: "#767676",
};

const DARK: Palette = {
	name: "dark",
	background: "#14171c",
	text: "#e8eaed",
	quiet: "#a8b0ba",
	line: "#3a424d",
	mark: "#ff8a80",
	select: "#8ab4f8",
	heat: RAMP.onBlack,
	layers: ON_BLACK,
	causes: CAUSES_ON_BLACK,
	other: "#9aa0a6",
};

// The system's own colours for text and ground; data keeps its scale, labels say the rest.
const FORCED: Palette = { ...DARK, name: "forced", background: "#000000", text: "#ffffff", quiet: "#ffffff", line: "#ffffff", mark: "#ffff00", select: "#00ffff" };

const prefersDark = signal(false);
const forcedColours = signal(false);

/** Follows the system's settings from now on. */
export function followSystem(): void {
	const follow = (query: string, into: typeof prefersDark): void => {
		const media = matchMedia(query);
		into.value = media.matches;
		media.addEventListener("change", () => (into.value = media.matches));
	};
	follow("(prefers-color-scheme: dark)", prefersDark);
	follow("(forced-colors: active)", forcedColours);
}

export const theme = computed<"light" | "dark">(() => {
	const wanted = given("theme");
	return wanted === "dark" || wanted === "light" ? wanted : prefersDark.value ? "dark" : "light";
});

export const palette = computed<Palette>(() => (forcedColours.value ? FORCED : theme.value === "dark" ? DARK : LIGHT));

export const palettes = { light: LIGHT, dark: DARK, forced: FORCED };

/** What libraries communicated inside I/O calls: layer mpi's, told apart by who called. */
export const COMMUNICATION = "communication";

/** Colour of a share 0..1 of a sequential scale, one of `heatSteps`. */
export function heat(palette: Palette, share: number): string {
	return onRamp(palette.heat, share);
}

export function layerColour(palette: Palette, layer: string): string {
	return palette.layers[layer === COMMUNICATION ? "mpi" : layer] ?? palette.other;
}

export function causeColour(palette: Palette, cause: string): string {
	return palette.causes[cause] ?? palette.other;
}

export function causeTexture(cause: string): Texture {
	return CAUSES[cause]?.texture ?? "full";
}

/** WCAG's contrast of two colours #rrggbb. */
export function contrast(a: string, b: string): number {
	const [x, y] = [luminance(a), luminance(b)];
	return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}

function luminance(colour: string): number {
	const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
		const part = parseInt(colour.slice(at, at + 2), 16) / 255;
		return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
	});
	return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
