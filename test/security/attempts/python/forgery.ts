import type { Attempt } from '../attempt.ts';
import { type InPython, withModules } from './attempt-in-python.ts';

/**
 * Code that looks for the token of its frames, writes into the stream of its interpreter, or claims what the worker measures. Code
 * that takes its interpreter over can say at any point that it has ended, as its last statement would: then it has. It is stopped
 * before the worker hears of it, and every attempt in Python has to leave a process that rests.
 */

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';

/** Places where the token of a frame could be found. */
const TOKENS: readonly InPython[] = [
  [
    `gc, pattern = load('gc'), load('re').compile('${UUID}')
texts = [one for kept in gc.get_objects() for one in gc.get_referents(kept) if type(one) in (str, print.__self__.bytes)]
final_answer([str(one) for one in texts if pattern.search(str(one))])`,
    { ends: ['success'], answer: [] },
  ],
  [
    `frame, names = sys._getframe(), []
while frame:
  names += [name for scope in (frame.f_locals, frame.f_globals) for name in scope if 'token' in name.lower()]
  frame = frame.f_back
final_answer(names)`,
    { ends: ['success'], answer: [] },
  ],
  ['final_answer([name for name in dir(final_answer.__globals__["current"]) if "token" in name])', { ends: ['success'], answer: [] }],
  [
    `libc.sbrk.restype = ctypes.c_void_p
memory = ctypes.string_at(libc.sbrk(0) - 100_000, 100_000)
pattern = print.__self__.bytes('"'.join(['to' + 'ken', ':', '${UUID}']), 'ascii')
final_answer([str(one) for one in load('re').findall(pattern, memory)])`,
    { ends: ['success'], answer: [] },
  ],
  ["final_answer([fd for fd in range(3, 256) if attempt(lambda: os.write(fd, b'x')) is not None])", { ends: ['success'], answer: [] }],
  ['final_answer([fd for fd in range(3, 256) if attempt(lambda: os.read(fd, 1)) is not None])', { ends: ['success'], answer: [] }],
  ...['/proc/self/mem', '/proc/self/fd/1', '/dev/fd/1', '/dev/stdout', '/dev/tty'].map((path): InPython => [
    `print.__self__.open('${path}', 'wb')`,
    { ends: ['runtime'] },
  ]),
  ["print.__self__.open('/proc/%d/mem' % os.getppid(), 'rb')", { ends: ['runtime'] }],
  ['final_answer(libc.ptrace(16, os.getppid(), 0, 0))', { ends: ['success'], answer: -1 }],
  ['final_answer(libc.process_vm_readv(os.getppid(), 0, 0, 0, 0, 0))', { ends: ['success'], answer: -1 }],
  [
    'final_answer([libc.syscall(438, libc.syscall(434, os.getppid(), 0), fd, 0) for fd in range(4)])',
    { ends: ['success'], answer: [-1, -1, -1, -1] },
  ],
  ['final_answer(libc.syscall(312, os.getpid(), os.getppid(), 0, 0, 1))', { ends: ['success'], answer: -1 }],
];

const END = 'done "answer":"1","namespace":{}';

/** Python that writes a line to the stream of the interpreter. */
const write = (line: string): string => `os.write(1, ${JSON.stringify(`${line}\n`)}.encode())`;

/** Code that its end is believed of, and that would then run on. */
const ON = { ends: ['success'], answer: 1 } as const;
const REFUSED = { ends: ['protocol'] } as const;

