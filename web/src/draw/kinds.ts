/** What calls do, in the few groups that a picture tells apart by colour. */
import type { Palette } from "./theme";

export interface KindGroup {
	name: string;
	/** Of `calls.kind`. */
	kinds: readonly string[];
	onWhite: string;
	onBlack: string;
}

// Okabe and Ito's colours, told apart with every kind of colour blindness; darker on white, for 3:1 against it.
export const KINDS: readonly KindGroup[] = [
	{ name: "write", kinds: ["write"], onWhite: "#D55E00", onBlack: "#E8743B" },
	{ name: "read", kinds: ["read", "map"], onWhite: "#0072B2", onBlack: "#56B4E9" },
	{ name: "open, close", kinds: ["open", "close", "dir"], onWhite: "#B87F00", onBlack: "#F0C040" },
	{ name: "names, views, sizes", kinds: ["meta", "seek"], onWhite: "#B85C91", onBlack: "#CC79A7" },
	{ name: "sync", kinds: ["sync"], onWhite: "#007A5A", onBlack: "#009E73" },
	{ name: "wait, exchange", kinds: ["wait", "post", "comm"], onWhite: "#767676", onBlack: "#9A9A9A" },
];
const OTHER: KindGroup = { name: "other", kinds: [], onWhite: "#4A4A4A", onBlack: "#D0D0D0" };

export function kindGroup(kind: string): KindGroup {
	return KINDS.find((one) => one.kinds.includes(kind)) ?? OTHER;
}

export function kindColour(palette: Palette, group: KindGroup): string {
	return palette.name === "light" ? group.onWhite : group.onBlack;
}
