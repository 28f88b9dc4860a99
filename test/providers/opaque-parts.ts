import { isDeepStrictEqual } from 'node:util';
import { isJsonObject } from '../../src/core/domain/json.ts';
import type { Minted } from './answer.ts';
import type { Finding, Rule } from './rules.ts';
import type { SentMessage } from './sent-request.ts';

/** The form of reasoning that a provider sends and wants back. */
export interface OpaqueParts {
  /** The deltas of the stream in front of the content. */
  deltas: (minted: Minted) => Record<string, unknown>[];
  /** The fields of the first call of the answer. */
  ofCall?: (minted: Minted) => Record<string, unknown>;
  /** Returns what a message brings back; undefined for nothing. */
  read: (message: SentMessage) => unknown;
  /** Returns what a message should bring back. */
  expected: (minted: Minted) => unknown;
  /** True if another model and another account take it as well: it is a text, and nothing is signed. */
  plain?: true;
  /** What the provider takes in place of it, as it documents for calls that its model has not made. */
  instead?: unknown;
}

const halves = (text: string): [string, string] => [text.slice(0, text.length / 2), text.slice(text.length / 2)];

/** DeepSeek, Kimi, and servers of open models: the text of the reasoning. */
export const REASONING_CONTENT: OpaqueParts = {
  deltas: ({ thought }) => halves(thought).map((reasoning_content) => ({ reasoning_content })),
  read: ({ raw }) => raw['reasoning_content'],
  expected: ({ thought }) => thought,
  plain: true,
};

/** Gemini: a signature on the first call of an answer. */
export const THOUGHT_SIGNATURE: OpaqueParts = {
  deltas: () => [],
  ofCall: ({ signature }) => ({ extra_content: { google: { thought_signature: signature } } }),
  read: ({ calls }) => calls.map(({ raw }) => raw['extra_content']).find((one) => one !== undefined),
  expected: ({ signature }) => ({ google: { thought_signature: signature } }),
  instead: { google: { thought_signature: 'skip_thought_signature_validator' } },
};

/** OpenRouter: a list of details. The text comes in pieces, and the signature after it. */
export const REASONING_DETAILS: OpaqueParts = {
  deltas: ({ thought, signature }) => {
    const detail = { type: 'reasoning.text', format: 'anthropic-claude-v1', index: 0 };
    return [
      ...halves(thought).map((text) => ({ reasoning: text, reasoning_details: [{ ...detail, text }] })),
      { reasoning_details: [{ ...detail, signature }] },
    ];
  },
  // Sent back in pieces or as one, the details say the same.
  read: ({ raw }) => {
    const details: unknown = raw['reasoning_details'];
    if (!Array.isArray(details)) return undefined;
    const objects = details.filter((one) => isJsonObject(one));
    const signature = objects.map((one) => one['signature']).find((one) => typeof one === 'string' && one !== '');
    return { text: objects.map((one) => (typeof one['text'] === 'string' ? one['text'] : '')).join(''), signature };
  },
  expected: ({ thought, signature }) => ({ text: thought, signature }),
};

/** LiteLLM: the blocks of Anthropic, in pieces that belong together. */
export const THINKING_BLOCKS: OpaqueParts = {
  deltas: ({ thought, signature }) => [
    ...halves(thought).map((thinking) => ({
      reasoning_content: thinking,
      thinking_blocks: [{ type: 'thinking', thinking, signature: null }],
    })),
    { reasoning_content: '', thinking_blocks: [{ type: 'thinking', thinking: '', signature }] },
  ],
  read: ({ raw }) => raw['thinking_blocks'],
  expected: ({ thought, signature }) => [{ type: 'thinking', thinking: thought, signature }],
};

const found = (at: number, what = ''): Finding => ({ at, role: 'assistant', before: '', what });

/**
 * Every message with calls brings back what the answer had: of the current turn, which begins with the last message of the user,
 * or of all turns.
 */
export const partsPresent =
  (parts: OpaqueParts, turns: 'current' | 'all'): Rule =>
  ({ messages }) => {
    const from = turns === 'all' ? 0 : messages.findLastIndex(({ role }) => role === 'user');
    const at = messages.findIndex((message, index) => index >= from && message.calls.length > 0 && parts.read(message) === undefined);
    return at < 0 ? undefined : found(at, messages[at]?.calls[0]?.name);
  };

/** Nothing comes back that was not sent like this, for this model and this account. */
export const partsUnchanged =
  (parts: OpaqueParts): Rule =>
  ({ messages, model, key }, minted) => {
    const known = minted.filter((one) => parts.plain === true || (!one.forgotten && one.model === model && one.key === key));
    const at = messages.findIndex((message) => {
      const given = parts.read(message);
      if (given === undefined || (parts.plain === true && given === '') || isDeepStrictEqual(given, parts.instead)) return false;
      return !known.some((one) => isDeepStrictEqual(parts.expected(one), given));
    });
    return at < 0 ? undefined : found(at, messages[at]?.calls[0]?.name);
  };

// Responses: encrypted items between the others.

/** Encrypted reasoning of another model or account cannot be read. */
export const encryptedContentIsOurs: Rule = ({ items, model, key }, minted) => {
  const known = minted.filter((one) => !one.forgotten && one.model === model && one.key === key).map(({ signature }) => signature);
  const at = items.findIndex((item) => item['type'] === 'reasoning' && !known.includes(String(item['encrypted_content'])));
  return at < 0 ? undefined : found(at, String(items[at]?.['id']));
};

/** Reasoning comes before the output that it has led to. */
export const reasoningHasItsItem: Rule = ({ items }) => {
  const at = items.findIndex((item, index) => {
    const next = items[index + 1];
    return (
      item['type'] === 'reasoning' && next?.['type'] !== 'function_call' && next?.['role'] !== 'assistant' && next?.['type'] !== 'reasoning'
    );
  });
  return at < 0 ? undefined : found(at, String(items[at]?.['id']));
};
