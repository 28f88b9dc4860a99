/**
 * The part of the runner between the worker and the code. It forks: the child runs the code and has two pipes; this process has the
 * worker's streams and the tokens, and never runs code. The child only provides content. This process decides its kind, and an end only
 * counts once the kernel has stopped the child.
 */
export const SUPERVISOR = String.raw`
import ast, builtins, json, os, resource, signal, sys

parse = json.loads
REFUSED_CODE = 65

# The first words of the child's lines, and the frames for the worker. No word claims anything that the worker measures or decides.
CONTENT = {b'output': b'"type":"output"'}
ENDS = {
    b'calls': b'"durationMs":0,"type":"calls"',
    b'done': b'"durationMs":0,"memoryUsedBytes":0,"type":"done"',
    **{
        kind: b'"durationMs":0,"memoryUsedBytes":0,"kind":"%s","type":"failed"' % kind
        for kind in (b'syntax', b'import_not_allowed', b'undefined_name', b'runtime', b'memory')
    },
}

def write_all(stream, line):
    left = memoryview(line)
    while len(left) > 0:
        left = left[os.write(stream, left):]

class Supervisor:
    def __init__(self, code, source, sink):
        self.code, self.source, self.sink = code, source, sink
        self.rest = b''
        self.token = b''
        self.seconds = self.line_length = 0
        self.is_stopped = False

    def serve(self):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGCHLD, self.changed)
        read_line = os.fdopen(0, 'rb', closefd=False).readline
        start = read_line()
        settings = parse(start)
        self.line_length = settings['lineLength']
        write_all(self.sink, start)
        while True:
            line = read_line()
            if not line.endswith(b'\n'):
                os._exit(0)
            if line.startswith(b'{"type":"run"'):
                frame = parse(line)
                self.token = frame.pop('token').encode('ascii')
                self.seconds = settings['timeoutMs'] / 1000 + 2 if settings['timeoutMs'] > 0 else 0
                line = json.dumps(frame).encode('ascii') + b'\n'
                self.tell(b'"type":"began"')
            self.wake()
            write_all(self.sink, line)
            self.pass_on()

    def tell(self, head, members=b''):
        # The last member counts. Invalid members make the whole line invalid JSON: they cannot swallow its end.
        write_all(1, b'{%s%s,"token":"%s"}\n' % (members + b',' if members else b'', head, self.token))

    def wake(self):
        self.is_stopped = False
        os.kill(self.code, signal.SIGCONT)
        # If the worker hangs, the kernel ends this process, and the code with it.
        signal.setitimer(signal.ITIMER_REAL, self.seconds)

    def stop(self):
        os.kill(self.code, signal.SIGSTOP)
        _, status = os.waitpid(self.code, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            self.end(status)
        self.is_stopped = True
        left, _ = signal.setitimer(signal.ITIMER_REAL, 0)
        self.seconds = max(left, 0.001) if self.seconds > 0 else 0

    def pass_on(self):
        """Passes on the output of the code, up to the end of its segment."""
        while True:
            word, _, members = self.line().partition(b' ')
            if word in CONTENT:
                self.tell(CONTENT[word], members)
                continue
            if word not in ENDS:
                os._exit(REFUSED_CODE)
            self.stop()
            # Code that continued after its end, until it was stopped, may have written more.
            os.set_blocking(self.source, False)
            try:
                self.rest += os.read(self.source, 1)
            except BlockingIOError:
                pass
            os.set_blocking(self.source, True)
            if self.rest:
                os._exit(REFUSED_CODE)
            return self.tell(ENDS[word], members)

    def line(self):
        parts = []
        length = 0
        part = self.rest
        while b'\n' not in part:
            parts.append(part)
            length += len(part)
            if length > self.line_length:
                os._exit(REFUSED_CODE)
            part = os.read(self.source, 65536)
            if not part:
                os.kill(self.code, signal.SIGKILL)
                self.end(os.waitpid(self.code, 0)[1])
        last, _, self.rest = part.partition(b'\n')
        return b''.join([*parts, last])

    def changed(self, *_):
        """Ends everything if the code dies or wakes up while it must rest."""
        if self.is_stopped and os.waitpid(self.code, os.WNOHANG | os.WCONTINUED)[0] != 0:
            os._exit(REFUSED_CODE)

    def end(self, status):
        os._exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))

def supervise():
    """Returns in the child, which runs the code. It is forked before anything is read, so its memory has nothing to hide."""
    # The worker may have inherited open files, which its children inherit as well.
    os.closerange(3, 2 ** 20)
    to_code, from_code = os.pipe(), os.pipe()
    code = os.fork()
    if code > 0:
        os.close(to_code[0])
        os.close(from_code[1])
        Supervisor(code, from_code[0], to_code[1]).serve()
    os.dup2(to_code[0], 0)
    os.dup2(from_code[1], 1)
    os.closerange(3, 16)

supervise()
`;

