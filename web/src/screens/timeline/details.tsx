/** Beside the picture: the call in focus. Beside the mouse: the call under it. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { format, time } from "../../draw/units";
import type { CallAnswer, Run } from "../../source";
import { useAnswer, type Answer } from "../../state/answers";
import { address } from "../../state/state";
import { siteOf } from "../call/query";
import type { Item } from "./query";
import { about, nameOf } from "./words";

type Named = (lane: number) => string;
type Fact = [name: string, value: string | null];

/** What is known of it without asking, then what the answer adds. */
export function Details({ item, answer, lane, close, zoomTo }: { item: Item | null; answer: Answer<CallAnswer>; lane: Named; close: () => void; zoomTo: (item: Item) => void }): JSX.Element {
	const call = answer.value?.call ?? null;
	const name = item ?? (call && { op: String(call["op"]), lane: Number(call["lane"]), longest: Number(call["duration"]) });
	const id = item?.call ?? String(call?.["call"] ?? "");
	const facts = known(item, answer.value).filter(([, value]) => value !== null);
	return (
		<aside class="details" aria-label="The selected call">
			<div class="bar">
				<h2>{name ? nameOf(name, lane) : "The selected call"}</h2>
				<span class="grow" />
				<button type="button" class="small" onClick={close} aria-label="Close the details">
					×
				</button>
			</div>
			<dl>
				{facts.map(([label, value]) => (
					<div key={label}>
						<dt>{label}</dt>
						<dd>{value}</dd>
					</div>
				))}
			</dl>
			{answer.error && <p class="quiet">{answer.error.message}</p>}
			{id && (
				<p>
					<a href={address("call", { call: id })}>Down the layers</a>
					{item && (
						<>
							{" · "}
							<button type="button" class="link" onClick={() => zoomTo(item)}>
								Zoom to it
							</button>
						</>
					)}
				</p>
			)}
		</aside>
	);
}

function known(item: Item | null, answer: CallAnswer | null): Fact[] {
	const call = answer?.call ?? {};
	const text = (name: string): string | null => (call[name] === null || call[name] === undefined ? null : String(call[name]));
	const number = (name: string): number | null => (text(name) === null ? null : Number(call[name]));
	const bytes = item?.bytes ?? number("bytes");
	const offset = number("file_offset");
	const parts = answer?.breakdown.layers.filter(([, ns]) => ns > 0).map(([layer, ns]) => `${layer} ${time(ns)}`) ?? [];
	return [
		["function", item?.op ?? text("op")],
		["layer", item?.layer ?? text("layer")],
		["began", format(number("start") ?? item?.start, "ns")],
		["took", format(number("duration") ?? item?.longest, "ns")],
		["its time", parts.length > 0 ? parts.join(", ") : null],
		["bytes", bytes === null ? null : format(bytes, "bytes")],
		["at offset", offset === null ? null : format(offset, "bytes")],
		["file", item?.path ?? text("path")],
		["line", siteOf(call) || null],
		["called by", answer && answer.ancestors.length > 0 ? answer.ancestors.map((one) => String(one["op"])).join(" ▸ ") : null],
	];
}

const STANDS = 150; // ms after which a mouse rests on a call

/** A call's facts; its line, too, where the mouse rests on it. */
export function Tooltip({ run, item, lane }: { run: Run; item: Item; lane: Named }): JSX.Element {
	const [rests, setRests] = useState("");
	useEffect(() => {
		const timer = setTimeout(() => setRests(item.call), STANDS);
		return () => clearTimeout(timer);
	}, [item.call]);
	const answer = useAnswer<CallAnswer>("call", rests === item.call ? { run: run.name, call: item.call } : null);
	const call = answer.value?.call;
	const line = call && String(call["call"]) === item.call ? siteOf(call) : "";
	const [path, bytes] = [call?.["path"], call?.["bytes"]];
	const whole: Item = line || item.path ? { ...item, path: item.path ?? (path ? String(path) : null), bytes: item.bytes ?? (typeof bytes === "number" ? bytes : null) } : item;
	return (
		<>
			<strong>{nameOf(item, lane)}</strong>
			{about(whole).map((one) => (
				<div key={one}>{one}</div>
			))}
			{line && <div>{line}</div>}
		</>
	);
}
