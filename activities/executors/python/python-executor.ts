import { randomInt } from 'node:crypto';
import { lstatSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { endianness } from 'node:os';
import { UsageError } from '../../../src/core/domain/errors.ts';
import { type ExecutionLimits, executionLimits } from '../../../src/core/domain/code.ts';
import type { Executor } from '../../../src/core/domain/execution.ts';
import { MAX_FRAME_LENGTH } from '../frames.ts';
import { ProcessExecutor, type Program } from '../process/process-executor.ts';
import type { Provided } from '../cell-executor.ts';
import { CALLS, CELLS, SUPERVISOR } from './runner.ts';

/** The fields of an executor's definition that are needed here. */
export interface PythonDefinition {
  limits?: Partial<ExecutionLimits>;
  /** Names of packages that code may import. */
  allowedImports?: readonly string[];
}

/** Creates an executor of Python: CPython under bubblewrap, in a separate process, which starts with the first run. */
export function pythonExecutor(definition: PythonDefinition = {}, provided: Provided = { tools: [], scratchpad: false }): Executor {
  const { limits, allowedImports = [] } = definition;
  return new ProcessExecutor(sandboxedPython, { language: 'python', limits: executionLimits(limits), allowedImports }, provided);
}

export const BUBBLEWRAP = '/usr/bin/bwrap';
export const PYTHON = '/usr/bin/python3';

/** The user ids that systemd assigns to running services: no file belongs to them. */
const FIRST_USER = 61_184;
const LAST_USER = 65_519;

/** Bytes of address space that the interpreter itself takes, before any code. */
const OWN_BYTES = 24 * 1_048_576;
/** Bytes that the runner keeps in reserve, to say that memory ran out. */
const RESERVE_BYTES = 524_288;
/** Files that code may have open, for the modules that it imports. */
const FILES = 24;
const OUT_OF_MEMORY_CODE = 64;
/** Characters of a frame that the supervisor writes itself. */
const FRAME_HEAD_LENGTH = 1_000;

const EXITS: NonNullable<Program['exits']> = {
  [OUT_OF_MEMORY_CODE]: { kind: 'memory', message: 'The code ran out of memory' },
  65: { kind: 'protocol', message: 'The code wrote into the stream of its interpreter, or went on after its end' },
  // The signal of the supervisor's timer, as a shell reports it.
  142: { kind: 'timeout', message: 'The code used up its time' },
};

const NAMESPACES = '--unshare-user --unshare-pid --unshare-net --unshare-ipc --unshare-uts --unshare-cgroup-try';
const PRIVILEGES = '--disable-userns --hostname code --die-with-parent --new-session --cap-drop ALL --seccomp 3 --info-fd 4';

/** CPython under bubblewrap: no network, no files but the interpreter's, no environment, no capabilities, and no process but the interpreter and its supervisor. */
export function sandboxedPython(): Program {
  return {
    file: BUBBLEWRAP,
    args: [...NAMESPACES.split(' '), ...PRIVILEGES.split(' '), ...files(), ...environment(), '--', PYTHON, '-s', '-S', '-B', '-c', RUNNER],
    env: {},
    cwd: '/',
    // The process limit does not count root's processes.
    user: process.getuid?.() === 0 ? randomInt(FIRST_USER, LAST_USER + 1) : undefined,
    extraInput: systemCallFilter(),
    settings: {
      ownBytes: OWN_BYTES,
      reserveBytes: RESERVE_BYTES,
      processes: 1,
      files: FILES,
      outOfMemoryCode: OUT_OF_MEMORY_CODE,
      lineLength: MAX_FRAME_LENGTH - FRAME_HEAD_LENGTH,
    },
    exits: EXITS,
    memory: { read: peakMemoryBytes },
  };
}

/** The interpreter and its libraries, in an otherwise empty, read-only file system. */
function files(): string[] {
  const libraries = ['lib', 'lib32', 'lib64'].flatMap((name) => {
    const [path, inUsr] = [`/${name}`, `/usr/${name}`];
    const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
    return ['--ro-bind-try', inUsr, inUsr, ...(isLink ? ['--symlink', readlinkSync(path), path] : ['--ro-bind-try', path, path])];
  });
  return [...libraries, '--ro-bind', realpathSync(PYTHON), PYTHON, '--remount-ro', '/', '--chdir', '/'];
}

/** A fixed hash seed: the same code makes the same sets in the same order. */
function environment(): string[] {
  return ['--clearenv', '--setenv', 'PYTHONHASHSEED', '0', '--setenv', 'PYTHONUTF8', '1'];
}

/** Processes between the one that bubblewrap reports and the one that runs the code: the supervisor is the first, the code the second. */
const GENERATIONS = 2;

/**
 * Reads the peak memory of the code's interpreter from the kernel, using bubblewrap's information about its process. The interpreter itself
 * could report anything. Undefined if the kernel does not know.
 */
function peakMemoryBytes(info: string): number | undefined {
  try {
    let { 'child-pid': pid } = JSON.parse(info) as { 'child-pid': number };
    for (let generation = 0; generation < GENERATIONS; generation += 1) {
      pid = Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim());
    }
    const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1_024;
  } catch {
    return undefined;
  }
}

