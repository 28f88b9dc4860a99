/** Small limits, for code that goes a little beyond them. */
export const PROBE_LIMITS = { timeoutSeconds: 0.5, maxMemoryMb: 8 };

/** Tries a handful of processes, which end at once, a file, a connection and a user namespace, and reports what it got. */
export const REACH_PROBE = `
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

/** The findings of the probe on a machine that isolates, and what is wrong if they differ. */
export const PROBES: Readonly<Record<string, { expected: unknown; problem: string }>> = {
  processes: { expected: 0, problem: 'code could start processes' },
  files: { expected: false, problem: 'code could write files' },
  users: { expected: false, problem: "code could read the machine's files" },
  sockets: { expected: false, problem: 'code could open sockets' },
  namespaces: { expected: false, problem: 'code could make namespaces' },
  root: { expected: false, problem: 'code ran as root' },
};

/** Takes 64 MB at most. */
export const MEMORY_PROBE = 'x = [0] * (8 << 20)';

export const TIME_PROBE = 'while True: pass';

/** Milliseconds for which an interpreter has to rest between two cells. */
export const REST_MS = 250;

/** Says that it has ended, and goes on until there is a second cell. Then it answers with the longest time in which it did not run. */
export const REST_PROBE = `
import os
select = print.__self__.__import__('select').select
longest, last = 0, os.times().elapsed
os.write(1, b'done "namespace":{}\\n')
while not select([0], [], [], 0)[0]:
  now = os.times().elapsed
  longest, last = max(longest, now - last), now
longest = max(longest, os.times().elapsed - last)
os.read(0, 10 ** 5)
os.write(1, b'done "answer":"%d","namespace":{}\\n' % (longest * 1000))
while True: pass
`;
