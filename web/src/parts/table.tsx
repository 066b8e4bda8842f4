/** A table that sorts, pages, is walked with keys and gives its data away. */
import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { format, numeric } from "../draw/units";
import type { Cell, Column, Table } from "../source";
import { isReport } from "../state/answers";
import { laneWord, useLaneNames } from "../state/lanes";
import { currentRun } from "../state/runs";
import { address } from "../state/state";
import { Export } from "./export";
import { Empty } from "./notice";

const PAGE = 20;
const ONE_LINE = 24; // letters: words and ids are not broken
/** Of a table of calls: the rest is in its exports, and of each call in the call explorer. */
export const OF_CALLS = ["op", "lane", "layer", "start", "duration", "exclusive", "bytes", "path", "server", "call"] as const;

export interface Order {
	column: number;
	down: boolean;
}

/** Rows in an order; what is not known comes last, equal rows stay as they were. */
export function sorted(rows: Cell[][], { column, down }: Order): Cell[][] {
	const sign = down ? -1 : 1;
	return [...rows].sort((a, b) => {
		const [x, y] = [a[column] ?? null, b[column] ?? null];
		if (x === null || y === null) return Number(x === null) - Number(y === null);
		if (typeof x === "number" && typeof y === "number") return sign * (x - y);
		return sign * String(x).localeCompare(String(y), "en", { numeric: true });
	});
}

interface Props {
	table: Table;
	caption: string;
	/** Name of exported files. */
	name: string;
	/** What a row is, for the sentence of an empty table. */
	what: string;
	page?: number;
	onOpen?: (row: Cell[]) => void;
	/** Text of a cell where its unit alone does not say it. */
	text?: (column: Column, value: Cell, row: Cell[]) => string | null;
	selected?: (row: Cell[]) => boolean;
	/** Names of the columns that are shown, in their order; exports have all. */
	columns?: readonly string[];
}

export function DataTable(props: Props): JSX.Element {
	const { table, caption, name, what, page = PAGE } = props;
	const [order, setOrder] = useState<Order | null>(null);
	const [first, setFirst] = useState(0);
	const rows = useMemo(() => (order ? sorted(table.rows, order) : table.rows), [table, order]);
	const shown = useMemo(() => shownOf(table, props.columns), [table, props.columns]);
	const lane = useLaneNames(table.columns.some((one) => one.unit === "lane") ? currentRun.value : null);
	if (table.rows.length === 0) return <Empty note={table.note} what={what} />;
	const figures = useMemo(() => figuresOf(table), [table]);
	const named: Props["text"] = (column, value, row) => props.text?.(column, value, row) ?? (column.unit === "lane" && value !== null ? lane(Number(value)) : null);
	const from = Math.min(first, Math.max(0, rows.length - 1));
	const sort = (column: number): void => {
		const down = order?.column === column ? !order.down : (figures[column] ?? false);
		setOrder({ column, down });
		setFirst(0);
	};
	return (
		<div class="table">
			<div class="bar">
				<span class="quiet">{counted(from, Math.min(from + page, rows.length), rows.length, table.total, what)}</span>
				<span class="grow" />
				{rows.length > page && <Pager from={from} page={page} rows={rows.length} go={setFirst} />}
				<Export name={name} table={() => ({ ...table, rows })} sql={table.sql} />
			</div>
			{table.note && <p class="quiet">{table.note}</p>}
			<div class="scroll" tabIndex={0} role="region" aria-label={caption}>
				<table>
					<caption class="unseen">{caption}</caption>
					<Head table={table} shown={shown} figures={figures} order={order} sort={sort} />
					<Body {...props} text={named} shown={shown} figures={figures} rows={rows.slice(from, from + page)} />
				</table>
			</div>
			<Sql text={table.sql} />
		</div>
	);
}

/** Where the columns that are shown stand in a row: a server that is the same in all rows, or not known, is none but in a table of servers. */
export function shownOf(table: Table, names: readonly string[] | undefined): number[] {
	const all = table.columns.map((one) => one.name);
	const shown = names ? names.map((one) => all.indexOf(one)).filter((at) => at >= 0) : [...all.keys()];
	const tells = (at: number): boolean => at === 0 || all[at] !== "server" || new Set(table.rows.map((row) => row[at] ?? null).filter((one) => one !== null)).size > 1;
	return shown.filter(tells);
}

/** Columns that stand right: also those of a user's statement, of which no unit is known. */
export function figuresOf(table: Table): boolean[] {
	const ofNumbers = (at: number): boolean => table.rows.every((row) => (row[at] ?? null) === null || typeof row[at] === "number");
	return table.columns.map((one, at) => numeric(one.unit) || (one.unit === "text" && table.rows.length > 0 && ofNumbers(at)));
}

