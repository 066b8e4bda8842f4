/** Numbers as people read them, as catalog/units.toml has them. */
import type { Cell, Unit } from "../source/answers";

const TIMES: [number, string][] = [
	[1e9, "s"],
	[1e6, "ms"],
	[1e3, "µs"],
	[1, "ns"],
];
const SIZES = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
const UNKNOWN = "-";
// One for all: making it takes longer than what it writes, and a screen writes thousands of numbers.
const WHOLE = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const MEAN = new Intl.NumberFormat("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1 });

/** Three significant digits, never an exponent, no zeros that say nothing. */
function digits(value: number): string {
	const size = Math.abs(value);
	return size >= 100 ? value.toFixed(0) : value.toFixed(size >= 10 ? 1 : 2).replace(/\.?0+$/, "");
}

/** How many times as much: 0.46x. */
export function times(value: number): string {
	return `${digits(value)}x`;
}

/** The unit is chosen for the rounded number: 0.9996 s is no 1000 ms. */
export function time(ns: number): string {
	if (ns === 0) return "0 s";
	const [scale, name] = TIMES.find(([unit]) => Number(digits(Math.abs(ns) / unit)) >= 1) ?? [1, "ns"];
	return `${digits(ns / scale)} ${name}`;
}

export function size(bytes: number): string {
	let at = 0;
	let value = bytes;
	while (Math.abs(Number(digits(value))) >= 1024 && at < SIZES.length - 1) {
		value /= 1024;
		at += 1;
	}
	return `${at === 0 ? Math.round(value) : digits(value)} ${SIZES[at] ?? ""}`;
}

/** 10^6 bytes a second, without the unit. */
export function megabytes(value: number): string {
	return value > 0 && value < 0.005 ? "<0.01" : digits(value);
}

export function rate(bytesPerSecond: number): string {
	return `${megabytes(bytesPerSecond / 1e6)} MB/s`;
}

export function count(value: number): string {
	return (Number.isInteger(value) ? WHOLE : MEAN).format(value);
}

/** Node hours, of a small job or of a centre's month. */
export function hours(value: number): string {
	return Math.abs(value) >= 1000 ? WHOLE.format(value) : megabytes(value);
}

export function share(value: number): string {
	return value > 0 && value < 0.00005 ? "<0.01 %" : `${digits(value * 100)} %`;
}

/** A value of an answer as text of its unit. */
export function format(value: Cell | undefined, unit: Unit): string {
	if (value === null || value === undefined) return UNKNOWN;
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
		case "hours":
			return hours(value);
		case "share":
			return share(value);
		case "joule":
			return `${digits(value)} J`;
		default:
			return String(value);
	}
}

/** Units whose values stand right and sort as numbers. */
export function numeric(unit: Unit): boolean {
	return ["ns", "s", "bytes", "bytes/s", "count", "hours", "share", "joule"].includes(unit);
}
