// Writes from many functions of JavaScript, each at the offset that is the number of the stack that led to it, as V8
// tells it. FILE.json has the stacks: of each the program's own functions, from inside outwards, as file, line and name.
// The line is that of the function's begin.
//
//     jit.js FILE ROUNDS
"use strict";
const fs = require("fs");

const [file, rounds] = process.argv.slice(2);
const fd = fs.openSync(file, "w");
const byte = Buffer.from("x");
const stacks = new Map();

Error.stackTraceLimit = 64;
const isOwn = (at) => !at.isAsync() && at.getFileName() === __filename;

function here() {
	Error.prepareStackTrace = (_, frames) => frames;
	const frames = new Error().stack.slice(1).filter(isOwn);
	Error.prepareStackTrace = undefined;
	const told = frames.map((at) => [
		__filename,
		at.getEnclosingLineNumber(),
		at.getFunctionName() ?? "(anonymous)",
	]);
	const stack = JSON.stringify(told);
	if (!stacks.has(stack)) stacks.set(stack, stacks.size);
	return stacks.get(stack);
}

function plain() {
	fs.writeSync(fd, byte, 0, 1, here());
}

function* generated() {
	for (let i = 0; i < 3; i++) yield fs.writeSync(fd, byte, 0, 1, here());
}

class Writer {
	get value() {
		return fs.writeSync(fd, byte, 0, 1, here());
	}
	put() {
		this.value;
		fs.writeSync(fd, byte, 0, 1, here());
	}
}

function fromBuiltins() {
	[2, 1].sort(() => fs.writeSync(fd, byte, 0, 1, here()));
	[1].forEach(function each() {
		fs.writeSync(fd, byte, 0, 1, here());
	});
	JSON.stringify({ toJSON: () => fs.writeSync(fd, byte, 0, 1, here()) });
}

function deep(left) {
	if (left) deep(left - 1);
	fs.writeSync(fd, byte, 0, 1, here());
}

function caught() {
	try {
		fs.writeSync(fd, byte, 0, 1, here());
		throw new Error();
	} catch {
		fs.writeSync(fd, byte, 0, 1, here());
	}
}

/** Code that comes and goes. */
function made(number) {
	new Function("fs", "fd", "byte", "here", `${"\n".repeat(number % 97)}fs.writeSync(fd, byte, 0, 1, here());`)(fs, fd, byte, here);
}

async function task() {
	fs.writeSync(fd, byte, 0, 1, here());
	await null;
	fs.writeSync(fd, byte, 0, 1, here());
}

async function work() {
	for (let i = 0; i < rounds; i++) {
		plain();
		Array.from(generated());
		new Writer().put();
		fromBuiltins();
		deep(3);
		caught();
		made(i);
		await task();
	}
}

work().then(() => fs.writeFileSync(`${file}.json`, JSON.stringify([...stacks.keys()].map((stack) => JSON.parse(stack)))));
