import type { FastifyReply, FastifyRequest } from 'fastify';

/** Memory that requests of many owners share, in bytes. */

export type Room = {
  /** Whether the owner of the request may have so many bytes for it, instead of those that it has. */
  has: (reply: FastifyReply, bytes: number) => boolean;
  /** Gives the request so many bytes, whether there is room or not, instead of those that it has, until its answer is closed. */
  keep: (reply: FastifyReply, bytes: number) => void;
  /** Bytes of the owner. */
  of: (owner: string) => number;
};

/** Requests without a key have this part of a room, and no other. */
const KEYLESS_PART = 1 / 4;

/** The organization of the key, or of the dashboard's path; empty for a caller without a key. */
export const ownerOf = ({ scope, params }: FastifyRequest): string =>
  (scope as FastifyRequest['scope'] | undefined)?.organizationId ??
  (params as { organizationId?: string } | undefined)?.organizationId ??
  '';

/**
 * An owner may have as much as it leaves free, as in the scheduler (dynamic thresholds): one alone has half, and whoever
 * has little always finds room. While nobody has anything, nothing is too large.
 */
export function createRoom(size: number, onEmpty?: (owner: string) => void): Room {
  const taken = new Map<string, number>();
  const kept = new WeakMap<FastifyReply, number>();
  let all = 0;

  const of = (owner: string): number => taken.get(owner) ?? 0;

  function add(owner: string, bytes: number): void {
    const left = of(owner) + bytes;
    taken.set(owner, left);
    if (owner !== '') all += bytes;
    if (left > 0) return;
    taken.delete(owner);
    onEmpty?.(owner);
  }

  function keep(reply: FastifyReply, bytes: number): void {
    // Its close has been, while its key was looked up or its work was done: nobody would give the bytes back.
    if (reply.raw.destroyed && bytes > 0) return;
    const before = kept.get(reply);
    if (before === undefined) reply.raw.once('close', () => keep(reply, 0));
    kept.set(reply, bytes);
    add(ownerOf(reply.request), bytes - (before ?? 0));
  }

  return {
    has(reply, bytes) {
      const owner = ownerOf(reply.request);
      const before = kept.get(reply) ?? 0;
      const own = of(owner) - before;
      if (owner === '') return own === 0 || own + bytes <= size * KEYLESS_PART;
      const others = all - before;
      return others === 0 || own + bytes <= size - others - bytes;
    },
    keep,
    of,
  };
}