/**
 * The part of the runner that talks to its supervisor. Each line that it writes is a word for its kind, followed by JSON members in ASCII.
 */
const FRAMES = String.raw`
read_line = os.fdopen(0, 'rb', closefd=False).readline
write_bytes = os.write
quote = json.encoder.encode_basestring_ascii
current = None

def receive():
    line = read_line()
    if not line.endswith(b'\n'):
        os._exit(0)
    return parse(line)

def send(kind, members):
    left = memoryview(('%s %s\n' % (kind, members)).encode('ascii'))
    while len(left) > 0:
        left = left[write_bytes(1, left):]

settings = receive()

def set_limits():
    memory = settings['memoryBytes'] + settings['ownBytes']
    limits = {
        resource.RLIMIT_AS: memory,
        resource.RLIMIT_NPROC: settings['processes'],
        resource.RLIMIT_NOFILE: settings['files'],
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_SIGPENDING: 64,
    }
    for limit, most in limits.items():
        resource.setrlimit(limit, (most, most))

class Output:
    """Sends printed text, as long as there is room for it."""
    encoding = 'utf-8'
    errors = 'strict'

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError('write() takes a text')
        if current is not None and current.room > 0 and len(text) > 0:
            part = text[:current.room]
            current.room -= len(part)
            send('output', '"text":' + quote(part))
        return len(text)

    def flush(self):
        pass

    def isatty(self):
        return False
`;

