import js from "@eslint/js";
import { defineConfig } from "eslint/config";
import ts from "typescript-eslint";

// Names of files come from programs: what they hold must never be parsed as markup.
const markup = ["innerHTML", "outerHTML", "insertAdjacentHTML", "dangerouslySetInnerHTML"];

export default defineConfig(
	{ ignores: ["dist", "node_modules", "eslint.config.js"] },
	js.configs.recommended,
	ts.configs.recommendedTypeChecked,
	{
		languageOptions: { parserOptions: { projectService: true } },
		rules: {
			"no-restricted-syntax": [
				"error",
				...markup.map((name) => ({
					selector: `:matches(Identifier, JSXIdentifier)[name='${name}']`,
					message: `${name} parses text as markup; make text nodes`,
				})),
			],
			"@typescript-eslint/explicit-module-boundary-types": "error",
			"max-lines-per-function": ["error", { max: 80, skipBlankLines: true, skipComments: true }],
			eqeqeq: "error",
		},
	},
	{ files: ["**/*.test.ts"], rules: { "max-lines-per-function": "off" } },
);
