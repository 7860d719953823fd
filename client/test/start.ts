import { useService } from '../../test/support/service.ts';
import { listen } from '../../test/support/socket.ts';
import { type ClientOptions, createClient } from '../src/index.ts';

/** A service for the tests of one file, and clients of new agencies. */
export async function useClient() {
  const service = await useService();
  const { origin: baseUrl } = await listen(service);
  return {
    service,
    start: async (options: Partial<ClientOptions> = {}) => {
      const agency = await service.agency();
      return { agency, crm: createClient({ apiKey: agency.key, baseUrl, ...options }), baseUrl };
    },
  };
}
