type Edges = { taken: string[]; refused: string[] };

/** PostgreSQL has no year 0. */
export const DAYS: Edges = {
  taken: ['0001-01-01', '1582-10-10', '2028-02-29', '9999-12-31'],
  refused: ['0000-01-01', '0000-12-31', '10000-01-01', '2027-02-29', '2027-3-31', '2027-03-31T00:00:00Z', ''],
};

const MOMENTS: Edges = {
  taken: ['0001-01-01T00:00:00.000Z', '2028-02-29T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  refused: [
    '0000-12-31T23:59:59Z',
    '0001-01-01T00:00:00+00:01',
    '9999-12-31T23:59:59-00:01',
    '2026-02-30T00:00:00Z',
    '2026-11-21T10:00:00',
    '2026-11-21',
    '',
  ],
};

/** By the formats of the documents: values that a field stores as they are, and values that it rejects. */
export const EDGES: Record<string, Edges> = { date: DAYS, 'date-time': MOMENTS };
