export type Publisher = {
  /** URL of the service for clients. Default: where the document was read. */
  publicUrl?: string | undefined;
  /** An email address or a URL. */
  contact?: string | undefined;
};

type Published = { info: { contact: object }; servers: { url: string; description: string }[] };

/** The document as JSON, with its publisher. It is built at the first request. */
export function published(build: () => object, { publicUrl, contact }: Publisher): () => string {
  let text: string | undefined;
  return () => {
    if (text !== undefined) return text;
    const document = structuredClone(build()) as Published;
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
