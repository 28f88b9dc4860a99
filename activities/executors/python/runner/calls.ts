/**
 * The part of the runner that gives code its tools: by its plain name a tool blocks until its result is there, and `tools.name`
 * returns a call whose `result()` waits. Calls wait in a batch until the code blocks; those that
 * nothing waits for are not made.
 */
export const CALLS = String.raw`
class ToolError(Exception):
    """A call of a tool that failed."""

class Call:
    """A call of a tool, whose result may not be there yet."""
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
    """Ends the segment with all calls of the batch, and goes on with their results."""
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
    """Tells which calls were not made, because nothing waited for them."""
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
