import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { inspect } from 'node:util';
import { jsonEscaped, redactedLog, SecretVault } from '../../../activities/secret-vault.ts';
import type { JsonValue, RunLog } from '../../../src/index.ts';

/** A vault that has read these secrets. */
async function reading(values: Record<string, string>): Promise<SecretVault> {
  const vault = new SecretVault((name) => values[name]);
  for (const name of Object.keys(values)) await vault.resolve(name);
  return vault;
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('every form of a secret is replaced by its name', () => {
  const value = 'p"ä/+ss& \\wörd?';
  test.each([
    ['itself', value],
    ['in JSON', jsonEscaped(value)],
    ['in JSON in JSON', jsonEscaped(jsonEscaped(value))],
    ['in JSON of ASCII alone', jsonEscaped(value).replaceAll('ä', '\\u00e4').replaceAll('ö', '\\u00f6')],
    ['in a URL', encodeURIComponent(value)],
    ['in a URL, in small letters', encodeURIComponent(value).toLowerCase()],
    ['in a URL in a URL', encodeURIComponent(encodeURIComponent(value))],
    ['in a form', new URLSearchParams({ a: value }).toString().slice(2)],
    ['in base64', base64(value)],
    ['in base64 for URLs', Buffer.from(value).toString('base64url')],
    ['in base64 in a URL', encodeURIComponent(base64(value))],
    ['in hexadecimal', Buffer.from(value).toString('hex')],
  ])('%s', async (_, form) => {
    const vault = await reading({ pass: value });
    expect(vault.redact(`before ${form} after ${form}`)).toBe('before [secret "pass"] after [secret "pass"]');
  });

  test.each(['u:', 'us:', 'use:', ''])('in the base64 of credentials, after "%s"', async (user) => {
    const vault = await reading({ pass: 'open sesame' });
    for (const rest of ['', '!', '!!']) {
      const redacted = vault.redact(`Basic ${base64(user + 'open sesame' + rest)}`);
      expect(redacted).toContain('[secret "pass"]');
      expect(redacted.replace('[secret "pass"]', '').length).toBeLessThan('Basic '.length + base64(user).length + base64(rest).length + 5);
    }
  });

  test.each([
    ['the trimmed value', '  padded-value\n', 'padded-value'],
    ['the password of a URL', 'postgres://app:hunter%2F2@db:5432/crm', 'hunter/2'],
    ['what JSON has under the name of a credential', '{"user":"app","auth":[{"password":"hunter2"}]}', 'hunter2'],
  ])('%s is replaced too', async (_, whole, part) => {
    const vault = await reading({ database: whole });
    expect(vault.redact(`failed for app with ${part}`)).toBe('failed for app with [secret "database"]');
  });
});

describe('redaction', () => {
  test('replaces texts, keys and numbers at any depth, and no other values', async () => {
    const vault = await reading({ pin: '4711', token: 'tok-en-1' });
    const value: JsonValue = { a: [{ 'x-tok-en-1': [4711, 47_110, true, null] }], b: 'is 4711' };
    expect(vault.redactJson(value)).toEqual({
      a: [{ 'x-[secret "token"]': ['[secret "pin"]', 47_110, true, null] }],
      b: 'is [secret "pin"]',
    });
  });

  test('replaces values that overlap or contain each other, with no part left of either', async () => {
    const vault = await reading({ short: 'abcdef', long: 'xx-abcdef-yy', other: 'defghi' });
    expect(vault.redact('xx-abcdef-yy')).toBe('[secret "long"]');
    expect(vault.redact('1 abcdefghi 2')).toMatch(/^1 \[secret "(short|other)"\] 2$/);
  });

  test('does not reveal a value that equals its own name', async () => {
    const vault = await reading({ 'crm-token': 'crm-token', word: 'secret' });
    for (const text of ['my crm-token', 'my secret']) expect(vault.redact(text)).not.toMatch(/crm-token|secret/);
  });

  test('creates no value together with the text around it', async () => {
    const vault = await reading({ odd: 'x[se' });
    expect(vault.redact('xx[se')).not.toContain('x[se');
  });
});

test('a leak is reported with its path, with the secret redacted', async () => {
  const vault = await reading({ pin: '4711', token: 'tok-en-1' });
  expect(vault.leak({ a: [{ b: 'tok-en-1' }] }, 'deps')).toBe('deps.a[0].b');
  expect(vault.leak([1, 4711])).toBe('[1]');
  expect(vault.leak({ a: 1, 'of tok-en-1': 2 }, 'deps')).toBe('deps["of [secret \\"token\\"]"]');
  expect(vault.leak({ a: [47_110, 'token'] }, 'deps')).toBeUndefined();
});

test('no value remains anywhere in any JSON, and no encoding of a value', async () => {
  const secrets = fc.uniqueArray(
    fc.string({ minLength: 4, maxLength: 12, unit: 'binary' }).filter((one) => one.trim().length >= 4 && !isNumber(one)),
    {
      minLength: 1,
      maxLength: 3,
    },
  );
  await fc.assert(
    fc.asyncProperty(
      secrets,
      fc.infiniteStream(fc.nat(4)),
      fc.infiniteStream(fc.string({ maxLength: 3 })),
      fc.jsonValue({ maxDepth: 3 }),
      async (values, choices, around, shape) => {
        const vault = await reading(Object.fromEntries(values.map((value, index) => [`s${index}`, value])));
        const plant = (text: string): string => {
          const value = values[choices.next().value % values.length] ?? '';
          const inside = [value, jsonEscaped(value), encodeURIComponent(value), base64(value), text][choices.next().value];
          return `${around.next().value}${inside}${around.next().value}`;
        };
        const redacted = vault.redactJson(planted(shape as JsonValue, plant));
        const forms = values.flatMap((value) => [value, jsonEscaped(value), encodeURIComponent(value), base64(value)]);
        expect(textsIn(redacted).filter((text) => forms.some((form) => text.includes(form)))).toEqual([]);
        expect(vault.leak(redacted)).toBeUndefined();
      },
    ),
    { numRuns: 300 },
  );
});

/** Puts the value into all texts and keys, and replaces values that are neither list nor object by texts. */
function planted(value: JsonValue, plant: (text: string) => string): JsonValue {
  if (Array.isArray(value)) return value.map((one) => planted(one, plant));
  if (typeof value !== 'object' || value === null) return plant(String(value));
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [plant(key), planted(one, plant)]));
}

