/** How each cause of I/O time is drawn. The colours of one texture are told apart with every kind of colour blindness. */

/** Laid over the colour, in that of the ground: nothing, diagonal or upright lines. */
export type Texture = "full" | "diagonal" | "upright";

export interface CauseStyle {
	onWhite: string;
	onBlack: string;
	texture: Texture;
}

/** By the names that the answer `account` has. */
export const CAUSES: Readonly<Record<string, CauseStyle>> = {
	processor: { onWhite: "#A73A00", onBlack: "#D55E00", texture: "full" },
	"start-up": { onWhite: "#068FE3", onBlack: "#0972B2", texture: "upright" },
	faults: { onWhite: "#5A4A00", onBlack: "#F0E68C", texture: "diagonal" },
	waiting: { onWhite: "#C977A5", onBlack: "#CC79A7", texture: "diagonal" },
	exchange: { onWhite: "#1860A0", onBlack: "#0768B8", texture: "full" },
	library: { onWhite: "#7A5AA6", onBlack: "#7A5AA6", texture: "diagonal" },
	names: { onWhite: "#0D95F4", onBlack: "#50BAF4", texture: "diagonal" },
	sync: { onWhite: "#D55E00", onBlack: "#D55E00", texture: "diagonal" },
	locks: { onWhite: "#8F5798", onBlack: "#CCA4E6", texture: "upright" },
	needless: { onWhite: "#C68300", onBlack: "#E69F00", texture: "upright" },
	requests: { onWhite: "#CA8100", onBlack: "#F8AC12", texture: "full" },
	contention: { onWhite: "#BA7EAB", onBlack: "#B672A8", texture: "full" },
	transfer: { onWhite: "#07A070", onBlack: "#06A97C", texture: "full" },
	unexplained: { onWhite: "#808080", onBlack: "#808080", texture: "upright" },
};
