/** Where the service is reached, and whom its users ask, for the document. */
export type Publisher = {
  /** Where clients reach the service. Without it the document says: where it was read from. */
  publicUrl?: string | undefined;
  /** Whom integrators ask: an email address or a URL. */
  contact?: string | undefined;
};

type Published = { info: { contact: object }; servers: { url: string; description: string }[] };

/** The document as JSON, with who publishes it. It is made once, when it is first asked for. */
export function published(make: () => object, { publicUrl, contact }: Publisher): () => string {
  let text: string | undefined;
  return () => {
    if (text !== undefined) return text;
    const document = structuredClone(make()) as Published;
    if (publicUrl !== undefined) document.servers = [{ url: publicUrl, description: 'This service.' }];
    if (contact !== undefined)
      Object.assign(
        document.info.contact,
        contact.startsWith('http') ? { url: contact } : { email: contact },
      );
    text = `${JSON.stringify(document, null, 2)}\n`.replaceAll(
      '](/docs/',
      () => `](${publicUrl ?? ''}/docs/`,
    );
    return text;
  };
}
