/** A picture: canvas, caption, what is drawn in words, export, the same data as a table. */
import type { ComponentChildren, JSX } from "preact";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { palette } from "../draw/theme";
import type { Cell, Table } from "../source";
import { Export, type Paint } from "./export";
import { DataTable } from "./table";

export interface Point {
	x: number;
	y: number;
}

/** A press, and where it ended: a drag when the two are some pixels apart. */
export interface Brush {
	from: Point;
	to: Point;
	shift: boolean;
}

export interface Gestures {
	onHover?: (at: Point | null) => void;
	onPress?: (at: Point) => void;
	onBrush?: (brush: Brush, ended: boolean) => void;
	onDouble?: (at: Point) => void;
	/** A wheel turned over the picture: the page does not scroll meanwhile. */
	onWheel?: (at: Point, event: WheelEvent) => void;
	/** True when the key was used. */
	onKey?: (event: KeyboardEvent) => boolean;
	onFocus?: () => void;
}

export interface FigureProps extends Gestures {
	title: string;
	/** Name of exported files. */
	name: string;
	/** How much is drawn of how much: "512 bins of 3 ms × 64 rows, 3.1 M calls". */
	says?: string;
	/** What the picture shows, for those who do not see it. */
	label: string;
	height: number;
	paint: Paint;
	/** What is told beside the mouse. */
	tip?: { at: Point; says: ComponentChildren } | null;
	/** Cursor, brush, hover: drawn above the picture, and in no export. */
	over?: Paint;
	table?: () => Table;
	/** What a row of the table is. */
	what?: string;
	onOpenRow?: (row: Cell[]) => void;
	sql?: string;
	tools?: ComponentChildren;
	children?: ComponentChildren;
}

/** Width of an element in CSS pixels, followed as it changes. */
export function useWidth<E extends HTMLElement>(): [(element: E | null) => void, number] {
	const [width, setWidth] = useState(0);
	const watch = useRef<ResizeObserver | null>(null);
	const attach = useCallback((element: E | null) => {
		watch.current?.disconnect();
		if (!element) return;
		const read = (): void => setWidth(Math.floor(element.clientWidth));
		read();
		watch.current = new ResizeObserver(read);
		watch.current.observe(element);
	}, []);
	return [attach, width];
}

/** Paints into a canvas at the screen's pixels; again when size, data or theme change. */
export function usePaint(paint: Paint | undefined, width: number, height: number): (canvas: HTMLCanvasElement | null) => void {
	const canvas = useRef<HTMLCanvasElement | null>(null);
	const colours = palette.value;
	useLayoutEffect(() => {
		const ink = canvas.current?.getContext("2d");
		if (!canvas.current || !ink || width < 1) return;
		const dots = devicePixelRatio || 1;
		canvas.current.width = Math.round(width * dots);
		canvas.current.height = Math.round(height * dots);
		ink.scale(dots, dots);
		paint?.(ink, { width, height }, colours);
	}, [paint, width, height, colours]);
	return useCallback((element: HTMLCanvasElement | null) => {
		canvas.current = element;
	}, []);
}

export function Figure(props: FigureProps): JSX.Element {
	const { title, name, says, height, paint, table, sql, tools, children } = props;
	const [attach, width] = useWidth<HTMLDivElement>();
	return (
		<figure class="figure">
			<figcaption class="bar">
				<span class="caption">
					<strong>{title}</strong> {says && <span class="quiet">{says}</span>}
				</span>
				{tools}
				<Export name={name} picture={{ paint, box: { width, height } }} table={table} sql={sql} />
			</figcaption>
			<div class="picture" ref={attach} style={{ height: `${height}px` }}>
				{width > 0 && <Canvases {...props} width={width} />}
				{props.tip && <Tip {...props.tip} width={width} height={height} />}
			</div>
			{children}
			{table && <Behind {...props} make={table} />}
		</figure>
	);
}

