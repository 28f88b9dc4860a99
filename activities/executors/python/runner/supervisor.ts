/**
 * The part of the runner that stands between the worker and the code. It forks: the child runs the code and has two pipes; this
 * process has the streams of the worker and the tokens, and never runs code. What the child writes is content alone. This process
 * says of what kind it is, and an end counts once the kernel has stopped the child.
 */
export const SUPERVISOR = String.raw`
import ast, builtins, json, os, resource, signal, sys

parse = json.loads
REFUSED_CODE = 65

# The words that lines of the code begin with, and what the worker is told. No word claims what the worker measures or decides.
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
        # What stands last counts. If the members are no members, the whole line is no JSON: they cannot swallow its end.
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
        """Passes on what the code writes, up to the end of its segment."""
        while True:
            word, _, members = self.line().partition(b' ')
            if word in CONTENT:
                self.tell(CONTENT[word], members)
                continue
            if word not in ENDS:
                os._exit(REFUSED_CODE)
            self.stop()
            # Code that went on after its end, until it was stopped, may have written more.
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
        """Ends everything if the code dies or wakes up while it has to rest."""
        if self.is_stopped and os.waitpid(self.code, os.WNOHANG | os.WCONTINUED)[0] != 0:
            os._exit(REFUSED_CODE)

    def end(self, status):
        os._exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))

def supervise():
    """Returns in the child, which runs the code. The child was made before anything was read: nothing that it has to ignore is in its memory."""
    # The worker's own parent may have left files open in it, which its children inherit.
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
