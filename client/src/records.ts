import type { ChangeOptions, CreateOptions, RequestOptions, Send } from './request.ts';

/** An id as a part of a path. @throws TypeError for an id that would lead to another path */
export function part(id: string): string {
  if (typeof id !== 'string' || /^\.{0,2}$/.test(id))
    throw new TypeError(`${JSON.stringify(id)} is not an id.`);
  return encodeURIComponent(id);
}

/** The operation of records that can be read by id. */
export const getOperation = <Row>(send: Send, path: string) => ({
  get: async (id: string, options: RequestOptions = {}): Promise<Row> =>
    (await send('GET', `${path}/${part(id)}`, { options })) as Row,
});

/** The operations of records that the API writes. */
export const writeOperations = <Row, Create extends object, Update extends object, Archived>(
  send: Send,
  path: string,
) => ({
  /** For a customer: fails with `CUSTOMER_CONTACT_CONFLICT` when another customer has one of the contacts. */
  create: async (body: Create, options: CreateOptions = {}): Promise<Row> =>
    (await send('POST', path, { body, options })) as Row,
  /**
   * Changes the fields of the body; null clears a field. A record that was read can be sent back. `contacts` of a customer
   * replaces the whole list; `variants` of a product are set on create only.
   */
  update: async (id: string, body: Update | (Row & object), options: ChangeOptions = {}): Promise<Row> =>
    (await send('PATCH', `${path}/${part(id)}`, { body, options })) as Row,
  /**
   * Archives the record: it leaves lists, and its id is not found. The contacts of a customer become free; the dashboard can
   * restore a product for 30 days.
   */
  archive: async (id: string, options: ChangeOptions = {}): Promise<Archived> =>
    (await send('DELETE', `${path}/${part(id)}`, { options })) as Archived,
});
