/** The part of the runner that gives code the working memory of an agent, which is kept as JSON, and its signals, which are printed. */
export const SCRATCHPAD = String.raw`
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
