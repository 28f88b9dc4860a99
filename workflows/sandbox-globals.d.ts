// The few globals beyond the language that Temporal's sandbox provides and this project uses.

declare class TextEncoder {
  encode(text: string): Uint8Array;
}

declare class TextDecoder {
  decode(bytes: Uint8Array): string;
}

/** Named by the types of tools, which workflows import as types alone: there is no AbortSignal in the sandbox. */
interface AbortSignal {
  readonly aborted: boolean;
}
