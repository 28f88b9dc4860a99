import type { JsonObject } from '../json/json.ts';
import type { HookEvent } from './hook-event.ts';

/**
 * The answer of one hook, recorded with the result of the activity that it ran in. Hooks that plainly allowed leave none.
 * `failed`: it threw, was late, did not launch or answered something else than an answer.
 */
export interface HookRecord {
  hook: string;
  on: HookEvent;
  answer: 'deny' | 'modify' | 'inject' | 'ask' | 'failed';
  /** The reason of a deny or of a question, the injected text, or the error. */
  text?: string;
  /** For a failure: true if it was taken for a deny (`failClosed`). */
  denied?: true;
  /** The call that it was about. */
  callId?: string;
}

/** The records and the effect of hooks on the calls of one response. */
export interface CallReview {
  /** Call id → why the call must not run. */
  problems?: Record<string, string>;
  /** Call id → the arguments that it runs with instead of those of the model. */
  rewrites?: Record<string, JsonObject>;
  /** Call id → text that the model reads with its result. */
  injections?: Record<string, string>;
  /** The answers that were not a plain allow. */
  hooks?: HookRecord[];
}
