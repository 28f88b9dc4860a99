/** The part of the runner that checks cells and runs them, one after the other, in one namespace. */
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
    # A local variable without a value has an error of its own, which is no undefined name.
    return ('undefined_name' if type(error) is NameError else 'runtime'), describe(error)

def ended(kind, members):
    pad = ',"scratchpad":' + quote(scratchpad_text()) if settings['scratchpad'] else ''
    current.is_over = True
    send(kind, members + pad)

def run(frame):
    """Runs a cell. What it holds on to when it fails is let go before the end is sent, which needs memory."""
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
