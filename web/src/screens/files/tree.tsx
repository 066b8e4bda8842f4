/** Rows that open: what is below one is asked for when it is opened. */
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { count, size, time } from "../../draw/units";
import { Empty, Shown } from "../../parts/notice";
import { useAnswer } from "../../state/answers";
import { address, change, scope } from "../../state/state";
import { below, children, PAGE, ROOT, type FilesAnswer, type Node, type Order } from "./query";

export function Tree({ order }: { order: Order }): JSX.Element {
	return (
		<div class="tree" role="region" aria-label="Files of the job" tabIndex={0}>
			<div class="tree-row quiet" aria-hidden="true">
				<span>what</span>
				<span>calls</span>
				<span>read</span>
				<span>written</span>
				<span>time</span>
			</div>
			<Below node={ROOT} order={order} />
		</div>
	);
}

/** One row of a list is open at a time, so that the page stays small. */
function Below({ node, order }: { node: Node; order: Order }): JSX.Element {
	const answer = useAnswer<FilesAnswer>("files", { ...scope.value, ...below(node, order) });
	return (
		<Shown answer={answer} height={60}>
			{(files) => <List node={node} order={order} files={files} />}
		</Shown>
	);
}

function List({ node, order, files }: { node: Node; order: Order; files: FilesAnswer }): JSX.Element {
	const [chosen, setOpen] = useState<string | null | undefined>(undefined);
	const [from, setFrom] = useState(0);
	const all = useMemo(() => children(node, order, files), [node, order, files]);
	if (all.length === 0) return <Empty note={files.table.note} what="calls on files" />;
	const open = chosen === undefined ? onlyFolder(all) : chosen;
	const most = Math.max(...all.map((one) => one.values.time), 1);
	const shown = all.slice(from, from + PAGE);
	return (
		<>
			<ul>
				{shown.map((one) => (
					<li key={one.label}>
						<Row node={one} share={one.values.time / most} open={open === one.label} toggle={() => setOpen(open === one.label ? null : one.label)} />
						{open === one.label && <Below node={one} order={order} />}
					</li>
				))}
			</ul>
			{all.length > PAGE && (
				<div class="bar quiet">
					{`${from + 1}–${Math.min(all.length, from + PAGE)} of ${files.table.total.toLocaleString("en-US")}`}
					<button type="button" disabled={from === 0} onClick={() => setFrom(from - PAGE)}>
						Previous
					</button>
					<button type="button" disabled={from + PAGE >= all.length} onClick={() => setFrom(from + PAGE)}>
						Next
					</button>
				</div>
			)}
		</>
	);
}

/** A folder that holds all there is lies open. */
function onlyFolder(all: Node[]): string | null {
	const [first] = all;
	return first?.kind === "folder" && all.length === 1 ? first.label : null;
}

function Row({ node, share, open, toggle }: { node: Node; share: number; open: boolean; toggle: () => void }): JSX.Element {
	const { calls, read, written, time: ns } = node.values;
	return (
		<div class="tree-row">
			<span class="tree-name">
				{node.call === null ? (
					<button type="button" aria-expanded={open} onClick={toggle}>
						<span aria-hidden="true">{open ? "▾ " : "▸ "}</span>
						{node.label}
					</button>
				) : (
					<a href={address("call", { call: node.call })}>{node.label}</a>
				)}
				{node.kind === "file" && (
					<button type="button" class="small" onClick={() => change({ file: node.file })}>
						maps
					</button>
				)}
			</span>
			<span>{calls === null ? "" : <>{count(calls)} <span class="narrow">calls</span></>}</span>
			<span>{read === null ? "" : <>{size(read)} <span class="narrow">read</span></>}</span>
			<span>{written === null ? "" : <>{size(written)} <span class="narrow">written</span></>}</span>
			<span>
				{time(ns)}
				<meter min={0} max={1} value={share} aria-label="share of the longest in this list" />
			</span>
		</div>
	);
}
