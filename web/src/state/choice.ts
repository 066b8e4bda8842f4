/** A parameter of a screen that is one of a few words; the first is the usual and stays out of the address. */
import { change, given } from "./state";

export function chosen<T extends string>(name: string, all: readonly [T, ...T[]]): T {
	return all.find((one) => one === given(name)) ?? all[0];
}

export function choose(name: string, usual: string): (value: string) => void {
	return (value) => change({ [name]: value === usual ? null : value });
}
