import type { RecordedResponse } from '../domain/model.ts';
import type { Notice } from '../domain/run.ts';
import * as s from '../domain/shape.ts';
import type { Capability } from '../kernel/capability.ts';
import { type RunState, slice } from '../kernel/run-state.ts';
import { sessionOf } from '../domain/sessions.ts';

// Model phase: the provider's prompt cache, as far as answers report it.

/** The milliseconds for which a provider keeps a prompt by default. */
const KEPT_MS = 5 * 60_000;

/** The minimum tokens of a prompt whose loss is worth a notice: some providers cache nothing shorter. */
const LEAST_TOKENS = 4_096;

const KNOWN_MEMBERS = {
  /** The agent and the model of the last answer. */
  of: s.TEXT,
  /** The tokens that the answer read from the cache or wrote to it. */
  tokens: s.NUMBER,
  /** The bytes of the answer's window. A smaller window has been compacted since. */
  bytes: s.NUMBER,
  /** Milliseconds since the epoch. */
  at: s.NUMBER,
  /** The conversation has at some time been idle for longer than a prompt is kept. */
  hasRested: s.optional(s.TRUE),
  /** It has been idle for that long before the next call. */
  isLate: s.optional(s.TRUE),
  /** The loss was reported. */
  isTold: s.optional(s.TRUE),
};

/** The tokens that the provider has cached. Present once an answer has reported them. */
const known = slice<s.ObjectOf<typeof KNOWN_MEMBERS>>('promptCache', s.object(KNOWN_MEMBERS));

/** Returns the agent and model of an answer, which identify its cache. */
function origin({ snapshot }: RunState, { answeredBy = snapshot.model }: Pick<RecordedResponse, 'answeredBy'>): string {
  return `${snapshot.name} ${answeredBy}`;
}

/** Returns a notice if the provider read much less from its cache than the previous call had left there, or undefined. */
function loss(state: RunState, response: Partial<RecordedResponse>): Notice | undefined {
  const before = known.of(state);
  const { usage, changedPart } = response;
  if (before === undefined || before.isTold || usage == null || usage.promptTokens < LEAST_TOKENS) return undefined;
  const { cachedTokens = 0 } = usage;
  const isComparable = before.of === origin(state, response) && before.bytes <= state.window.bytes;
  if (!isComparable || cachedTokens * 2 >= before.tokens) return undefined;
  // Nothing was changed, and the provider was not expected to keep it for so long.
  if (typeof changedPart !== 'string' && before.isLate) return undefined;
  const why =
    changedPart === undefined
      ? 'Another worker made the previous call, so the changed part of the request is unknown.'
      : changedPart === null
        ? 'No part of the request has changed: the provider dropped it.'
        : `The first changed part of the request is ${changedPart}: move changing parts to the end of the conversation.`;
  const message = `The model has read ${cachedTokens} of the ${before.tokens} tokens that the previous call had left in the cache. ${why}`;
  return { code: 'cache_lost', message };
}

/** Measures what the provider caches. The model's client marks what to cache. */
export const promptCache: Capability = {
  name: 'promptCache',
  slices: [known],
  stepBegins(state, ports) {
    const before = known.of(state);
    if (before === undefined || ports.now() - before.at <= KEPT_MS) return undefined;
    // A run that does not stay open is seldom idle twice, and keeping a prompt for longer costs more.
    known.set(state, { ...before, isLate: true, ...(sessionOf(state) === undefined ? {} : { hasRested: true }) });
    return undefined;
  },
  modelCallParts: (state) => (known.of(state)?.hasRested ? { hasRested: true } : {}),
  madeParts(state, made) {
    const lost = loss(state, made);
    return lost === undefined ? {} : { notices: [...(made.notices ?? []), lost] };
  },
  responseArrives(state, ports, response) {
    const before = known.of(state);
    const { changedPart: _, ...left } = response;
    const { cachedTokens = 0, cacheWriteTokens = 0 } = response.usage ?? {};
    const tokens = cachedTokens + cacheWriteTokens;
    if (before !== undefined || tokens > 0) {
      const isTold = before?.isTold || loss(state, response) !== undefined;
      const kept = { ...(before?.hasRested ? { hasRested: true as const } : {}), ...(isTold ? { isTold: true as const } : {}) };
      known.set(state, { of: origin(state, response), tokens, bytes: state.window.bytes, at: ports.now(), ...kept });
    }
    return response.changedPart === undefined ? response : left;
  },
};
