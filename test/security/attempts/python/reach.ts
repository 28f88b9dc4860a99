import type { Attempt } from '../attempt.ts';
import { inPython, type InPython, withModules } from './attempt-in-python.ts';

/** Ways out of the language: they may lead to the interpreter, which is in the sandbox, and to no part of the host. */
const LANGUAGE: readonly InPython[] = [
  ["open('/etc/passwd')", { ends: ['undefined_name'] }],
  ["exec('import os')", { ends: ['undefined_name'] }],
  ["eval('1')", { ends: ['undefined_name'] }],
  ["compile('1', '', 'eval')", { ends: ['undefined_name'] }],
  ['globals()', { ends: ['undefined_name'] }],
  ['breakpoint()', { ends: ['undefined_name'] }],
  ['import os', { ends: ['import_not_allowed'] }],
  ['if False:\n  import os', { ends: ['import_not_allowed'] }],
  ['lambda: [__import__("os")]\n__import__("os")', { ends: ['import_not_allowed'] }],
  ['__builtins__["__import__"]("subprocess")', { ends: ['import_not_allowed'] }],
  ['__builtins__["__import__"]("os", None, None, (), 1)', { ends: ['import_not_allowed'] }],
  [
    'final_answer(str([one for one in [].__class__.__base__.__subclasses__() if "wrap_close" in str(one)][0].__init__.__globals__["environ"]))',
  ],
  [
    'final_answer(str([one.__init__.__globals__["sys"].modules["os"].environ for one in ().__class__.__base__.__subclasses__() if "sys" in getattr(getattr(one, "__init__"), "__globals__", {})][0]))',
  ],
  ['final_answer(print.__self__.open("/proc/self/environ").read())', { ends: ['runtime'] }],
  ['final_answer(str(final_answer.__globals__["settings"]))'],
  ['final_answer(str((lambda: 0).__globals__["__builtins__"]))'],
  ['def spy():\n  yield spy.gi_frame.f_back.f_globals\nspy = spy()\nfinal_answer(str(spy.gi_frame))'],
  [
    'try:\n  1 / 0\nexcept:\n  frame = print.__self__.__import__("sys").exc_info()[2].tb_frame\n  while frame.f_back: frame = frame.f_back\n  final_answer(str(list(frame.f_globals)))',
  ],
];

const DIRECTORIES = ['/etc', '/root', '/home', '/tmp', '/proc', '/sys', '/dev', '/run', '/var', '/work', '/opt', '/srv', '/mnt', '/boot'];

/** Code that has all modules of the interpreter, and looks for the host. */
const HOST: readonly InPython[] = [
  ...DIRECTORIES.map((path): InPython => [`final_answer(os.listdir('${path}'))`, { ends: ['runtime'] }]),
  ["final_answer(sorted(os.listdir('/')))", { ends: ['success'], answer: ['lib', 'lib64', 'usr'] }],
  [
    "final_answer([os.environ.get(bait['variable']), os.getenv('PATH'), os.getenv('HOME')])",
    { ends: ['success'], answer: [null, null, null] },
  ],
  ['final_answer(sorted(os.environ))', { ends: ['success'] }],
  ["final_answer(print.__self__.open(bait['file']).read())", { ends: ['runtime'] }],
  ["print.__self__.open(bait['file'], 'w').write('changed')", { ends: ['runtime'] }],
  ["os.unlink(bait['file'])", { ends: ['runtime'] }],
  ["os.symlink(bait['file'], '/lib/link')", { ends: ['runtime'] }],
  ["final_answer(os.readlink('/usr/../..'))", { ends: ['runtime'] }],
  ["os.chdir('../../../..')\nfinal_answer(sorted(os.listdir('.')))", { ends: ['success'], answer: ['lib', 'lib64', 'usr'] }],
  ["final_answer(os.listdir('/usr/bin'))", { ends: ['success'], answer: ['python3'] }],
  ["final_answer(attempt(lambda: os.listdir('/usr/local')))", { ends: ['success'], answer: null }],
  ["os.open('/usr/lib/longhaul', os.O_CREAT | os.O_WRONLY)", { ends: ['runtime'] }],
  ["os.mkdir('/made')", { ends: ['runtime'] }],
  ["os.mkfifo('/fifo')", { ends: ['runtime'] }],
  ["os.mknod('/device', 0o20666, 0x101)", { ends: ['runtime'] }],
  ["os.chmod('/usr/bin/python3', 0o4755)", { ends: ['runtime'] }],
  ["os.rename('/lib', '/library')", { ends: ['runtime'] }],
  ["final_answer(load('socket').create_connection(('127.0.0.1', bait['port']), 0.2).recv(1))", { ends: ['runtime'] }],
  ["final_answer(load('socket').getaddrinfo('localhost', 80))", { ends: ['runtime'] }],
  ["load('socket').socket(load('socket').AF_UNIX)", { ends: ['runtime'] }],
  ["load('socket').socketpair()", { ends: ['runtime'] }],
  ["load('urllib.request').request.urlopen(f\"http://127.0.0.1:{bait['port']}\", timeout=0.2)", { ends: ['runtime'] }],
  ["load('socket').socket(fileno=1).connect(('127.0.0.1', bait['port']))", { ends: ['runtime'] }],
  ['final_answer([os.getuid() == 0, os.geteuid() == 0, os.getgroups() == [0]])', { ends: ['success'], answer: [false, false, false] }],
  ["final_answer(load('socket').gethostname())", { ends: ['success'], answer: 'code' }],
  ['final_answer([fd for fd in range(1024) if attempt(lambda: os.fstat(fd)) is not None])', { ends: ['success'], answer: [0, 1, 2] }],
  ['final_answer(bytes_ := len(os.read(3, 10)))', { ends: ['runtime'] }],
  [
    "for pid in range(2, 40):\n  attempt(lambda: print(os.readlink(f'/proc/{pid}/exe')))\nfinal_answer(0)",
    { ends: ['success'], answer: 0 },
  ],
  ['final_answer(str(os.sysconf_names and os.uname().nodename))', { ends: ['success'], answer: 'code' }],
];

export const REACH_IN_PYTHON: readonly Attempt[] = [...inPython('reach', LANGUAGE), ...withModules('reach', HOST)];
