/** From values to places and back. */

export interface Scale {
	from: number;
	to: number;
	start: number;
	end: number;
}

export function place(scale: Scale, value: number): number {
	return scale.start + ((value - scale.from) / (scale.to - scale.from)) * (scale.end - scale.start);
}

export function value(scale: Scale, at: number): number {
	return scale.from + ((at - scale.start) / (scale.end - scale.start)) * (scale.to - scale.from);
}

/** Round values in [from, to], at most `most` of them: 1, 2 or 5 of a power of ten apart. */
export function ticks(from: number, to: number, most: number): number[] {
	const span = to - from;
	if (!(span > 0) || most < 1) return [];
	const power = 10 ** Math.floor(Math.log10(span / most));
	const step = power * ([1, 2, 5, 10].find((one) => span / (power * one) <= most) ?? 10);
	const multiples: number[] = [];
	for (let i = Math.ceil(from / step); i * step <= to; i++) multiples.push(i * step);
	return multiples;
}

/** A time on an axis: all its labels in one unit, that of the step. */
export function timeLabels(at: number[]): string[] {
	const step = at.length > 1 ? (at[1] ?? 0) - (at[0] ?? 0) : Math.abs(at[0] ?? 1);
	const [unit, name] = step >= 1e8 ? [1e9, "s"] : step >= 1e5 ? [1e6, "ms"] : step >= 1e2 ? [1e3, "µs"] : [1, "ns"];
	const digits = Math.max(0, -Math.floor(Math.log10((step || 1) / unit) + 1e-9));
	return at.map((ns) => `${(ns / unit).toFixed(Math.min(digits, 6))} ${name}`);
}

/** Where a value lies between least and most on a logarithmic scale, 0 to 1. */
export function logShare(one: number, least: number, most: number): number {
	if (one <= least || most <= least) return one >= most ? 1 : 0;
	return Math.min(1, Math.log(one / least) / Math.log(most / least));
}
