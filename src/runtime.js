// Comes before everything else, in the service and in every command: `node --import ./src/runtime.js …`.
// Plain JavaScript: a runtime too old to read TypeScript must still be able to say so.
if (Number(process.versions.node.split('.')[0]) < 24) {
  const { existsSync } = await import('node:fs');
  const remedy = existsSync(new URL('../node_modules/.bin/node', import.meta.url))
    ? 'Start it with `npm start` (commands with `npm run`): npm uses the Node.js 24 in node_modules/.bin.'
    : 'Run `npm ci --include=optional`, which installs one on Linux and on Intel Macs, or install it from https://nodejs.org.';
  console.error(`Node.js 24 or later is required; this is ${process.version}. ${remedy}`);
  process.exit(1);
}

const { createRequire, enableCompileCache, registerHooks } = await import('node:module');
const { fileURLToPath, pathToFileURL } = await import('node:url');

// A later start takes the compiled modules of an earlier one, where that could store them: a quarter less of its time.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url)));

// As ES modules, each of Drizzle's many files makes Node read its large package.json anew: half of the start and 100 MiB.
// As CommonJS, the same package loads in a tenth of the time.
const { resolve } = createRequire(import.meta.url);
registerHooks({
  resolve: (specifier, context, next) =>
    specifier.startsWith('drizzle-orm') && !context.conditions.includes('require')
      ? { url: pathToFileURL(resolve(specifier)).href, format: 'commonjs', shortCircuit: true }
      : next(specifier, context),
});
