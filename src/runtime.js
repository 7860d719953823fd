// Comes before everything else, in the service and in every command: `node --import ./src/runtime.js …`.
// Plain JavaScript: a runtime too old to read TypeScript must still be able to say so.
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(
    `This service needs Node.js 24; this is ${process.version}. \`npm ci\` installs one beside it.`,
  );
  process.exit(1);
}

// As ES modules, each of Drizzle's many files makes Node read its large package.json anew: half of the start and 100 MiB.
// As CommonJS, the same package loads in a tenth of the time.
const { createRequire, registerHooks } = await import('node:module');
const { pathToFileURL } = await import('node:url');
const { resolve } = createRequire(import.meta.url);
registerHooks({
  resolve: (specifier, context, next) =>
    specifier.startsWith('drizzle-orm') && !context.conditions.includes('require')
      ? { url: pathToFileURL(resolve(specifier)).href, format: 'commonjs', shortCircuit: true }
      : next(specifier, context),
});
