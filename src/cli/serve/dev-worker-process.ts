// The worker of `longhaul dev --watch`: a process of its own, because a module that is loaded stays as it was. It loads
// what every worker needs, and then waits to be told what to run: the next one is ready before a file changes.
import { once } from 'node:events';
import { type DevWorkerFlags, type DevWorkerPlace, serveDevWorker } from './dev-worker.ts';
import { Output } from '../output.ts';
import { processTerminal } from '../process-terminal.ts';
import { reportError } from '../report-error.ts';

// Where the session is gone, nobody could end the worker any more.
process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));
const told = once(process, 'message');
await import('../../../worker/index.ts');
const [{ flags, place }] = (await told) as [{ flags: DevWorkerFlags; place: DevWorkerPlace }];

const terminal = processTerminal();
let exitCode: number;
try {
  const ready = (worker: object): void => void process.send?.(worker);
  exitCode = await serveDevWorker({ terminal, output: new Output(terminal, true) }, { flags, place, ready });
} catch (error) {
  exitCode = reportError(error, terminal);
}
process.exit(exitCode);
