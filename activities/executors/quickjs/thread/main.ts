import { parentPort, workerData } from 'node:worker_threads';
import type { ExecutorFrame, RunFrame, ThreadData, ThreadFrame, ThreadSettings } from '../frames.ts';
import { frameText } from '../frames.ts';
import type { CellPort, Cells } from './cells.ts';
import { Mailbox } from './mailbox.ts';

/**
 * The program of an executor's thread: it runs one cell after the other and answers in frames of JSON text; the image of a memory
 * alone is bytes. It trusts what it receives, which comes from the executor alone. The engine is loaded with the first cell.
 */

const data = workerData as ThreadData;
const settings = JSON.parse(data.settings) as ThreadSettings;
if (parentPort === null) throw new Error('this program is that of a thread');
const port = parentPort;
const mailbox = new Mailbox(port, data.wake);
let cells: Cells | undefined;

function send(frame: ThreadFrame): void {
  port.postMessage(frameText(frame));
}

const cellPort: CellPort = {
  write: (text) => send({ type: 'output', text }),
  ask: (calls, durationMs) => {
    send({ type: 'calls', calls: calls as [], durationMs });
    return String(mailbox.receive());
  },
};

async function loaded(now: number): Promise<Cells> {
  const { Cells: Loaded } = await import('./cells.ts');
  return (cells ??= await Loaded.create(data.engine, settings, cellPort, now));
}

async function run(frame: RunFrame): Promise<void> {
  const ready = await loaded(frame.now);
  send({ type: 'began' });
  send(await ready.run(frame));
}

async function checkpoint(injected: readonly [string, string][]): Promise<void> {
  const bytes = (await loaded(0)).checkpoint(injected);
  port.postMessage(bytes, [bytes.buffer]);
}

async function restore(bytes: Uint8Array): Promise<void> {
  const { Cells: Loaded } = await import('./cells.ts');
  const restored = await Loaded.restore(data.engine, settings, cellPort, bytes);
  if (typeof restored === 'string') return send({ type: 'restored', problem: restored });
  cells = restored;
  send({ type: 'restored', scratchpad: restored.scratchpad() });
}

// What fails here fails the thread: the executor hears of it.
port.on('message', (received: string | Uint8Array) => {
  if (typeof received !== 'string') return void restore(received);
  const frame = JSON.parse(received) as ExecutorFrame;
  void (frame.type === 'run' ? run(frame) : checkpoint(frame.injected));
});
