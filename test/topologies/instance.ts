import { randomUUID } from 'node:crypto';
import { onTestFinished } from 'vitest';
import { issueApiKey } from '../../src/api-keys/repository.ts';
import { openDatabase, parseJson, scopeTo } from '../../src/db/index.ts';
import { createOrganization } from '../../src/organizations/repository.ts';
import { freePort, type ServiceProcess, startProcess } from '../support/process.ts';

export const TOKEN = 'dashboard-token-of-the-fault-tests-0001';

export type Instance = Awaited<ReturnType<typeof openInstance>>;

export async function end({ child, ended }: ServiceProcess, signal: NodeJS.Signals): Promise<void> {
  child.kill(signal);
  await ended;
}

/** Starts an instance of the service as a process, which ends with the test. It has the same ports after every start. */
export async function openInstance(
  environment: Record<string, string>,
  launch: (environment: Record<string, string>) => ServiceProcess = startProcess,
) {
  const [PORT, DASHBOARD_PORT] = [await freePort(), await freePort()];
  const ports = { HOST: '127.0.0.1', PORT, DASHBOARD_PORT, DASHBOARD_TOKEN: TOKEN };
  const variables = { ...ports, RATE_LIMIT_PER_MINUTE: '0', LOG_LEVEL: 'fatal', ...environment };
  let current = launch(variables);
  const kill = () => end(current, 'SIGKILL');
  onTestFinished(kill);
  await current.until('Try it:');
  return {
    port: Number(PORT),
    dashboardPort: Number(DASHBOARD_PORT),
    process: () => current,
    start: async () => {
      current = launch(variables);
      await current.until('Try it:');
    },
    kill,
  };
}

export async function openAgency(url: string): Promise<{ id: string; key: string }> {
  const db = openDatabase({ url, poolSize: 1, maxWaiting: 10, statementTimeout: 10_000 });
  try {
    const { id } = await createOrganization(db, `Agency ${randomUUID()}`);
    return { id, key: parseJson(await issueApiKey(scopeTo(db, id), { name: 'test' })).key };
  } finally {
    await db.close();
  }
}

// biome-ignore lint/suspicious/noExplicitAny: tests assert on the fields of a response.
type Response = { status: number; body: any };

/** Sends one request and never retries: a connection that breaks is a response of status 0. */
export type Send = (method: string, path: string, body?: object) => Promise<Response>;

export const clientOf =
  (port: number, headers: Record<string, string>): Send =>
  async (method, path, body) => {
    const isForm = body instanceof FormData;
    try {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, {
        method,
        headers: { ...(body && !isForm && { 'content-type': 'application/json' }), ...headers },
        ...(body && { body: isForm ? body : JSON.stringify(body) }),
      });
      const text = await response.text();
      // A load balancer's own errors are HTML.
      const isJson = /json/.test(response.headers.get('content-type') ?? '');
      return { status: response.status, body: isJson ? JSON.parse(text) : text };
    } catch (error) {
      return { status: 0, body: String(error) };
    }
  };
