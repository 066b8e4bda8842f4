/** Puts text where the user can paste it from. */
import { say } from "./say";

export function copy(text: string, what: string): void {
	navigator.clipboard.writeText(text).then(
		() => say(`${what} copied`),
		() => say(`The browser does not let this page copy; select the ${what.toLowerCase()} instead`),
	);
}
