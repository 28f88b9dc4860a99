import { Command } from 'commander';
import { expect, test } from 'vitest';
import { addOptions } from '../../../src/cli/define-command.ts';
import { HTTP_OPTIONS, handlerOptions, type HttpFlags } from '../../../src/cli/options.ts';
import { settingsOf } from '../../../src/server/server-options.ts';
import { callCli } from '../call-cli.ts';

function optionsOf(...args: string[]): ReturnType<typeof handlerOptions> {
  const command = new Command('serve').exitOverride().configureOutput({ writeErr: () => undefined });
  addOptions(command, HTTP_OPTIONS);
  const options = handlerOptions(command.parse(args, { from: 'user' }).opts<HttpFlags>());
  // The handler takes them.
  settingsOf(options);
  return options;
}

test('without flags the defaults of the handler hold', () => {
  expect(optionsOf()).toEqual({ limits: {} });
});

test('flags set the origins of pages, and the limits of callers', () => {
  expect(optionsOf('--allow-origin', 'https://a.example', '--allow-origin', 'http://localhost:3000')).toMatchObject({
    cors: { origins: ['https://a.example', 'http://localhost:3000'] },
  });
  expect(optionsOf('--requests-per-minute', '60', '--starts-per-minute', 'none', '--open-streams', '20').limits).toEqual({
    requests: { count: 60, per: '1m' },
    starts: false,
    streams: 20,
  });
  expect(optionsOf('--open-streams', 'none').limits).toEqual({ streams: false });
});

test('flags set the limits of chats', () => {
  const chat = { agent: 'clerk', caller: { id: 'me', principal: 'all' as const, scopes: [] } };
  const given = ['--chat-turns', '200', '--chat-tokens', 'none', '--chat-cost', '2.5', '--chat-deadline', '30d'];
  expect(optionsOf(...given).chats?.(chat)).toEqual({
    limits: { turns: 200, totalTokens: null, costUsd: 2.5, deadline: '30d' },
  });
});

test.each([
  ['--open-streams', '0'],
  ['--requests-per-minute', 'many'],
  ['--chat-turns', '0'],
  ['--chat-deadline', '30'],
])('%s %s is refused', (flag, value) => {
  expect(() => optionsOf(flag, value)).toThrow(flag);
});

test('an origin that no browser sends, and keys without their issuer, are usage errors', async () => {
  const folder = await callCli(['serve', '--jwks-url', 'https://id.example/keys']);
  expect([folder.exitCode, folder.stderr]).toEqual([2, expect.stringContaining('--jwt-issuer and --jwt-audience') as string]);
  expect(() => optionsOf('--allow-origin', 'https://a.example/app')).toThrow('is not an origin');
});
