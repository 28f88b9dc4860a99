import { describe, expect, it } from 'vitest';
import { parseOptions } from '../../bench/options.ts';

describe('the command line of the bench', () => {
  it('has defaults for everything but the command', () => {
    expect(parseOptions(['history'])).toEqual({
      command: 'history',
      tier: 'remote',
      steps: 200,
      resultChars: 2_000,
      reasoningChars: 0,
      rounds: 3,
      quiet: false,
    });
    expect(parseOptions(['latency', '--tier', 'local', '--steps', '10', '--runs', '20', '--concurrency', '4', '--json'])).toEqual({
      command: 'latency',
      tier: 'local',
      steps: 10,
      runs: 20,
      concurrency: 4,
      resultChars: 200,
      rounds: 3,
      quiet: true,
    });
  });

  it('compares paces in five rounds', () => {
    expect(parseOptions(['history', '--pace', 'burst'])).toMatchObject({ command: 'history', pace: 'burst', rounds: 5 });
    expect(parseOptions(['latency', '--pace', 'burst', '--rounds', '3'])).toMatchObject({ pace: 'burst', rounds: 3 });
  });

  it('compares commits in five rounds', () => {
    expect(parseOptions(['latency', '--against', 'HEAD~1'])).toMatchObject({ command: 'latency', against: 'HEAD~1', rounds: 5 });
  });

  it('reports mistakes', () => {
    expect(() => parseOptions([])).toThrow('Which command?');
    expect(() => parseOptions(['speed'])).toThrow('There is no command "speed"');
    expect(() => parseOptions(['history', '--steps', '0'])).toThrow('--steps is "0": write a whole number of at least 1');
    expect(() => parseOptions(['latency', '--rounds', '2'])).toThrow('at least 3');
    expect(() => parseOptions(['latency', '--step', '2'])).toThrow("'--step'");
    expect(() => parseOptions(['latency', '--pace', 'walk'])).toThrow('--pace has "walk": choose of step, burst');
    expect(() => parseOptions(['history', '--pace', 'burst', '--tier', 'local'])).toThrow('leave out --tier');
    expect(() => parseOptions(['latency', '--pace', 'burst', '--against', 'HEAD~1'])).toThrow('leave out --pace');
    expect(() => parseOptions(['latency', '--tier', 'near'])).toThrow('--tier has "near": choose of remote, local');
  });
});

describe('the command line of the bench of lists of models', () => {
  it('has defaults, and refuses an invalid fraction', () => {
    expect(parseOptions(['fallback'])).toEqual({ command: 'fallback', runs: 100, outage: 0.5, quiet: false });
    expect(() => parseOptions(['fallback', '--outage', '2'])).toThrow('--outage is "2": write a number from 0 to 1');
  });
});

describe('the command line of the bench of the governor', () => {
  it('has defaults, and refuses a limit that is understated', () => {
    const defaults = { runs: 100, workers: 4, rpm: 1_200, claim: 1, headers: false, seconds: 40 };
    expect(parseOptions(['governor'])).toEqual({ command: 'governor', ...defaults, quiet: false });
    expect(() => parseOptions(['governor', '--claim', '0.5'])).toThrow('--claim is "0.5": write a number from 1 to 10');
  });
});

describe('the command line of the bench of readers', () => {
  it('has defaults, and refuses an unknown part', () => {
    const defaults = { part: 'request', steps: 1_000, readers: 100, runs: 1_000 };
    expect(parseOptions(['studio'])).toEqual({ command: 'studio', ...defaults, quiet: false });
    expect(() => parseOptions(['studio', '--part', 'pages'])).toThrow('--part has "pages": choose of size, page, request, feed');
  });
});

describe('the command line of the bench of the first hours', () => {
  it('has the creation as its default, and no part of another command', () => {
    expect(parseOptions(['first-hours'])).toMatchObject({ command: 'first-hours', part: 'create', rounds: 11 });
    expect(parseOptions(['first-hours', '--part', 'completion'])).toMatchObject({ part: 'completion' });
    expect(() => parseOptions(['first-hours', '--part', 'request'])).toThrow('--part has "request"');
  });
});

