import { NOT_IN_REPORT, NoAnswer, requestKey, type Parameters, type Source } from "./source";

/** The answers of a report by request. A binary answer is base64 text. */
type Answers = Record<string, unknown>;

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
	const raw = atob(text);
	const bytes = new Uint8Array(raw.length);
	for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
	return bytes;
}

/** The payload of a report: JSON, gzip, base64. */
export async function unpackReport(text: string): Promise<Answers> {
	const packed = new Blob([fromBase64(text.trim())]).stream().pipeThrough(new DecompressionStream("gzip"));
	return (await new Response(packed).json()) as Answers;
}

/** Answers from the page alone. What it does not hold is said, with the command that has it. */
export class ReportSource implements Source {
	readonly frozen = true;

	constructor(private readonly answers: Promise<Answers>) {}

	async json(name: string, parameters: Parameters): Promise<unknown> {
		const answer = (await this.answers)[requestKey(name, parameters)];
		if (answer === undefined) {
			throw new NoAnswer("This report was made without this detail; `fathom view RUN` at the run itself has it.", NOT_IN_REPORT);
		}
		return answer;
	}

	act(): Promise<unknown> {
		return Promise.reject(new NoAnswer("A report does nothing but show; `fathom view RUN` starts runs.", NOT_IN_REPORT));
	}

	async bytes(name: string, parameters: Parameters): Promise<ArrayBuffer> {
		return fromBase64(String(await this.json(name, parameters))).buffer;
	}
}
