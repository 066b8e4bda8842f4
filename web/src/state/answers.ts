/** Answers as screens wait for them: cached, and cancelled when nobody waits any more. */
import { useLayoutEffect, useState } from "preact/hooks";
import { requestKey, type Parameters, type Source } from "../source";
import { everything, revision } from "./state";

const CACHED = 150; // a tile is 0.3 MB at most
const cache = new Map<string, unknown>();
let source: Source | null = null;

export function askFrom(one: Source): void {
	source = one;
	cache.clear();
	flying.clear();
}

export function isReport(): boolean {
	return source?.frozen ?? false;
}

export type Reader<T> = (source: Source, signal: AbortSignal) => Promise<T>;

function store(key: string, value: unknown): void {
	cache.set(key, value);
	const oldest = cache.keys().next().value;
	if (cache.size > CACHED && oldest !== undefined) cache.delete(oldest);
}

/** A request on its way, and how many wait for it. */
interface Flight {
	answer: Promise<unknown>;
	cancel: AbortController;
	waiting: number;
}
const flying = new Map<string, Flight>();

/** A question of the run as it is now, with or without what a run-time did. */
function now(key: string): string {
	return `${revision.value} ${everything.value} ${key}`;
}

/** The source, asked also for what a run-time did; a report has the program's alone. */
function withRuntime(one: Source): Source {
	if (!everything.value || one.frozen) return one;
	const all = (parameters: Parameters): Parameters => (parameters["run"] ? { ...parameters, all: "1" } : parameters);
	return {
		frozen: false,
		json: (name, parameters, signal) => one.json(name, all(parameters), signal),
		bytes: (name, parameters, signal) => one.bytes(name, all(parameters), signal),
		act: (name, parameters) => one.act(name, parameters),
	};
}

function start(full: string, read: Reader<unknown>): Flight {
	if (!source) throw new Error("no source: askFrom comes before the first screen");
	const cancel = new AbortController();
	const flight: Flight = { answer: read(withRuntime(source), cancel.signal), cancel, waiting: 0 };
	const landed = (): void => {
		if (flying.get(full) === flight) flying.delete(full);
	};
	flight.answer.then((value) => store(full, value)).then(landed, landed);
	flying.set(full, flight);
	return flight;
}

/** The cached answer of the run as it is now, else asks. Callers of the same key share one request; it is cancelled when the last one leaves. */
export async function ask<T>(key: string, read: Reader<T>, signal: AbortSignal): Promise<T> {
	const full = now(key);
	signal.throwIfAborted();
	if (cache.has(full)) return cache.get(full) as T;
	const flight = flying.get(full) ?? start(full, read);
	const leave = (): void => {
		flight.waiting -= 1;
		if (flight.waiting > 0) return;
		flight.cancel.abort();
		if (flying.get(full) === flight) flying.delete(full);
	};
	flight.waiting += 1;
	signal.addEventListener("abort", leave, { once: true });
	try {
		return (await flight.answer) as T;
	} finally {
		signal.removeEventListener("abort", leave);
	}
}

/** The answer to one request, for what is asked once and not shown: where a key leads, for example. */
export function askJson<T>(name: string, parameters: Parameters, signal: AbortSignal): Promise<T> {
	return ask(requestKey(name, parameters), async (from, cancel) => (await from.json(name, parameters, cancel)) as T, signal);
}

/** Asks for something to be done; or, with `look`, how it stands at this moment. Neither is cached. */
export async function act<T>(name: string, parameters: Parameters, look = false): Promise<T> {
	if (!source) throw new Error("no source: askFrom comes before the first screen");
	return (await (look ? source.json(name, parameters) : source.act(name, parameters))) as T;
}

export interface Answer<T> {
	/** The newest answer; while another is on its way, the one before. */
	value: T | null;
	error: Error | null;
	loading: boolean;
}

/** The answer to a request; asked again when it changes, the older request cancelled. Null asks nothing. */
export function useAnswer<T>(name: string, parameters: Parameters | null): Answer<T> {
	return useReader<T>(parameters ? requestKey(name, parameters) : "", (signal) => askJson<T>(name, parameters ?? {}, signal));
}

/** As `useAnswer`, for what takes several requests or is no JSON. The key says all that `read` depends on. */
export function useReader<T>(key: string, read: (signal: AbortSignal) => Promise<T>): Answer<T> {
	const full = now(key); // of a run that has grown, what is asked is another question at once
	const [answer, setAnswer] = useState<Answer<T> & { full: string }>({ value: null, error: null, loading: key !== "", full });
	// Before the page is drawn: an effect would ask a frame later.
	useLayoutEffect(() => {
		if (key === "") return;
		const cancel = new AbortController();
		const show = (value: T | null, error: Error | null): void => {
			if (!cancel.signal.aborted) setAnswer({ value, error, loading: false, full });
		};
		setAnswer((last) => ({ ...last, loading: true, error: null }));
		read(cancel.signal).then(
			(value) => show(value, null),
			(error: unknown) => show(null, error instanceof Error ? error : new Error(String(error))),
		);
		return () => cancel.abort();
	}, [full]);
	return full === answer.full ? answer : { ...answer, loading: key !== "" };
}