describe('the command line of the benches of caches and of packages', () => {
  it('has defaults, and a window that is full every few steps', () => {
    expect(parseOptions(['cache'])).toEqual({ command: 'cache', steps: 40, calls: 1, compactEvery: undefined, quiet: false });
    expect(parseOptions(['cache', '--calls', '15', '--compact-every', '10'])).toMatchObject({ calls: 15, compactEvery: 10 });
    expect(parseOptions(['providers', '--json'])).toEqual({ command: 'providers', rounds: 11, quiet: true });
    expect(() => parseOptions(['cache', '--compact-every', '0'])).toThrow('--compact-every is "0"');
  });
});

describe('the command line of the bench of sessions', () => {
  it('has defaults, and its own length of an answer', () => {
    expect(parseOptions(['session', '--messages', '1000', '--json'])).toEqual({
      command: 'session',
      messages: 1_000,
      resultChars: 500,
      idleSeconds: 60,
      quiet: true,
    });
  });
});

describe('the command line of the comparison', () => {
  it('has defaults too', () => {
    expect(parseOptions(['peers'])).toEqual({
      command: 'peers',
      sides: ['longhaul', 'loop', 'value-loop', 'openai-agents', 'ai-sdk'],
      steps: 200,
      resultChars: 2_000,
      rounds: 5,
      atOnce: 20,
      codec: 'none',
      resume: false,
      out: undefined,
      quiet: false,
    });
  });

  it('lists the possible values', () => {
    expect(() => parseOptions(['peers', '--codec', 'gzip'])).toThrow('--codec has "gzip": choose of none, zstd');
    expect(() => parseOptions(['peers', '--sides', 'longhaul,crew'])).toThrow('--sides has "crew"');
  });
});

describe('the command lines of long and of many runs', () => {
  it('have defaults', () => {
    expect(parseOptions(['endless'])).toEqual({ command: 'endless', steps: 10_000, resultChars: 2_000, quiet: false });
    expect(parseOptions(['crowd', '--json'])).toEqual({
      command: 'crowd',
      runs: 200,
      cached: 50,
      steps: 5,
      resultChars: 2_000,
      quiet: true,
    });
  });

  it('require a run that can be divided into tenths', () => {
    expect(() => parseOptions(['endless', '--steps', '9'])).toThrow('--steps is "9": write a whole number of at least 10');
  });
});

it('idle sessions are 2,000 on a worker that caches 50', () => {
  expect(parseOptions(['idle-sessions'])).toEqual({
    command: 'idle-sessions',
    sessions: 2_000,
    cached: 50,
    resultChars: 500,
    quiet: false,
  });
  expect(() => parseOptions(['idle-sessions', '--sessions', 'many'])).toThrow('--sessions is "many"');
});

describe('the command line of the bench of streams', () => {
  it('has defaults', () => {
    expect(parseOptions(['stream', '--sink', 'redis', '--json'])).toMatchObject({
      command: 'stream',
      sink: 'redis',
      runs: 20,
      rate: 50,
      quiet: true,
    });
  });

  it('reports mistakes', () => {
    expect(() => parseOptions(['stream', '--sink', 'kafka'])).toThrow('--sink has "kafka": choose of memory, redis');
    expect(() => parseOptions(['stream', '--rounds', '2'])).toThrow('at least 3');
  });
});

describe('the command line of the bench of the service', () => {
  it('has defaults', () => {
    expect(parseOptions(['serve', '--json'])).toEqual({
      command: 'serve',
      sink: 'redis',
      starts: 2000,
      readers: 200,
      steps: 40,
      rate: 10,
      idleRuns: 100,
      idleReaders: 1_000,
      idleSeconds: 60,
      quiet: true,
    });
    expect(parseOptions(['serve', '--sink', 'none'])).toMatchObject({ sink: 'none' });
  });

  it('reports mistakes', () => {
    expect(() => parseOptions(['serve', '--sink', 'kafka'])).toThrow('--sink has "kafka": choose of redis, memory, none');
    expect(() => parseOptions(['serve', '--idle-seconds', '30'])).toThrow('at least 60');
    expect(() => parseOptions(['serve', '--idle-readers', '50'])).toThrow('--idle-readers is "50": write a whole number of at least 100');
  });
});
