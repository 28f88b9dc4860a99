/** The part of the runner that pins the clock and the randomness of code: modules that it may import see those of the run. */
export const MOMENT = String.raw`
import time

real_gmtime, real_strftime = time.gmtime, time.strftime

def pin_clock():
    # Without its twin in C, datetime asks the module time for the time.
    sys.modules['_datetime'] = None
    for name in ('time', 'monotonic', 'perf_counter', 'process_time', 'thread_time'):
        setattr(time, name, lambda: current.now / 1000)
        setattr(time, name + '_ns', lambda: int(current.now) * 1000000)
    for name in ('clock_gettime', 'clock_gettime_ns', 'clock_settime', 'clock_settime_ns', 'clock_getres', 'tzset'):
        if hasattr(time, name):
            delattr(time, name)
    def gmtime(seconds=None):
        return real_gmtime(current.now / 1000 if seconds is None else seconds)
    def asctime(moment=None):
        return real_strftime('%a %b %e %H:%M:%S %Y', gmtime() if moment is None else moment)
    time.gmtime = time.localtime = gmtime
    time.asctime = asctime
    time.ctime = lambda seconds=None: asctime(gmtime(seconds))
    time.strftime = lambda form, moment=None: real_strftime(form, gmtime() if moment is None else moment)

def random_bytes(count):
    if current.random is None:
        import random
        current.random = random.Random(current.seed)
    return current.random.randbytes(count)

def pin_randomness():
    os.urandom = random_bytes
    os.__dict__.pop('getrandom', None)

def seed_randomness():
    """Seeds the module random once in each run, as soon as something has imported it."""
    random = sys.modules.get('random')
    if random is not None and not current.is_seeded and hasattr(random, 'seed'):
        current.is_seeded = True
        random.seed(current.seed)
`;
