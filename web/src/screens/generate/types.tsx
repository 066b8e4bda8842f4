/** Types made of named members: a field for each part of a member. */
import type { JSX } from "preact";
import { blocks, put } from "./draft";
import { addStatement, clean, replaced } from "./edit";
import { Cell, Field, Group, Pick, Remove, Wrong } from "./fields";
import type { FormProps } from "./form";
import type { Statement } from "./query";
import { fresh, memberOf, memberText, names, statements, type MemberWords } from "./words";

export function Types(props: FormProps): JSX.Element {
	const rows = statements(blocks.value, "types");
	const taken = names(blocks.value, "types");
	const first = `${fresh("particle", taken)}: double energy, int cell;`;
	return (
		<Group title="Types" says="Elements made of named members, as a struct of the program. HDF5 and netCDF-4 have such types.">
			{rows.map((row, at) => (
				<Type key={at} {...props} row={row} before={taken.slice(0, at)} at={at} />
			))}
			<button type="button" onClick={() => put(addStatement(props.text, props.reply, blocks.value, "types", first))}>
				Add a type
			</button>
		</Group>
	);
}

function Type({ text, form, row, before, at }: FormProps & { row: Statement; before: string[]; at: number }): JSX.Element {
	const name = row.head.text;
	const members = row.parts.map((one) => memberOf(one.text));
	const member = { type: "double", name: fresh("value", members.map((one) => one.name)), length: "" };
	const more = (): void => put(replaced(row.parts.slice(-1), `${row.parts.at(-1)?.text ?? ""}, ${memberText(member)}`));
	/** With its neighbour replaced by that neighbour alone. */
	const less = (n: number): void => put(n > 0 ? replaced(row.parts.slice(n - 1, n + 1), row.parts[n - 1]?.text ?? "") : replaced(row.parts.slice(0, 2), row.parts[1]?.text ?? ""));
	return (
		<div class="variable" role="group" aria-label={`type ${name}`}>
			<Cell label={`name of type ${at + 1}`} title="name" part={row.head} />
			{members.map((one, n) => {
				const change = (to: Partial<MemberWords>): void => put(replaced(row.parts.slice(n, n + 1), memberText({ ...one, ...to })));
				return (
					<div key={n} class="dims" role="group" aria-label={`member ${n + 1} of ${name}`}>
						<Pick label={`type of member ${n + 1} of ${name}`} options={["double", "float", "int", ...form.types, ...before]} chosen={one.type} choose={(to) => change({ type: to })} />
						<Field label={`name of member ${n + 1} of ${name}`} title="member" value={one.name} set={(to) => change({ name: clean(to).replace(/[\s,[\]]/g, "") })} />
						<Field label={`length of member ${n + 1} of ${name}`} title="array of" value={one.length} set={(to) => change({ length: to.replace(/\D/g, "") })} />
						<button type="button" class="small" aria-label={`Remove member ${n + 1} of ${name}`} title="Remove this member" disabled={members.length < 2} onClick={() => less(n)}>
							×
						</button>
					</div>
				);
			})}
			<button type="button" class="small" aria-label={`One more member of ${name}`} title="One more member" onClick={more}>
				+
			</button>
			<Remove what={`type ${name}`} statement={row} text={text} />
			<Wrong statement={row} />
		</div>
	);
}
