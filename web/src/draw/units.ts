/** Numbers as people read them: SI times, IEC sizes, MB/s; `raw` is what goes into files. */
import type { Cell, Unit } from "../source/answers";

const TIMES: [number, string][] = [
	[1e9, "s"],
	[1e6, "ms"],
	[1e3, "µs"],
	[1, "ns"],
];
const SIZES = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
const NONE = "–";
// One for all: making it takes longer than what it writes, and a screen writes thousands of numbers.
const GROUPED = new Intl.NumberFormat("en-US");

/** Three significant digits, never in powers of ten below a million. */
function short(value: number): string {
	const size = Math.abs(value);
	if (size >= 100 || value === Math.round(value)) return GROUPED.format(Math.round(value));
	return value.toFixed(size >= 10 ? 1 : 2).replace(/\.?0+$/, "");
}

/** How many times as much: 0.45x, as the commands write it. */
export function times(value: number): string {
	return `${short(value)}x`;
}

export function time(ns: number): string {
	if (ns === 0) return "0 s";
	const size = Math.abs(ns);
	if (size >= 600e9) return minutes(ns);
	const [scale, name] = TIMES.find(([least]) => size >= least) ?? [1, "ns"];
	return `${short(ns / scale)} ${name}`;
}

function minutes(ns: number): string {
	const seconds = Math.round(ns / 1e9);
	const [hours, rest] = [Math.floor(seconds / 3600), seconds % 3600];
	const tail = `${Math.floor(rest / 60)} min ${String(rest % 60).padStart(2, "0")} s`;
	return hours ? `${hours} h ${tail}` : tail;
}

export function size(bytes: number): string {
	let at = 0;
	let value = bytes;
	while (Math.abs(value) >= 1024 && at < SIZES.length - 1) {
		value /= 1024;
		at += 1;
	}
	return `${short(at === 0 ? Math.round(value) : value)} ${SIZES[at] ?? ""}`;
}

export function rate(bytesPerSecond: number): string {
	return `${short(bytesPerSecond / 1e6)} MB/s`;
}

export function count(value: number): string {
	return Number.isInteger(value) ? GROUPED.format(value) : short(value);
}

export function share(value: number): string {
	const percent = value * 100;
	if (percent > 0 && percent < 0.1) return "< 0.1 %";
	return `${percent.toFixed(percent >= 10 || percent === 0 ? 0 : 1)} %`;
}

/** A value of an answer as text of its unit. */
export function format(value: Cell | undefined, unit: Unit): string {
	if (value === null || value === undefined) return NONE;
	if (typeof value !== "number") return String(value);
	switch (unit) {
		case "ns":
			return time(value);
		case "s":
			return time(value * 1e9);
		case "bytes":
			return size(value);
		case "bytes/s":
			return rate(value);
		case "count":
			return count(value);
		case "share":
			return share(value);
		case "joule":
			return `${short(value)} J`;
		default:
			return String(value);
	}
}

/** Units whose values stand right and sort as numbers. */
export function numeric(unit: Unit): boolean {
	return ["ns", "s", "bytes", "bytes/s", "count", "share", "joule"].includes(unit);
}
