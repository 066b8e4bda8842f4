import type { JSX } from "preact";
import { DataTable } from "../../parts/table";
import { Shown } from "../../parts/notice";
import type { Overview as Answer } from "../../source";
import { useAnswer } from "../../state/answers";
import { scope } from "../../state/state";

export function Overview(): JSX.Element {
	const answer = useAnswer<Answer>("overview", scope.value);
	return (
		<Shown answer={answer}>
			{(overview) => (
				<>
					<p class="verdict">{overview.verdict}</p>
					<DataTable table={overview.layers} caption="Time in each layer" name="layers" what="layers" />
				</>
			)}
		</Shown>
	);
}
