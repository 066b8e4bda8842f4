import { LiveSource } from "./live";
import { ReportSource, unpackReport } from "./report";
import type { Source } from "./source";

export * from "./answers";
export * from "./source";
export { decodeTile, TILE_BINS, TILE_ROWS, type Tile, type TileCall } from "./tile";

const KEY = "fathom.key"; // where a link of `fathom view` puts it (python/fathom/webapi/serve/guard.py)

/** The source of this page: the report that it holds, else the server it came from. */
export function openSource(page: Document): Source {
	const payload = page.getElementById("fathom-report");
	if (!payload) return new LiveSource(() => localStorage.getItem(KEY) ?? "");
	const answers = unpackReport(payload.textContent ?? "");
	payload.remove(); // a mailed report is megabytes of text in the document
	return new ReportSource(answers);
}
