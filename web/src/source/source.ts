/** Where answers come from: `fathom view` over HTTP, or the page of `fathom report` itself. */

export type Parameters = Record<string, string | number | null | undefined>;

export interface Source {
	/** True when the page is all there is. */
	readonly frozen: boolean;
	json(name: string, parameters: Parameters, signal?: AbortSignal): Promise<unknown>;
	/** Asks for something to be done, not only to be said. */
	act(name: string, parameters: Parameters): Promise<unknown>;
	bytes(name: string, parameters: Parameters, signal?: AbortSignal): Promise<ArrayBuffer>;
}

/** The text of a request: parameters sorted by name, what is empty left out. */
export function requestKey(name: string, parameters: Parameters): string {
	const given = new URLSearchParams();
	for (const key of Object.keys(parameters).sort()) {
		const value = parameters[key];
		if (value !== null && value !== undefined && value !== "") given.append(key, String(value));
	}
	const text = given.toString();
	return text ? `${name}?${text}` : name;
}

/** What kept an answer from coming, in the words of the server or of the page. */
export class NoAnswer extends Error {
	constructor(
		message: string,
		readonly status: number,
	) {
		super(message);
	}

	/** The page has no such answer; the live view has. */
	get frozen(): boolean {
		return this.status === NOT_IN_REPORT;
	}
}

export const NOT_IN_REPORT = -1;
