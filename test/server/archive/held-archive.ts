import type { ArchiveBatch, ArchiveSink } from '../../../src/stores/file-archive.ts';
import { until } from '../testbed/until.ts';

/** An archive in memory that holds back one batch until a test releases it. */
export class HeldArchive implements ArchiveSink {
  readonly batches: ArchiveBatch[] = [];
  readonly #holds: (batch: ArchiveBatch) => boolean;
  readonly #goOn = Promise.withResolvers<void>();
  #held = 0;

  /** `holds` chooses the batch: the first batch that it returns true for is held back. */
  constructor(holds: (batch: ArchiveBatch) => boolean = () => true) {
    this.#holds = holds;
  }

  async append(batch: ArchiveBatch): Promise<void> {
    if (this.#held === 0 && this.#holds(batch)) {
      this.#held += 1;
      await this.#goOn.promise;
    }
    this.batches.push(batch);
  }

  /** Does something while a batch is held back, and then releases the batch. */
  async meanwhile(happens: () => Promise<unknown>): Promise<void> {
    await until(() => this.#held > 0, 'the archive is given a batch');
    await happens();
    this.#goOn.resolve();
  }

  async *read(): AsyncGenerator<never> {
    // No test reads from it.
  }

  async runsOf(): Promise<string[]> {
    return [];
  }

  async deleteRun(): Promise<void> {
    this.batches.length = 0;
  }
}
