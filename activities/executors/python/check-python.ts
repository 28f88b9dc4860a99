import { existsSync } from 'node:fs';
import { setTimeout as passed } from 'node:timers/promises';
import { UsageError } from '../../../src/core/domain/errors.ts';
import { executionLimits } from '../../../src/core/domain/code.ts';
import type { ExecutionResult } from '../../../src/core/domain/execution.ts';
import { ProcessExecutor, type Program } from '../process/process-executor.ts';
import { BUBBLEWRAP, PYTHON, sandboxedPython } from './python-executor.ts';

/** The parts of a machine that isolate Python. */
export interface Isolation {
  platform: string;
  bubblewrap: string;
  python: string;
  program: () => Program;
}

const OF_THIS_MACHINE: Isolation = { platform: process.platform, bubblewrap: BUBBLEWRAP, python: PYTHON, program: sandboxedPython };

/** Checks that Python code is isolated on this machine, with code that exceeds each limit a little. Throws a UsageError. */
export async function checkPython({ platform, bubblewrap, python, program }: Isolation = OF_THIS_MACHINE): Promise<void> {
  if (platform !== 'linux') {
    throw missingIsolation(
      `bubblewrap is for Linux, and this is ${platform}`,
      'run the worker on Linux, or use quickjs() or custom({...})',
    );
  }
  if (!existsSync(bubblewrap)) {
    throw missingIsolation(`bubblewrap is not installed, there is no ${bubblewrap}`, 'install it: apt-get install bubblewrap');
  }
  if (!existsSync(python)) throw missingIsolation(`there is no ${python}`, 'install it: apt-get install python3');
  const { error, finalValue } = await probed(program, [REACH_PROBE]);
  if (error !== null) throw isolationProblem(error.message);
  for (const [name, { expected, problem }] of Object.entries(PROBES)) {
    const found = (finalValue as Record<string, unknown> | null)?.[name];
    if (found !== expected) throw limitProblem(problem);
  }
  const kinds = [
    { code: MEMORY_PROBE, kind: 'memory', problem: 'code could take more memory than its limit', timeoutSeconds: PROBE_SECONDS },
    { code: TIME_PROBE, kind: 'timeout', problem: 'code could take more time than its limit', timeoutSeconds: TIME_PROBE_SECONDS },
  ];
  for (const { code, kind, problem, timeoutSeconds } of kinds) {
    const result = await probed(program, [code], timeoutSeconds);
    if (result.error?.kind !== kind) throw limitProblem(problem);
  }
  const rested = await probed(program, [REST_PROBE, ...Array.from({ length: RESTS }, () => '')]);
  if (typeof rested.finalValue !== 'number' || rested.finalValue < REST_MS / 2) throw limitProblem('code could continue after its end');
}

function limitProblem(problem: string): UsageError {
  return missingIsolation(problem, 'use a kernel that enforces limits, or custom({...})');
}

/** Runs cells sequentially, with a pause between them, and returns the last result. */
async function probed(
  program: () => Program,
  [first = '', ...others]: readonly string[],
  timeoutSeconds = PROBE_SECONDS,
): Promise<ExecutionResult> {
  const limits = executionLimits({ timeoutSeconds, maxMemoryMb: PROBE_MEMORY_MB });
  const executor = new ProcessExecutor(program, { language: 'python', limits, allowedImports: ['os'] }, { tools: [], scratchpad: false });
  try {
    let result = await executor.run(first, { now: 0, seed: 0 });
    for (const cell of others) {
      await passed(REST_MS);
      result = await executor.run(cell, { now: 0, seed: 0 });
    }
    return result;
  } catch (error) {
    throw error instanceof UsageError ? error : isolationProblem(String(error));
  } finally {
    await executor.close();
  }
}

