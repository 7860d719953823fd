import { beforeAll } from 'vitest';
import { useService } from '../../test/support/service.ts';
import { listen } from '../../test/support/socket.ts';
import { type ClientOptions, createClient } from '../src/index.ts';

/** A service for the tests of one file, and clients of new agencies. */
export function useClient() {
  const service = useService();
  let baseUrl = '';
  beforeAll(async () => {
    baseUrl = (await listen(service)).origin;
  });
  return {
    service,
    start: async (options: Partial<ClientOptions> = {}) => {
      const agency = await service.agency();
      return { agency, crm: createClient({ apiKey: agency.key, baseUrl, ...options }), baseUrl };
    },
  };
}
