/** What the file holds: options, parameters, dimensions, variables, attributes, layout. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { blocks, hints, put } from "./draft";
import { addStatement, clean, removed, replaced } from "./edit";
import { Cell, Field, Group, Pick, Remove, Wrong } from "./fields";
import { Points } from "./points";
import type { FormAnswer, Hints, Statement } from "./query";
import { Types } from "./types";
import { fresh, joinName, names, splitName, statements } from "./words";

export interface FormProps {
	text: string;
	form: FormAnswer;
	reply: Hints;
}

export function HintsForm(props: FormProps): JSX.Element {
	return (
		<form class="hints-form" aria-label="What is written and read" onSubmit={(event) => event.preventDefault()}>
			<Options {...props} />
			<Names {...props} kind="dimensions" title="Dimensions" one="dimension" wanted="z" says="Lengths of the arrays, as the whole program sees them." value="64" hint="64, nx, unlimited" />
			<Variables {...props} />
			<Points {...props} />
			<Attributes {...props} />
			<Names {...props} kind="parameters" title="Parameters" one="parameter" wanted="nx" says="Numbers that the program knows when it runs: they become arguments. The value is what the check works with." value="64" hint="64" />
			<Types {...props} />
			<Layout {...props} />
		</form>
	);
}

function add(props: FormProps, kind: string, statement: string): void {
	put(addStatement(props.text, props.reply, blocks.value, kind, statement));
}

interface NamesProps extends FormProps {
	kind: string;
	title: string;
	one: string;
	wanted: string;
	says: string;
	value: string;
	hint: string;
}

/** Names with a value each: parameters, dimensions. */
function Names(props: NamesProps): JSX.Element {
	const { kind, title, one, says, text } = props;
	const taken = [...names(blocks.value, "dimensions"), ...names(blocks.value, "parameters")];
	return (
		<Group title={title} says={says}>
			{statements(blocks.value, kind).map((row, at) => (
				<div key={at} class="pair" role="group" aria-label={`${one} ${row.head.text}`}>
					<Cell label={`name of ${one} ${at + 1}`} part={row.head} />
					<span aria-hidden="true">=</span>
					{row.parts[0] && <Cell label={`value of ${row.head.text}`} part={row.parts[0]} hint={props.hint} />}
					<Remove what={`${one} ${row.head.text}`} statement={row} text={text} />
					<Wrong statement={row} />
				</div>
			))}
			<button type="button" onClick={() => add(props, kind, `${fresh(props.wanted, taken)}: ${props.value};`)}>
				Add a {one}
			</button>
		</Group>
	);
}

function Variables(props: FormProps): JSX.Element {
	const dims = names(blocks.value, "dimensions");
	const taken = names(blocks.value, "variables");
	return (
		<Group title="Variables" says="Arrays in the file. Dimensions from the slowest to the fastest, as C stores them.">
			{statements(blocks.value, "variables").map((row, at) => (
				<Variable key={at} {...props} row={row} dims={dims} at={at} />
			))}
			<button type="button" disabled={dims.length === 0} onClick={() => add(props, "variables", `${fresh("field", taken)}: double, ${Math.min(2, dims.length)}, ${dims.slice(0, 2).join(", ")};`)}>
				Add a variable
			</button>
			{dims.length === 0 && <span class="quiet">a dimension first</span>}
		</Group>
	);
}

