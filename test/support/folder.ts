import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** An empty folder in that of the run, which is removed after all tests. */
export const newFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'crm-'));
