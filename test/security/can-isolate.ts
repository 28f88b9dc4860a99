import { spawnSync } from 'node:child_process';

/** True if bubblewrap is there and may make user namespaces. Without both, no code in Python runs, and its tests are skipped. */
export const CAN_ISOLATE = spawnSync('bwrap', ['--unshare-user', '--ro-bind', '/', '/', '--', '/usr/bin/python3', '-c', '']).status === 0;
