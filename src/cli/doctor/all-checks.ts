import { AGENT_CHECKS } from './agent-checks.ts';
import type { CheckGroup } from './check.ts';
import { MACHINE_CHECKS } from './machine-checks.ts';
import { NETWORK_CHECKS } from './network-checks.ts';
import { QUEUE_CHECKS } from './queue-checks.ts';
import { SANDBOX_CHECKS } from './sandbox-checks.ts';
import { SERVER_CHECKS } from './server-checks.ts';
import { STORE_CHECKS } from './store-checks.ts';

/** Every check, in the order of the report. */
export const CHECK_GROUPS: readonly CheckGroup[] = [
  MACHINE_CHECKS,
  SERVER_CHECKS,
  QUEUE_CHECKS,
  AGENT_CHECKS,
  SANDBOX_CHECKS,
  STORE_CHECKS,
  NETWORK_CHECKS,
];
