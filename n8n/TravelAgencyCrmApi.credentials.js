const input = { type: 'string', default: '', required: true };
class TravelAgencyCrmApi {
  name = 'travelAgencyCrmApi';
  displayName = 'Travel Agency CRM API';
  properties = [
    { ...input, displayName: 'Address', name: 'baseUrl', placeholder: 'https://crm.agency.example' },
    { ...input, displayName: 'API Key', name: 'apiKey', typeOptions: { password: true } },
  ];
  authenticate = {
    type: 'generic',
    properties: { headers: { Authorization: '=Bearer {{ $credentials.apiKey }}' } },
  };
  test = {
    request: {
      baseURL: '={{ $credentials.baseUrl.replace(/[/]+$/, "") }}',
      url: '/v1/team?limit=1',
      // A key with limited rights is good too, and gets 403.
      ignoreHttpStatusErrors: { ignore: true, except: [400, 401, 404, 429, 500, 502, 503, 504] },
    },
  };
}
module.exports = { TravelAgencyCrmApi };
