import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { palette } from "../../draw/theme";
import { format } from "../../draw/units";
import { Figure } from "../../parts/figure";
import { DataTable } from "../../parts/table";
import { go } from "../../state/state";
import { ends, unitOf, type Picture, type QueryAnswer } from "./typed";
import { colourOf, paintTyped, typedHeight } from "./typed_paint";

/** The answer to a query: its bars, its tables, which server is which. */
export function Answered({ answer }: { answer: QueryAnswer }): JSX.Element {
	return (
		<>
			<Bars picture={answer.picture} />
			{answer.notes.map((note) => (
				<p key={note} class="quiet">
					{note}
				</p>
			))}
			{answer.tables.map(({ title, rows }, at) => {
				const id = rows.columns.findIndex((one) => one.unit === "call");
				return (
					<section key={title}>
						<h2>{title}</h2>
						<DataTable table={rows} caption={title} name={`answer-${at}`} what="rows" {...(id >= 0 ? { onOpen: (row) => go("call", { call: String(row[id]) }) } : {})} />
					</section>
				);
			})}
			{answer.servers.length > 0 && <p class="quiet">Servers: {answer.servers.map(([number, name]) => `${number} ${name}`).join(", ")}</p>}
		</>
	);
}

function Bars({ picture }: { picture: Picture }): JSX.Element {
	const paint = useMemo(() => paintTyped(picture), [picture]);
	const tops = ends(picture);
	const words = picture.labels.slice(0, 8).map((label, bar) => `${label}: ${format(tops[bar], unitOf(picture))}`);
	return (
		<div class="typed">
			<Figure title={picture.title} name="answer" says={`a bar for each ${picture.across}: ${picture.up}${picture.logarithmic ? ", logarithmic" : ""}`} label={words.join("; ")} height={typedHeight(picture)} paint={paint}>
				<p class="legend">
					{picture.series.map((one) => (
						<span key={one.name}>
							<span class="swatch" style={{ background: colourOf(one, palette.value) }} /> {one.name}
						</span>
					))}
					{picture.footnote && <span class="quiet">{picture.footnote}</span>}
				</p>
			</Figure>
		</div>
	);
}