/** The part of the runner that writes values as JSON, within a limit of length and depth, and describes errors. */
const JSON_TEXT = String.raw`
SAFE_INTEGER = 9007199254740991
INFINITY = float('inf')

def short(text):
    return text if len(text) <= 2000 else text[:2000] + '…'

def type_name(value):
    try:
        name = type(value).__name__
        return short(name) if isinstance(name, str) else 'object'
    except BaseException:
        return 'object'

def describe(error):
    try:
        message = short(str(error))
    except BaseException:
        message = ''
    return type_name(error) + (': ' + message if message else '')

def json_text(value, what, limit):
    parts = []
    room = limit

    def put(text):
        nonlocal room
        room -= len(text)
        if room < 0:
            raise ValueError('%s has more than %d characters of JSON' % (what, limit))
        parts.append(text)

    def put_text(text):
        # Quoting a text that does not fit would waste memory.
        put(quote(text) if len(text) <= room else ' ' * (room + 1))

    def put_key(key):
        if isinstance(key, str):
            put_text(key)
        elif key is None or isinstance(key, (int, float)):
            put_text({None: 'null', True: 'true', False: 'false'}.get(key) if key is None or isinstance(key, bool) else json_number(key))
        else:
            raise TypeError('%s has a key of type "%s", which is not JSON' % (what, type_name(key)))

    def json_number(number):
        if isinstance(number, int):
            if not -SAFE_INTEGER <= number <= SAFE_INTEGER:
                raise ValueError('%s has a whole number beyond 2**53, which JSON does not keep: give it as a text' % what)
            return int.__repr__(number)
        if number != number or number in (INFINITY, -INFINITY):
            raise ValueError('%s has the number %s, which is not JSON' % (what, float.__repr__(number)))
        return float.__repr__(number)

    def write(value, depth):
        if value is None:
            put('null')
        elif value is True:
            put('true')
        elif value is False:
            put('false')
        elif isinstance(value, str):
            put_text(value)
        elif isinstance(value, (int, float)):
            put(json_number(value))
        elif depth == 0:
            raise ValueError('%s is nested deeper than 64 levels' % what)
        elif isinstance(value, (list, tuple)):
            put('[')
            members = list.__iter__(value) if isinstance(value, list) else tuple.__iter__(value)
            for index, member in enumerate(members):
                if index > 0:
                    put(',')
                write(member, depth - 1)
            put(']')
        elif isinstance(value, dict):
            put('{')
            for index, (key, member) in enumerate(dict.items(value)):
                if index > 0:
                    put(',')
                put_key(key)
                put(':')
                write(member, depth - 1)
            put('}')
        else:
            raise TypeError('%s has a value of type "%s", which is not JSON' % (what, type_name(value)))

    write(value, 64)
    return ''.join(parts)
`;

/** The part of the runner that gives code the working memory of an agent, which is kept as JSON, and its signals, which are printed. */
const SCRATCHPAD = String.raw`
class Memory:
    """The values, observations and failed approaches of an agent."""
    __slots__ = ('_values', '_observations', '_failed')

    def __init__(self):
        self._values, self._observations, self._failed = {}, [], []

    @property
    def values(self):
        return {name: parse(text) for name, text in self._values.items()}

    @property
    def observations(self):
        return [parse(text) for text in self._observations]

    @property
    def failed(self):
        return [parse(text) for text in self._failed]

    def store(self, name, value=None):
        if not isinstance(name, str):
            raise TypeError('store takes a name, which is a text, and a value')
        text = json_text(value, 'The value of "%s"' % short(name), settings['scratchpadLength'])
        require_room(self._values.get(name), len(quote(name)) + len(text) + 2)
        self._values[name] = text

    def recall(self, name, default=None):
        text = self._values.get(name)
        return default if text is None else parse(text)

    def observe(self, text):
        listed(self._observations, text)

    def fail(self, text):
        listed(self._failed, text)

def require_room(before, length):
    if len(scratchpad_text()) - len(before or '') + length > settings['scratchpadLength']:
        raise ValueError('The scratchpad has no room for this: it takes at most %d characters of JSON' % settings['scratchpadLength'])

def listed(texts, value):
    text = json_text(str(value), 'The text', settings['scratchpadLength'])
    require_room(None, len(text) + 1)
    texts.append(text)

def scratchpad_text():
    values = ','.join('%s:%s' % (quote(name), text) for name, text in memory._values.items())
    return '{"values":{%s},"observations":[%s],"failed":[%s]}' % (values, ','.join(memory._observations), ','.join(memory._failed))

memory = Memory()

def signal(label):
    def signalled(text=''):
        print('[%s] %s' % (label, text))
        return text
    signalled.__name__ = signalled.__qualname__ = label.lower()
    return signalled

def scratchpad_functions():
    if not settings['scratchpad']:
        return {}
    return {
        'store': memory.store, 'recall': memory.recall, 'observe': memory.observe, 'memory': memory,
        'uncertain': signal('UNCERTAIN'), 'explore': signal('EXPLORE'), 'commit': signal('COMMIT'),
    }
`;

