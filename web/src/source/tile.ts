/** A tile of the pyramid: 256 bins of time by 64 rows of lanes of one layer. */

export const TILE_BINS = 256;
export const TILE_ROWS = 64;

/** One of the longest calls that touch the tile. */
export interface TileCall {
	cell: number;
	op: number;
	call: string;
	duration: number;
}

/** Cells as columns; a cell is row * 256 + bin. */
export interface Tile {
	cell: Uint16Array;
	op: Uint16Array;
	calls: Uint32Array;
	time: Float32Array;
	bytes: Float32Array;
	longest: Float32Array;
	ops: [string, string][];
	marked: TileCall[];
}

const HEAD = 12;
const MARK = 20;

/** Columns are copied: 16-bit ones before them leave the others unaligned. */
export function decodeTile(body: ArrayBuffer): Tile {
	const view = new DataView(body);
	if (body.byteLength < HEAD || view.getUint32(0) !== 0x46544c31) throw new Error("a tile does not begin with FTL1: server and page differ in version; start fathom view again");
	const cells = view.getUint32(4, true);
	const names = view.getUint32(8, true);
	let at = HEAD;
	const take = (width: number): ArrayBuffer => body.slice(at, (at += cells * width));
	const tile = {
		cell: new Uint16Array(take(2)),
		op: new Uint16Array(take(2)),
		calls: new Uint32Array(take(4)),
		time: new Float32Array(take(4)),
		bytes: new Float32Array(take(4)),
		longest: new Float32Array(take(4)),
	};
	const ops = JSON.parse(new TextDecoder().decode(body.slice(at, at + names))) as [string, string][];
	return { ...tile, ops, marked: marks(view, at + names) };
}

function marks(view: DataView, from: number): TileCall[] {
	const longest: TileCall[] = [];
	for (let at = from; at + MARK <= view.byteLength; at += MARK) {
		longest.push({
			cell: view.getUint16(at, true),
			op: view.getUint16(at + 2, true),
			call: view.getBigUint64(at + 4, true).toString(),
			duration: view.getFloat64(at + 12, true),
		});
	}
	return longest;
}
