import { describe, expect, test } from 'vitest';
import { checkExecutor, checkExecutors } from '../../../activities/executors/create-executor.ts';
import { checkPython, isolationProblem } from '../../../activities/executors/python/check-python.ts';
import { BUBBLEWRAP, PYTHON, sandboxedPython, systemCallFilter } from '../../../activities/executors/python/python-executor.ts';
import { custom, python, quickjs } from '../../../src/index.ts';
import { CAN_ISOLATE } from '../../security/can-isolate.ts';

const HERE = { platform: 'linux', bubblewrap: BUBBLEWRAP, python: PYTHON, program: sandboxedPython };

test.each([
  [{ platform: 'darwin' }, 'bubblewrap is for Linux, and this is darwin. To use it, run the worker on Linux'],
  [{ bubblewrap: '/nowhere/bwrap' }, 'bubblewrap is not installed, there is no /nowhere/bwrap. To use it, install it: apt-get install'],
  [{ bubblewrap: '/', python: '/nowhere/python3' }, 'there is no /nowhere/python3'],
])('a machine that lacks a requirement, %j, is refused', async (lacks, message) => {
  await expect(checkPython({ ...HERE, ...lacks })).rejects.toThrow(message);
});

test.each([
  ['bwrap: No permissions to create new namespace, likely because the kernel does not allow it', 'user namespaces are not allowed here'],
  ['bwrap: setting up uid map: Permission denied', 'user namespaces are not allowed here'],
  ['bwrap: Unknown option --disable-userns', 'bubblewrap is too old'],
  ['"/usr/bin/bwrap" cannot be started: spawn EPERM', 'may not start a process as another user'],
  ['bwrap: something else', 'look at its message: bwrap: something else'],
])('"%s" is explained', (said, reason) => {
  expect(isolationProblem(said).message).toContain(reason);
});

test('the system calls of a machine that is not known cannot be filtered', () => {
  expect(() => systemCallFilter('riscv64')).toThrow('cannot be isolated on a machine of type "riscv64"');
  expect(systemCallFilter('arm64')).toHaveLength(systemCallFilter('x64').length);
});

// Without bubblewrap, or without user namespaces, no code in Python runs at all.
describe.skipIf(!CAN_ISOLATE)('on a machine that isolates', () => {
  test('Python passes, once for all agents', async () => {
    const agents = [
      { code: { executor: python(), tier: 'remote' as const } },
      { code: { executor: quickjs(), tier: 'remote' as const } },
      {},
    ];
    await expect(checkExecutors(agents)).resolves.toBeUndefined();
  });

  test.each([
    ['code could start processes', { settings: { processes: 50 } }],
    ['code could take more memory than its limit', { settings: { ownBytes: 200_000_000 } }],
  ])('a limit that does not hold is found: %s', async (problem, { settings }) => {
    const program = (): ReturnType<typeof sandboxedPython> => {
      const made = sandboxedPython();
      return { ...made, settings: { ...made.settings, ...settings } };
    };
    await expect(checkPython({ ...HERE, program })).rejects.toThrow(problem);
  });

  test('code that is not stopped at its end is found', async () => {
    const program = (): ReturnType<typeof sandboxedPython> => {
      const made = sandboxedPython();
      return { ...made, args: made.args.map((arg) => arg.replace(/^ +self\.stop\(\)$/m, '')) };
    };
    await expect(checkPython({ ...HERE, program })).rejects.toThrow('code could continue after its end');
  });

  test('a file system that is not empty is found', async () => {
    const program = (): ReturnType<typeof sandboxedPython> => {
      const made = sandboxedPython();
      return { ...made, args: ['--ro-bind', '/etc', '/etc', ...made.args] };
    };
    await expect(checkPython({ ...HERE, program })).rejects.toThrow("code could read the machine's files");
  });
});

test('a program of the operator that cannot be started is refused', async () => {
  const missing = custom({ command: ['/nowhere/cells'], language: 'python' });
  await expect(checkExecutor(missing)).rejects.toThrow('["/nowhere/cells"] failed on an empty cell: "/nowhere/cells" cannot be started');
  const ending = custom({ command: ['sh', '-c', 'echo no cells here >&2; exit 3'], language: 'python' });
  await expect(checkExecutor(ending)).rejects.toThrow('ended by itself, with code 3: no cells here');
});
