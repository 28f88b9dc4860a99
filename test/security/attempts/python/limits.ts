import { type Attempt, SMALL } from '../attempt.ts';
import { inPython, type InPython, withModules } from './attempt-in-python.ts';

/** Code that would run forever, or far longer than its limit. */
const TIME: readonly InPython[] = [
  'while True: pass',
  'while True:\n  try:\n    1 / 0\n  except:\n    continue',
  'try:\n  while True: pass\nfinally:\n  while True: pass',
  '10 ** (10 ** 9)',
  'len(str(7 ** (10 ** 7)))',
  'sum(range(10 ** 12))',
  'def spin():\n  yield from spin()\n  while True: yield 1\nfor one in (one for one in iter(int, 1)): pass',
  'sorted(range(10), key=lambda one: [0 for _ in iter(int, 1)])',
  'max(iter(int, 1))',
  '"a" in iter(int, 1)',
].map((code): InPython => [code, { ends: ['timeout', 'memory', 'runtime'] }]);

const TIME_WITH_MODULES: readonly InPython[] = [
  ["load('re').match('(a+)+$', 'a' * 60 + 'b')", { ends: ['timeout'] }],
  ["load('time').sleep(60)", { ends: ['timeout'] }],
  ['libc.sleep(60)', { ends: ['timeout'] }],
  ['os.read(0, 1)', { ends: ['timeout'] }],
  ['signal.pause()', { ends: ['timeout'] }],
  [
    'signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)\nsignal.signal(signal.SIGALRM, lambda *_: None)\nwhile True: pass',
    { ends: ['timeout'] },
  ],
];

/** Code that takes memory until none is left. */
const MEMORY: readonly InPython[] = [
  'kept = []\nwhile True: kept.append(len(kept))',
  'kept = []\nwhile True: kept.append("x" * 10 ** 6 + str(len(kept)))',
  'kept = {}\nwhile True: kept[len(kept)] = [0] * 1000',
  'kept = [0] * 10 ** 9',
  'text = "x"\nwhile True: text += text',
  'kept = set()\nwhile True: kept.add((len(kept), str(len(kept))))',
  'kept = ()\nwhile True: kept = (kept, kept, [0] * 1000)',
  'number = 2\nwhile True: number *= number',
  'kept = list(range(10 ** 9))',
  '"{:>1000000000}".format(1)',
  'kept = []\nwhile True:\n  try:\n    kept.append([0] * 10 ** 5)\n  except:\n    pass',
  'kept = []\ntry:\n  while True: kept.append([0] * 1000)\nfinally:\n  kept.append([0] * 10 ** 6)',
].map((code): InPython => [code, { ends: ['memory', 'timeout', 'protocol', 'runtime'] }]);

const MEMORY_WITH_MODULES: readonly InPython[] = [
  "mmap = load('mmap')\nkept = []\nwhile True: kept.append(mmap.mmap(-1, 2 ** 20))",
  "mmap = load('mmap')\nkept = mmap.mmap(-1, 2 ** 32)",
  'libc.malloc.restype = ctypes.c_void_p\nwhile True:\n  kept = libc.malloc(2 ** 20)\n  if not kept: 1 / 0\n  ctypes.memset(kept, 1, 2 ** 20)',
  'libc.sbrk.restype = ctypes.c_void_p\nwhile libc.sbrk(2 ** 20) != ctypes.c_void_p(-1).value: pass\n1 / 0',
  'kept = bytearray_ = print.__self__.bytearray(2 ** 31)',
  'kept = []\nwhile True: kept.append(ctypes.create_string_buffer(2 ** 20))',
].map((code): InPython => [code, { ends: ['memory', 'runtime', 'protocol'] }]);

/** Code that nests or calls until a stack overflows. */
const STACK: readonly InPython[] = [
  ['def f(): f()\nf()', { ends: ['runtime'] }],
  ['f = lambda self: self(self)\nf(f)', { ends: ['runtime'] }],
  ['deep = []\nfor _ in range(10 ** 5): deep = [deep]\nprint(deep)', { ends: ['runtime'] }],
  ['deep = []\nfor _ in range(10 ** 5): deep = [deep]\nfinal_answer(deep)', { ends: ['runtime'] }],
  ['deep = []\nfor _ in range(10 ** 5): deep = [deep]\ndeep = None\nprint(1)', { ends: ['success'], output: '1' }],
  ['deep = {}\nfor _ in range(10 ** 5): deep = {1: deep}\ndeep == {1: deep}', { ends: ['runtime', 'success'] }],
  ['deep = ()\nfor _ in range(10 ** 5): deep = (deep,)\nhash(deep)', { ends: ['success', 'runtime', 'protocol'] }],
  ['it = iter([])\nfor _ in range(10 ** 5): it = map(int, it)\nlist(it)', { ends: ['runtime', 'protocol'] }],
  ['kept = print\nfor _ in range(10 ** 5): kept = slice(kept)\nrepr(kept)', { ends: ['runtime', 'protocol'] }],
  ['isinstance(1, type)\nkept = int\nfor _ in range(10 ** 5): kept = (kept,)\nisinstance("", kept)', { ends: ['runtime', 'protocol'] }],
  [`x = ${'['.repeat(10_000)}${']'.repeat(10_000)}`, { ends: ['syntax'] }],
  [`x = ${'-'.repeat(90_000)}1`, { ends: ['syntax', 'protocol'] }],
  [`x = ${'1+'.repeat(40_000)}1`, { ends: ['syntax', 'protocol', 'success'] }],
  [`x = a${'.b'.repeat(40_000)}`, { ends: ['syntax', 'protocol', 'undefined_name'] }],
  [`${Array.from({ length: 90 }, (_, depth) => `${' '.repeat(depth)}if 1:`).join('\n')}\n${' '.repeat(90)}pass`, {}],
];

const STACK_WITH_MODULES: readonly InPython[] = [
  ['sys.setrecursionlimit(10 ** 9)\ndef f(): f()\nf()', { ends: ['memory', 'protocol', 'runtime', 'timeout'] }],
  [
    'sys.setrecursionlimit(10 ** 9)\ndeep = []\nfor _ in range(10 ** 5): deep = [deep]\nrepr(deep)',
    { ends: ['memory', 'protocol', 'runtime'] },
  ],
  ["load('json').loads('[' * 10 ** 6)", { ends: ['runtime', 'memory'] }],
  ["load('pickle').dumps(load('functools').reduce(lambda a, _: [a], range(10 ** 5), []))", { ends: ['runtime', 'memory'] }],
];

const ROOM = { timeoutSeconds: 3, maxMemoryMb: 32 };

export const TIME_IN_PYTHON: readonly Attempt[] = [...inPython('time', TIME), ...withModules('time', TIME_WITH_MODULES)];

export const MEMORY_IN_PYTHON: readonly Attempt[] = [
  ...inPython('memory', MEMORY, { ...SMALL, timeoutSeconds: 1 }),
  ...withModules('memory', MEMORY_WITH_MODULES, { ...SMALL, timeoutSeconds: 2 }),
];

export const STACK_IN_PYTHON: readonly Attempt[] = [...inPython('stack', STACK, ROOM), ...withModules('stack', STACK_WITH_MODULES, ROOM)];
