import type { ChangeOptions, CreateOptions, RequestOptions, Send } from './request.ts';

/** An id as a part of a path. @throws TypeError for what would lead to another path */
export function part(id: string): string {
  if (typeof id !== 'string' || /^\.{0,2}$/.test(id)) throw new TypeError(`${JSON.stringify(id)} is no id.`);
  return encodeURIComponent(id);
}

/** Of records that can be read by their ids. */
export const getOperation = <Row>(send: Send, path: string) => ({
  get: async (id: string, options: RequestOptions = {}): Promise<Row> =>
    (await send('GET', `${path}/${part(id)}`, { options })) as Row,
});

/** Of records that the API writes. */
export const writeOperations = <Row, Create extends object, Update extends object, Archived>(
  send: Send,
  path: string,
) => ({
  /** A customer: fails with `CUSTOMER_CONTACT_CONFLICT` when another one has one of the contacts. */
  create: async (body: Create, options: CreateOptions = {}): Promise<Row> =>
    (await send('POST', path, { body, options })) as Row,
  /**
   * Changes the fields that are there; null clears one. What was read can be sent back. `contacts` of a customer replaces the
   * whole list; `variants` of a product are set on create only.
   */
  update: async (id: string, body: Update | (Row & object), options: ChangeOptions = {}): Promise<Row> =>
    (await send('PATCH', `${path}/${part(id)}`, { body, options })) as Row,
  /**
   * Takes the record out of lists and lookups. The contacts of a customer are free then; a product can be restored by the dashboard
   * for 30 days.
   */
  archive: async (id: string, options: ChangeOptions = {}): Promise<Archived> =>
    (await send('DELETE', `${path}/${part(id)}`, { options })) as Archived,
});
