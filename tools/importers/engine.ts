import { mkdtempSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Runs workflows in n8n's engine, without its database and editor. */

// Untyped: only the nightly run installs the engine.
const require = createRequire(import.meta.url);
// biome-ignore lint/style/noProcessEnv: the engine writes its settings there when it is loaded.
process.env.N8N_USER_FOLDER = mkdtempSync(join(tmpdir(), 'crm-n8n-'));

const { WorkflowExecute, ExecutionLifecycleHooks } = require('n8n-core');
const { Workflow } = require('n8n-workflow');
const { TravelAgencyCrm } = require('../../n8n/TravelAgencyCrm.node.js');
const { TravelAgencyCrmApi } = require('../../n8n/TravelAgencyCrmApi.credentials.js');

const TYPE = 'n8n-nodes-travel-agency-crm.travelAgencyCrm';
const crm = new TravelAgencyCrm();
const credential = new TravelAgencyCrmApi();
/** In the place of every other node. The workflow gets its first items as pinned data. */
const other = {
  description: { name: 'trigger', group: ['trigger'], properties: [], inputs: [], outputs: ['main'] },
  trigger: async () => undefined,
};

/** As n8n tests a credential: a node that sends the request of the test. */
const request = { name: 'Test', value: 'test', routing: { request: credential.test.request } };
const property = { displayName: 'Test', name: 'test', type: 'options', options: [request], default: 'test' };
const probe = { description: { ...crm.description, requestDefaults: undefined, properties: [property] } };

type Node = { name: string; type: string; [key: string]: unknown };
export type Template = { nodes: Node[]; connections: object };
type Sent = { headers: object };
type Item = Record<string, unknown>;
type Problem = { message: string; description?: string; httpCode?: string; context: { data?: object } };
export type Outcome = { items: Item[]; error?: Problem };

/** Runs nodes that have access to a service with a key. */
export function engineFor(account: { baseUrl: string; apiKey: string }) {
  /** @returns what each node gave, by its name */
  async function run(
    { nodes, connections }: Template,
    items: Item[],
    isTest = false,
  ): Promise<Record<string, Outcome>> {
    const nodeType = (type: string) => (type !== TYPE ? other : isTest ? probe : crm);
    const credentials = { travelAgencyCrmApi: { id: '1', name: 'CRM' } };
    const workflow = new Workflow({
      ...{ id: 'w', active: false, settings: { timezone: 'America/Mexico_City' }, connections },
      nodes: nodes.map((node) => ({ ...node, credentials })),
      nodeTypes: { getByNameAndVersion: nodeType, getByName: nodeType, getKnownTypes: () => ({}) },
    });
    const resolve = (value: object, node: Node) =>
      workflow.expression.getParameterValue(value, null, 0, 0, node.name, [], 'manual', {
        $credentials: account,
      });
    const additionalData = {
      ...{ executionId: '1', variables: {} },
      ...{ webhookWaitingBaseUrl: 'http://localhost/waiting', formWaitingBaseUrl: 'http://localhost/form' },
      hooks: new ExecutionLifecycleHooks('manual', '1', {}),
      credentialsHelper: {
        getParentTypes: () => [],
        isCredentialUsableByNode: () => true,
        preAuthentication: async () => undefined,
        getDecrypted: async () => account,
        authenticate: async (_data: object, _name: string, request: Sent, _workflow: object, node: Node) => ({
          ...request,
          headers: { ...request.headers, ...resolve(credential.authenticate.properties.headers, node) },
        }),
      },
    };
    const [first] = nodes;
    const pinData = { [String(first?.name)]: items.map((json) => ({ json })) };
    const { data } = await new WorkflowExecute(additionalData, 'manual').run({ workflow, pinData });
    type Ran = [string, { error?: Problem; data?: { main: { json: Item }[][] } }[]];
    return Object.fromEntries(
      (Object.entries(data.resultData.runData) as Ran[]).map(([name, [one]]) => [
        name,
        {
          items: (one?.data?.main ?? []).flatMap((output) => (output ?? []).map(({ json }) => json)),
          ...(one?.error && { error: one.error }),
        },
      ]),
    );
  }

  /** Runs one operation of the node for items. */
  async function operation(
    name: string,
    parameters: object = {},
    items: Item[] = [{}],
    isTest = false,
  ): Promise<Outcome> {
    type Choice = { name: string; options: { value: string }[] };
    const resource = crm.description.properties.find(
      (one: Choice) => one.name === 'operation' && one.options.some(({ value }) => value === name),
    )?.displayOptions.show.resource[0];
    const at = { typeVersion: 1, position: [0, 0] };
    const nodes = [
      { name: 'Start', type: 'trigger', parameters: {}, ...at },
      {
        id: 'node-1',
        name: 'CRM',
        type: TYPE,
        parameters: { resource, operation: name, ...parameters },
        ...at,
      },
    ];
    const connections = { Start: { main: [[{ node: 'CRM', type: 'main', index: 0 }]] } };
    const { CRM = { items: [] } } = await run({ nodes, connections }, items, isTest);
    return CRM;
  }
  return { run, operation, test: () => operation('test', {}, [{}], true) };
}
