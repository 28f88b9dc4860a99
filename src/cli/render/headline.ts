import type { Look } from '../output.ts';

/** The fact that an event records besides its content, in one line, with its style. */
export interface Headline {
  text: string;
  look: Look;
}
