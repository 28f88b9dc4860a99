/** The part of the runner that writes values as JSON, within a limit of length and depth, and describes errors. */
export const JSON_TEXT = String.raw`
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
        # Quoting a text that has no room for it would take memory for nothing.
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