/** All texts and keys in a value. */
function textsIn(value: JsonValue): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, one]) => [key, ...textsIn(one)]);
}

/** Digits may be part of a number that has nothing to do with the secret. */
function isNumber(text: string): boolean {
  return /^[\d.eE+-]+$/.test(text);
}

const VALUE = 'v8-Kq2-x91';

/** A log that keeps its lines. */
function keptLog(): { log: RunLog; lines: unknown[][] } {
  const lines: unknown[][] = [];
  const keep =
    (level: string) =>
    (...line: unknown[]): void => {
      lines.push([level, ...line]);
    };
  return { log: { debug: keep('debug'), info: keep('info'), warn: keep('warn'), error: keep('error') }, lines };
}

class Connection {
  readonly #password: string;
  readonly host = 'db';
  constructor(password: string) {
    this.#password = password;
  }
  toJSON(): object {
    return { password: this.#password };
  }
}

test('lines are unchanged until a secret was read, and without its value from then on', async () => {
  const vault = new SecretVault(() => VALUE);
  const { log, lines } = keptLog();
  const redacted = redactedLog(vault, log);
  redacted.info(`it is ${VALUE}`, { a: 1 });
  redacted.debug('nothing');
  await vault.resolve('crm-token');
  redacted.warn(`it is ${VALUE}`, { [VALUE]: [{ deep: VALUE, other: 1 }], at: 7 });
  redacted.error('nothing');
  expect(lines).toEqual([
    ['info', `it is ${VALUE}`, { a: 1 }],
    ['debug', 'nothing', undefined],
    ['warn', 'it is [secret "crm-token"]', { '[secret "crm-token"]': [{ deep: '[secret "crm-token"]', other: 1 }], at: 7 }],
    ['error', 'nothing', undefined],
  ]);
});

test('errors and objects without a secret are unchanged, and become text if they contain one', async () => {
  const vault = new SecretVault(() => VALUE);
  const { log, lines } = keptLog();
  await vault.resolve('crm-token');
  const cycle: Record<string, unknown> = { VALUE };
  cycle['self'] = cycle;
  const clean = { error: new Error('failed'), at: new Date(0), map: new Map([['a', 1]]), bytes: Buffer.from('x'), call: () => 1, big: 1n };
  redactedLog(vault, log).info('clean', clean);
  expect(Object.values(lines[0]?.[2] ?? {})).toEqual(Object.values(clean));
  redactedLog(vault, log).info('leaking', {
    error: new Error('failed', { cause: new Error(`with ${VALUE}`) }),
    map: new Map([['a', { b: VALUE }]]),
    bytes: Buffer.from(`Bearer ${VALUE}`),
    live: new Connection(VALUE),
    cycle,
    broken: {
      get deep(): string {
        return VALUE;
      },
    },
    throwing: Object.assign(new Connection('x'), {
      [inspect.custom]: () => {
        throw new Error(VALUE);
      },
    }),
  });
  const text = inspect(lines[1], { depth: 20 }) + JSON.stringify(lines[1]);
  expect(text).not.toContain(VALUE);
  expect(text).toContain('Bearer [secret "crm-token"]');
});
