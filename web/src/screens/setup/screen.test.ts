import { expect, test } from "vitest";
import type { Run } from "../../source";
import { formatForm, formatServers, ofRun, parseForm, parseServers, request, toggled } from "./query";

test("a form in the address comes back as it was, and what is usual stays out of it", () => {
	const form = { ...parseForm(""), program: "./a b&c=d", files: "*.h5,!*/tmp/*", ranks: "4", mpi: "none" };
	expect(formatForm(form)).not.toContain("mpi");
	expect(parseForm(formatForm(form))).toEqual(form);
});

test("nothing is asked until there is a program", () => {
	expect(request(parseForm("ranks=4"))).toBeNull();
	expect(request(parseForm("program=.%2Fa&ranks=4&level=call"))).toEqual({ program: "./a", ranks: "4" });
});

test("servers keep what is left open, and one word stays one word", () => {
	const rows = [{ role: "metadata", host: "", path: "/mnt/a b,c", port: "5000" }];
	expect(formatServers(rows)).toBe("metadata - /mnt/abc 5000");
	expect(parseServers(formatServers(rows))).toEqual([{ role: "metadata", host: "", path: "/mnt/abc", port: "5000" }]);
	expect(parseServers("")).toEqual([]);
});

test("a word goes into a list and out of it", () => {
	expect(toggled("posix", "mpiio")).toBe("posix,mpiio");
	expect(toggled("posix,mpiio", "posix")).toBe("mpiio");
});

test("the form begins with the run that is open, and with what is usual where none is", () => {
	expect(ofRun({ form: { program: "./s3d", ranks: "4", mpi: "mpich" } } as unknown as Run)).toMatchObject({ program: "./s3d", ranks: "4", mpi: "mpich", level: "call" });
	expect(request(ofRun(null))).toBeNull();
});
