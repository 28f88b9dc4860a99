import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { ERROR_CODES } from '../../../src/core/domain/errors.ts';
import { chatChunk } from '../../fakes/openai-answers.ts';
import { fakeProvider } from './fake-provider.ts';

const { server, ask, askForError } = fakeProvider();

/** JSON that is nested so deep that code which walks it overflows the stack. */
const DEEP = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
const DEEP_OBJECT = `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`;
const JSON_TYPE = { 'content-type': 'application/json' };

const BODIES: [what: string, body: string][] = [
  ['a deep list', DEEP],
  ['a deep object', DEEP_OBJECT],
  ['a deep error', `{"error":${DEEP_OBJECT}}`],
  ['a deep message', `{"error":{"message":${DEEP}}}`],
  ['a deep detail', `{"detail":${DEEP}}`],
  ['garbage', '\u0000\uFFFD{"error":'],
  ['a number', '7'],
  ['null', 'null'],
];

describe.each(BODIES)('an error status with %s as its body', (_, body) => {
  test.each([
    [400, 'model_bad_request', false],
    [401, 'model_unauthorized', false],
    [429, 'model_rate_limited', true],
    [500, 'model_server_error', true],
    [502, 'model_server_error', true],
    [503, 'model_server_error', true],
  ] as const)('%i is "%s"', async (status, code, retryable) => {
    const failure = await askForError((reply) => reply.text(status, body, JSON_TYPE));
    expect(failure.code).toBe(code);
    expect(failure.message).toContain(`Provider answered ${status} for model "gpt-x"`);
    expect(Buffer.byteLength(failure.message)).toBeLessThan(1_000);
    expect(ERROR_CODES[code].retryable).toBe(retryable);
  });
});

test('the message of an error is found even if another part of the body is nested deep', async () => {
  const body = `{"error":{"code":"context_length_exceeded","message":"too long","data":${DEEP}}}`;
  const failure = await askForError((reply) => reply.text(400, body, JSON_TYPE));
  expect(failure).toMatchObject({ code: 'context_length_exceeded' });
  expect(failure.message).toContain('too long');
});

describe.each(['chat', 'responses'] as const)('over %s', (api) => {
  test.each([
    ['in its place', `{"error":${DEEP_OBJECT}}`, 'model_server_error'],
    ['as its message', `{"error":{"message":${DEEP}}}`, 'model_server_error'],
    ['beside its code', `{"error":{"message":"slow","code":"rate_limit_exceeded","data":${DEEP}}}`, 'model_rate_limited'],
    ['in an event of vLLM', `{"object":"error","code":400,"data":${DEEP}}`, 'model_bad_request'],
  ])('an error in a stream with a deeply nested part %s is classified', async (_, event, code) => {
    const failure = await askForError(
      (reply) => {
        reply.raw(`data: ${event}\n\n`);
        reply.end();
      },
      { options: { api } },
    );
    expect(failure.code).toBe(code);
  });

  test.each([
    ['choices', `{"choices":${DEEP}}`],
    ['a choice', `{"choices":[{"delta":{"content":${DEEP}},"message":{"content":${DEEP}}}]}`],
    ['usage', `{"choices":[],"usage":${DEEP_OBJECT}}`],
    ['an event', `{"type":"response.failed","response":{"error":${DEEP_OBJECT}}}`],
    ['a response', `{"type":"response.completed","response":{"status":"completed","output":[{"type":"reasoning","content":${DEEP}}]}}`],
    ['an error event', `{"type":"error","message":${DEEP}}`],
  ])('%s that is nested deep ends the call with a failure that is retried, or with an answer', async (_, event) => {
    const outcome = await ask(
      (reply) => {
        reply.raw(`data: ${event}\n\n`);
        reply.end();
      },
      { options: { api } },
    ).then(
      () => 'an answer',
      (error: { code: keyof typeof ERROR_CODES }) => (ERROR_CODES[error.code].retryable ? 'tried again' : error.code),
    );
    expect(outcome).toMatch(/^(?:an answer|tried again)$/);
  });
});

describe('a body that is cut off', () => {
  test.each([
    [400, 'model_bad_request'],
    [500, 'model_server_error'],
    [503, 'model_server_error'],
  ] as const)('after the status %i leaves the meaning of the status', async (status, code) => {
    const failure = await askForError(async (reply) => {
      reply.unfinished(status, '{"error":');
      await sleep(20);
      reply.reset();
    });
    expect(failure.code).toBe(code);
    expect(server().requests).toHaveLength(1);
  });

  test('in a stream is a broken connection, which is retried', async () => {
    const failure = await askForError(async (reply) => {
      reply.events(chatChunk({ content: 'The Moon' }));
      await sleep(20);
      reply.reset();
    });
    expect(failure.code).toBe('model_unreachable');
  });
});
