import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

describe('what is deployed', () => {
  const compose = read('docker-compose.yml');
  const api = compose.slice(compose.indexOf('\n  api:'), compose.indexOf('\n  # An S3 store'));

  test('has no password that everybody knows: a start without one says what to set', () => {
    const secrets = [...compose.matchAll(/\$\{(\w*(?:PASSWORD|SECRET|TOKEN|KEY)\w*)(:?[-?][^}]*)?\}/g)];
    expect(secrets.length).toBeGreaterThan(5);
    expect(secrets.filter(([, , otherwise]) => /^:?-./.test(otherwise ?? ''))).toEqual([]);
    for (const name of ['POSTGRES_PASSWORD', 'SERVICE_PASSWORD'])
      expect(compose).toMatch(new RegExp(`\\$\\{${name}:\\?set ${name} in`));
  });

  test('runs the service without rights of the system, with a root that it cannot write, within its memory', () => {
    for (const line of ['read_only: true', 'cap_drop: [ALL]', "security_opt: ['no-new-privileges:true']"])
      expect(api).toContain(`\n    ${line}\n`);
    expect(api).toMatch(/\n {4}mem_limit: \d+m\n/);
    expect(read('Dockerfile')).toMatch(/^USER node$/m);
  });

  test('works as the role without rights to the schema, and migrates as the owner', () => {
    expect(api).toContain('DATABASE_URL: postgres://crm_service:');
    expect(api).toContain('DATABASE_DIRECT_URL: postgres://crm:');
  });

  test('begins with an image and with actions that cannot change behind their names', () => {
    expect(read('Dockerfile')).toMatch(
      /^ARG NODE_IMAGE=node:24-bookworm-slim@sha256:[0-9a-f]{64}\nFROM \$\{NODE_IMAGE\}$/m,
    );
    const actions = [...read('.github/workflows/ci.yml').matchAll(/uses: (\S+)(.*)/g)];
    expect(actions.length).toBeGreaterThan(3);
    for (const [, action, comment] of actions) {
      expect(action).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/);
      expect(comment).toMatch(/^ # v\d+\.\d+\.\d+$/);
    }
  });
});
