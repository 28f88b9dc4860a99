/** The part of the runner that talks to the host: frames, one on each line, JSON of ASCII with the token of the run. */
export const FRAMES = String.raw`
import ast, builtins, json, os, resource, sys

read_line = os.fdopen(0, 'rb', closefd=False).readline
write_bytes = os.write
parse = json.loads
quote = json.encoder.encode_basestring_ascii
current = None

def receive():
    line = read_line()
    if not line.endswith(b'\n'):
        os._exit(0)
    return parse(line)

def send(kind, members=''):
    left = memoryview(('{"token":"%s","type":"%s"%s}\n' % (current.token, kind, members)).encode('ascii'))
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

def limit_processor_time():
    # The worker ends code at its limit; if the worker itself hangs, the kernel does.
    if settings['timeoutMs'] <= 0:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    most = int(used.ru_utime + used.ru_stime + settings['timeoutMs'] / 1000) + 2
    resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))

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
            send('output', ',"text":' + quote(part))
        return len(text)

    def flush(self):
        pass

    def isatty(self):
        return False
`;
