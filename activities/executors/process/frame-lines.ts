import { StringDecoder } from 'node:string_decoder';

/** Cuts what a process writes into lines, without keeping more than one of them. */
export class FrameLines {
  private readonly maxLength: number;
  private readonly decoder = new StringDecoder('utf8');
  private parts: string[] = [];
  private length = 0;

  constructor(maxLength: number) {
    this.maxLength = maxLength;
  }

  /** Returns the lines that a chunk completes; undefined if a line is too long. */
  add(chunk: Buffer): string[] | undefined {
    const [first = '', ...rest] = this.decoder.write(chunk).split('\n');
    const lines: string[] = [];
    if (!this.keep(first)) return undefined;
    for (const part of rest) {
      lines.push(this.parts.join(''));
      this.parts = [];
      this.length = 0;
      if (!this.keep(part)) return undefined;
    }
    return lines;
  }

  private keep(part: string): boolean {
    this.length += part.length;
    if (part !== '') this.parts.push(part);
    return this.length <= this.maxLength;
  }
}