function counted(from: number, to: number, rows: number, total: number, what: string): string {
	const shown = rows > to - from ? `${(from + 1).toLocaleString("en-US")}–${to.toLocaleString("en-US")} of ` : "";
	const folded = total > rows ? ` (of ${total.toLocaleString("en-US")}; the rest is not shown)` : "";
	return `${shown}${rows.toLocaleString("en-US")} ${rows === 1 ? singular(what) : what}${folded}`;
}

/** Of the words that tables count in. */
export function singular(words: string): string {
	return words.replace(/ies$/, "y").replace(/sses$/, "ss").replace(/([^s])s$/, "$1");
}

function Pager({ from, page, rows, go }: { from: number; page: number; rows: number; go: (first: number) => void }): JSX.Element {
	return (
		<span class="pager">
			<button type="button" disabled={from === 0} onClick={() => go(Math.max(0, from - page))}>
				Previous
			</button>
			<button type="button" disabled={from + page >= rows} onClick={() => go(from + page)}>
				Next
			</button>
		</span>
	);
}

interface HeadProps {
	table: Table;
	shown: number[];
	figures: boolean[];
	order: Order | null;
	sort: (column: number) => void;
}

function Head({ table, shown, figures, order, sort }: HeadProps): JSX.Element {
	return (
		<thead>
			<tr>
				{shown.map((at) => {
					const column = table.columns[at] as Column;
					const sorted = order?.column === at;
					return (
						<th key={column.name} scope="col" class={figures[at] ? "number" : ""} aria-sort={sorted ? (order.down ? "descending" : "ascending") : "none"}>
							<button type="button" onClick={() => sort(at)}>
								{column.unit === "lane" ? laneWord.value : column.name}
								<span aria-hidden="true">{sorted ? (order.down ? " ▾" : " ▴") : ""}</span>
							</button>
						</th>
					);
				})}
			</tr>
		</thead>
	);
}

/** With `onOpen`, one row is in the tab order, arrows lead to the others and Enter opens. */
function Body({ table, rows, shown, figures, onOpen, text, selected }: Props & { rows: Cell[][]; shown: number[]; figures: boolean[] }): JSX.Element {
	const body = useRef<HTMLTableSectionElement>(null);
	const [current, setCurrent] = useState(0);
	const at = Math.min(current, rows.length - 1);
	const walk = (event: KeyboardEvent, row: Cell[]): void => {
		const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
		if (event.key === "Enter") onOpen?.(row);
		else if (next === undefined || next < 0 || next >= rows.length) return;
		else {
			setCurrent(next);
			(body.current?.children[next] as HTMLElement | undefined)?.focus();
		}
		event.preventDefault();
	};
	return (
		<tbody ref={body}>
			{rows.map((row, index) => (
				<tr
					key={index}
					class={onOpen ? "opens" : ""}
					aria-current={selected?.(row) ? "true" : undefined}
					{...(onOpen ? { tabIndex: index === at ? 0 : -1, onClick: () => onOpen(row), onKeyDown: (event: KeyboardEvent) => walk(event, row), onFocus: () => setCurrent(index) } : {})}
				>
					{shown.map((at) => {
						const column = table.columns[at] as Column;
						const content = text?.(column, row[at] ?? null, row) ?? format(row[at], column.unit);
						if (column.name === "path") return <Path key={column.name} path={content} />;
						return (
							<td key={column.name} class={figures[at] ? "number" : content.length <= ONE_LINE ? "whole" : ""}>
								{column.unit === "call" && typeof row[at] === "string" ? <OpenCall call={content} /> : content}
							</td>
						);
					})}
				</tr>
			))}
		</tbody>
	);
}

/** A file as seen from a directory. */
export function seenFrom(directory: string, path: string): string {
	return directory && path.startsWith(`${directory}/`) ? path.slice(directory.length + 1) : path;
}

/** As seen from the run's directory, in one line; exports have all of it. */
function Path({ path }: { path: string }): JSX.Element {
	return (
		<td class="path" title={path}>
			{seenFrom(currentRun.value?.form.directory ?? "", path)}
		</td>
	);
}

/** Nobody knows a call by its number; exports have it. */
function OpenCall({ call }: { call: string }): JSX.Element {
	return (
		<a href={address("call", { call })} title={`call ${call}`} onClick={(event) => event.stopPropagation()}>
			open
		</a>
	);
}

/** The statement that gives the same rows in `fathom query RUN --sql`. */
export function Sql({ text }: { text: string }): JSX.Element | null {
	if (!text) return null;
	return (
		<details class="sql">
			<summary>SQL behind it</summary>
			<pre tabIndex={0} role="region" aria-label="SQL">
				{text}
			</pre>
			{!isReport() && <a href={address("sql", { q: text })}>Open in SQL</a>}
		</details>
	);
}
