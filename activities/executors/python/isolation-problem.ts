import { UsageError } from '../../../src/core/domain/errors/error.ts';

/** Messages of bubblewrap if it cannot isolate, with the reason and the remedy. */
const CAUSES: readonly (readonly [said: RegExp, reason: string, remedy: string])[] = [
  [/unknown option/i, 'bubblewrap is too old', 'install version 0.8.0 or a newer one'],
  [
    /spawn EPERM/,
    'the worker runs as root, and may not start a process as another user',
    'start the worker as another user, or let it change users (CAP_SETUID, CAP_SETGID)',
  ],
  [
    /namespace|uid map|RTM_NEWADDR|not permitted|permission denied/i,
    'user namespaces are not allowed here, as in a container of Docker without further options',
    'allow them (docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined; on a host: sysctl kernel.unprivileged_userns_clone=1 and kernel.apparmor_restrict_unprivileged_userns=0), or use custom({...})',
  ],
];

/** The error of a worker that cannot isolate Python, by what was said when it was tried. */
export function isolationProblem(said: string): UsageError {
  const [, reason, remedy] = CAUSES.find(([pattern]) => pattern.test(said)) ?? [];
  return reason === undefined || remedy === undefined
    ? missingIsolation('it did not start', `look at its message: ${said}`)
    : missingIsolation(`${reason} ("${said}")`, remedy);
}

/** The error of a worker that cannot isolate Python. */
export function missingIsolation(reason: string, remedy: string): UsageError {
  return new UsageError(`the executor "python" cannot isolate code on this machine: ${reason}. To use it, ${remedy}`);
}
