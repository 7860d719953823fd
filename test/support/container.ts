import { GenericContainer, getContainerRuntimeClient } from 'testcontainers';

const LOGIN = { POSTGRES_USER: 'crm', POSTGRES_PASSWORD: 'crm', POSTGRES_DB: 'crm' };

/** Starts PostgreSQL in a container. */
export async function startContainer(
  image: string,
  settings: Record<string, string>,
): Promise<{ url: string; stop: () => Promise<unknown> }> {
  const command = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  await getContainerRuntimeClient().catch(() => {
    process.stderr.write(
      'TEST_POSTGRES=container needs a container runtime such as Docker, and none was found.\n',
    );
    process.exit(1);
  });
  // While the image initialises itself, its server does not listen on the port.
  const container = await new GenericContainer(image)
    .withEnvironment(LOGIN)
    .withExposedPorts(5432)
    .withCommand(['postgres', ...command])
    .start();
  const address = `${container.getHost()}:${container.getMappedPort(5432)}`;
  return { url: `postgres://crm:crm@${address}/crm`, stop: () => container.stop() };
}
