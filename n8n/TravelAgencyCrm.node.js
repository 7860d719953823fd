/** n8n's routing engine sends the requests: the node is a description, whose properties `npm run docs` generates. */
class TravelAgencyCrm {
  description = {
    displayName: 'Travel Agency CRM',
    name: 'travelAgencyCrm',
    icon: 'fa:plane',
    group: ['transform'],
    version: 1,
    subtitle: '={{ $parameter.operation }}',
    description: 'Catalog, customers, opportunities, conversations, quotes and team of a travel agency',
    defaults: { name: 'Travel Agency CRM' },
    inputs: ['main'],
    outputs: ['main'],
    credentials: [{ name: 'travelAgencyCrmApi', required: true }],
    requestDefaults: {
      baseURL: '={{ $credentials.baseUrl.replace(/[/]+$/, "") }}',
      headers: { Prefer: 'handling=strict' },
    },
    properties: require('./properties.json'),
  };
}
module.exports = { TravelAgencyCrm };
