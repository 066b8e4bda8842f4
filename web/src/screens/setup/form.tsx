/** The form of a run. */
import type { ComponentChildren, JSX } from "preact";
import { Choose } from "../../parts/choose";
import { BATCHES, formatServers, LAYERS, LEVELS, MPIS, OPERATIONS, parseServers, ROLES, toggled, type Field, type Form, type ServerRow } from "./query";

interface Props {
	form: Form;
	set: (name: Field, value: string) => void;
}

export function RunForm({ form, set }: Props): JSX.Element {
	return (
		<form class="setup-form" onSubmit={(event) => event.preventDefault()}>
			<Group title="Program">
				<Text form={form} set={set} name="program" label="program" hint="./s3d, or a name on the path" wide />
				<Text form={form} set={set} name="arguments" label="arguments" hint="64 64 64 /scratch/out" wide />
				<Text form={form} set={set} name="directory" label="in directory" hint="where the program runs" wide />
				<Text form={form} set={set} name="build" label="build first with" hint="make -j4" wide />
				<Text form={form} set={set} name="name" label="name of the run" hint="as the program" />
			</Group>
			<Group title="MPI">
				<Choose label="MPI" options={MPIS} chosen={form.mpi ?? MPIS[0]} choose={(value) => set("mpi", value)} />
				<Count form={form} set={set} name="ranks" label="ranks" />
				<Choose label="script for" options={BATCHES} chosen={form.batch ?? BATCHES[0]} choose={(value) => set("batch", value)} />
				<Count form={form} set={set} name="nodes" label="nodes" />
				<Count form={form} set={set} name="minutes" label="minutes" />
			</Group>
			<Group title="What is recorded">
				<Choose label="level" options={LEVELS} chosen={form.level ?? LEVELS[0]} choose={(value) => set("level", value)} />
				<Choose label="reads and writes" options={OPERATIONS} chosen={form.operations ?? OPERATIONS[0]} choose={(value) => set("operations", value)} />
				<Layers form={form} set={set} />
				<Text form={form} set={set} name="files" label="only files" hint="*.h5, !*/tmp/*" />
				<Text form={form} set={set} name="lines" label="only source lines" hint="restart.c:100-180" />
				<Text form={form} set={set} name="record" label="only ranks" hint="0-63:8" />
			</Group>
			<Servers form={form} set={set} />
		</form>
	);
}

function Group({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
	return (
		<fieldset>
			<legend>{title}</legend>
			{children}
		</fieldset>
	);
}

interface Named extends Props {
	name: Field;
	label: string;
	hint?: string;
	wide?: boolean;
}

function Text({ form, set, name, label, hint, wide }: Named): JSX.Element {
	return (
		<label class={wide ? "field wide" : "field"}>
			<span>{label}</span>
			<input type="text" spellcheck={false} autocomplete="off" value={form[name] ?? ""} placeholder={hint} onInput={(event) => set(name, event.currentTarget.value)} />
		</label>
	);
}

function Count({ form, set, name, label }: Named): JSX.Element {
	return (
		<label class="field">
			<span>{label}</span>
			<input type="number" min={1} value={form[name] ?? "1"} onInput={(event) => set(name, event.currentTarget.value)} />
		</label>
	);
}

function Layers({ form, set }: Props): JSX.Element {
	const chosen = (form.layers ?? "").split(",");
	return (
		<div class="wide bar" role="group" aria-label="Layers; none: the usual ones">
			<span class="quiet">layers</span>
			{LAYERS.map((one) => (
				<label key={one}>
					<input type="checkbox" checked={chosen.includes(one)} onChange={() => set("layers", toggled(form.layers ?? "", one))} /> {one}
				</label>
			))}
			<span class="quiet">{form.layers ? "" : "none chosen: the usual ones"}</span>
		</div>
	);
}

/** A row for each server; a row that is not filled in says a dash. */
function Servers({ form, set }: Props): JSX.Element {
	const rows = parseServers(form.servers ?? "");
	const write = (next: ServerRow[]): void => set("servers", formatServers(next));
	const put = (at: number, one: Partial<ServerRow>): void => write(rows.map((row, index) => (index === at ? { ...row, ...one } : row)));
	return (
		<Group title="Forwarding servers">
			{rows.map((row, at) => (
				<div key={at} class="wide bar" role="group" aria-label={`Server ${at + 1}`}>
					<Choose label="role" options={ROLES} chosen={row.role} choose={(role) => put(at, { role })} />
					{(["host", "path", "port"] as const).map((name) => (
						<label key={name} class="field short">
							<span>{name}</span>
							<input type="text" spellcheck={false} value={row[name]} onInput={(event) => put(at, { [name]: event.currentTarget.value })} />
						</label>
					))}
					<button type="button" aria-label={`Remove server ${at + 1}`} onClick={() => write(rows.filter((_, index) => index !== at))}>
						×
					</button>
				</div>
			))}
			<button type="button" onClick={() => write([...rows, { role: ROLES[0], host: "", path: "", port: "" }])}>
				Add a server
			</button>
		</Group>
	);
}
