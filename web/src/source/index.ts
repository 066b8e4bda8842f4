import { LiveSource } from "./live";
import { ReportSource, unpackReport } from "./report";
import type { Source } from "./source";

export * from "./answers";
export * from "./source";
export { decodeTile, TILE_BINS, TILE_ROWS, type Tile, type TileCall } from "./tile";

/** The source of this page: the report that it holds, else the server it came from. */
export function openSource(page: Document): Source {
	const payload = page.getElementById("fathom-report");
	if (!payload) return new LiveSource();
	const answers = unpackReport(payload.textContent ?? "");
	payload.remove(); // a mailed report is megabytes of text in the document
	return new ReportSource(answers);
}
