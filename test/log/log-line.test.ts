import { fileURLToPath } from 'node:url';
import { ApplicationFailure } from '@temporalio/common';
import { describe, expect, test } from 'vitest';
import { chosenLog, type LogEntry, logJson, logLine, logWriter } from '../../src/log/log-writer.ts';

const AT = '2026-11-21T14:00:00.000Z';
const timestampNanos = BigInt(Date.parse(AT)) * 1_000_000n;

function entry(meta: LogEntry['meta'], { level = 'WARN', message = 'Activity failed' } = {}): LogEntry {
  return { level, message, timestampNanos, ...(meta === undefined ? {} : { meta }) };
}

function withStack<Failure extends Error>(error: Failure, ...frames: string[]): Failure {
  return Object.assign(error, { stack: [`${error.name}: ${error.message}`, ...frames.map((frame) => `    at ${frame}`)].join('\n') });
}

test('an entry is one line with the activity, the run, the fields of the tool, and the message; the stack follows', () => {
  const error = withStack(new Error('no\n  answer'), 'ask (/app/tools.ts:12:3)', 'node:internal/process/task_queues:103:5');
  const meta = { activityType: 'search', workflowId: 'clerk-1', attempt: 2, taskToken: 'abc', order: 42, error };
  expect(logLine(entry(meta))).toBe(
    `${AT} WARN Activity failed · search · run clerk-1 · attempt 2 · {"order":42} · no answer\n    at ask (/app/tools.ts:12:3)`,
  );
});

test('a stack ends at the call of the tool', () => {
  const error = withStack(
    new Error('down'),
    'ask (/app/tools.ts:1:1)',
    'execute (/app/node_modules/longhaul/dist/activities/tool-calls/execute-tool.js:9:9)',
    'f (/x.ts:1:1)',
  );
  expect(logLine(entry({ error })).split('\n').slice(1)).toEqual(['    at ask (/app/tools.ts:1:1)']);
});

test('an error with a code has no frames of Longhaul or of packages, and a defect of Longhaul has all', () => {
  const own = fileURLToPath(new URL('../../activities/model-calls/ask-model.ts', import.meta.url));
  const frames = [`ask (${own}:1:1)`, 'call (/app/node_modules/ai/index.mjs:2:2)', 'mine (/app/model.ts:3:3)'];
  const failed = (type: string): string[] => {
    const error = withStack(ApplicationFailure.create({ message: 'busy', type, cause: withStack(new Error('503'), ...frames) }), ...frames);
    return logLine(entry({ error }))
      .split('\n')
      .slice(1)
      .map((line) => line.trim());
  };
  expect(failed('model_rate_limited')).toEqual(['at mine (/app/model.ts:3:3)', 'caused by: 503', 'at mine (/app/model.ts:3:3)']);
  expect(failed('internal')).toHaveLength(7);
});

test('the cause of an error has its stack too', () => {
  const cause = withStack(new TypeError('no\nport'), 'connect (/app/db.ts:7:1)');
  const failure = withStack(ApplicationFailure.create({ message: 'down', cause }), 'ask (/app/tools.ts:12:3)');
  expect(
    logLine(entry({ error: failure }))
      .split('\n')
      .slice(1),
  ).toEqual(['    at ask (/app/tools.ts:12:3)', '    caused by: no port', '    at connect (/app/db.ts:7:1)']);
});

test('no line of a log begins with text that a tool chose, and none moves the cursor', () => {
  const text = logLine(entry({ error: withStack(new Error('\u001b[2Jx'), 'f (/app/\u001b[31m.ts:1:1)') }, { message: `a\n${AT} ERROR b` }));
  expect(text).not.toContain('\u001b');
  expect(text.split('\n').map((line) => line.slice(0, 4))).toEqual(['2026', '    ']);
});

