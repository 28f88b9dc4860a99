/** The part of the runner that talks to its supervisor. Each line that it writes is a word for its kind, and members of JSON in ASCII. */
export const FRAMES = String.raw`
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
    """Sends what is printed, as long as there is room for it."""
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
