import { freePort } from '../support/process.ts';
import { type Program, startProgram } from './program.ts';

/** Redis, on a port that it keeps when it is started again. */
export async function openRedis() {
  const port = await freePort();
  const options = { port, bind: '127.0.0.1', save: '', appendonly: 'no' };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  const start = () => startProgram('redis-server', args, /Ready to accept connections/);
  let current: Program = await start();
  return {
    url: `redis://127.0.0.1:${port}`,
    start: async () => {
      current = await start();
    },
    /** Stops it with its connections open. */
    freeze: () => current.signal('SIGSTOP'),
    thaw: () => current.signal('SIGCONT'),
    kill: () => current.kill(),
  };
}
