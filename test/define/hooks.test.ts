import { describe, expect, test } from 'vitest';
import { defineAgent, defineHook } from '../../src/index.ts';

const run = (): undefined => undefined;

function define(options: object): unknown {
  return defineHook({ name: 'h', on: 'pre_tool_use', run, ...options } as never);
}

describe('a hook that cannot work is refused when it is defined', () => {
  test.each<[string, object, string]>([
    ['without a name', { name: undefined }, 'use 1 to 64 letters'],
    ['with a name of several words', { name: 'two words' }, 'use 1 to 64 letters'],
    ['for an unknown event', { on: 'pre_tool' }, '"on" is "pre_tool": write one of session_start,'],
    ['with an unknown option', { when: 'now' }, '"when"'],
    ['without "run" and "command"', { run: undefined }, 'write exactly one of "run" and "command"'],
    ['with both', { command: ['true'] }, 'write exactly one of "run" and "command"'],
    [
      'with a command as a text',
      { run: undefined, command: 'rm -rf /' },
      'no shell reads it: write the program and its arguments as a list',
    ],
    ['with an empty command', { run: undefined, command: [] }, 'write a list of texts'],
    ['with a null character in its command', { run: undefined, command: ['a\0b'] }, 'write a list of texts'],
    ['that takes too long', { timeout: '11s' }, 'lower it, or set "tier": "remote"'],
    [
      'with its own activity before a request',
      { on: 'pre_request', tier: 'remote' },
      '"tier": "remote" is for input, output, pre_tool_use, ',
    ],
    ['with an unknown tier', { tier: 'local' }, 'write "inline" or "remote"'],
    ['that fails closed where no hook denies', { on: 'post_tool_use', failClosed: true }, 'which no hook can deny: leave it out'],
    ['with a match that is a number', { match: 7 }, 'write a name, a regular expression or a function'],
    ['with a name to match where there is no name', { on: 'pre_request', match: 'refund' }, 'write a function of the payload as "match"'],
  ])('%s', (_, options, message) => {
    expect(() => define(options)).toThrow(message);
  });

  test('with another one of its name', () => {
    const hook = defineHook({ name: 'h', on: 'stop', run });
    expect(() => defineAgent({ name: 'a', model: 'p/m', hooks: [hook, hook] })).toThrow('agent "a" has two hooks named "h"');
  });

  test('among too many', () => {
    const hooks = Array.from({ length: 51 }, (_, index) => defineHook({ name: `h${index}`, on: 'stop', run }));
    expect(() => defineAgent({ name: 'a', model: 'p/m', hooks })).toThrow('agent "a" has 51 hooks, over 50');
  });

  test('if it was not made by defineHook', () => {
    expect(() => defineAgent({ name: 'a', model: 'p/m', hooks: [{ name: 'h', on: 'stop', run } as never] })).toThrow(
      'make it with defineHook',
    );
  });
});

test('a hook of a call may take a minute in a separate activity', () => {
  expect(define({ tier: 'remote', timeout: '1m' })).toMatchObject({ tier: 'remote', timeoutMs: 60_000 });
});
