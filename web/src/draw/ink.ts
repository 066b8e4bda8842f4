/** What painters draw with: a canvas, or an SVG with the same words. So every picture is vector too. */

export type Ink = Pick<
	CanvasRenderingContext2D,
	| "fillStyle"
	| "strokeStyle"
	| "lineWidth"
	| "font"
	| "textAlign"
	| "textBaseline"
	| "globalAlpha"
	| "fillRect"
	| "strokeRect"
	| "beginPath"
	| "moveTo"
	| "lineTo"
	| "closePath"
	| "stroke"
	| "fill"
	| "fillText"
	| "setLineDash"
>;

export interface Box {
	width: number;
	height: number;
}

export const FONT = '12px system-ui, "DejaVu Sans", sans-serif';
export const SMALL = '11px system-ui, "DejaVu Sans", sans-serif';

const ANCHOR: Record<string, string> = { left: "start", start: "start", center: "middle", right: "end", end: "end" };
const BASELINE: Record<string, string> = { top: "hanging", hanging: "hanging", middle: "central", alphabetic: "auto", bottom: "text-after-edge" };

function escape(text: string): string {
	return text.replace(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`).replace(/[^\t\n\r\u0020-\uFFFD]/g, "\uFFFD");
}

function places(...values: number[]): string[] {
	return values.map((one) => String(Math.round(one * 100) / 100));
}

/** A full diamond; its path is left for an edge. */
export function diamond(ink: Ink, x: number, y: number): void {
	ink.beginPath();
	ink.moveTo(x, y - 5);
	ink.lineTo(x + 5, y);
	ink.lineTo(x, y + 5);
	ink.lineTo(x - 5, y);
	ink.closePath();
	ink.fill();
}

/** A colour as SVG has it; our painters know no gradients. */
function colour(style: string | CanvasGradient | CanvasPattern): string {
	return typeof style === "string" ? style : "none";
}

/** Writes an SVG document. */
export class SvgInk implements Ink {
	fillStyle: string | CanvasGradient | CanvasPattern = "#000000";
	strokeStyle: string | CanvasGradient | CanvasPattern = "#000000";
	lineWidth = 1;
	font = FONT;
	textAlign: CanvasTextAlign = "left";
	textBaseline: CanvasTextBaseline = "alphabetic";
	globalAlpha = 1;
	private readonly parts: string[] = [];
	private path: string[] = [];
	private dash: number[] = [];

	constructor(private readonly box: Box) {}

	fillRect(x: number, y: number, width: number, height: number): void {
		const [a, b, c, d] = places(x, y, width, height);
		this.parts.push(`<rect x="${a}" y="${b}" width="${c}" height="${d}" fill="${colour(this.fillStyle)}"${this.alpha()}/>`);
	}

	strokeRect(x: number, y: number, width: number, height: number): void {
		const [a, b, c, d] = places(x, y, width, height);
		this.parts.push(`<rect x="${a}" y="${b}" width="${c}" height="${d}" fill="none"${this.outline()}/>`);
	}

	beginPath(): void {
		this.path = [];
	}

	moveTo(x: number, y: number): void {
		this.path.push(`M${places(x, y).join(" ")}`);
	}

	lineTo(x: number, y: number): void {
		this.path.push(`L${places(x, y).join(" ")}`);
	}

	closePath(): void {
		this.path.push("Z");
	}

	stroke(): void {
		this.parts.push(`<path d="${this.path.join("")}" fill="none"${this.outline()}/>`);
	}

	fill(): void {
		this.parts.push(`<path d="${this.path.join("")}" fill="${colour(this.fillStyle)}"${this.alpha()}/>`);
	}

	fillText(text: string, x: number, y: number): void {
		const [a, b] = places(x, y);
		const size = /(\d+)px/.exec(this.font)?.[1] ?? "12";
		const weight = this.font.startsWith("bold") ? ' font-weight="bold"' : "";
		const place = `text-anchor="${ANCHOR[this.textAlign] ?? "start"}" dominant-baseline="${BASELINE[this.textBaseline] ?? "auto"}"`;
		this.parts.push(`<text x="${a}" y="${b}" font-size="${size}"${weight} ${place} fill="${colour(this.fillStyle)}"${this.alpha()}>${escape(text)}</text>`);
	}

	setLineDash(dash: number[]): void {
		this.dash = dash;
	}

	document(background: string): string {
		const { width, height } = this.box;
		return [
			`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui, DejaVu Sans, sans-serif">`,
			`<rect width="${width}" height="${height}" fill="${background}"/>`,
			...this.parts,
			"</svg>",
		].join("\n");
	}

	private alpha(): string {
		return this.globalAlpha < 1 ? ` opacity="${this.globalAlpha}"` : "";
	}

	private outline(): string {
		const dash = this.dash.length ? ` stroke-dasharray="${this.dash.join(" ")}"` : "";
		return ` stroke="${colour(this.strokeStyle)}" stroke-width="${this.lineWidth}"${dash}${this.alpha()}`;
	}
}

/** Text that fits into `width`, cut in the middle where names differ least. Widths are of the usual font. */
export function fit(text: string, width: number, perLetter = 6.6): string {
	const most = Math.floor(width / perLetter);
	if (text.length <= most) return text;
	if (most < 3) return "";
	const head = Math.floor((most - 1) / 2);
	return `${text.slice(0, head)}…${text.slice(text.length - (most - 1 - head))}`;
}

/** Diagonal lines: this part is still coming. */
export function hatch(ink: Ink, x: number, y: number, width: number, height: number, colour: string): void {
	ink.strokeStyle = colour;
	ink.lineWidth = 1;
	ink.beginPath();
	for (let at = -height; at < width; at += 8) {
		const [from, to] = [Math.max(at, 0), Math.min(at + height, width)];
		ink.moveTo(x + from, y + height - (from - at));
		ink.lineTo(x + to, y + height - (to - at));
	}
	ink.stroke();
}
