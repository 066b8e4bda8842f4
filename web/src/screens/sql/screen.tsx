import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Choose } from "../../parts/choose";
import { Figure } from "../../parts/figure";
import { Shown } from "../../parts/notice";
import { DataTable } from "../../parts/table";
import type { Table } from "../../source";
import { isReport, useAnswer } from "../../state/answers";
import { change, given, go, run } from "../../state/state";
import { barsHeight, paintRows } from "./paint";
import { Answered } from "./answered";
import { bars, BARS, drawable, EXAMPLES, FIRST, firstChoice, inserted, LIMIT, tablesOf, type SchemaTable } from "./query";
import { isQuery, QUERIES, type QueryAnswer } from "./typed";

export function Sql(): JSX.Element {
	const statement = given("q");
	const [draft, setDraft] = useState(statement || FIRST);
	const [stopped, setStopped] = useState(false);
	const editor = useRef<HTMLTextAreaElement>(null);
	useEffect(() => {
		if (statement) setDraft(statement);
		setStopped(false);
	}, [statement]);
	const asked = statement && !stopped ? { run: run.value, q: statement, limit: LIMIT } : null;
	const typed = isQuery(statement);
	const rows = useAnswer<Table>("sql", typed ? null : asked);
	const reply = useAnswer<QueryAnswer>("query", typed ? asked : null);
	const loading = rows.loading || reply.loading;
	const start = (): void => {
		setStopped(false);
		change({ q: draft });
	};
	const insert = (word: string): void => {
		const at = editor.current;
		setDraft(inserted(draft, word, at?.selectionStart ?? draft.length, at?.selectionEnd ?? draft.length));
		at?.focus();
	};
	return (
		<>
			{isReport() && <p class="notice">A report holds answers, not the run: statements run in the live view. <code>fathom query RUN --sql</code> runs them in a terminal.</p>}
			<div class="sql-screen">
				<div>
					<Editor draft={draft} setDraft={setDraft} start={start} editor={editor} />
					<div class="bar">
						<button type="button" onClick={start} disabled={loading}>
							Run
						</button>
						<button type="button" onClick={() => setStopped(true)} disabled={!loading}>
							Cancel
						</button>
						<span class="quiet" role="status">
							{loading ? "Running…" : stopped ? "Cancelled." : "Ctrl+Enter runs. The address holds the statement: copy it to share."}
						</span>
					</div>
				</div>
				<Schema insert={insert} />
			</div>
			{!statement && !isReport() && <Examples />}
			{asked && !typed && (
				<Shown answer={rows} height={200}>
					{(table) => <Result key={statement} table={table} />}
				</Shown>
			)}
			{asked && typed && (
				<Shown answer={reply} height={200}>
					{(found) => <Answered key={statement} answer={found} />}
				</Shown>
			)}
		</>
	);
}

function Examples(): JSX.Element {
	return (
		<section aria-labelledby="examples">
			<h2 id="examples">Questions to begin with</h2>
			<p class="quiet">
				In SQL, or as a query of <code>fathom query</code>: its options go behind it, as in a terminal.
			</p>
			<ul class="examples">
				{[...EXAMPLES, ...QUERIES].map(([question, text]) => (
					<li key={question}>
						<button type="button" class="link" onClick={() => change({ q: text })}>
							{question}
						</button>
						<pre tabIndex={0} role="region" aria-label={`Statement: ${question}`}>
							{text}
						</pre>
					</li>
				))}
			</ul>
		</section>
	);
}

interface Editing {
	draft: string;
	setDraft: (text: string) => void;
	start: () => void;
	editor: { current: HTMLTextAreaElement | null };
}

function Editor({ draft, setDraft, start, editor }: Editing): JSX.Element {
	const onKeyDown = (event: KeyboardEvent): void => {
		if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
		event.preventDefault();
		start();
	};
	return (
		<label>
			<span class="unseen">Statement</span>
			<textarea ref={editor} rows={12} spellcheck={false} value={draft} onInput={(event) => setDraft(event.currentTarget.value)} onKeyDown={onKeyDown} />
		</label>
	);
}

function Schema({ insert }: { insert: (word: string) => void }): JSX.Element {
	const answer = useAnswer<Table>("schema", { run: run.value });
	return (
		<div class="schema" role="region" aria-label="Tables and columns" tabIndex={0}>
			<Shown answer={answer} height={200}>
				{(schema) => (
					<>
						{tablesOf(schema).map((one) => (
							<OneTable key={one.name} table={one} insert={insert} />
						))}
					</>
				)}
			</Shown>
		</div>
	);
}

/** Columns are made when they are looked at: there are hundreds. */
function OneTable({ table, insert }: { table: SchemaTable; insert: (word: string) => void }): JSX.Element {
	const [open, setOpen] = useState(false);
	return (
		<details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
			<summary>
				<code>{table.name}</code>
			</summary>
			{open && (
				<ul>
					{table.columns.map((one) => (
						<li key={one.name}>
							<button type="button" onClick={() => insert(one.name)} title="Put it into the statement">
								<code>{one.name}</code>
							</button>{" "}
							<span class="quiet">
								{one.type}
								{one.meaning ? ` · ${one.meaning}` : ""}
							</span>
						</li>
					))}
				</ul>
			)}
		</details>
	);
}

function Result({ table }: { table: Table }): JSX.Element {
	const call = table.columns.findIndex((one) => one.unit === "call");
	return (
		<>
			<Chart table={table} />
			<DataTable table={table} caption="Rows" name="query" what="rows" {...(call >= 0 ? { onOpen: (row) => go("call", { call: String(row[call]) }) } : {})} />
		</>
	);
}

/** Two columns of the rows, as bars. */
function Chart({ table }: { table: Table }): JSX.Element | null {
	const first = useMemo(() => firstChoice(table), [table]);
	const { labels, values } = useMemo(() => drawable(table), [table]);
	const label = labels.includes(given("label")) ? given("label") : (first?.label ?? "");
	const value = values.includes(given("value")) ? given("value") : (first?.value ?? "");
	const unit = table.columns.find((one) => one.name === value)?.unit ?? "count";
	const shown = useMemo(() => bars(table, label, value), [table, label, value]);
	const paint = useMemo(() => paintRows(shown, unit), [shown, unit]);
	if (!first || shown.length === 0) return null;
	return (
		<details class="behind">
			<summary>Chart of the rows</summary>
			<Figure
				title={`${value} by ${label}`}
				name="query-chart"
				says={table.rows.length > BARS ? `first ${BARS} of ${table.rows.length.toLocaleString("en-US")} rows` : ""}
				label={shown.slice(0, 8).map((one) => `${one.label}: ${one.value}`).join("; ")}
				height={barsHeight(shown)}
				paint={paint}
				sql={table.sql}
				tools={
					<>
						<Choose label="bars" options={values} chosen={value} choose={(one) => change({ value: one }, true)} />
						<Choose label="names" options={labels} chosen={label} choose={(one) => change({ label: one }, true)} />
					</>
				}
			/>
		</details>
	);
}
