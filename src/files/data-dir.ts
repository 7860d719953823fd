import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { OperatorError } from '../contract/errors.ts';

/** @throws OperatorError unless 1 MiB can be written in the folder */
export async function checkDataDir(folder: string): Promise<void> {
  const probe = join(folder, 'probe');
  try {
    await mkdir(folder, { recursive: true });
    await writeFile(probe, Buffer.alloc(1_048_576), { flush: true });
  } catch (error) {
    const [reason] = (error as Error).message.split(',');
    throw new OperatorError(
      `DATA_DIR, ${resolve(folder)}, cannot be written (${reason}). Free space on its disk, make it writable, or set DATA_DIR to another folder.`,
    );
  } finally {
    await rm(probe, { force: true }).catch(() => undefined);
  }
}
