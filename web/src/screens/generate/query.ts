/** The form of `fathom generate`: what the server says of a text. Places are offsets in the text. */

export interface Part {
	start: number;
	end: number;
	text: string;
	/** Of a part that begins with `<`: the numbers of each tuple. */
	tuples: Part[][];
}

export interface Statement {
	start: number;
	end: number;
	head: Part;
	parts: Part[];
}

export interface Block {
	kind: string;
	name: string;
	spelling: string;
	start: number;
	/** Where a statement can be added. */
	inside: number;
	end: number;
	/** The end of what was generated after it. */
	behind: number;
	statements: Statement[];
}

export interface Mistake {
	line: number;
	column: number;
	at: number;
	what: string;
	remedy: string;
	picture: string;
}

export interface Owned {
	point: string;
	variable: string;
	dimensions: { name: string; length: number }[];
	/** Rank, then start and count: all starts, all counts. */
	boxes: number[][];
	all: number;
}

export interface Decision {
	rule: number;
	subject: string;
	choice: string;
	reason: string;
	option: string;
}

export interface Plan {
	point: string;
	reading: boolean;
	decisions: Decision[];
	/** Numbers of processes, and the raw accesses they make. */
	raw: [number, number][];
	steps: { call: string; object: string }[];
}

export interface Hints {
	language: string;
	/** Where declarations may stand. */
	declare: number;
	/** Null where the text cannot be cut into blocks. */
	blocks: Block[] | null;
	mistake: Mistake | null;
	owners: Owned[];
	processes: number;
	library: string;
	title: string;
	files: { name: string; text: string }[];
	plans: Plan[];
	build: string;
	start: string;
	notes: string[];
}

export interface FormAnswer {
	source: { name: string; path: string; text: string } | null;
	"may write": boolean;
	libraries: { name: string; title: string; level: string }[];
	languages: string[];
	types: string[];
	overrides: Record<string, string[]>;
	layout: string[];
	beginnings: { c: string; fortran: string };
}

export interface Archive {
	name: string;
	base64: string;
}

export interface Saved {
	written: string[];
	text: string;
}
