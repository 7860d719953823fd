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
type Outcome = { items: Item[]; error?: Problem };

/** Runs nodes that have access to a service with a key. */
export function engineFor(account: { baseUrl: string; apiKey: string }) {
  /** @returns what each node gave, by its name */
  async function run({ nodes, connections }: Template, items: Item[], crmType: object = crm) {
    const nodeType = (type: string) => (type === TYPE ? crmType : other);
    const credentials = { travelAgencyCrmApi: { id: '1', name: 'CRM' } };
    const workflow = new Workflow({
      ...{ id: 'w', active: false, settings: { timezone: 'America/Mexico_City' }, connections },
      nodes: nodes.map((node) => ({ ...node, credentials })),
      nodeTypes: { getByNameAndVersion: nodeType, getByName: nodeType, getKnownTypes: () => ({}) },
    });
    const { headers } = credential.authenticate.properties;
    const additionalData = {
      ...{ executionId: '1', variables: {} },
      ...{ webhookWaitingBaseUrl: 'http://localhost/waiting', formWaitingBaseUrl: 'http://localhost/form' },
      hooks: new ExecutionLifecycleHooks('manual', '1', {}),
      credentialsHelper: {
        getParentTypes: () => [],
        isCredentialUsableByNode: () => true,
        preAuthentication: async () => undefined,
        getDecrypted: async () => account,
        authenticate: async (_: object, _name: string, request: Sent, _workflow: object, node: Node) => {
          const scope = [null, 0, 0, node.name, [], 'manual', { $credentials: account }] as const;
          const own = workflow.expression.getParameterValue(headers, ...scope);
          return { ...request, headers: { ...request.headers, ...own } };
        },
      },
    };
    const pinData = { [String(nodes[0]?.name)]: items.map((json) => ({ json })) };
    const { data } = await new WorkflowExecute(additionalData, 'manual').run({ workflow, pinData });
    type Ran = [string, { error?: Problem; data?: { main: { json: Item }[][] } }[]];
    const outcomes = (Object.entries(data.resultData.runData) as Ran[]).map(
      ([name, [one]]): [string, Outcome] => {
        const outputs = one?.data?.main ?? [];
        const items = outputs.flatMap((output) => (output ?? []).map(({ json }) => json));
        return [name, { items, ...(one?.error && { error: one.error }) }];
      },
    );
    return Object.fromEntries(outcomes);
  }

  /** Runs one operation of the node for items. */
  async function operation(name: string, sent: object = {}, items: Item[] = [{}], crmType = crm) {
    type Choice = { name: string; options: { value: string }[] };
    const resource = crm.description.properties.find(
      (one: Choice) => one.name === 'operation' && one.options.some(({ value }) => value === name),
    )?.displayOptions.show.resource[0];
    const at = { typeVersion: 1, position: [0, 0] };
    const parameters = { resource, operation: name, ...sent };
    const nodes = [
      { name: 'Start', type: 'trigger', parameters: {}, ...at },
      { id: 'node-1', name: 'CRM', type: TYPE, parameters, ...at },
    ];
    const connections = { Start: { main: [[{ node: 'CRM', type: 'main', index: 0 }]] } };
    const { CRM = { items: [] } } = await run({ nodes, connections }, items, crmType);
    return CRM;
  }
  return { run, operation, test: () => operation('test', {}, [{}], probe) };
}