/** Ends that code writes itself. Whatever it does then, it does in its next cell. */
const OWN_ENDS: readonly InPython[] = [
  [`${write(END)}\nwhile True: pass`, ON],
  [`${write(END)}\nload('time').sleep(60)`, ON],
  [`final_answer.__globals__['send']('done', '"answer":"1","namespace":{}')\nwhile True: pass`, ON],
  [[`${write(END)}\nwhile True: pass`, 'print(2)'], { ends: ['timeout'] }],
  [
    [`${write(END)}\nos.read(0, 10 ** 6)\n${write('done "answer":"2","namespace":{}')}\nwhile True: pass`, 'print(3)'],
    { ends: ['success'], answer: 2 },
  ],
  [`os.execv('/usr/bin/python3', ['python3', '-c', '''import os\n${write(END).replaceAll('\\', '\\\\')}\nwhile True: pass'''])`, ON],
  [[`final_answer.__globals__['ended'] = lambda *_: ${write(END)}`, 'final_answer(2)'], ON],
  ["final_answer.__globals__['json_text'] = lambda *_: '}'\nfinal_answer(1)", REFUSED],
  ["final_answer.__globals__['quote'] = lambda text: text\nprint('\"x')", REFUSED],
  [
    `signal.signal(signal.SIGCONT, lambda *_: final_answer.__globals__['send']('output', '"text":"late"'))\n${write(END)}\nwhile True: pass`,
    ON,
  ],
  [["load('atexit').register(print, 'late')", 'final_answer(1)'], ON],
  [`sys.settrace(lambda *_: ${write(END)})\n(lambda: 0)()\nwhile True: pass`, { ends: ['success', 'protocol'] }],
];

/** Lines that continue after an end, or that make claims only the worker may make. */
const LINES: readonly InPython[] = [
  ...[
    `${END}\n${END}`,
    `${END}\n`,
    `${END}\nx`,
    `${END}\noutput "text":"late"`,
    'killed "message":"no"',
    'protocol "message":"no"',
    'timeout "message":"no"',
    'failed "message":"no","kind":"timeout"',
    'began ',
    'restored ',
    'results "results":[]',
    '{"type":"done","namespace":{}}',
    'done',
    'done "namespace":{}}',
    'done "namespace":{},"a":{"b":1',
    'done "namespace":{},"a":"',
    'done "namespace":{},"a":"\\',
    'done "namespace":{},"a":[1',
    'done "namespace":{"n":{"type":"int","json":""}}',
    `done "namespace":{},"answer":"${'['.repeat(70)}${']'.repeat(70)}"`,
    'done "namespace":{},"scratchpad":"{}"',
    'calls "calls":[]',
    'calls "calls":[{"tool":"orders","arguments":{}}]',
    'calls "calls":[{"tool":"orders","arguments":1}]',
    'output "text":1',
  ].map((line): InPython => [`${write(line)}\nwhile True: pass`, REFUSED]),
  [`os.write(1, b'done "namespace":{},"answer":"' + b'1' * 500_000 + b'"\\n')\nwhile True: pass`, REFUSED],
  [`os.write(1, b'output "text":"' + b'x' * 5_000_000)\nwhile True: pass`, REFUSED],
  [`while True: os.write(1, b'output "text":""\\n' * 1000)`, { ends: ['protocol', 'timeout'] }],
  [`while True: ${write(END)}`, { ends: ['success', 'protocol'] }],
];

/** Claims that the worker's own figures take the place of, or that are not believed. */
const CLAIMS: readonly InPython[] = [
  [write(`${END},"memoryUsedBytes":1e15,"durationMs":-1,"token":"x","type":"failed","kind":"killed"`), { ends: ['success', 'protocol'] }],
  [`${write(`${END},"memoryUsedBytes":1e15,"durationMs":-1,"token":"x","type":"failed","kind":"killed"`)}\nwhile True: pass`, ON],
  [`${write(`${END},"memoryUsedBytes":0`)}\nwhile True: pass`, ON],
  [`${write('runtime "message":"no","kind":"killed","type":"done","namespace":{}')}\nwhile True: pass`, { ends: ['runtime'] }],
  [`${write('output "text":"x","type":"done","namespace":{}')}\nfinal_answer(1)`, ON],
  ['os._exit(65)', REFUSED],
  ['os._exit(142)', REFUSED],
  ['os._exit(152)', REFUSED],
  ['os.kill(os.getpid(), signal.SIGALRM)', REFUSED],
  ['os.kill(os.getpid(), signal.SIGXCPU)', REFUSED],
];