function Variable({ text, form, reply, row, dims, at }: FormProps & { row: Statement; dims: string[]; at: number }): JSX.Element {
	const { name, path } = splitName(row.head.text);
	const own = row.parts.slice(2);
	const write = (next: string[]): void => put(replaced(row.parts.slice(1), [String(next.length), ...next].join(", ")));
	const head = (to: string): void => put(replaced([row.head], to));
	const type = row.parts[0];
	return (
		<div class="variable" role="group" aria-label={`variable ${name}`}>
			<Field label={`name of variable ${at + 1}`} title="name" value={name} set={(to) => head(joinName(to, path))} />
			{type && <Pick label={`type of ${name}`} title="type" options={["double", "float", "int", ...form.types, ...names(blocks.value, "types")]} chosen={type.text} choose={(to) => put(replaced([type], to))} />}
			<div class="dims" role="group" aria-label={`dimensions of ${name}`}>
				<span class="quiet">[</span>
				{own.map((one, d) => (
					<Pick key={d} label={`dimension ${d + 1} of ${name}`} options={dims} chosen={one.text} choose={(to) => write(own.map((was, n) => (n === d ? to : was.text)))} />
				))}
				<span class="quiet">]</span>
				<button type="button" class="small" aria-label={`One more dimension of ${name}`} title="One more dimension" disabled={dims.length === 0} onClick={() => write([...own.map((one) => one.text), dims.find((one) => !own.some((was) => was.text === one)) ?? dims[0] ?? ""])}>
					+
				</button>
				<button type="button" class="small" aria-label={`One dimension less of ${name}`} title="One dimension less" disabled={own.length < 2} onClick={() => write(own.slice(0, -1).map((one) => one.text))}>
					−
				</button>
			</div>
			{(reply.library === "hdf5" || path) && <Field label={`path of ${name} in the file`} title="path in the file" value={path} set={(to) => head(joinName(name, to.replaceAll('"', "")))} />}
			<Remove what={`variable ${name}`} statement={row} text={text} />
			<Wrong statement={row} />
		</div>
	);
}

/** What an attribute is worth: a field for each value, a constant or an expression. A text has one. */
function Values({ row, offers }: { row: Statement; offers: string[] }): JSX.Element {
	const [, type, ...values] = row.parts;
	const name = row.head.text;
	const write = (next: string[]): void => put(replaced(values, next.join(", ")));
	return (
		<div class="dims" role="group" aria-label={`values of ${name}`}>
			{values.map((one, n) => (
				<Cell key={n} label={values.length > 1 ? `value ${n + 1} of ${name}` : `value of ${name}`} part={one} hint={type?.text === "text" ? '"…"' : "0.5, nx, total(nx)"} offers={type?.text === "text" ? [] : offers} />
			))}
			{type?.text !== "text" && (
				<>
					<button type="button" class="small" aria-label={`One more value of ${name}`} title="One more value" onClick={() => write([...values.map((one) => one.text), "0"])}>
						+
					</button>
					<button type="button" class="small" aria-label={`One value less of ${name}`} title="One value less" disabled={values.length < 2} onClick={() => write(values.slice(0, -1).map((one) => one.text))}>
						−
					</button>
				</>
			)}
		</div>
	);
}

function Attributes(props: FormProps): JSX.Element {
	const { text, form } = props;
	const rows = statements(blocks.value, "attributes");
	const owners = ["global", ...names(blocks.value, "variables")];
	const parameters = names(blocks.value, "parameters");
	const offers = [...parameters, ...names(blocks.value, "dimensions"), ...parameters.map((one) => `total(${one})`)];
	return (
		<Group title="Attributes" says="What stands beside the data: units, versions, sizes. A text stands in quotation marks; a number may be worked out when the program runs: total(n) over all ranks, a dimension, a parameter.">
			{rows.map((row, at) => (
				<div key={at} class="attribute" role="group" aria-label={`attribute ${row.head.text}`}>
					<Cell label={`name of attribute ${at + 1}`} part={row.head} />
					{row.parts[0] && <Pick label={`whose attribute ${row.head.text} is`} options={owners} chosen={row.parts[0].text} choose={(to) => put(replaced(row.parts.slice(0, 1), to))} />}
					{row.parts[1] && <Pick label={`type of ${row.head.text}`} options={["text", "double", "int", ...form.types]} chosen={row.parts[1].text} choose={(to) => put(replaced(row.parts.slice(1, 2), to))} />}
					<Values row={row} offers={offers} />
					<Remove what={`attribute ${row.head.text}`} statement={row} text={text} />
					<Wrong statement={row} />
				</div>
			))}
			<button type="button" onClick={() => add(props, "attributes", `${fresh("units", rows.map((one) => one.head.text))}: ${owners[1] ?? "global"}, text, "K";`)}>
				Add an attribute
			</button>
		</Group>
	);
}