/**
 * The part of the runner that gives code its tools: a tool called by its plain name blocks until its result arrives, and `tools.name`
 * returns a call whose `result()` waits. Calls are collected in a batch until the code blocks; calls that nothing waits for are not made.
 */
export const CALLS = String.raw`
class ToolError(Exception):
    """The error of a failed tool call."""

class Call:
    """A tool call, whose result may not have arrived yet."""
    __slots__ = ('_tool', '_outcome')

    def __init__(self, tool):
        self._tool = tool
        self._outcome = None

    def done(self):
        return self._outcome is not None

    def result(self):
        if self._outcome is None:
            exchange()
        if self._outcome is None:
            raise ToolError('The code ended before this call was made')
        if 'error' in self._outcome:
            raise ToolError(self._outcome['error'])
        return self._outcome.get('value')

    def __repr__(self):
        return '<call of %s>' % self._tool

def arguments_of(tool, values, named):
    name, parameters = tool['name'], tool['parameters']
    if len(values) == 1 and not named and isinstance(values[0], dict):
        return dict(values[0])
    if len(values) > len(parameters):
        listed = 'the parameters ' + ', '.join(parameters) if parameters else 'no parameters'
        raise TypeError('%s was called with %d arguments, and has %s' % (name, len(values), listed))
    given = dict(zip(parameters, values))
    for key in named:
        if key in given:
            raise TypeError("%s got two values for '%s'" % (name, key))
    return {**given, **named}

def add_call(tool, values, named):
    if current is None or current.is_over:
        raise ToolError('A tool can be called only until the code ends')
    if not current.may_call:
        raise ToolError("A tool can be called only by an agent's code")
    name = tool['name']
    arguments = json_text(arguments_of(tool, values, named), 'The argument of ' + name, settings['argumentsLength'])
    text = '{"tool":%s,"arguments":%s}' % (quote(name), arguments)
    if current.calls >= settings['calls']:
        raise ToolError('The code has made %d calls of tools, and can make no more' % settings['calls'])
    if current.batch_length + len(text) > settings['batchLength']:
        raise ToolError('The calls that wait together have more than %d characters of JSON: wait for some of them first' % settings['batchLength'])
    current.calls += 1
    current.batch_length += len(text) + 1
    call = Call(name)
    current.batch.append((call, text))
    return call

def exchange():
    """Ends the segment with all calls of the batch, and continues with their results."""
    batch, current.batch, current.batch_length = current.batch, [], 0
    if not batch:
        return
    if current.segments >= settings['segments']:
        problem = 'The code has waited %d times for calls of tools, and can wait no more' % (settings['segments'] - 1)
        results = [{'error': problem}] * len(batch)
    else:
        current.segments += 1
        send('calls', '"calls":[%s]' % ','.join(text for _, text in batch))
        results = receive()['results']
    for (call, _), outcome in zip(batch, results):
        call._outcome = outcome

def end_calls():
    """Reports the calls that were not made, because nothing waited for them."""
    batch, current.batch, current.batch_length = current.batch, [], 0
    if batch:
        names = short(', '.join(call._tool for call, _ in batch[:50]))
        print('[NOT CALLED] %s: the code ended without waiting for these calls' % names)

def gather(*calls):
    if len(calls) == 1 and not isinstance(calls[0], Call):
        calls = tuple(calls[0])
    for call in calls:
        if not isinstance(call, Call):
            raise TypeError('gather takes calls: write gather(tools.name(...), tools.name(...))')
    return [call.result() for call in calls]

def tool_functions():
    given = {}
    if not settings['tools']:
        return given
    class Tools:
        __slots__ = ()
        def __repr__(self):
            return '<tools>'
    for tool in settings['tools']:
        def blocking(*values, _tool=tool, **named):
            return add_call(_tool, values, named).result()
        def waiting(*values, _tool=tool, **named):
            return add_call(_tool, values, named)
        blocking.__name__ = waiting.__name__ = blocking.__qualname__ = waiting.__qualname__ = tool['name']
        setattr(Tools, tool['name'], staticmethod(waiting))
        if tool['name'].isidentifier():
            given[tool['name']] = blocking
    return {'ToolError': ToolError, 'gather': gather, **given, 'tools': Tools()}
`;