/** The part of the runner that pins the clock and the randomness of code, also for modules that it imports. */
const MOMENT = String.raw`
import time

real_gmtime, real_strftime = time.gmtime, time.strftime

def pin_clock():
    # Without its C implementation, datetime asks the module time for the time.
    sys.modules['_datetime'] = None
    for name in ('time', 'monotonic', 'perf_counter', 'process_time', 'thread_time'):
        setattr(time, name, lambda: current.now / 1000)
        setattr(time, name + '_ns', lambda: int(current.now) * 1000000)
    for name in ('clock_gettime', 'clock_gettime_ns', 'clock_settime', 'clock_settime_ns', 'clock_getres', 'tzset'):
        if hasattr(time, name):
            delattr(time, name)
    def gmtime(seconds=None):
        return real_gmtime(current.now / 1000 if seconds is None else seconds)
    def asctime(moment=None):
        return real_strftime('%a %b %e %H:%M:%S %Y', gmtime() if moment is None else moment)
    time.gmtime = time.localtime = gmtime
    time.asctime = asctime
    time.ctime = lambda seconds=None: asctime(gmtime(seconds))
    time.strftime = lambda form, moment=None: real_strftime(form, gmtime() if moment is None else moment)

def random_bytes(count):
    if current.random is None:
        import random
        current.random = random.Random(current.seed)
    return current.random.randbytes(count)

def pin_randomness():
    os.urandom = random_bytes
    os.__dict__.pop('getrandom', None)

def seed_randomness():
    """Seeds the module random once per run, as soon as it is imported."""
    random = sys.modules.get('random')
    if random is not None and not current.is_seeded and hasattr(random, 'seed'):
        current.is_seeded = True
        random.seed(current.seed)
`;

/**
 * The Python program in the sandbox: a supervisor, and the interpreter that it starts, which runs cells sequentially. The supervisor only
 * trusts the worker, because code may take over the interpreter that runs it.
 */
const RUNNER = SUPERVISOR + FRAMES + JSON_TEXT + CALLS + SCRATCHPAD + MOMENT + CELLS;

/** The kernel's names of architectures. */
const ARCHITECTURES = { x64: 0xc000_003e, arm64: 0xc000_00b7 } as const;

/** Instructions of the kernel's packet filter, and what a filter of system calls returns. */
const LOAD = 0x20;
const JUMP_IF_EQUAL = 0x15;
const JUMP_IF_AT_LEAST = 0x35;
const RETURN = 0x06;
const ALLOW = 0x7fff_0000;
const FAIL = 0x0005_0000;
const KILL_PROCESS = 0x8000_0000;
const EPERM = 1;
const ENOSYS = 38;
/** Clone with a structure that no filter can read. The C library falls back to clone. */
const CLONE3 = 435;
/** The first number of the system calls of x64's 32-bit ABI. */
const X32 = 0x4000_0000;

/** Returns the system call filter in the kernel's format. Throws a UsageError for an unsupported architecture. */
export function systemCallFilter(arch: string = process.arch): Uint8Array {
  if ((arch !== 'x64' && arch !== 'arm64') || endianness() !== 'LE') {
    throw new UsageError(`The executor "python" cannot be isolated on a machine of type "${arch}": use x64 or arm64, or custom({...})`);
  }
  const instructions: [code: number, yes: number, no: number, value: number][] = [
    [LOAD, 0, 0, 4],
    [JUMP_IF_EQUAL, 1, 0, ARCHITECTURES[arch]],
    [RETURN, 0, 0, KILL_PROCESS],
    [LOAD, 0, 0, 0],
    [JUMP_IF_AT_LEAST, 0, 1, X32],
    [RETURN, 0, 0, FAIL | ENOSYS],
    [JUMP_IF_EQUAL, 0, 1, CLONE3],
    [RETURN, 0, 0, FAIL | ENOSYS],
  ];
  for (const numbers of Object.values(REFUSED_SYSTEM_CALLS)) {
    instructions.push([JUMP_IF_EQUAL, 0, 1, numbers[arch]], [RETURN, 0, 0, FAIL | EPERM]);
  }
  instructions.push([RETURN, 0, 0, ALLOW]);
  const filter = Buffer.alloc(instructions.length * 8);
  for (const [index, [code, yes, no, value]] of instructions.entries()) {
    filter.writeUInt16LE(code, index * 8);
    filter.writeUInt8(yes, index * 8 + 2);
    filter.writeUInt8(no, index * 8 + 3);
    filter.writeUInt32LE(value >>> 0, index * 8 + 4);
  }
  return filter;
}

