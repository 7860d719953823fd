import { GenericContainer, getContainerRuntimeClient } from 'testcontainers';

/** A PostgreSQL in a container, with the settings of the embedded one. */

type Settings = Record<string, string>;

const LOGIN = { POSTGRES_USER: 'crm', POSTGRES_PASSWORD: 'crm', POSTGRES_DB: 'crm' };

export async function startContainer(
  image: string,
  settings: Settings,
): Promise<{ url: string; stop: () => Promise<unknown> }> {
  const command = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  await getContainerRuntimeClient().catch(() => {
    process.stderr.write(
      'TEST_POSTGRES=container needs a container runtime such as Docker, and found none.\n',
    );
    process.exit(1);
  });
  // The image's own initialisation does not listen on the port: once it is open, the server is the final one.
  const container = await new GenericContainer(image)
    .withEnvironment(LOGIN)
    .withExposedPorts(5432)
    .withCommand(['postgres', ...command])
    .start();
  const address = `${container.getHost()}:${container.getMappedPort(5432)}`;
  return { url: `postgres://crm:crm@${address}/crm`, stop: () => container.stop() };
}
