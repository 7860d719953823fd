/** A website's lead form, server side: what a visitor sends becomes a customer. The key never reaches the browser. */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import { env } from 'node:process';
import { CrmError, type CustomerContactCreate, createClient } from 'travel-agency-crm-client';

const crm = createClient({ apiKey: env.CRM_API_KEY ?? '', baseUrl: env.CRM_URL ?? 'http://localhost:3000' });

/** The token makes one customer of a double click, or of a browser that sends the form again. */
const form = () => `<!doctype html><meta charset="utf-8"><form method="post">
  <input type="hidden" name="token" value="${randomUUID()}">
  <input name="name" placeholder="Nombre"> <input name="phone" placeholder="+52 55 1234 5678" required>
  <input name="email" type="email" placeholder="ana@example.com">
  <textarea name="message" placeholder="¿A dónde quieres viajar?"></textarea> <button>Enviar</button>
</form>`;

async function takeLead(request: IncomingMessage): Promise<[status: number, answer: string]> {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) {
    body += chunk;
    if (body.length > 20_000) return [413, 'El mensaje es demasiado largo.'];
  }
  const sent = new URLSearchParams(body);
  const [firstName, summary] = [sent.get('name') || null, sent.get('message') || null];
  const email = sent.get('email');
  const contacts: CustomerContactCreate[] = [
    { identifierType: 'whatsapp', identifierValue: sent.get('phone') ?? '' },
    ...(email ? [{ identifierType: 'email' as const, identifierValue: email }] : []),
  ];
  const idempotencyKey = sent.get('token')?.slice(0, 255) || randomUUID();
  const error = await crm.customers
    .create({ firstName, summary, tags: ['web'], contacts }, { idempotencyKey })
    .then(
      () => undefined,
      (reason) => reason,
    );
  const isKnown = error instanceof CrmError && error.is('CUSTOMER_CONTACT_CONFLICT');
  if (error instanceof CrmError && error.is('VALIDATION_FAILED'))
    return [400, 'Revisa el teléfono, con + y el país, y el correo.'];
  // For people to look at: anybody can type the number of somebody else.
  if (isKnown)
    console.log('A customer wrote again:', error.details[0]?.customerId, firstName, email, summary);
  else if (error) return [503, 'No pudimos guardar tus datos. Inténtalo en un momento.'];
  return [200, '¡Gracias! Te escribimos hoy.']; // The same for known numbers: which ones we have is nobody's business.
}

const server = createServer(async (request, response) => {
  const [status, answer] =
    request.method === 'POST' ? await takeLead(request).catch(() => [400, '']) : [200, form()];
  response.writeHead(Number(status), { 'content-type': 'text/html; charset=utf-8' }).end(answer);
});
server.listen(Number(env.PORT ?? 8080), () => console.log('Listening on', server.address()));
