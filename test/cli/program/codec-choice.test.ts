import { describe, expect, test } from 'vitest';
import { chosenCodec, encodes } from '../../../src/cli/command.ts';
import { callCli } from '../call-cli.ts';

const KEY = Buffer.alloc(32, 1).toString('base64');
const keys = { LONGHAUL_ENCRYPTION_KEYS: `k1:${KEY}` };
const encryption = { activeKeyId: 'k1', keys: { k1: new Uint8Array(32).fill(1) } };

describe('a command encodes', () => {
  test('nothing by default', () => {
    expect(chosenCodec({}, {})).toEqual({});
    expect(encodes({})).toBe(false);
    expect(encodes({ compression: false })).toBe(false);
  });

  test('everything if there are keys', () => {
    expect(chosenCodec({}, keys)).toEqual({ encryption });
    expect(chosenCodec({ codec: 'compression' }, keys)).toEqual({ compression: true, encryption });
    expect(encodes({ encryption })).toBe(true);
  });

  test.each([
    ['compression', { compression: true }],
    ['compression=0', { compression: { threshold: 0 } }],
    [' compression=4000 , ', { compression: { threshold: 4000 } }],
    ['', {}],
  ])('according to "%s", as an option and in the environment', (parts, codec) => {
    expect(chosenCodec({ codec: parts }, {})).toEqual(codec);
    expect(chosenCodec({}, { LONGHAUL_CODEC: parts })).toEqual(codec);
  });

  test('according to the option if the environment differs', () => {
    expect(chosenCodec({ codec: 'compression=1' }, { LONGHAUL_CODEC: 'compression=2' })).toEqual({ compression: { threshold: 1 } });
  });
});

test.each([
  [['list', '--codec', 'zip'], {}, '"zip" in --codec is not a part of a codec'],
  [['show', 'r', '--codec', 'compression=big'], {}, '"compression=big" in --codec'],
  [['show', 'r'], { LONGHAUL_CODEC: 'gzip' }, '"gzip" in LONGHAUL_CODEC'],
  [['start', 'clerk', 'hi', '--codec', 'encryption'], {}, 'set LONGHAUL_ENCRYPTION_KEYS'],
  [['dev', '--codec', 'compression,encryption'], {}, 'set LONGHAUL_ENCRYPTION_KEYS'],
  [['codec-server'], { LONGHAUL_ENCRYPTION_KEYS: KEY }, 'has no key id'],
  [['codec-server', '--port', '70000'], {}, 'Write a port from 1 to 65535'],
  [['codec-server', '--host', '192.0.2.1'], {}, 'would show clear text to everyone'],
])('longhaul %j is a usage error that shows no key', async (args, env, message) => {
  const { exitCode, stdout, stderr } = await callCli(args, { env });
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  expect(stderr).toContain(message);
  expect(stderr).not.toContain(KEY);
});

test('the help of the codec server names the sources of the keys and the token', async () => {
  const { stdout } = await callCli(['codec-server', '--help']);
  for (const text of ['LONGHAUL_ENCRYPTION_KEYS', 'LONGHAUL_CODEC_TOKEN', '--allow-origin', 'http://localhost:8233'])
    expect(stdout).toContain(text);
});
