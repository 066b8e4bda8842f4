import { NoAnswer, requestKey, type Parameters, type Source } from "./source";

const IN_FLIGHT = 4; // as many as the server runs for one client
const LONGEST = 8000; // characters of an address; the server takes 16 KiB of a request's head
const AWAY = "fathom view does not answer: it may have ended; start it again and reload this page";

/** Asks a running `fathom view`. A request that its screen gave up is cancelled there too. */
export class LiveSource implements Source {
	readonly frozen = false;
	private running = 0;
	private waiting: (() => void)[] = [];

	/** `key` gives what admits this page: sent by the page alone, where a cookie would go to every server of this host. */
	constructor(private readonly key: () => string) {}

	async json(name: string, parameters: Parameters, signal?: AbortSignal): Promise<unknown> {
		return this.ask(name, parameters, signal, (reply) => reply.json());
	}

	async act(name: string, parameters: Parameters): Promise<unknown> {
		return this.ask(name, parameters, undefined, (reply) => reply.json(), "POST");
	}

	async bytes(name: string, parameters: Parameters, signal?: AbortSignal): Promise<ArrayBuffer> {
		return this.ask(name, parameters, signal, (reply) => reply.arrayBuffer());
	}

	private async ask<T>(name: string, parameters: Parameters, signal: AbortSignal | undefined, read: (reply: Response) => Promise<T>, method?: "POST"): Promise<T> {
		await this.turn();
		try {
			signal?.throwIfAborted();
			const reply = await this.send(name, parameters, signal ?? null, method).catch((error: unknown) => {
				if (signal?.aborted) throw error;
				throw new NoAnswer(AWAY, 0);
			});
			if (!reply.ok) throw new NoAnswer(await reason(reply), reply.status);
			return await read(reply);
		} finally {
			this.running -= 1;
			this.waiting.shift()?.();
		}
	}

	private send(name: string, parameters: Parameters, signal: AbortSignal | null, method?: "POST"): Promise<Response> {
		const headers = { Authorization: `Bearer ${this.key()}` };
		const request = requestKey(name, parameters);
		if (!method && request.length <= LONGEST) return fetch(`api/v1/${request}`, { headers, signal });
		return fetch(`api/v1/${name}`, { method: "POST", body: JSON.stringify(texts(parameters)), headers: { ...headers, "Content-Type": "application/json" }, signal });
	}

	private async turn(): Promise<void> {
		if (this.running >= IN_FLIGHT) await new Promise<void>((go) => this.waiting.push(go));
		this.running += 1;
	}
}

/** What is given, as the body of a POST has it: a source is too long for an address. */
function texts(parameters: Parameters): Record<string, string> {
	return Object.fromEntries(Object.entries(parameters).flatMap(([name, value]) => (value === null || value === undefined ? [] : [[name, String(value)]])));
}

async function reason(reply: Response): Promise<string> {
	const answer: unknown = await reply.json().catch(() => null);
	if (answer !== null && typeof answer === "object" && "error" in answer) return String(answer.error);
	return `the server answers ${reply.status} ${reply.statusText}`;
}
