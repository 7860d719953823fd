import { execFile } from 'node:child_process';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, inject, onTestFinished, test } from 'vitest';
import { createTestDatabase } from '../support/databases.ts';
import { openAgency, openInstance, temporaryFolder } from './instance.ts';

const RUNNER = '@modelcontextprotocol/conformance@0.2.0-alpha.12';
const EXPECTED = fileURLToPath(new URL('mcp-expected-failures.yaml', import.meta.url));

/** The conformance runner sends no key: this adds it. Host and Origin stay as the runner wrote them. */
async function startWithKey(port: number, key: string): Promise<string> {
  const server = createServer((asked, answer) => {
    const headers = { ...asked.headers, authorization: `Bearer ${key}` };
    const passed = request({ port, path: asked.url, method: asked.method, headers }, (answered) => {
      answer.writeHead(answered.statusCode ?? 502, answered.headers);
      answered.pipe(answer);
    });
    asked.pipe(passed);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => void server.close());
  return `http://localhost:${(server.address() as AddressInfo).port}/mcp`;
}

test.each(['2025-11-25', '2026-07-28'])(
  'MCP of revision %s conforms, by the official runner, but for what a server of tools alone does not have',
  async (revision) => {
    const database = await createTestDatabase(inject('serverUrl'));
    onTestFinished(database.drop);
    const [{ key }, cwd] = [await openAgency(database.url), await temporaryFolder()];
    const { port, kill } = await openInstance({ DATABASE_URL: database.url, DATA_DIR: cwd });
    onTestFinished(kill);
    const url = await startWithKey(port, key);
    const settings = ['--url', url, '--requirements', revision, '--expected-failures', EXPECTED];
    const ran = promisify(execFile)('npx', ['--yes', RUNNER, 'server', ...settings], { cwd });
    const stdout = await ran.then(
      ({ stdout }) => stdout,
      (error: { stdout: string }) => expect.fail(error.stdout),
    );
    expect(stdout).toContain('✓ tools-list');
  },
);
