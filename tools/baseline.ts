import { readFileSync, writeFileSync } from 'node:fs';
import { generateDrizzleJson, generateMigration } from 'drizzle-kit/api';
import config from '../drizzle.config.ts';
import * as schema from '../src/db/schema/index.ts';
import { readMigrations } from '../src/db/server/migrate.ts';

/**
 * npm run baseline: makes the first migration anew from src/db/schema/. A statement of drizzle-kit keeps its place in the
 * file and the comment above it, new ones come after the last of them, and what is written by hand (extensions, functions,
 * triggers) stays. Databases that have the old one are refused afterwards: so never again once one has to be kept.
 */

const BREAKPOINT = '--> statement-breakpoint';
const path = `${config.out}/0000_baseline.sql`;
if (readMigrations().length > 1) throw new Error('A migration stands on the baseline: it stays as it is.');

/** What a statement of drizzle-kit makes: `CREATE TABLE "customers"`. Undefined for one that is written by hand. */
const subjectOf = (text: string): string | undefined =>
  /^(CREATE TABLE|CREATE (UNIQUE )?INDEX|ALTER TABLE "\w+" ADD CONSTRAINT) "\w+"/m.exec(text)?.[0];

const snapshot = generateDrizzleJson(schema, undefined, undefined, config.casing);
const generated = await generateMigration(generateDrizzleJson({}), snapshot);
const left = new Map(
  generated.flatMap((text) => text.split(BREAKPOINT)).map((text) => [subjectOf(text), text.trim()]),
);

const kept = readFileSync(path, 'utf8')
  .split(BREAKPOINT)
  .flatMap((text) => {
    const subject = subjectOf(text);
    if (subject === undefined) return [text.trim()];
    const statement = left.get(subject);
    left.delete(subject);
    return statement === undefined ? [] : [`${text.slice(0, text.indexOf(subject))}${statement}`.trim()];
  });
const end = kept.findLastIndex((text) => subjectOf(text) !== undefined) + 1;
const all = [...kept.slice(0, end), ...left.values(), ...kept.slice(end)];

writeFileSync(path, `${all.join(`\n${BREAKPOINT}\n`)}\n`);
writeFileSync(`${config.out}/meta/0000_snapshot.json`, `${JSON.stringify(snapshot, null, 2)}\n`);
