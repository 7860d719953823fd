import { execFile } from 'node:child_process';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { ownDatabase } from '../support/databases.ts';
import { openAgency, openInstance, temporaryFolder } from './instance.ts';

const RUNNER = '@modelcontextprotocol/conformance@0.2.0-alpha.12';
const EXPECTED = fileURLToPath(new URL('mcp-expected-failures.yaml', import.meta.url));

/** A proxy that adds the key, which the conformance runner does not send. Host and Origin stay as they are. */
async function startKeyProxy(port: number, key: string): Promise<string> {
  const server = createServer((incoming, outgoing) => {
    const headers = { ...incoming.headers, authorization: `Bearer ${key}` };
    const { url, method } = incoming;
    const upstream = request({ port, path: url, method, headers }, (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(outgoing);
    });
    incoming.pipe(upstream);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => void server.close());
  return `http://localhost:${(server.address() as AddressInfo).port}/mcp`;
}

test.each(['2025-11-25', '2026-07-28'])(
  'MCP of revision %s passes the official conformance runner, except for features that a server with only tools lacks',
  async (revision) => {
    const database = await ownDatabase();
    const [{ key }, cwd] = [await openAgency(database.url), await temporaryFolder()];
    const { port } = await openInstance({ DATABASE_URL: database.url, DATA_DIR: cwd });
    const url = await startKeyProxy(port, key);
    const settings = ['--url', url, '--requirements', revision, '--expected-failures', EXPECTED];
    const ran = promisify(execFile)('npx', ['--yes', RUNNER, 'server', ...settings], { cwd });
    const stdout = await ran.then(
      ({ stdout }) => stdout,
      (error: { stdout: string }) => expect.fail(error.stdout),
    );
    expect(stdout).toContain('✓ tools-list');
  },
);
