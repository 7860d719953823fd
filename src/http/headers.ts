/** The headers of every answer, whoever writes it. Browsers are told not to take it for anything but its type. */
export const everyAnswer = (requestId: string): Record<string, string> => ({
  'x-request-id': requestId,
  'x-content-type-options': 'nosniff',
});
