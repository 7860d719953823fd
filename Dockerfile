# Runs the TypeScript as it is: no build step. The database is another container; see docker-compose.yml.
FROM node:24-bookworm-slim

WORKDIR /app
ENV NODE_ENV=production DATA_DIR=/data

# The embedded database and the demo agency are optional dependencies, and stay out.
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --omit=optional --ignore-scripts && npm cache clean --force

COPY LICENSE ./
COPY src ./src
COPY migrations ./migrations

RUN mkdir /data && chown node:node /data
VOLUME /data
USER node
EXPOSE 3000 3001

HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.DASHBOARD_PORT ?? 3001}/readyz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]

# As `npm start`: a small young generation saves a third of the memory for 3 to 19 hundredths of the speed of lookups.
CMD ["node", "--max-semi-space-size=4", "src/main.js"]
