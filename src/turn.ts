let tasks: (() => void)[] = [];

function runTasks(): void {
  const due = tasks;
  tasks = [];
  for (const task of due) task();
}

/**
 * Runs the task at the end of this turn of the event loop, right after those given before; it must not throw. For writes
 * to a socket: to wake the process at its other end can cost more than all other work for a small answer, and less when
 * several are woken at once.
 */
export function atEndOfTurn(task: () => void): void {
  if (tasks.push(task) === 1) setImmediate(runTasks);
}
