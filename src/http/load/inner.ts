import { randomUUID } from 'node:crypto';
import type { FastifyRequest } from 'fastify';

/**
 * A request that another one makes inside of this process, as a call over /mcp does: what was counted of the first is
 * not counted again. Nobody outside of the process can know the value.
 */
const NAME = 'x-inner-request';

/** The header of such a request. */
export const INNER = { [NAME]: randomUUID() };

export const isInner = ({ headers }: FastifyRequest): boolean => headers[NAME] === INNER[NAME];
