import { defineConfig } from "vitest/config";
import { viteSingleFile } from "vite-plugin-singlefile";

// FATHOM_SERVER: where `fathom view` listens, for `npm run dev`.
export default defineConfig({
	plugins: [viteSingleFile()],
	build: { target: "es2022", reportCompressedSize: false },
	server: { proxy: { "/api": process.env["FATHOM_SERVER"] ?? "http://127.0.0.1:8000" } },
	test: { include: ["src/**/*.test.ts", "src/**/*.test.tsx"], passWithNoTests: false },
});