describe('as JSON', () => {
  test('an entry is one line, with its fields, and an error with stack and cause', () => {
    const error = withStack(new Error('down', { cause: new TypeError('no port') }), 'ask (/app/tools.ts:12:3)');
    const text = logJson(entry({ activityType: 'search', taskToken: 'abc', size: 2n, error }));
    expect(text).not.toContain('\n');
    expect(JSON.parse(text)).toMatchObject({
      time: AT,
      level: 'WARN',
      message: 'Activity failed',
      activityType: 'search',
      size: '2',
      error: { name: 'Error', message: 'down', stack: expect.stringContaining('/app/tools.ts:12:3'), cause: { message: 'no port' } },
    });
    expect(text).not.toContain('abc');
  });

  test('a value that is not JSON becomes text', () => {
    const cycle: Record<string, unknown> = {};
    cycle['self'] = cycle;
    expect(JSON.parse(logJson(entry({ cycle })))).toMatchObject({ message: 'Activity failed', cycle: expect.stringContaining('Circular') });
  });
});

describe('the log', () => {
  const written = (level: Parameters<typeof logWriter>[0]['level'], entries: LogEntry[]): string[] => {
    const lines: string[] = [];
    const write = logWriter({ level, format: 'text' }, (text) => lines.push(text.split(' ').at(-1) ?? ''));
    entries.forEach(write);
    return lines;
  };
  const ofTool = (level: string): LogEntry => entry({ sdkComponent: 'activity' }, { level, message: `tool-${level}` });
  const ofSdk = (level: string): LogEntry => entry({ sdkComponent: 'worker' }, { level, message: `sdk-${level}` });
  const all = ['DEBUG', 'INFO', 'WARN', 'ERROR'].flatMap((level) => [ofTool(level), ofSdk(level)]);

  test('has lines of tools from the level on, and of the SDK only warnings and errors', () => {
    expect(written('INFO', all)).toEqual(['tool-INFO', 'tool-WARN', 'sdk-WARN', 'tool-ERROR', 'sdk-ERROR']);
    expect(written('DEBUG', all)).toEqual(['tool-DEBUG', 'tool-INFO', 'tool-WARN', 'sdk-WARN', 'tool-ERROR', 'sdk-ERROR']);
    expect(written('ERROR', all)).toEqual(['tool-ERROR', 'sdk-ERROR']);
    expect(written('OFF', all)).toEqual([]);
  });

  test('leaves out the statistics of the bundler, which have no component', () => {
    expect(written('TRACE', [entry(undefined, { level: 'INFO', message: 'asset workflow-bundle.js' })])).toEqual([]);
  });
});

describe('the level is chosen', () => {
  test('by the option, otherwise by the environment, otherwise it is INFO', () => {
    expect(chosenLog({ logLevel: 'ERROR' }, { LONGHAUL_LOG_LEVEL: 'debug' })).toEqual({ level: 'ERROR', format: 'text' });
    expect(chosenLog({}, { LONGHAUL_LOG_LEVEL: 'debug', LONGHAUL_LOG_FORMAT: 'json' })).toEqual({ level: 'DEBUG', format: 'json' });
    expect(chosenLog({}, { LONGHAUL_LOG_LEVEL: '' })).toEqual({ level: 'INFO', format: 'text' });
  });

  test('from a list, and any other value is refused with its source', () => {
    expect(() => chosenLog({}, { LONGHAUL_LOG_LEVEL: 'inof' })).toThrow(
      'LONGHAUL_LOG_LEVEL is "inof": write "TRACE", "DEBUG", "INFO", "WARN", "ERROR", "OFF". Did you mean "INFO"?',
    );
    expect(() => chosenLog({ logFormat: 'xml' as never }, {})).toThrow('the worker: "logFormat" is "xml": write "text", "json"');
  });
});

test('a query that the worker refused is not written: its caller sends it again', () => {
  const lines: string[] = [];
  const write = logWriter({ level: 'DEBUG', format: 'text' }, (text) => lines.push(text));
  const refused = withStack(new Error('Ask again: workflow "clerk-1" has just got events that no workflow task has handled yet'));
  write(entry({ sdkComponent: 'worker', error: refused }, { level: 'ERROR' }));
  const ofCore = 'Failure { failure: Some(Failure { message: "Ask again: workflow \\"clerk-1\\" has just got events", cause: None }) }';
  write(entry({ sdkComponent: 'core', failure: ofCore }, { message: 'Failing legacy query request' }));
  write(entry({ sdkComponent: 'worker', error: new Error('no such query') }, { level: 'ERROR' }));
  expect(lines).toEqual([expect.stringContaining('no such query')]);
});

