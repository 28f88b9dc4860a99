import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { redactedLog, SecretVault } from '../../../activities/secret-vault.ts';
import type { RunLog } from '../../../src/index.ts';

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
