import type { JSX } from "preact";

interface Props {
	label: string;
	options: readonly string[];
	chosen: string;
	choose: (option: string) => void;
	/** What an option is called, where it is not its name. */
	says?: (option: string) => string;
}

/** One of a few words. */
export function Choose({ label, options, chosen, choose, says = (one) => one }: Props): JSX.Element {
	return (
		<label class="choose">
			{label}{" "}
			<select value={chosen} onChange={(event) => choose(event.currentTarget.value)}>
				{options.map((one) => (
					<option key={one} value={one}>
						{says(one)}
					</option>
				))}
			</select>
		</label>
	);
}