describe('what the SDK says of calls to the server', () => {
  const refused =
    'Status { code: Unavailable, message: "tcp connect error", source: Some(tonic::transport::Error(Transport, Os { code: 111, kind: ConnectionRefused, message: "Connection refused" })) }';
  const polls = ['poll_workflow_task_queue', 'poll_activity_task_queue'].flatMap((name) =>
    [6, 7].map((times) => `gRPC call ${name} retried ${times} times`),
  );
  const trouble = (message: string, error: unknown, seconds = 0): LogEntry => ({
    ...entry({ sdkComponent: 'core', error, attempts: undefined }, { message }),
    timestampNanos: timestampNanos + BigInt(seconds) * 1_000_000_000n,
  });
  const lines = (level: 'INFO' | 'DEBUG', entries: LogEntry[]): string[] => {
    const all: string[] = [];
    const write = logWriter({ level, format: 'text' }, (text) => all.push(text.replace(/^\S+ /, '')));
    entries.forEach(write);
    return all;
  };
  const SAID =
    'WARN The worker gets no answer of the Temporal server: nothing listens there. It tries again, and runs continue once the server answers';

  test('is said in plain words, once for all polls', () => {
    expect(
      lines(
        'INFO',
        polls.map((message) => trouble(message, refused)),
      ),
    ).toEqual([SAID]);
  });

  test('is logged again after a minute, and at once for another reason', () => {
    const other = 'Status { code: PermissionDenied, message: "no" }';
    const said = lines('INFO', [trouble('x', refused), trouble('x', other, 1), trouble('x', refused, 59), trouble('x', refused, 61)]);
    expect(said).toEqual([SAID, expect.stringContaining('the credentials have no permission'), SAID]);
  });

  test('is left out if a run has ended before the answer of its activity, as one that was cancelled has', () => {
    expect(lines('INFO', [trouble('Activity not found on completion. This may happen', undefined)])).toEqual([]);
  });

  test('is in its own words for somebody who debugs, and for errors of tools', () => {
    expect(
      lines(
        'DEBUG',
        polls.map((message) => trouble(message, refused)),
      ),
    ).toHaveLength(polls.length);
    const ofTool = entry({ sdkComponent: 'activity', error: new Error(refused) });
    expect(lines('INFO', [ofTool, ofTool])).toHaveLength(2);
  });
});

test('a run whose key the worker lacks is one line a minute with its id and the key, however often its task fails', () => {
  const lines: string[] = [];
  const write = logWriter({ level: 'INFO', format: 'text' }, (line) => lines.push(line));
  const minute = 60_000_000_000n;
  const fail = (workflowId: string, keyId: string, after: bigint): void => {
    const message = `The encryption key "${keyId}" is missing (it is not among the keys of this process): give it`;
    const error = Object.assign(withStack(new Error(message), 'decrypted (/app/x.ts:1:1)'), { workflowId });
    const meta = { sdkComponent: 'worker', runId: `execution of ${workflowId}`, error };
    const at = timestampNanos + after;
    write({ level: 'ERROR', message: 'Failed to process Workflow Activation', timestampNanos: at, meta });
    const failure = 'Failure { failure: Some(Failure { message: "Encoded failure" }) }';
    const core = { sdkComponent: 'core', runId: meta.runId, failure };
    write({ level: 'WARN', message: 'Failing workflow task', timestampNanos: at, meta: core });
  };
  for (let second = 0n; second < 60n; second += 1n) {
    fail('clerk-1', 'k1', second * 1_000_000_000n);
    fail('clerk-2', 'k1', second * 1_000_000_000n);
  }
  expect(lines).toEqual(
    ['clerk-1', 'clerk-2'].map(
      (runId) =>
        `${AT} ERROR Run "${runId}" waits for a worker with the encryption key "k1": ` +
        'The encryption key "k1" is missing (it is not among the keys of this process): give it',
    ),
  );
  fail('clerk-1', 'k1', minute);
  fail('clerk-1', 'k2', minute);
  expect(lines).toHaveLength(4);
  write({ level: 'WARN', message: 'Failing workflow task', timestampNanos, meta: { sdkComponent: 'core', runId: 'another' } });
  expect(lines).toHaveLength(5);
});
