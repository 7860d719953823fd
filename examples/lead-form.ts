/**
 * A website's lead form, on the server: a visitor becomes a customer. The key never reaches the browser; a key with
 * access "create" is enough, and whoever steals it learns only that a contact is taken.
 */
import { hash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import { env } from 'node:process';
import { CrmError, type CustomerContactCreate, createClient } from 'travel-agency-crm-client';

const crm = createClient({ apiKey: env.CRM_API_KEY ?? '', baseUrl: env.CRM_URL ?? 'http://localhost:3000' });

/** With the token, a double click or a form that is sent again creates one customer; a corrected form is a new request. */
const form = () => `<!doctype html><meta charset="utf-8"><form method="post">
  <input type="hidden" name="token" value="${randomUUID()}">
  <input name="name" placeholder="Nombre"> <input name="phone" placeholder="+52 55 1234 5678" required>
  <input name="email" type="email" placeholder="ana@example.com">
  <textarea name="message" placeholder="¿A dónde quieres viajar?"></textarea> <button>Enviar</button>
</form>`;

async function takeLead(request: IncomingMessage): Promise<[status: number, page: string]> {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) {
    body += chunk;
    if (body.length > 20_000) return [413, 'El mensaje es demasiado largo.'];
  }
  const sent = new URLSearchParams(body);
  const text = (name: string) => sent.get(name)?.trim() || null;
  const [firstName, summary, email] = [text('name'), text('message'), text('email')];
  const contacts: CustomerContactCreate[] = [
    { identifierType: 'whatsapp', identifierValue: text('phone') ?? '' },
    ...(email ? [{ identifierType: 'email' as const, identifierValue: email }] : []),
  ];
  const idempotencyKey = hash('sha256', body);
  try {
    await crm.customers.create({ firstName, summary, tags: ['web'], contacts }, { idempotencyKey });
  } catch (error) {
    if (!(error instanceof CrmError)) throw error;
    if (error.is('VALIDATION_FAILED')) return [400, 'Revisa el teléfono, con + y el país, y el correo.'];
    if (!error.is('CUSTOMER_CONTACT_CONFLICT')) {
      console.error('A lead was not saved:', error.message);
      return [503, 'No pudimos guardar tus datos. Inténtalo en un momento.'];
    }
    // A key that only creates does not learn who it is.
    const id = error.details[0]?.customerId;
    if (id)
      await addTag(id, 'web').catch((reason) => console.error('The tag was not added:', reason.message));
    // Anybody can type the number of somebody else: the rest is for people to read. Send it where they do, such as by email.
    console.log('A known customer wrote:', { id, contacts, firstName, message: summary });
  }
  return [200, '¡Gracias! Te escribimos hoy.']; // Known customers get the same page: it tells nobody whom the agency knows.
}

async function addTag(id: string, tag: string): Promise<void> {
  const customer = await crm.customers.get(id);
  if (!customer.tags.includes(tag))
    await crm.customers.update(id, { tags: [...customer.tags, tag] }, { ifMatch: customer });
}

const server = createServer(async (request, response) => {
  const [status, page] =
    request.method === 'POST'
      ? await takeLead(request).catch((): [number, string] => [400, ''])
      : [200, form()];
  response.writeHead(status, { 'content-type': 'text/html; charset=utf-8' }).end(page);
});
server.listen(Number(env.PORT ?? 8080), () => console.log('Listening on', server.address()));
