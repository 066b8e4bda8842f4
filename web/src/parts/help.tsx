import type { JSX } from "preact";
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { boundKeys } from "../state/keys";

const open = signal(false);

export function openHelp(): void {
	open.value = true;
}

export function Help(): JSX.Element {
	const dialog = useRef<HTMLDialogElement>(null);
	const wanted = open.value;
	useEffect(() => {
		if (wanted && !dialog.current?.open) dialog.current?.showModal();
	}, [wanted]);
	return (
		<dialog ref={dialog} onClose={() => (open.value = false)} aria-labelledby="keys">
			<h2 id="keys">Keys</h2>
			{wanted && (
				<dl class="keys">
					{boundKeys().map((one) => (
						<div key={one.key}>
							<dt>
								<kbd>{one.key === " " ? "space" : one.key}</kbd>
							</dt>
							<dd>{one.says}</dd>
						</div>
					))}
				</dl>
			)}
			<p>Heat map: drag filters all screens, Shift and drag zooms, double click zooms out.</p>
			<p>Timeline: the wheel zooms at the mouse, drag moves, Shift and drag filters all screens, click selects a call, double click zooms to it. A click on a name pins its row.</p>
			<p>A picture that has the focus is walked with the arrow keys.</p>
			<form method="dialog">
				<button type="submit">Close</button>
			</form>
		</dialog>
	);
}
