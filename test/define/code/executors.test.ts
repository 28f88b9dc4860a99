import { describe, expect, test } from 'vitest';
import { UsageError } from '../../../src/core/domain/errors.ts';
import { custom, python, quickjs } from '../../../src/index.ts';

const DEFAULTS = { timeoutSeconds: 30, maxMemoryMb: 256, maxOutputBytes: 10_000, maxSteps: 10 };

test('an executor is frozen data with the default limits', () => {
  expect(quickjs()).toEqual({ kind: 'quickjs', language: 'javascript', limits: DEFAULTS, allowedImports: [] });
  expect(python()).toEqual({ kind: 'python', language: 'python', limits: DEFAULTS, allowedImports: [] });
  const command = ['docker', 'run', 'cells'];
  const executor = custom({ command, language: 'python' });
  expect(executor).toEqual({ kind: 'custom', language: 'python', limits: DEFAULTS, allowedImports: [], command });
  command.push('--privileged');
  expect(executor.command).toHaveLength(3);
  for (const part of [executor, executor.limits, executor.allowedImports, executor.command]) expect(Object.isFrozen(part)).toBe(true);
});

test('limits that are given replace the defaults, and those that are undefined do not', () => {
  const { limits } = quickjs({ limits: { timeoutSeconds: 10, maxMemoryMb: undefined as never } });
  expect(limits).toEqual({ ...DEFAULTS, timeoutSeconds: 10 });
});

test('no limit of time is a limit', () => {
  expect(python({ limits: { timeoutSeconds: 0 } }).limits.timeoutSeconds).toBe(0);
});

test('each import is named once', () => {
  expect(python({ allowedImports: ['math', 'json', 'math'] }).allowedImports).toEqual(['math', 'json']);
});

describe('an option that cannot work is a usage error', () => {
  test.each([
    ['options that are not an object', () => quickjs(10 as never), 'quickjs: the options are 10: write an object'],
    [
      'an unknown option',
      () => quickjs({ timeout: 3 } as never),
      'quickjs has an unknown option "timeout" (known: limits, allowedImports)',
    ],
    ['a command for an executor that has one', () => python({ command: ['sh'] } as never), 'python has an unknown option "command"'],
    ['an unknown limit', () => quickjs({ limits: { timeoutSecond: 3 } as never }), '"limits" has an unknown option "timeoutSecond"'],
    ['limits that are a number', () => quickjs({ limits: 3 as never }), 'quickjs: "limits": the options are 3: write an object'],
    ['a time that is not a number', () => quickjs({ limits: { timeoutSeconds: Number.NaN } }), '"timeoutSeconds" of the executor is NaN'],
    ['a text as time', () => quickjs({ limits: { timeoutSeconds: '3' as never } }), '"timeoutSeconds" of the executor is "3"'],
    ['no memory', () => python({ limits: { maxMemoryMb: 0 } }), '"maxMemoryMb" of the executor is 0: write a whole number of at least 1'],
    ['half a step', () => python({ limits: { maxSteps: 1.5 } }), '"maxSteps" of the executor is 1.5'],
    [
      'more memory than WebAssembly has',
      () => quickjs({ limits: { maxMemoryMb: 5_000 } }),
      '"limits.maxMemoryMb" is 5000: write at most 4096',
    ],
    ['too much output', () => quickjs({ limits: { maxOutputBytes: 400_001 } }), '"limits.maxOutputBytes" is 400001: write at most 400000'],
    ['a time that no timer can wait', () => python({ limits: { timeoutSeconds: 1e9 } }), 'python: "limits.timeoutSeconds" is 1000000000'],
    [
      'imports that are a text',
      () => python({ allowedImports: 'math' as never }),
      'python: "allowedImports" is "math": write a list of names',
    ],
    [
      'an import without a name',
      () => python({ allowedImports: [''] }),
      'python: "allowedImports" has "", which is not the name of a package',
    ],
    ['a module in a package', () => python({ allowedImports: ['os.path'] }), 'write its top-level package, "os"'],
    ['an import that is a number', () => quickjs({ allowedImports: [7 as never] }), '"allowedImports" has 7'],
    ['no command', () => custom({ language: 'python' } as never), 'custom: "command" is missing: write a list of texts'],
    ['an empty command', () => custom({ command: [], language: 'python' }), 'custom: "command" is []'],
    ['a program without a name', () => custom({ command: [''], language: 'python' }), 'custom: "command" is [""]'],
    ['a command as one text', () => custom({ command: 'docker run' as never, language: 'python' }), '"command" is "docker run"'],
    ['no language', () => custom({ command: ['cells'] } as never), 'custom: "language" is missing: write "javascript" or "python"'],
    ['another language', () => custom({ command: ['cells'], language: 'ruby' as never }), 'custom: "language" is "ruby"'],
  ])('%s', (_, make, message) => {
    expect(make).toThrow(UsageError);
    expect(make).toThrow(message);
  });
});
