import { fileURLToPath } from 'node:url';
import { ProgramProcess } from '../../test/processes/program-process.ts';

/** The requests to a collector: for its URL, and for what it has received so far. */
export type CollectorRequest = { type: 'where' } | { type: 'check' };

/** What a collector has got. */
export interface CollectedSpans {
  spans: number;
  /** Spans whose parents are missing. */
  orphans: number;
  /** Spans that have come more than once. */
  duplicates: number;
}

export type CollectorReply = { type: 'ready' } | { type: 'where'; url: string } | ({ type: 'checked' } & CollectedSpans);

const PROGRAM = fileURLToPath(new URL('../processes/collector.ts', import.meta.url));

/** A collector in a separate process. */
export class CollectorProcess implements AsyncDisposable {
  readonly url: string;
  readonly #process: ProgramProcess<CollectorRequest, CollectorReply>;

  private constructor(process: ProgramProcess<CollectorRequest, CollectorReply>, url: string) {
    this.#process = process;
    this.url = url;
  }

  static async start(): Promise<CollectorProcess> {
    const process = new ProgramProcess<CollectorRequest, CollectorReply>(PROGRAM, {});
    await process.start();
    const { url } = await process.ask({ type: 'where' }, 'where');
    return new CollectorProcess(process, url);
  }

  /** Returns what it has received so far. */
  async collected(): Promise<CollectedSpans> {
    const { type: _, ...collected } = await this.#process.ask({ type: 'check' }, 'checked');
    return collected;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process.stop();
  }
}
