import type { JSX } from "preact";

interface Props {
	label: string;
	options: readonly string[];
	chosen: string;
	choose: (option: string) => void;
}

/** One of a few words. */
export function Choose({ label, options, chosen, choose }: Props): JSX.Element {
	return (
		<label class="choose">
			{label}{" "}
			<select value={chosen} onChange={(event) => choose(event.currentTarget.value)}>
				{options.map((one) => (
					<option key={one} value={one}>
						{one}
					</option>
				))}
			</select>
		</label>
	);
}