function optionOf(kind: string, name: string): Statement | undefined {
	return statements(blocks.value, kind).find((one) => one.head.text === name);
}

export function valueOf(kind: string, name: string, text: string): string {
	const row = optionOf(kind, name);
	return row?.parts[0] ? text.slice(row.parts[0].start, row.parts.at(-1)?.end) : "";
}

/** Says an option; takes it out where there is nothing to say. */
export function setOption(kind: string, name: string, value: string, text: string): void {
	const row = optionOf(kind, name);
	const reply = hints.value;
	if (row) put(value === "" ? removed(text, row) : replaced(row.parts, value));
	else if (value !== "" && reply) put(addStatement(text, reply, blocks.value, kind, `${name}: ${value};`));
}

function OptionField({ kind, name, title, text, hint }: { kind: string; name: string; title: string; text: string; hint: string }): JSX.Element {
	const row = optionOf(kind, name);
	const [typed, setTyped] = useState("");
	const written = valueOf(kind, name, text);
	const commit = (value: string): void => (setTyped(""), setOption(kind, name, clean(value), text));
	// A statement that is not there yet is written once it is whole; one that is there follows each letter.
	const onInput = (value: string): void => (row && clean(value) !== "" ? (setTyped(value), setOption(kind, name, clean(value), text)) : setTyped(value));
	return (
		<label class="field">
			<span>{title}</span>
			<input
				type="text"
				spellcheck={false}
				autocomplete="off"
				value={row && clean(typed) !== written && typed.trim() !== "" ? written : typed || written}
				placeholder={hint}
				onInput={(event) => onInput(event.currentTarget.value)}
				onChange={(event) => commit(event.currentTarget.value)}
			/>
			{row && <Wrong statement={row} />}
		</label>
	);
}

function Options({ text, form, reply }: FormProps): JSX.Element {
	const says = (name: string): string => {
		const one = form.libraries.find((known) => known.name === name);
		return one ? `${one.title} · ${one.level} level` : name;
	};
	const language = valueOf("options", "language", text) || reply.language || "c";
	return (
		<Group title="Library and file">
			<Pick label="library" title="library and level" options={form.libraries.map((one) => one.name)} chosen={valueOf("options", "library", text) || "pnetcdf"} says={says} choose={(to) => setOption("options", "library", to, text)} />
			<Pick label="language" title="language" options={form.languages} chosen={language} choose={(to) => setOption("options", "language", to, text)} />
			<OptionField kind="options" name="name" title="name of the functions" text={text} hint="checkpoint" />
			<OptionField kind="options" name="file" title="file" text={text} hint={'"checkpoint.nc", or a variable'} />
			<OptionField kind="options" name="processes" title="check with ranks" text={text} hint="4" />
			<OptionField kind="options" name="communicator" title="communicator" text={text} hint="MPI_COMM_WORLD" />
			<OptionField kind="options" name="status" title="status variable" text={text} hint="none: abort on failure" />
		</Group>
	);
}

const LAYOUT: Record<string, string> = {
	striping_factor: "servers (stripe count)",
	striping_unit: "stripe size, bytes",
	cb_nodes: "aggregators",
	cb_buffer_size: "collective buffer, bytes",
	alignment: "alignment (HDF5), bytes",
};

function Layout({ text, form }: FormProps): JSX.Element {
	return (
		<Group title="File system" says="Only if you know it: without it no hint is set.">
			{form.layout.map((name) => (
				<OptionField key={name} kind="layout" name={name} title={LAYOUT[name] ?? name} text={text} hint="not said" />
			))}
		</Group>
	);
}
