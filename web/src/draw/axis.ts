/** Axes of pictures made of bins: where round values stand, in bins, and what they are called. */
import { ticks, timeLabels } from "./scale";
import { size, time } from "./units";

export interface Tick {
	at: number; // in bins
	label: string;
}

export interface Axis {
	title: string;
	bins: number;
	/** What a bin holds, in words. */
	says: (bin: number) => string;
	/** Round values, at most so many. */
	ticks: (most: number) => Tick[];
	/** Value at which a bin begins. */
	value: (bin: number) => number;
}

export interface Bins {
	begin: number;
	width: number;
	bins: number;
}

function end({ begin, width, bins }: Bins): number {
	return begin + width * bins;
}

/** Bins of equal width, whose edges a unit's words tell. */
function equalBins(of: Bins, word: (value: number) => string): Pick<Axis, "bins" | "value" | "says"> {
	const value = (bin: number): number => of.begin + bin * of.width;
	return { bins: of.bins, value, says: (bin) => `${word(value(bin))} to ${word(value(bin + 1))}` };
}

export function timeAxis(of: Bins): Axis {
	return {
		...equalBins(of, time),
		title: "time",
		ticks: (most) => {
			const times = ticks(of.begin, end(of), most);
			const labels = timeLabels(times);
			return times.map((one, at) => ({ at: (one - of.begin) / of.width, label: labels[at] ?? "" }));
		},
	};
}

/** Offsets: round ones are powers of two. */
export function byteAxis(of: Bins): Axis {
	return {
		...equalBins(of, size),
		title: "offset",
		ticks: (most) => multiples(of, 2 ** Math.ceil(Math.log2(Math.max(1, (end(of) - of.begin) / Math.max(1, most)))), most * 2).map((one) => ({ at: (one - of.begin) / of.width, label: size(one) })),
	};
}

/** Multiples of a step that lie in the bins; none when they would be more than `most`. */
export function multiples(of: Bins, step: number, most: number): number[] {
	const [first, last] = [Math.ceil(of.begin / step), Math.floor(end(of) / step)];
	if (!(step > 0) || last - first + 1 > most) return [];
	return Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => (first + at) * step);
}

/** `word`: what a lane is; each stands in the middle of its bin. */
export function laneAxis(of: Bins, [word, words]: readonly [string, string]): Axis {
	const value = (bin: number): number => of.begin + bin * of.width;
	return {
		title: word,
		bins: of.bins,
		value,
		says: (bin) => (of.width === 1 ? `${word} ${value(bin)}` : `${words} ${value(bin)} to ${value(bin + 1) - 1}`),
		ticks: (most) =>
			ticks(of.begin, end(of), most)
				.filter((one) => Number.isInteger(one) && one < end(of))
				.map((one) => ({ at: (one + 0.5 - of.begin) / of.width, label: of.bins <= 16 ? `${word} ${one}` : String(one) })),
	};
}

/** Edge of a bucket of latencies: bucket b holds [2^(b/4), 2^((b+1)/4)) ns. */
export function bucketEdge(bucket: number): number {
	return 2 ** (bucket / 4);
}

const POWERS = Array.from({ length: 13 }, (_, at) => 10 ** at);

/** Latencies, from a bucket on. */
export function bucketAxis(first: number, bins: number): Axis {
	return {
		title: "latency",
		bins,
		value: (bin) => bucketEdge(first + bin),
		says: (bin) => `${time(bucketEdge(first + bin))} to ${time(bucketEdge(first + bin + 1))}`,
		ticks: (most) => {
			const binOf = (one: number): number => 4 * Math.log2(one) - first;
			const inside = (all: number[]): number[] => all.filter((one) => binOf(one) >= 0 && binOf(one) <= bins);
			const tens = inside(POWERS);
			const round = tens.length > 2 ? tens : inside(POWERS.flatMap((one) => [one, 2 * one, 5 * one]));
			// Within a factor of a few the edges themselves say more than one round number.
			const said = round.length > 2 ? round : Array.from({ length: bins + 1 }, (_, bin) => bucketEdge(first + bin));
			const every = Math.ceil(said.length / Math.max(1, most));
			return said.filter((_, at) => at % every === 0).map((one) => ({ at: binOf(one), label: time(one) }));
		},
	};
}

/** Rows that have names. */
export function nameAxis(title: string, names: string[]): Axis {
	return {
		title,
		bins: names.length,
		value: (bin) => bin,
		says: (bin) => names[bin] ?? "",
		ticks: (most) => (names.length > most ? [] : names.map((label, at) => ({ at: at + 0.5, label }))),
	};
}
