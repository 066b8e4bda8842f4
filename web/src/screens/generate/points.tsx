/** I/O points: who moves what, at which line. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { blocks, cursor, hints, put, wanted } from "./draft";
import { addTo, isPoint, lineOf, removed } from "./edit";
import { Cell, Group, Pick, Wrong } from "./fields";
import type { FormProps } from "./form";
import type { Block, Part, Statement } from "./query";
import { accessOf, accessText, dimensionsOf, FORMS, holds, names, type Access, type Form } from "./words";

const OPEN = 3; // accesses that are shown unfolded
const ROWS: Record<string, string[]> = { array: ["start", "count"], one: ["start", "count"], global: ["processes", "first offset", "length", "stride"] };

export function Points({ text }: FormProps): JSX.Element {
	const points = blocks.value.filter(isPoint);
	const all = points.reduce((sum, one) => sum + one.statements.length, 0);
	return (
		<Group title="Who moves what" {...(points.length ? {} : { says: "Click the line in the source below which data is written or read, then press “Write below” there." })}>
			{points.map((one, at) => (
				<Point key={at} block={one} text={text} few={all <= OPEN} />
			))}
		</Group>
	);
}

function Point({ block, text, few }: { block: Block; text: string; few: boolean }): JSX.Element {
	const title = [block.kind, block.name].filter(Boolean).join(" ");
	const line = lineOf(text, block.start);
	const first = names(blocks.value, "variables")[0];
	return (
		<section class="iopoint wide" aria-label={`${title}, line ${line}`}>
			<div class="bar">
				<strong>{title}</strong>
				<button
					type="button"
					class="small"
					onClick={() => {
						cursor.value = block.start;
						wanted.value = { start: block.start, end: block.start };
					}}
				>
					line {line}
				</button>
				<span class="grow" />
				<button type="button" class="small" aria-label={`Remove ${title}`} onClick={() => put(removed(text, { start: block.start, end: block.behind - 1 }))}>
					Remove
				</button>
			</div>
			{block.statements.map((row, at) => (
				<OneAccess key={at} row={row} text={text} few={few} point={title} />
			))}
			<button type="button" disabled={!first} onClick={() => first && put(addTo(text, block, accessText(blocks.value, "array", nextVariable(block) ?? first, nextVariable(block) ?? first)))}>
				Add an access
			</button>
		</section>
	);
}

/** The first variable that a point does not move yet. */
function nextVariable(block: Block): string | undefined {
	const moved = block.statements.map((one) => accessOf(one).variable?.text);
	return names(blocks.value, "variables").find((one) => !moved.includes(one));
}

function OneAccess({ row, text, few, point }: { row: Statement; text: string; few: boolean; point: string }): JSX.Element {
	const access = accessOf(row);
	const wrong = holds(row, hints.value?.mistake?.at);
	const [own, setOwn] = useState<boolean | null>(null);
	const open = own ?? (few || wrong);
	return (
		<details class="access" open={open} onToggle={(event) => event.currentTarget.open !== open && setOwn(event.currentTarget.open)}>
			<summary>
				<strong>{access.variable?.text}</strong> <span class="quiet">{FORMS[access.form]}</span> → <code>{access.buffer?.text}</code>
			</summary>
			{open && <Opened access={access} row={row} text={text} label={`${access.variable?.text ?? ""} in ${point}`} />}
			<Wrong statement={row} />
		</details>
	);
}

interface OpenedProps {
	access: Access;
	row: Statement;
	text: string;
	label: string;
}

function Opened({ access, row, text, label }: OpenedProps): JSX.Element {
	const { form, variable, buffer, process } = access;
	const dims = dimensionsOf(blocks.value, variable?.text ?? "");
	const name = buffer?.text ?? variable?.text ?? "";
	const rewrite = (to: string): void => put({ start: row.start, end: row.end, text: to });
	return (
		<div class="access-body">
			{variable && <Pick label={`variable of ${label}`} title="variable" options={names(blocks.value, "variables")} chosen={variable.text} choose={(to) => rewrite(accessText(blocks.value, form, to, name === variable.text ? to : name))} />}
			<Pick label={`who moves ${label}`} title="who" options={Object.keys(FORMS)} says={(one) => FORMS[one as Form]} chosen={form} choose={(to) => rewrite(accessText(blocks.value, to as Form, variable?.text ?? "", name))} />
			{process && <Cell label={`rank of ${label}`} title="rank" part={process} />}
			{buffer && <Cell label={`buffer of ${label}`} title="array of the program" part={buffer} />}
			{form !== "one" && form !== "list-one" && dims.length > 0 && <Cut dims={dims} access={access} rewrite={rewrite} label={label} />}
			<Numbers access={access} dims={dims} label={label} />
			<button type="button" class="small" aria-label={`Remove access ${label}`} onClick={() => put(removed(text, row))}>
				Remove
			</button>
		</div>
	);
}

/** The usual decomposition in one gesture: one dimension, cut evenly over the ranks. */
function Cut({ dims, access, rewrite, label }: { dims: string[]; access: Access; rewrite: (to: string) => void; label: string }): JSX.Element {
	return (
		<Pick
			label={`cut ${label} evenly along`}
			title="cut evenly along"
			options={["", ...dims]}
			says={(one) => one || "as below"}
			chosen=""
			choose={(cut) => cut && rewrite(accessText(blocks.value, access.form, access.variable?.text ?? "", access.buffer?.text ?? "", cut))}
		/>
	);
}

/** A row of numbers for each of start, count and so on; a column for each dimension. */
function Numbers({ access, dims, label }: { access: Access; dims: string[]; label: string }): JSX.Element {
	const rows = rowsOf(access);
	const columns = dims.length ? dims : (rows[0]?.[1].map((_, at) => `dimension ${at + 1}`) ?? []);
	return (
		<div class="scroll wide" tabIndex={0} role="region" aria-label={`Numbers of ${label}`}>
			<table class="numbers">
				<thead>
					<tr>
						<td />
						{columns.map((one, at) => (
							<th key={at} scope="col">
								{one}
							</th>
						))}
					</tr>
				</thead>
				<tbody>
					{rows.map(([title, parts], at) => (
						<tr key={at}>
							<th scope="row">{title}</th>
							{parts.map((part, d) => (
								<td key={d}>
									<Cell label={`${title} along ${columns[d] ?? d} of ${label}`} part={part} />
								</td>
							))}
						</tr>
					))}
				</tbody>
			</table>
		</div>
	);
}

/** Starts and counts stand in turn; tuples one behind another. */
function rowsOf({ form, numbers }: Access): [string, Part[]][] {
	if (form === "array" || form === "one") return (ROWS["array"] ?? []).map((title, turn) => [title, numbers.filter((_, at) => at % 2 === turn)]);
	if (form === "global") return (ROWS["global"] ?? []).map((title, at) => [title, numbers[at]?.tuples[0] ?? []]);
	return numbers.flatMap((one, box) => one.tuples.map((parts, at): [string, Part[]] => [`${at ? "count" : "start"} of box ${box + 1}`, parts]));
}

