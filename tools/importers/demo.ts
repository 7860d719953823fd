import { afterAll, beforeAll } from 'vitest';
import { loadDemo } from '../../demo/load.ts';
import { type Service, startService } from '../../test/support/service.ts';
import { listen } from '../../test/support/socket.ts';

/** The service with the demo agency, for the tests of a file, and an id of each kind of record. */
export function useDemo() {
  const demo = { baseUrl: '', key: '', ids: {} as Record<string, string>, service: {} as Service };
  beforeAll(async () => {
    demo.service = await startService();
    demo.key = (await loadDemo(demo.service)) ?? '';
    demo.baseUrl = (await listen(demo.service)).origin;
    const { get } = demo.service.client(demo.key);
    for (const [name, list] of [
      ['productId', 'catalog/products'],
      ['customerId', 'customers'],
      ['opportunityId', 'opportunities'],
      ['conversationId', 'conversations'],
    ])
      demo.ids[String(name)] = (await get(`/v1/${list}?limit=1`)).body.data[0].id;
    const [file] = await demo.service.query<{ quote_id: string }>(
      'select quote_id from quote_attachments limit 1',
    );
    demo.ids.quoteId = String(file?.quote_id);
  });
  afterAll(() => demo.service.close());
  return demo;
}
