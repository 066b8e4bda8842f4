/** Answers as screens wait for them: kept for a while, cancelled when nobody waits any more. */
import { useEffect, useState } from "preact/hooks";
import { requestKey, type Parameters, type Source } from "../source";
import { revision } from "./state";

const KEPT = 300;
const kept = new Map<string, unknown>();
let source: Source | null = null;

export function askFrom(one: Source): void {
	source = one;
	kept.clear();
}

export function isReport(): boolean {
	return source?.frozen ?? false;
}

export type Reader<T> = (source: Source, signal: AbortSignal) => Promise<T>;

function keep(key: string, value: unknown): void {
	kept.set(key, value);
	const oldest = kept.keys().next().value;
	if (kept.size > KEPT && oldest !== undefined) kept.delete(oldest);
}

/** What is kept under a key, at the run's present state. */
export function peek<T>(key: string): T | undefined {
	return kept.get(`${revision.value} ${key}`) as T | undefined;
}

/** Asks, or answers from what is kept. */
export async function ask<T>(key: string, read: Reader<T>, signal: AbortSignal): Promise<T> {
	const full = `${revision.value} ${key}`;
	if (kept.has(full)) return kept.get(full) as T;
	if (!source) throw new Error("no source: askFrom comes before the first screen");
	const value = await read(source, signal);
	keep(full, value);
	return value;
}

export interface Answer<T> {
	/** The newest answer; while another is on its way, the one before. */
	value: T | null;
	error: Error | null;
	loading: boolean;
}

/** The answer to a request; asked again when it changes, the older request cancelled. Null asks nothing. */
export function useAnswer<T>(name: string, parameters: Parameters | null): Answer<T> {
	const key = parameters ? requestKey(name, parameters) : "";
	return useReader<T>(key, async (from, signal) => (await from.json(name, parameters ?? {}, signal)) as T);
}

/** As `useAnswer`, for what takes several requests or is no JSON. The key says all that `read` depends on. */
export function useReader<T>(key: string, read: Reader<T>): Answer<T> {
	const [answer, setAnswer] = useState<Answer<T> & { key: string }>({ value: null, error: null, loading: key !== "", key });
	const now = revision.value;
	useEffect(() => {
		if (key === "") return;
		const cancel = new AbortController();
		setAnswer((last) => ({ ...last, loading: true, error: null }));
		ask(key, read, cancel.signal).then(
			(value) => cancel.signal.aborted || setAnswer({ value, error: null, loading: false, key }),
			(error: unknown) => cancel.signal.aborted || setAnswer({ value: null, error: error instanceof Error ? error : new Error(String(error)), loading: false, key }),
		);
		return () => cancel.abort();
	}, [key, now]);
	return key === answer.key ? answer : { ...answer, loading: key !== "" };
}
