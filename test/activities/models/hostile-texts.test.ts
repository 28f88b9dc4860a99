import { APIError } from 'openai';
import { describe, expect, test } from 'vitest';
import { AnswerFault, ReportedFault } from '../../../activities/models/errors/error-body.ts';
import { classifyError } from '../../../activities/models/errors/classify-error.ts';
import { thrownCode } from '../../../activities/models/errors/error-rules.ts';
import { countedWork } from '../../anchors/counted-work.ts';

const CALL = { model: 'm', host: 'h', secrets: ['a-secret'] };

const SEEDS = [
  'exceed',
  'exceed the ',
  'exceeds model ',
  'context length ',
  'input length (1',
  'prompt is too ',
  'inputs` tokens + ',
  'tokens per min',
  'limit: 1, ',
  'maximum context length is 1',
  'try again in ',
  'wait ',
  '1m',
  '1.',
  'sk-',
  'Bearer ',
  '<',
  '<a ',
  '<script>',
  '<h1>',
  '{"a":',
  '[',
  '"',
  ' ',
  '\n',
  'é',
];

/** The ways a provider's text reaches the classification. */
const WAYS: readonly (readonly [way: string, classify: (text: string) => unknown])[] = [
  ['the message of a status', (text) => classifyError(new APIError(400, { error: { message: text } }, undefined, new Headers()), CALL)],
  ['the message of a refusal', (text) => classifyError(new APIError(429, { message: text }, undefined, new Headers()), CALL)],
  ['a body that is not JSON', (text) => classifyError(new APIError(502, { message: `<${text}` }, undefined, new Headers()), CALL)],
  [
    'a list',
    (text) => classifyError(new APIError(400, [{ errors: [{ msg: text, code: text }] }] as object, undefined, new Headers()), CALL),
  ],
  ['an error in an answer', (text) => classifyError(new ReportedFault({ error: { code: text, message: text } }), CALL)],
  ['a page in place of an answer', (text) => classifyError(new AnswerFault('malformed', 'no answer', text), CALL)],
  [
    'the header of a wait',
    (text) => classifyError(new APIError(429, {}, undefined, new Headers({ 'x-ratelimit-reset': text.replaceAll(/[^ -~]/g, '') })), CALL),
  ],
  ['an error that a client throws', (text) => thrownCode(Object.assign(new Error(text), { status: 500, cause: new Error(text) }))],
];

describe('the work of classifying a hostile text of twice the length', () => {
  test.each(WAYS)('is at most about twice as much: %s', (_, classify) => {
    for (const seed of SEEDS) {
      for (const tail of ['', 'x', '\0']) {
        const [half = 0, whole = 0] = [1_000, 2_000].map((length) => countedWork(() => classify(seed.repeat(length / seed.length) + tail)));
        expect({ seed, ratio: whole / Math.max(half, 10_000) }).toMatchObject({
          ratio: expect.toSatisfy((ratio: number) => ratio < 2.5) as number,
        });
      }
    }
  });

  test('stops growing once the text is longer than the part that expressions see', () => {
    const ofMessage = (length: number): number =>
      countedWork(() =>
        classifyError(new APIError(400, { error: { message: 'exceed '.repeat(length / 7) } }, undefined, new Headers()), CALL),
      );
    expect(ofMessage(64_000)).toBeLessThan(1.1 * ofMessage(16_000) + 200_000);
  });
});

test('a text of 700 kB that repeats "exceed" is classified', () => {
  const failure = classifyError(new APIError(400, { error: { message: 'exceed '.repeat(100_000) } }, undefined, new Headers()), CALL);
  expect(failure.code).toBe('model_bad_request');
  expect(failure.message.length).toBeLessThan(1_000);
});
