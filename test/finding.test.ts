import { describe, expect, test } from 'vitest';
import { customer } from './support/records.ts';
import { type Agency, useService } from './support/service.ts';

/** Finding the one record that is meant, and those that changed. */

const service = useService();

const contact = (identifierType: string, identifierValue: string) => ({ identifierType, identifierValue });
const idsOf = (body: { data: { id: string }[] }): string[] => body.data.map(({ id }) => id);

describe('the customer with a contact', () => {
  const find = async (agency: Agency, value: string, more: Record<string, string> = {}) => {
    const { status, body } = await agency.get(
      `/v1/customers?${new URLSearchParams({ contact: value, ...more })}`,
    );
    expect(status).toBe(200);
    expect(body.pagination.total).toBe(body.data.length);
    return idsOf(body);
  };

  test.each([
    ['whatsapp', '+52 1 (55) 1234-5678', ['+525512345678', '5215512345678', '0052 55 1234 5678']],
    ['telefono', '+5491123456789', ['+54 11 2345-6789', '+5491123456789']],
    ['telefono', '+13055550100', ['+1 (305) 555-0100']],
    ['whatsapp', 'MX.13491208655302741918', ['MX.13491208655302741918']],
    ['email', 'Ana@Example.com', ['ana@example.com', ' ANA@EXAMPLE.COM ']],
    ['instagram', '@Ana.Viaja', ['ana.viaja', '@ANA.VIAJA']],
    ['messenger', '100 ', ['100 ']],
    ['web', ' Visitor', [' Visitor']],
  ])(
    '%s %j is found by whatever is the same contact, and by nothing that is like it',
    async (type, stored, same) => {
      const agency = await service.agency();
      const { id } = await customer(agency, { contacts: [contact('web', 'first'), contact(type, stored)] });
      await customer(agency, {
        contacts: [contact('web', `x${stored}`), contact('email', `ju${same[0]}@x.y`)],
      });
      for (const value of same) {
        expect(await find(agency, value)).toEqual([id]);
        expect(await find(agency, value, { contactType: type })).toEqual([id]);
      }
      expect(await find(agency, `${stored}1`)).toEqual([]);
      expect(
        await find(agency, same[0] ?? '', { contactType: type === 'email' ? 'telefono' : 'email' }),
      ).toEqual([]);
    },
  );

  test('of several types the same text finds each customer that has it, in the order of the list', async () => {
    const agency = await service.agency();
    const of = (type: string) => customer(agency, { contacts: [contact(type, '+525512345678')] });
    const [phone, chat, visitor] = [await of('telefono'), await of('whatsapp'), await of('web')];
    expect(await find(agency, '+525512345678')).toEqual([visitor.id, chat.id, phone.id]);
    expect(await find(agency, '+525512345678', { contactType: 'telefono' })).toEqual([phone.id]);
    const { body } = await agency.get('/v1/customers?contact=%2B525512345678&limit=1&offset=1');
    expect([idsOf(body), body.pagination.total]).toEqual([[chat.id], 3]);
  });

  test('a + that was not encoded, and so arrives as a space, is a +', async () => {
    const agency = await service.agency();
    const { id } = await customer(agency, { contacts: [contact('whatsapp', '+13055550100')] });
    expect(idsOf((await agency.get('/v1/customers?contact=+13055550100')).body)).toEqual([id]);
  });

  test("a value that can be no contact is nobody's", async () => {
    const agency = await service.agency();
    await customer(agency, { contacts: [contact('email', 'ana@example.com')] });
    for (const [value, contactType] of [
      ['ana', 'email'],
      ['5512345678', 'whatsapp'],
      ['@', 'instagram'],
    ] as const)
      expect(await find(agency, value, { contactType })).toEqual([]);
  });

  test('is found with the other filters, while it is live, in its own organization', async () => {
    const [agency, neighbour] = [await service.agency(), await service.agency()];
    const mine = { contacts: [contact('email', 'ana@example.com')], tags: ['vip'], lastName: 'Peña' };
    const [{ id }] = [await customer(agency, mine), await customer(neighbour, mine)];
    expect(await find(agency, 'ana@example.com', { tag: 'vip', query: 'pena' })).toEqual([id]);
    expect(await find(agency, 'ana@example.com', { tag: 'otra' })).toEqual([]);
    await agency.delete(`/v1/customers/${id}`);
    expect(await find(agency, 'ana@example.com')).toEqual([]);
    expect(await find(neighbour, 'ana@example.com')).toHaveLength(1);
  });

  test('a channel without a contact is a fault', async () => {
    const { status, body } = await (await service.agency()).get('/v1/customers?contactType=email');
    expect([status, body.error.details]).toEqual([
      400,
      [{ path: 'query.contactType', message: 'goes with contact, which is missing' }],
    ]);
  });
});
