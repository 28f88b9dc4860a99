import { Agent, get, type IncomingMessage } from 'node:http';
import { now } from '../figures/machine.ts';
import { answerRequests, endAfter, readSetting } from '../../test/processes/program.ts';
import type { ReadersReply, ReadersRequest, ReadersSetting } from '../stream/serve.ts';

/** The time of an answer, in its text. */
const STAMP = /@(\d+\.\d+) /g;

const WAITS = '"status":"pending_confirmation"';

const agent = new Agent({ keepAlive: false, maxSockets: Infinity });

/** Reads the stream of a run over HTTP. It looks for the times alone, so that many readers in one process are quick. */
class StreamReader {
  /** Resolves once the stream says that the run waits. */
  readonly waiting: Promise<void>;
  /** Resolves once the stream has ended with the end of its run. Rejects if it was cut. */
  readonly ended: Promise<void>;
  readonly eventDelays: number[] = [];
  readonly deltaDelays: number[] = [];
  /** Number of events since the run waited. */
  events = 0;
  isOpen = true;
  readonly #waits = Promise.withResolvers<void>();
  readonly #ends = Promise.withResolvers<void>();
  #isWatching = false;
  #rest = '';

  constructor(url: string) {
    this.waiting = this.#waits.promise;
    this.ended = this.#ends.promise;
    this.ended.catch(() => undefined);
    this.waiting.catch(() => undefined);
    get(url, { agent, headers: { accept: 'text/event-stream' } }, (response) => this.#read(response)).on('error', (error) =>
      this.#fail(error),
    );
  }

  #read(response: IncomingMessage): void {
    if (response.statusCode !== 200) this.#fail(new Error(`The service answered ${response.statusCode} to a reader`));
    response.setEncoding('utf8');
    response.on('data', (text: string) => this.#take(text, now()));
    response.once('close', () => this.#fail(new Error('The stream was cut')));
  }

  #fail(error: Error): void {
    this.isOpen = false;
    this.#waits.reject(error);
    this.#ends.reject(error);
  }

  #take(text: string, at: number): void {
    const messages = (this.#rest + text).split('\n\n');
    this.#rest = messages.pop() ?? '';
    for (const message of messages) this.#takeMessage(message, at);
  }

  #takeMessage(message: string, at: number): void {
    if (message.includes('event: status\n') && message.includes(WAITS)) {
      this.#isWatching = true;
      this.#waits.resolve();
    }
    if (message.includes('event: end\n')) this.#ends.resolve();
    if (!this.#isWatching) return;
    if (message.includes('event: event\n')) {
      this.events += 1;
      const stamps = stampsIn(message);
      // The last token of an answer is the last thing that happened before the event.
      if (stamps.length > 0) this.eventDelays.push(at - Math.max(...stamps));
    } else if (message.includes('event: delta\n')) {
      for (const stamp of stampsIn(message)) this.deltaDelays.push(at - stamp);
    }
  }
}

function stampsIn(message: string): number[] {
  return [...message.matchAll(STAMP)].map(([, stamp]) => Number(stamp));
}

/** Readers of the streams of a service, in a process apart from it. */

const { url } = readSetting<ReadersSetting>();
let opened: StreamReader[] = [];
answerRequests<ReadersRequest, ReadersReply>({
  open: async ({ runIds, readers }) => {
    opened = Array.from({ length: readers }, (_, index) => new StreamReader(`${url}/v1/runs/${runIds[index % runIds.length]}/stream`));
    await Promise.all(opened.map(({ waiting }) => waiting));
    return { type: 'opened' };
  },
  ends: async () => {
    await Promise.all(opened.map(({ ended }) => ended));
    return {
      type: 'ended',
      eventDelays: opened.flatMap(({ eventDelays }) => eventDelays),
      deltaDelays: opened.flatMap(({ deltaDelays }) => deltaDelays),
      events: opened.map(({ events }) => events),
    };
  },
  open_ones: () => ({ type: 'open_ones', readers: opened.filter(({ isOpen }) => isOpen).length }),
  stop: endAfter(),
});
