/** What is read of calls and phases. */
import { size, time } from "../../draw/units";
import type { Item, Phase } from "./query";

type Named = (lane: number) => string;

/** A call by its name: function, rank, time. */
export function nameOf(item: Pick<Item, "op" | "lane" | "longest">, lane: Named): string {
	return `${item.op}, ${lane(item.lane)}, ${time(item.longest)}`;
}

export function itemInWords(item: Item, lane: Named): string {
	return [nameOf(item, lane), ...about(item)].join(", ");
}

/** What stands beside its name: how busy a bin is, when, bytes, file. */
export function about(item: Item): string[] {
	const busy = item.busy < 1 ? [`the longest of a bin that is ${Math.round(item.busy * 100)} % busy`] : [];
	const bytes = item.bytes === null ? [] : [size(item.bytes)];
	return [...busy, `at ${time(item.start)}`, `layer ${item.layer}`, ...bytes, ...(item.path === null ? [] : [item.path])];
}

const PHASES = 8; // in words; the picture has all

export function phasesInWords(phases: Phase[], lane: Named): string {
	const words = phases.slice(0, PHASES).map((phase) => phaseInWords(phase, lane));
	return [...words, ...(phases.length > PHASES ? [`${phases.length - PHASES} more phases`] : [])].join("; ");
}

export function phaseInWords({ lane: which, start, end, share }: Phase, lane: Named): string {
	const part = share === null ? "" : `, ${Math.round(share * 100)} % of it in I/O`;
	return `${lane(which)} from ${time(start)} to ${time(end)}${part}`;
}
