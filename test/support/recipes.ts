import { documentAt } from './documents.ts';

const [, recipes = ''] = /^## Recipes\n([\s\S]*?)(?=^## )/m.exec(documentAt('docs/changing-it.md')) ?? [];

/** A file to create or change; without a path, commands to run. */
export type Place = { path: string; how?: string; anchor?: string; code: string };

/** `In \`src/a.ts\`, after \`text\`:`, before a block that goes there; `New, \`src/a.ts\`:`; `Run:`, before commands. */
const PLACED =
  /^(?: *|\d+\. )(?:Run|New, `([^`\n]+)`|In `([^`\n]+)`, (after|before|in place of) `([^\n]+)`):\n\n( *)```\w+\n([\s\S]*?)^\5```$/gm;

/** The steps of a recipe, in order. */
const placesOf = (recipe: string): Place[] =>
  Array.from(recipe.matchAll(PLACED), ([, added, changed, how, anchor, indent, code = '']) => ({
    path: added ?? changed ?? '',
    ...(how && { how }),
    ...(anchor && { anchor }),
    code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  }));

/** The recipes of docs/changing-it.md. */
export const RECIPES = Array.from(
  recipes.matchAll(/^### (.*)\n([\s\S]*?)(?=^### |$(?![\s\S]))/gm),
  ([, name = '', recipe = '']) => ({ name, places: placesOf(recipe) }),
);
