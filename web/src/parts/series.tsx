/** Lines over time with uPlot, inked in the theme's colours, brushed as every picture. */
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { palette, type Palette } from "../draw/theme";
import { formatRange } from "../state/page";
import { change } from "../state/state";
import { useWidth } from "./figure";

export interface Line {
	name: string;
	colour: (palette: Palette) => string;
	values: (number | null)[];
	dashed?: boolean;
}

export interface SeriesProps {
	/** Seconds from the run's start. */
	times: number[];
	lines: Line[];
	unit: string;
	height: number;
	label: string;
}

function options(props: SeriesProps, width: number, colours: Palette): uPlot.Options {
	const axis = { stroke: colours.quiet, grid: { stroke: colours.line, width: 1 }, ticks: { stroke: colours.line } };
	return {
		width,
		height: props.height,
		scales: { x: { time: false }, y: { range: (_, _least, most) => [0, most > 0 ? most * 1.05 : 1] } },
		axes: [
			{ ...axis, values: (_, at) => at.map((one) => `${one} s`) },
			{ ...axis, size: 64, values: (_, at) => at.map((one) => `${one.toLocaleString("en-US")}`) },
		],
		series: [
			{ label: "time", value: (_, one) => (one === null ? "–" : `${one.toFixed(3)} s`) },
			...props.lines.map((line) => ({
				label: `${line.name}, ${props.unit}`,
				stroke: line.colour(colours),
				width: 1.5,
				points: { show: false },
				...(line.dashed ? { dash: [5, 4] } : {}),
				value: (_: uPlot, one: number | null) => (one === null ? "–" : one.toFixed(1)),
			})),
		],
		cursor: { drag: { x: true, y: false, setScale: false } },
		hooks: { setSelect: [brushed] },
	};
}

/** A brush filters by time, as in every other picture. */
function brushed(plot: uPlot): void {
	if (plot.select.width < 2) return;
	const [from, to] = [plot.posToVal(plot.select.left, "x"), plot.posToVal(plot.select.left + plot.select.width, "x")];
	plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
	change({ t: formatRange(Math.max(0, from * 1e9), to * 1e9) });
}

export function Series(props: SeriesProps): JSX.Element {
	const [attach, width] = useWidth<HTMLDivElement>();
	const place = useRef<HTMLDivElement>(null);
	const colours = palette.value;
	useEffect(() => {
		if (!place.current || width < 50) return;
		const data = [props.times, ...props.lines.map((line) => line.values)] as uPlot.AlignedData;
		const plot = new uPlot(options(props, width, colours), data, place.current);
		return () => plot.destroy();
	}, [props.times, props.lines, width, colours]);
	return (
		<div class="series" ref={attach}>
			<div ref={place} role="img" aria-label={props.label} style={{ minHeight: `${props.height}px` }} />
		</div>
	);
}
