/** The call and all below it: down the layers, in time, as a table. */
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { count, size, time } from "../../draw/units";
import { Figure, useWidth } from "../../parts/figure";
import { Empty, Shown } from "../../parts/notice";
import { say } from "../../parts/say";
import { DataTable } from "../../parts/table";
import { column, type Table } from "../../source";
import { useAnswer } from "../../state/answers";
import { formatRange } from "../../state/page";
import { change, given } from "../../state/state";
import { icicleHeight, nodeUnder, paintIcicle, paintWaterfall, WATERFALL_ROW, waterfallHeight, waterfallRows } from "./paint";
import { flat, step, treeOf, type Node } from "./query";
import { focus as focusOn } from "./screen";

interface Props {
	table: Table;
	focus: string;
	lane: (lane: number) => string;
	run: string;
}

export function Unfolded({ table, focus, lane, run }: Props): JSX.Element {
	const root = useMemo(() => treeOf(table), [table]);
	if (!root) return <Empty note={table.note} what="calls below" />;
	const bundle = flat(root).find((one) => one.calls > 1 && bundleKey(one) === given("bundle"));
	return (
		<>
			<Icicle key={root.call} root={root} table={table} focus={focus} lane={lane} />
			{bundle && <Opened bundle={bundle} root={root} run={run} />}
			<Waterfall root={root} focus={focus} lane={lane} />
		</>
	);
}

function bundleKey(node: Node): string {
	return `${node.parent ?? ""}:${node.layer}:${node.op}:${node.server ?? ""}`;
}

/** A call becomes the focus, a bundle opens. */
function open(node: Node): void {
	if (node.calls > 1) change({ bundle: bundleKey(node) });
	else focusOn(node.call);
}

function inWords(node: Node, lane: (lane: number) => string): string {
	const many = node.calls > 1 ? `${count(node.calls)} calls, ` : "";
	const itself = `${time(Math.max(0, node.duration - node.nested))} of it itself`;
	const parts = [`${node.layer} ${node.op} of ${lane(node.lane)}: ${many}${time(node.duration)}, ${itself}`];
	if (node.bytes !== null) parts.push(size(node.bytes));
	if (node.server) parts.push(`at ${node.server}`);
	return parts.join(", ");
}

function Icicle({ root, table, focus, lane }: { root: Node; table: Table; focus: string; lane: (lane: number) => string }): JSX.Element {
	const [attach, width] = useWidth<HTMLDivElement>();
	const [cursor, setCursor] = useState<string | null>(null);
	const [hover, setHover] = useState<Node | null>(null);
	const height = icicleHeight(root);
	const at = cursor ?? focus;
	const paint = useMemo(() => paintIcicle(root, at), [root, at]);
	const focused = flat(root).find((one) => one.call === at);
	const shown = hover ?? focused ?? root;
	const callColumn = column(table, "call");
	return (
		<div ref={attach}>
			<Figure
				title="Down the layers"
				name="call"
				says={`${count(table.rows.length)} calls and bundles, top of the stack first`}
				label={`The call and all below it, ${inWords(root, lane)}. Arrow keys walk, Enter opens.`}
				height={height}
				paint={paint}
				table={() => table}
				what="calls and bundles"
				sql={table.sql}
				onOpenRow={(row) => focusOn(String(row[callColumn]))}
				onHover={(point) => setHover(point && nodeUnder(root, { width, height }, point.x, point.y))}
				onPress={(point) => {
					const node = nodeUnder(root, { width, height }, point.x, point.y);
					if (node) open(node);
				}}
				onKey={(event) => {
					if (event.key === "Enter") {
						if (focused) open(focused);
						return true;
					}
					if (!event.key.startsWith("Arrow")) return false;
					const next = step(root, at, event.key);
					setCursor(next?.call ?? at);
					say(next ? inWords(next, lane) : "no further call this way");
					return true;
				}}
			>
				<p class="readout quiet">{inWords(shown, lane)}</p>
			</Figure>
		</div>
	);
}

function Waterfall({ root, focus, lane }: { root: Node; focus: string; lane: (lane: number) => string }): JSX.Element {
	const { nodes, folded } = waterfallRows(root);
	const paint = useMemo(() => paintWaterfall(root, focus, lane), [root, focus, lane]);
	return (
		<Figure
			title="In time"
			name="waterfall"
			says={folded ? `the first ${nodes.length} of ${nodes.length + folded}; the table above has all` : "full: itself; outlined: what was called below"}
			label={`One row for each of ${nodes.length} calls, at its time.`}
			height={waterfallHeight(root)}
			paint={paint}
			onPress={({ y }) => {
				const node = nodes[Math.floor(y / WATERFALL_ROW)];
				if (node) open(node);
			}}
		/>
	);
}

/** The longest calls of a bundle, asked for when it is opened. */
function Opened({ bundle, root, run }: { bundle: Node; root: Node; run: string }): JSX.Element {
	const parent = flat(root).find((one) => one.call === bundle.parent) ?? root;
	const same = bundle.lane === parent.lane ? bundle.lane : null;
	const parameters = { run, t: formatRange(parent.start, parent.start + parent.duration), lanes: same, layers: bundle.layer, ops: `${bundle.layer}:${bundle.op}`, servers: bundle.server };
	const answer = useAnswer<Table>("slowest", parameters);
	return (
		<section aria-label="Calls of the bundle">
			<div class="bar">
				<strong>
					The longest of {count(bundle.calls)} × {bundle.op}
				</strong>
				<button type="button" onClick={() => change({ bundle: null })}>
					Close
				</button>
			</div>
			<Shown answer={answer}>
				{(table) => <DataTable table={table} caption="Calls of the bundle" name="bundle" what="calls" page={10} onOpen={(row) => focusOn(String(row[column(table, "call")]))} />}
			</Shown>
		</section>
	);
}