/** The part of the runner that checks cells and runs them sequentially in one namespace. */
export const CELLS = String.raw`
BUILTINS = (
    'abs all any bool callable chr dict dir divmod enumerate filter float format frozenset getattr hasattr hash id int isinstance '
    'issubclass iter len list map max min next oct ord pow print range repr reversed round set slice sorted str sum tuple type vars zip'
).split()

class Failure(Exception):
    """A cell that is refused before it runs."""
    def __init__(self, kind, message):
        self.kind = kind
        self.message = message

class ImportNotAllowed(ImportError):
    pass

class Run:
    """The state of one cell."""
    def __init__(self, frame):
        self.now, self.seed, self.may_call = frame['now'], frame['seed'], frame['mayCall']
        self.room = settings['outputLength']
        self.calls, self.segments, self.batch, self.batch_length = 0, 1, [], 0
        self.answer = None
        self.is_over = self.is_seeded = False
        self.random = None

def is_allowed(name):
    return name.split('.')[0] in settings['allowedImports']

def checked_import(name, globals=None, locals=None, fromlist=(), level=0):
    if level != 0 or not isinstance(name, str) or not is_allowed(name):
        raise ImportNotAllowed("Import '%s' not allowed" % (name,))
    module = builtins.__import__(name, globals, locals, fromlist, 0)
    seed_randomness()
    return module

def refuse_imports(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if not is_allowed(alias.name):
                    raise Failure('import_not_allowed', "Import '%s' not allowed" % alias.name)
        elif isinstance(node, ast.ImportFrom):
            name = '.' * node.level + (node.module or '')
            if not is_allowed(name):
                raise Failure('import_not_allowed', "Import from '%s' not allowed" % name)

def compiled(code):
    try:
        tree = ast.parse(code, '<code>')
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise Failure('syntax', 'Syntax error in code: ' + short(str(error) or 'it is nested too deeply'))
    refuse_imports(tree)
    try:
        return compile(tree, '<code>', 'exec', dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, OverflowError) as error:
        raise Failure('syntax', 'Syntax error in code: ' + short(str(error)))

def final_answer(value=None, verified_by=None):
    if current is None or current.is_over:
        raise ToolError('final_answer can be called only until the code ends')
    current.answer = json_text(value, 'The value of final_answer', settings['answerLength'])
    return value

provided = {'__name__': '__main__', 'final_answer': final_answer, **tool_functions(), **scratchpad_functions()}
namespace = {'__builtins__': {name: getattr(builtins, name) for name in BUILTINS}, **provided}
namespace['__builtins__']['__import__'] = checked_import

def namespace_text():
    left = settings['namespaceLength']
    entries = []
    for name, value in list(namespace.items()):
        if name == '__builtins__' or not isinstance(name, str) or (name in provided and provided[name] is value):
            continue
        kind = type_name(value)
        left -= len(name) + len(kind) + 30
        if left <= 0:
            break
        entry = '{"type":%s' % quote(kind)
        try:
            text = json_text(value, 'It', left)
            entry += ',"json":' + quote(text)
            left -= len(text)
        except MemoryError:
            raise
        except Exception:
            pass
        entries.append('%s:%s}' % (quote(name), entry))
    return '{%s}' % ','.join(entries)

def failure_of(error):
    if isinstance(error, Failure):
        return error.kind, error.message
    if isinstance(error, ImportNotAllowed):
        return 'import_not_allowed', str(error)
    if isinstance(error, MemoryError):
        return 'memory', 'The code ran out of memory'
    # An unbound local variable has its own error class, and is not an undefined name.
    return ('undefined_name' if type(error) is NameError else 'runtime'), describe(error)

def ended(kind, members):
    pad = ',"scratchpad":' + quote(scratchpad_text()) if settings['scratchpad'] else ''
    current.is_over = True
    send(kind, members + pad)

def run(frame):
    """Runs a cell. The objects of a failure are released before the end is sent, which needs memory."""
    reserve = bytearray(settings['reserveBytes'])
    try:
        for name, text in frame['injected']:
            namespace[name] = parse(text)
        exec(compiled(frame['code']), namespace)
        end_calls()
        members = '"namespace":' + namespace_text()
        if current.answer is not None:
            members += ',"answer":' + quote(current.answer)
        return 'done', members
    except BaseException as error:
        reserve = None
        kind, message = failure_of(error)
    return kind, '"message":' + quote(message)

set_limits()
pin_clock()
pin_randomness()
sys.stdout = Output()
sys.stderr = None
sys.path[:] = [path for path in sys.path if path]
try:
    while True:
        frame = receive()
        current = Run(frame)
        seed_randomness()
        ended(*run(frame))
except MemoryError:
    os._exit(settings['outOfMemoryCode'])
`;
