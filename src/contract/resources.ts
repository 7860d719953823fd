/** The resources of `/v1`: a key can be limited to some of them, and each is a tag of the document. */
export const RESOURCES = {
  catalog: 'Travel products and their variants.',
  customers: 'People and anonymous leads, with their contacts.',
  opportunities: 'Sales leads in the pipeline. Read only.',
  conversations: 'Conversations on messaging channels, and their transcripts. Read only.',
  quotes: 'Quotes of opportunities, and their attachments. Read only.',
  team: 'Members of the organization. Read only.',
};

export type ResourceName = keyof typeof RESOURCES;

export const resourceNames = Object.keys(RESOURCES) as ResourceName[];

/** `Catalog` */
export const tagOf = (resource: ResourceName): string => resource.charAt(0).toUpperCase() + resource.slice(1);
