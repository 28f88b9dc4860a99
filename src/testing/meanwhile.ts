import type { LimitOptions } from '../core/domain/agent/limit-options.ts';
import type { ContentPart } from '../core/domain/content/content.ts';
import type { MessageMode } from '../core/domain/record/queued-message.ts';

/**
 * When something is said to a run: while the model is asked for that step (1-based); with `tool`, while the first call
 * of the tool in that step runs; with `waiting`, while such a call waits for a decision and nothing else goes on.
 */
export interface Moment {
  step: number;
  tool?: string;
  waiting?: string;
}

/** Something that is said to a run while it goes on. Made by the functions below; each has to happen, or the test fails. */
export type Occurrence =
  | { readonly type: 'send'; readonly at: Moment; readonly content: string | ContentPart[]; readonly mode: MessageMode }
  | { readonly type: 'cancel'; readonly at: Moment; readonly reason: string }
  | { readonly type: 'raise'; readonly at: Moment; readonly limits: LimitOptions };

/** A message to the run: `queue` (default), `steer` or `interrupt`. */
export function sendMessage(content: string | ContentPart[], { mode = 'queue', ...at }: Moment & { mode?: MessageMode }): Occurrence {
  return { type: 'send', at, content, mode };
}

/** Somebody cancels the run. */
export function cancelRun(reason: string, at: Moment): Occurrence {
  return { type: 'cancel', at, reason };
}

/** Somebody raises limits of the run. */
export function raiseLimits(limits: LimitOptions, at: Moment): Occurrence {
  return { type: 'raise', at, limits };
}

/** What an occurrence is called in a message. */
export function occurrenceText(occurrence: Occurrence): string {
  const { step, tool, waiting } = occurrence.at;
  const place = `{step: ${step}${tool === undefined ? '' : `, tool: "${tool}"`}${waiting === undefined ? '' : `, waiting: "${waiting}"`}}`;
  switch (occurrence.type) {
    case 'send':
      return `sendMessage(${JSON.stringify(occurrence.content)}, ${place})`;
    case 'cancel':
      return `cancelRun(${JSON.stringify(occurrence.reason)}, ${place})`;
    case 'raise':
      return `raiseLimits(${JSON.stringify(occurrence.limits)}, ${place})`;
  }
}