function Canvases(props: FigureProps & { width: number }): JSX.Element {
	const { width, height, label, paint, over } = props;
	const below = usePaint(paint, width, height);
	const above = usePaint(over, width, height);
	const size = { width: `${width}px`, height: `${height}px` };
	const gestures = useGestures(props);
	const active = Boolean(props.onKey ?? props.onPress ?? props.onBrush);
	return (
		<>
			<canvas ref={below} style={size} aria-hidden="true" />
			<canvas
				ref={above}
				class="above"
				style={size}
				aria-label={label}
				{...(active ? { tabIndex: 0, role: "application", "aria-roledescription": "picture with a cursor" } : { role: "img" })}
				{...gestures}
			/>
		</>
	);
}

/** Beside the mouse, on the side where there is room. */
function Tip({ at, says, width, height }: NonNullable<FigureProps["tip"]> & { width: number; height: number }): JSX.Element {
	const across = at.x > width / 2 ? { right: `${width - at.x + 12}px` } : { left: `${at.x + 12}px` };
	const down = at.y > height - 110 ? { bottom: `${height - at.y + 12}px` } : { top: `${at.y + 14}px` };
	return (
		<div class="tip" aria-hidden="true" style={{ ...across, ...down }}>
			{says}
		</div>
	);
}

const DRAG = 4; // pixels a hand moves without meaning to

type Handlers = Pick<JSX.IntrinsicElements["canvas"], "onPointerDown" | "onPointerMove" | "onPointerUp" | "onPointerLeave" | "onPointerCancel" | "onWheel" | "onDblClick" | "onKeyDown" | "onFocus">;

function useGestures({ onHover, onPress, onBrush, onDouble, onWheel, onKey, onFocus }: Gestures): Handlers {
	const down = useRef<Point | null>(null);
	const at = (event: { clientX: number; clientY: number; currentTarget: HTMLCanvasElement }): Point => {
		const box = event.currentTarget.getBoundingClientRect();
		return { x: event.clientX - box.left, y: event.clientY - box.top };
	};
	const dragged = (to: Point): boolean => down.current !== null && Math.hypot(to.x - down.current.x, to.y - down.current.y) > DRAG;
	return {
		onPointerDown: (event) => {
			if (event.button !== 0) return;
			down.current = at(event);
			event.currentTarget.setPointerCapture(event.pointerId);
		},
		onPointerMove: (event) => {
			const to = at(event);
			if (down.current && dragged(to)) onBrush?.({ from: down.current, to, shift: event.shiftKey }, false);
			else onHover?.(to);
		},
		onPointerUp: (event) => {
			const to = at(event);
			if (down.current && dragged(to)) onBrush?.({ from: down.current, to, shift: event.shiftKey }, true);
			else if (down.current && event.detail < 2) onPress?.(to);
			down.current = null;
		},
		onPointerCancel: () => (down.current = null),
		onPointerLeave: () => onHover?.(null),
		onDblClick: (event) => onDouble?.(at(event)),
		...(onWheel && {
			onWheel: (event) => {
				event.preventDefault();
				onWheel(at(event), event);
			},
		}),
		onKeyDown: (event) => {
			if (onKey?.(event)) event.preventDefault();
		},
		onFocus: () => onFocus?.(),
	};
}

/** The table is made when it is asked for. */
function Behind({ make, title, name, what, onOpenRow, sql }: FigureProps & { make: () => Table }): JSX.Element {
	const [open, setOpen] = useState(false);
	const table = open ? make() : null;
	useEffect(() => setOpen(false), [name]);
	return (
		<details class="behind" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
			<summary>The same as a table</summary>
			{table && (
				<DataTable table={sql ? { ...table, sql } : table} caption={title} name={name} what={what ?? "rows"} page={12} {...(onOpenRow ? { onOpen: onOpenRow } : {})} />
			)}
		</details>
	);
}
