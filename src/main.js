// Plain JavaScript: a runtime too old to read TypeScript must still be able to say so.
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(
    `This service needs Node.js 24; this is ${process.version}. \`npm ci\` installs one beside it.`,
  );
  process.exit(1);
}
await import('./server.ts');
