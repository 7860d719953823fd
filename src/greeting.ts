type Started = {
  /** The URLs that the service listens at. */
  api: string;
  dashboard: string;
  isDashboardOpen: boolean;
  demoKey: string | undefined;
  /** Of a dashboard whose token was generated. */
  generatedToken: string | undefined;
};

/** What a person needs after the start: the addresses, and a request to try. */
export const greeting = ({ api, dashboard, isDashboardOpen, demoKey, generatedToken }: Started): string => `
The travel agency CRM API has started.

  API        ${api}/v1
  Guide      ${api}/docs/guide
  Reference  ${api}/docs
  ${demoKey ? `Demo key   ${demoKey}` : 'Keys       npm run keys -- issue --organization NAME --name "my integration"'}
  Dashboard  ${isDashboardOpen ? `${dashboard}/dashboard/v1` : 'closed: DASHBOARD_TOKEN is not set'}
${generatedToken ? `  Its token  ${generatedToken}\n` : ''}
Try it:

  curl -s '${api}/v1/catalog/products?limit=1' -H 'Authorization: Bearer ${demoKey ?? '<key>'}'

`;
