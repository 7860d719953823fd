import type { FastifyInstance } from 'fastify';

/** Every route of the router, also those that no document has: `GET /v1/customers/{customerId}`. */
export function routesOf(app: FastifyInstance): string[] {
  const parents: string[] = [];
  return app
    .printRoutes({ commonPrefix: false })
    .split('\n')
    .flatMap((line) => {
      const found = /^([│ ]*)[├└]── (\S+)(?: \((.+)\))?$/.exec(line);
      if (!found) return [];
      const [, indent = '', segment = '', methods] = found;
      const depth = indent.length / 4;
      const path = (parents[depth - 1] ?? '') + segment;
      parents.splice(depth, parents.length, path);
      const named = path.replace(/:(\w+)/g, '{$1}');
      return (methods?.split(', ') ?? []).map((method) => `${method} ${named}`);
    });
}
