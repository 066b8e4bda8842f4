/** Colours from little to much; every step has 3:1 against its ground. */
export const RAMP = {
	onWhite: ["#1f9e89", "#26828e", "#31688e", "#3e4989", "#482878", "#440154"],
	onBlack: ["#39769e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"],
};

/** Colour of a share 0..1. */
export function onRamp(colours: string[], share: number): string {
	const last = colours.length - 1;
	const at = Math.max(0, Math.min(1, share)) * last;
	const low = Math.min(Math.floor(at), last - 1);
	return mix(colours[low] ?? "#888888", colours[low + 1] ?? "#888888", at - low);
}

function mix(a: string, b: string, share: number): string {
	const [from, to] = [channels(a), channels(b)];
	const mixed = from.reduce((all, one, at) => all * 256 + Math.round(one + ((to[at] ?? one) - one) * share), 1);
	return `#${mixed.toString(16).slice(1)}`;
}

const CHANNELS = new Map<string, number[]>();

/** Red, green and blue of #rrggbb; a picture asks for those of a few colours thousands of times. */
function channels(colour: string): number[] {
	const known = CHANNELS.get(colour) ?? [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
	CHANNELS.set(colour, known);
	return known;
}
