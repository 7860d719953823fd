import { type SpawnOptions, spawn } from 'node:child_process';

export type Program = {
  signal: (name: NodeJS.Signals) => void;
  /** Ends it by a signal, and waits for that. */
  end: (name: NodeJS.Signals) => Promise<void>;
  kill: () => Promise<void>;
};

/** Starts a program of the system; resolves once it has said that it is ready. */
export async function startProgram(
  command: string,
  args: readonly string[],
  ready: RegExp,
  options: SpawnOptions = {},
): Promise<Program> {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise((done) => child.on('close', done));
  await new Promise<void>((done, fail) => {
    let said = '';
    const read = (chunk: Buffer) => {
      said += chunk;
      if (!ready.test(said)) return;
      // A log of many lines a second would be searched again for each.
      for (const output of [child.stdout, child.stderr]) output?.off('data', read).resume();
      done();
    };
    child.stdout?.on('data', read);
    child.stderr?.on('data', read);
    child.on('error', () => fail(new Error(`${command} is missing: apt-get install ${command}.`)));
    ended.then(() => fail(new Error(`${command} ended:\n${said}`)));
  });
  const end = async (name: NodeJS.Signals): Promise<void> => {
    child.kill(name);
    await ended;
  };
  return { signal: (name) => void child.kill(name), end, kill: () => end('SIGKILL') };
}
