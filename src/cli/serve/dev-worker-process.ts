// The worker of `longhaul dev --watch`, in a separate process because a loaded module cannot be reloaded. It loads
// what every worker needs and then waits for its options, so that the next worker is ready before a file changes.
import { once } from 'node:events';
import { type DevWorkerFlags, type DevWorkerLocation, serveDevWorker } from './dev-worker.ts';
import { Output } from '../output.ts';
import { processTerminal } from '../terminal.ts';
import { reportError } from '../exit-codes.ts';

// Without the session, nothing else would end the worker.
process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));
const message = once(process, 'message');
await import('../../../worker/index.ts');
const [{ flags, location }] = (await message) as [{ flags: DevWorkerFlags; location: DevWorkerLocation }];

const terminal = processTerminal();
let exitCode: number;
try {
  const ready = (worker: object): void => void process.send?.(worker);
  exitCode = await serveDevWorker({ terminal, output: new Output(terminal, true) }, { flags, location, ready });
} catch (error) {
  exitCode = reportError(error, terminal);
}
process.exit(exitCode);