/**
 * System calls that code does not need and that could escape its limits: memory that no limit counts, sockets, other processes, timers that
 * could wake a stopped process, mounts and namespaces, and parts of the kernel with a history of vulnerabilities. Their numbers on x64 and
 * arm64.
 */
const REFUSED_SYSTEM_CALLS: Readonly<Record<string, { x64: number; arm64: number }>> = {
  socket: { x64: 41, arm64: 198 },
  socketpair: { x64: 53, arm64: 199 },
  connect: { x64: 42, arm64: 203 },
  bind: { x64: 49, arm64: 200 },
  shmget: { x64: 29, arm64: 194 },
  shmat: { x64: 30, arm64: 196 },
  semget: { x64: 64, arm64: 190 },
  msgget: { x64: 68, arm64: 186 },
  mq_open: { x64: 240, arm64: 180 },
  memfd_create: { x64: 319, arm64: 279 },
  memfd_secret: { x64: 447, arm64: 447 },
  mq_notify: { x64: 244, arm64: 184 },
  timer_create: { x64: 222, arm64: 107 },
  ptrace: { x64: 101, arm64: 117 },
  process_vm_readv: { x64: 310, arm64: 270 },
  process_vm_writev: { x64: 311, arm64: 271 },
  kcmp: { x64: 312, arm64: 272 },
  pidfd_getfd: { x64: 438, arm64: 438 },
  mount: { x64: 165, arm64: 40 },
  umount2: { x64: 166, arm64: 39 },
  pivot_root: { x64: 155, arm64: 41 },
  chroot: { x64: 161, arm64: 51 },
  open_tree: { x64: 428, arm64: 428 },
  move_mount: { x64: 429, arm64: 429 },
  fsopen: { x64: 430, arm64: 430 },
  mount_setattr: { x64: 442, arm64: 442 },
  name_to_handle_at: { x64: 303, arm64: 264 },
  open_by_handle_at: { x64: 304, arm64: 265 },
  unshare: { x64: 272, arm64: 97 },
  setns: { x64: 308, arm64: 268 },
  bpf: { x64: 321, arm64: 280 },
  perf_event_open: { x64: 298, arm64: 241 },
  userfaultfd: { x64: 323, arm64: 282 },
  io_uring_setup: { x64: 425, arm64: 425 },
  io_uring_enter: { x64: 426, arm64: 426 },
  io_uring_register: { x64: 427, arm64: 427 },
  add_key: { x64: 248, arm64: 217 },
  request_key: { x64: 249, arm64: 218 },
  keyctl: { x64: 250, arm64: 219 },
  fanotify_init: { x64: 300, arm64: 262 },
  vmsplice: { x64: 278, arm64: 75 },
  personality: { x64: 135, arm64: 92 },
  quotactl: { x64: 179, arm64: 60 },
  acct: { x64: 163, arm64: 89 },
  swapon: { x64: 167, arm64: 224 },
  kexec_load: { x64: 246, arm64: 104 },
  init_module: { x64: 175, arm64: 105 },
  finit_module: { x64: 313, arm64: 273 },
};
