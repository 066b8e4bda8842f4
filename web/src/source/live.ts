import { NoAnswer, requestKey, type Parameters, type Source } from "./source";

const IN_FLIGHT = 4; // as many as the server runs for one client
const AWAY = "fathom view does not answer: it may have ended; start it again and reload this page";

/** Asks a running `fathom view`. A request that its screen gave up is cancelled there too. */
export class LiveSource implements Source {
	readonly frozen = false;
	private running = 0;
	private waiting: (() => void)[] = [];

	async json(name: string, parameters: Parameters, signal?: AbortSignal): Promise<unknown> {
		return this.ask(name, parameters, signal, (reply) => reply.json());
	}

	async act(name: string, parameters: Parameters): Promise<unknown> {
		return this.ask(name, {}, undefined, (reply) => reply.json(), { method: "POST", body: JSON.stringify(texts(parameters)), headers: { "Content-Type": "application/json" } });
	}

	async bytes(name: string, parameters: Parameters, signal?: AbortSignal): Promise<ArrayBuffer> {
		return this.ask(name, parameters, signal, (reply) => reply.arrayBuffer());
	}

	private async ask<T>(name: string, parameters: Parameters, signal: AbortSignal | undefined, read: (reply: Response) => Promise<T>, how: RequestInit = {}): Promise<T> {
		await this.turn();
		try {
			signal?.throwIfAborted();
			const reply = await fetch(`api/v1/${requestKey(name, parameters)}`, { ...how, signal: signal ?? null }).catch((error: unknown) => {
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
