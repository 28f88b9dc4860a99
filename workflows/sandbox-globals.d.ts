// The few globals beyond the language that Temporal's sandbox provides and this project uses.

declare class TextEncoder {
  encode(text: string): Uint8Array;
}

declare class TextDecoder {
  decode(bytes: Uint8Array): string;
}

/** The types of tools refer to it, which workflows import as types only: the sandbox has no AbortSignal. */
interface AbortSignal {
  readonly aborted: boolean;
}

interface ErrorConstructor {
  stackTraceLimit: number;
}
