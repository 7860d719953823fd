import type { FastifyRequest } from 'fastify';

/** Memory that requests of many owners share, in bytes. */

export type Room = {
  /** Whether the owner may have so many bytes more. `instead`: bytes of its own that it would give back for them. */
  has: (owner: string, bytes: number, instead?: number) => boolean;
  /** Counts bytes of the owner, whether there is room or not; a negative number gives back. */
  add: (owner: string, bytes: number) => void;
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
export function createRoom(size: number): Room {
  const taken = new Map<string, number>();
  let all = 0;

  const of = (owner: string): number => taken.get(owner) ?? 0;

  function add(owner: string, bytes: number): void {
    const left = of(owner) + bytes;
    if (left === 0) taken.delete(owner);
    else taken.set(owner, left);
    if (owner !== '') all += bytes;
  }

  return {
    has(owner, bytes, instead = 0) {
      const own = of(owner) - instead;
      if (owner === '') return own === 0 || own + bytes <= size * KEYLESS_PART;
      const others = all - instead;
      return others === 0 || own + bytes <= size - others - bytes;
    },
    add,
    of,
  };
}