/** Messages of bubblewrap if it cannot isolate, with the reason and the remedy. */
const CAUSES: readonly (readonly [said: RegExp, reason: string, remedy: string])[] = [
  [/unknown option/i, 'bubblewrap is too old', 'install version 0.8.0 or a newer one'],
  [
    /spawn EPERM/,
    'the worker runs as root, and may not start a process as another user',
    'start the worker as another user, or let it change users (CAP_SETUID, CAP_SETGID)',
  ],
  [
    /namespace|uid map|RTM_NEWADDR|not permitted|permission denied/i,
    'user namespaces are not allowed here, as in a container of Docker without further options',
    'allow them (docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined; on a host: sysctl kernel.unprivileged_userns_clone=1 and kernel.apparmor_restrict_unprivileged_userns=0), or use custom({...})',
  ],
];

/** Returns the error of a worker that cannot isolate Python, from the output of the attempt. */
export function isolationProblem(said: string): UsageError {
  const [, reason, remedy] = CAUSES.find(([pattern]) => pattern.test(said)) ?? [];
  return reason === undefined || remedy === undefined
    ? missingIsolation('it did not start', `look at its message: ${said}`)
    : missingIsolation(`${reason} ("${said}")`, remedy);
}

/** Returns the error of a worker that cannot isolate Python. */
function missingIsolation(reason: string, remedy: string): UsageError {
  return new UsageError(`the executor "python" cannot isolate code on this machine: ${reason}. To use it, ${remedy}`);
}

/** A small limit, for code that exceeds it a little. */
const PROBE_MEMORY_MB = 8;

/** The time limit of a probe that ends by itself: on a busy machine, a timeout would look like the failure of another limit. */
const PROBE_SECONDS = 10;

/** The time of the probe that never ends. */
const TIME_PROBE_SECONDS = 0.5;

/** Tries to get a few processes, which end at once, a file, a connection and a user namespace, and reports its success. */
const REACH_PROBE = `
import os
processes = 0
for _ in range(4):
  try:
    child = os.fork()
  except:
    continue
  if child == 0:
    os._exit(0)
  os.waitpid(child, 0)
  processes += 1
def is_possible(attempt):
  try:
    attempt()
    return True
  except:
    return False
libc = print.__self__.__import__('ctypes').CDLL(None)
final_answer({
  'processes': processes,
  'files': is_possible(lambda: os.open('/probe', os.O_CREAT | os.O_WRONLY)),
  'users': os.path.exists('/etc/passwd'),
  'sockets': libc.socket(2, 1, 0) >= 0,
  'namespaces': libc.unshare(0x10000000) == 0,
  'root': os.getuid() == 0,
})
`;

/** The expected findings of the probe, and the problem if they differ. */
export const PROBES: Readonly<Record<string, { expected: unknown; problem: string }>> = {
  processes: { expected: 0, problem: 'code could start processes' },
  files: { expected: false, problem: 'code could write files' },
  users: { expected: false, problem: "code could read the machine's files" },
  sockets: { expected: false, problem: 'code could open sockets' },
  namespaces: { expected: false, problem: 'code could make namespaces' },
  root: { expected: false, problem: 'code ran as root' },
};

/** Takes 64 MB at most. */
const MEMORY_PROBE = 'x = [0] * (8 << 20)';

const TIME_PROBE = 'while True: pass';

/** Milliseconds for which an interpreter must rest between two cells. */
const REST_MS = 250;

/**
 * The number of pauses between cells. On a busy machine, code that continues might not be scheduled during one of them, but hardly during
 * all.
 */
const RESTS = 3;

/** Claims to have ended, and continues until the next cell. Finally it answers with the shortest time during which it did not run. */
const REST_PROBE = `
import os
select = print.__self__.__import__('select').select
shortest = 10 ** 6
for _ in range(${RESTS}):
  longest, last = 0, os.times().elapsed
  os.write(1, b'done "namespace":{}\\n')
  while not select([0], [], [], 0)[0]:
    now = os.times().elapsed
    longest, last = max(longest, now - last), now
  shortest = min(shortest, max(longest, os.times().elapsed - last))
  os.read(0, 10 ** 5)
os.write(1, b'done "answer":"%d","namespace":{}\\n' % (shortest * 1000))
while True: pass
`;