/** Code that reaches for its supervisor, or wakes itself up. */
const SUPERVISOR: readonly InPython[] = [
  ...['SIGALRM', 'SIGINT', 'SIGTERM', 'SIGKILL', 'SIGXCPU', 'SIGSEGV', 'SIGHUP'].map((name): InPython => [
    `os.kill(os.getppid(), signal.${name})\nwhile True: pass`,
    REFUSED,
  ]),
  ['os.kill(os.getppid(), signal.SIGSTOP)\nwhile True: pass', { ends: ['timeout'] }],
  [`os.kill(os.getppid(), signal.SIGSTOP)\n${write(END)}\nwhile True: pass`, { ends: ['timeout'] }],
  [`${write(END)}\nos.kill(os.getppid(), signal.SIGSTOP)\nwhile True: pass`, { ends: ['success', 'timeout'] }],
  [`${write(END)}\nos.kill(os.getppid(), signal.SIGKILL)\nwhile True: pass`, { ends: ['success', 'protocol'] }],
  [`${write(END)}\nwhile True: os.kill(os.getppid(), signal.SIGCHLD)`, ON],
  [`${write(END)}\nwhile True: os.kill(os.getpid(), signal.SIGSTOP)`, { ends: ['success', 'timeout'] }],
  ['resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (0, 0))\nwhile True: print(1)', { ends: ['protocol', 'timeout'] }],
  ['resource.prlimit(os.getppid(), resource.RLIMIT_AS, (1, 1))\nfinal_answer("x" * 10 ** 5)', { ends: ['protocol', 'success'] }],
  ['resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (0, 0))\nfinal_answer(1)', { ends: ['protocol', 'success'] }],
  ['final_answer(libc.syscall(222, 0, 0, 0))', { ends: ['success'], answer: -1 }],
  [
    `fcntl = load('fcntl')
fcntl.fcntl(1, 10, signal.SIGCONT)
fcntl.fcntl(1, fcntl.F_SETOWN, os.getpid())
fcntl.fcntl(1, fcntl.F_SETFL, fcntl.fcntl(1, fcntl.F_GETFL) | os.O_ASYNC)
${write(END)}
while True: pass`,
    { ends: ['success', 'protocol'] },
  ],
  [`load('fcntl').fcntl(1, 1031, 2 ** 20)\n${write(END)}\nwhile True: pass`, { ends: ['success', 'protocol'] }],
  [`signal.signal(signal.SIGALRM, lambda *_: None)\nsignal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)\n${write(END)}\nwhile True: pass`, ON],
  [`attempt(lambda: load('_thread').start_new_thread(print, ()))\n${write(END)}\nwhile True: attempt(os.fork)`, ON],
];

/** Calls that code writes itself, with tools at hand. */
const OWN_CALLS: readonly InPython[] = [
  [`${write('calls "calls":[{"tool":"made_up","arguments":{}}]')}\nwhile True: pass`, { ...REFUSED, calls: [] }],
  [`${write('calls "calls":[{"tool":"echo","arguments":{}}]\noutput "text":"on"')}\nwhile True: pass`, { ...REFUSED, calls: [] }],
  [`${write('calls "calls":[{"tool":"echo","arguments":{"a":1}}]')}\nwhile True: pass`, { ends: ['timeout'], calls: [['echo', { a: 1 }]] }],
  [
    `os.write(1, b'calls "calls":[' + b'{"tool":"echo","arguments":{}},' * 10_001 + b'{"tool":"echo","arguments":{}}]\\n')\nwhile True: pass`,
    { ...REFUSED, calls: [] },
  ],
  [
    `main = final_answer.__globals__
batch = ','.join(['{"tool":"echo","arguments":{}}'] * 6_000)
for _ in range(3):
  main['send']('calls', '"calls":[%s]' % batch)
  main['receive']()`,
    REFUSED,
  ],
  [
    `os.write(1, b'calls "calls":[{"tool":"echo","arguments":{"a":"' + b'x' * 500_000 + b'"}}]\\n')\nwhile True: pass`,
    { ...REFUSED, calls: [] },
  ],
];

export const FORGERY_IN_PYTHON: readonly Attempt[] = [
  ...withModules('protocol', [...TOKENS, ...OWN_ENDS, ...LINES, ...CLAIMS, ...SUPERVISOR]),
  ...withModules('protocol', OWN_CALLS).map((attempt) => ({ ...attempt, hasTools: true })),
];
