import { EXAMPLE_ADDRESS } from '../../src/reference/page.ts';
import { guideForPage, guideText } from './guide.ts';
import { clientSample } from './samples.ts';

/** What the reference page of an API shows beside its HTML and script, and the same for programs. */

type Operation = {
  operationId: string;
  parameters?: { in: string; example?: unknown }[];
  requestBody?: { content: Record<string, { example: unknown }> };
};

type OpenApi = {
  info: { title: string; description: string };
  servers: { url: string }[];
  paths: Record<string, Record<string, Operation>>;
};

const DOCUMENT_LINK = 'The [OpenAPI document](../openapi.json) is what clients are made of.';
const GUIDE_LINK = 'The [guide as one text](guide.md) is for programs and agents.';

/** The document as the page shows it. For the example address, the page puts the one that it was read from. */
function pageDocument(document: string, hasGuide: boolean): OpenApi {
  const shown = JSON.parse(document) as OpenApi;
  shown.servers = [{ url: EXAMPLE_ADDRESS }];
  const operations = Object.values(shown.paths).flatMap((path) => Object.values(path));
  // The page fills its form with examples, and sends what is there: an If-Match of no record, or always one Idempotency-Key.
  for (const parameter of operations.flatMap(({ parameters = [] }) => parameters))
    if (parameter.in === 'header') delete parameter.example;
  if (!hasGuide) {
    shown.info.description += `\n\n${DOCUMENT_LINK}`;
    return shown;
  }
  // Behind the first heading: Scalar shows each chapter in the sidebar by itself only when the text starts with one.
  shown.info.description = guideForPage().replace('\n', `\n\n${DOCUMENT_LINK} ${GUIDE_LINK}\n`);
  for (const operation of operations) {
    const { example } = operation.requestBody?.content['application/json'] ?? {};
    const source = clientSample(operation.operationId, example);
    Object.assign(operation, { 'x-codeSamples': [{ lang: 'JavaScript', label: 'JavaScript', source }] });
  }
  return shown;
}

/** The text of /llms.txt: agents look there for what they can read. */
const llmsText = (title: string, hasGuide: boolean): string =>
  [
    `# ${title}`,
    '',
    ...(hasGuide
      ? [`- [Guide](${EXAMPLE_ADDRESS}/docs/guide.md): how to use the API, all chapters as one text`]
      : []),
    `- [OpenAPI document](${EXAMPLE_ADDRESS}/openapi.json): every operation with its fields, limits and errors`,
    `- [Reference page](${EXAMPLE_ADDRESS}/docs/): the same for people`,
    '',
  ].join('\n');

/**
 * @param document the OpenAPI document as it is committed
 * @param hasGuide whether the page has the guide and samples of the client, which are about /v1
 * @returns the texts of the files by their names
 */
export function referenceTexts(document: string, hasGuide: boolean): Record<string, string> {
  const shown = pageDocument(document, hasGuide);
  return {
    'document.json': `${JSON.stringify(shown, null, 2)}\n`,
    'llms.txt': llmsText(shown.info.title, hasGuide),
    ...(hasGuide && { 'guide.txt': guideText() }),
  };
}
