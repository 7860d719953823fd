let tasks: (() => void)[] = [];

function runTasks(): void {
  const due = tasks;
  tasks = [];
  for (const task of due) task();
}

/**
 * Runs the task at the end of this tick of the event loop, in the order given. It must not throw. It is for writes to
 * a socket: each can wake the process at the other end, and waking it once for several costs less.
 */
export function atEndOfTick(task: () => void): void {
  if (tasks.push(task) === 1) setImmediate(runTasks);
}
