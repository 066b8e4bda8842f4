/** Keys of the page: each is listed once, here or by its screen, and `?` shows the list. */

export interface Key {
	key: string;
	says: string;
	run: () => void;
}

const layers: Key[][] = [];

/** Makes keys work until the returned function is called. The newest come first. */
export function bindKeys(keys: Key[]): () => void {
	layers.push(keys);
	return () => {
		const at = layers.indexOf(keys);
		if (at >= 0) layers.splice(at, 1);
	};
}

export function boundKeys(): Key[] {
	return [...layers].reverse().flat();
}

function typing(target: EventTarget | null): boolean {
	return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

/** Runs the key that was pressed, unless somebody types or the browser has a use for it. */
export function pressed(event: KeyboardEvent): void {
	if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
	const binding = boundKeys().find((one) => one.key === event.key);
	if (!binding) return;
	event.preventDefault();
	binding.run();
}
