import { type SpawnOptions, spawn } from 'node:child_process';

export type Program = {
  signal: (name: NodeJS.Signals) => void;
  /** Sends the signal, and waits for the end. */
  end: (name: NodeJS.Signals) => Promise<void>;
  kill: () => Promise<void>;
};

/** Starts a program of the system; resolves when its output matches `ready`. */
export async function startProgram(
  command: string,
  args: readonly string[],
  ready: RegExp,
  options: SpawnOptions = {},
): Promise<Program> {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise((done) => child.on('close', done));
  await new Promise<void>((done, fail) => {
    let output = '';
    const read = (chunk: Buffer) => {
      output += chunk;
      if (!ready.test(output)) return;
      // Otherwise every later line of a busy log would cost another search.
      for (const stream of [child.stdout, child.stderr]) stream?.off('data', read).resume();
      done();
    };
    child.stdout?.on('data', read);
    child.stderr?.on('data', read);
    child.on('error', () => fail(new Error(`${command} was not found: apt-get install ${command}.`)));
    ended.then(() => fail(new Error(`${command} ended:\n${output}`)));
  });
  const end = async (name: NodeJS.Signals): Promise<void> => {
    child.kill(name);
    await ended;
  };
  return { signal: (name) => void child.kill(name), end, kill: () => end('SIGKILL') };
}
