import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { curlOf } from '../../studio/curl.ts';

const body = { model: 'm', messages: [{ role: 'user', content: 'It\'s $HOME `pwd`\n\\ "ä"' }] };

/** Returns the arguments that a shell makes of a command, without running it. */
function argumentsOf(command: string): string[] {
  const env = { BASE_URL: 'https://models.example/v1', ORIGIN: 'https://models.example', API_KEY: 'k', API_VERSION: 'v9' };
  const script = `curl() { printf '%s\\0' "$@"; }\n${command}`;
  return execFileSync('/bin/sh', ['-c', script], { env, encoding: 'utf8' }).split('\0').slice(0, -1);
}

test.each([
  ['openai.chat', '/chat/completions', 'https://models.example/v1/chat/completions', ['authorization: Bearer k']],
  ['openai.responses', '/responses', 'https://models.example/v1/responses', ['authorization: Bearer k']],
  ['ai-sdk.mistral.chat', '/v1/chat/completions', 'https://models.example/v1/chat/completions', ['authorization: Bearer k']],
  [
    'ai-sdk.amazon-bedrock',
    '/v1/model/m/converse-stream',
    'https://models.example/v1/model/m/converse-stream',
    ['authorization: Bearer k'],
  ],
  ['ai-sdk.anthropic.messages', '/v1/messages', 'https://models.example/v1/messages', ['x-api-key: k', 'anthropic-version: 2023-06-01']],
  ['ai-sdk.google.generative-ai', '/v1/models/m', 'https://models.example/v1/models/m', ['x-goog-api-key: k']],
  ['ai-sdk.google.vertex.chat', '/v1/models/m', 'https://models.example/v1/models/m', ['authorization: Bearer k']],
  ['ai-sdk.azure.responses', '/v1/responses', 'https://models.example/v1/responses?api-version=v9', ['api-key: k']],
  ['openai.chat', "/chat/$(id)'`pwd`", "https://models.example/v1/chat/$(id)'`pwd`", ['authorization: Bearer k']],
])('a request of %s has its key where the provider looks for it, and its body as sent', (api, path, url, headers) => {
  const [where, ...rest] = argumentsOf(curlOf({ api, path, body }));
  expect(where).toBe(url);
  expect(rest.slice(0, -2)).toEqual([...headers, 'content-type: application/json'].flatMap((header) => ['-H', header]));
  expect(rest.at(-2)).toBe('--data-raw');
  expect(JSON.parse(rest.at(-1) ?? '')).toEqual(body);
});
