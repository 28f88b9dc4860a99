import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { unwritable } from './input-files.ts';

/** A file of JSON Lines that appears when it is complete, so that an interrupted one is not mistaken for it. */
export class LineFile {
  readonly #path: string;
  readonly #draft: string;
  readonly #stream: WriteStream;

  private constructor(path: string) {
    this.#path = path;
    this.#draft = `${path}.part`;
    this.#stream = createWriteStream(this.#draft);
  }

  /** Begins a file. Throws a UsageError if it cannot be written. */
  static async open(path: string): Promise<LineFile> {
    const file = new LineFile(path);
    await once(file.#stream, 'open').catch((error: unknown) => {
      throw unwritable(path, error);
    });
    return file;
  }

  /** Writes a line, no faster than the disk accepts: a run may be larger than memory. */
  async write(line: unknown): Promise<void> {
    if (!this.#stream.write(`${JSON.stringify(line)}\n`)) await once(this.#stream, 'drain');
  }

  /** Makes the file appear. */
  async complete(): Promise<void> {
    this.#stream.end();
    await once(this.#stream, 'close');
    await rename(this.#draft, this.#path).catch((error: unknown) => {
      throw unwritable(this.#path, error);
    });
  }

  /** Removes what was written. */
  async discard(): Promise<void> {
    this.#stream.destroy();
    await rm(this.#draft, { force: true });
  }
}
