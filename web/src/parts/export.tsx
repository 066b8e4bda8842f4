/** "Give me the data": every picture and table as PNG, SVG, CSV, and the SQL it comes from. */
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { SvgInk, type Box, type Ink } from "../draw/ink";
import { palette, type Palette } from "../draw/theme";
import type { Table } from "../source";
import { isReport } from "../state/answers";
import { go } from "../state/state";
import { csv } from "./csv";
import { say } from "./say";

export type Paint = (ink: Ink, box: Box, palette: Palette) => void;

export interface Exported {
	/** Name of the file, without its ending. */
	name: string;
	/** What is drawn, and its size in CSS pixels. */
	picture?: { paint: Paint; box: Box } | undefined;
	/** Exactly the values that are drawn. */
	table?: (() => Table) | undefined;
	sql?: string | undefined;
}

export function save(name: string, content: Blob): void {
	const link = document.createElement("a");
	link.href = URL.createObjectURL(content);
	link.download = name;
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 1000);
	say(`${name} saved`);
}

function svg(paint: Paint, box: Box): string {
	const ink = new SvgInk(box);
	paint(ink, box, palette.value);
	return ink.document(palette.value.background);
}

/** At two pixels per CSS pixel, whatever the screen has. */
function png(paint: Paint, box: Box, done: (picture: Blob) => void): void {
	const canvas = document.createElement("canvas");
	canvas.width = box.width * 2;
	canvas.height = box.height * 2;
	const ink = canvas.getContext("2d");
	if (!ink) return;
	ink.scale(2, 2);
	ink.fillStyle = palette.value.background;
	ink.fillRect(0, 0, box.width, box.height);
	paint(ink, box, palette.value);
	canvas.toBlob((picture) => picture && done(picture), "image/png");
}

interface Choice {
	label: string;
	run: () => void;
}

function choices({ name, picture, table, sql }: Exported): Choice[] {
	const entries: Choice[] = [];
	if (picture) {
		entries.push({ label: "PNG", run: () => png(picture.paint, picture.box, (image) => save(`${name}.png`, image)) });
		entries.push({ label: "SVG", run: () => save(`${name}.svg`, new Blob([svg(picture.paint, picture.box)], { type: "image/svg+xml" })) });
	}
	if (table) {
		const text = (): string => csv(table().columns, table().rows);
		entries.push({ label: "CSV", run: () => save(`${name}.csv`, new Blob([text()], { type: "text/csv" })) });
	}
	if (sql) entries.push({ label: "SQL", run: () => save(`${name}.sql`, new Blob([`${sql}\n`], { type: "text/plain" })) });
	if (sql && !isReport()) entries.push({ label: "to the SQL screen", run: () => go("sql", { q: sql }) });
	return entries;
}

export function Export(props: Exported): JSX.Element {
	const menu = useRef<HTMLDetailsElement>(null);
	return (
		<details class="export" ref={menu}>
			<summary aria-label={`Export ${props.name}`}>Export</summary>
			<div class="menu">
				{choices(props).map(({ label, run }) => (
					<button
						key={label}
						type="button"
						onClick={() => {
							run();
							menu.current?.removeAttribute("open");
						}}
					>
						{label}
					</button>
				))}
			</div>
		</details>
	);
}
