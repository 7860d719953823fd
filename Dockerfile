# Runs the TypeScript without a build step. The database is another container; see docker-compose.yml.
ARG NODE_IMAGE=node:24-bookworm-slim@sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d
FROM ${NODE_IMAGE}

WORKDIR /app
# The same young generation as with `npm start`.
ENV NODE_OPTIONS=--max-semi-space-size=8
# npm writes into its cache even when it only runs a command. The rest of the image can be read-only.
ENV NODE_ENV=production DATA_DIR=/data npm_config_cache=/tmp/npm npm_config_update_notifier=false

# Without the embedded database, an optional dependency, and the workspaces, whose folders do not exist here.
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --omit=optional --ignore-scripts && npm cache clean --force

COPY LICENSE ./
COPY rules ./rules
COPY src ./src
COPY migrations ./migrations
COPY openapi ./openapi
COPY docs/guide ./docs/guide
COPY demo ./demo
COPY tools/sql.ts ./tools/

RUN mkdir /data && chown node:node /data
VOLUME /data
USER node
EXPOSE 3000 3001

# Checks only the process: an outage of the database restarts no instance.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.DASHBOARD_PORT ?? 3001}/livez`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]

CMD ["node", "src/main.js"]
