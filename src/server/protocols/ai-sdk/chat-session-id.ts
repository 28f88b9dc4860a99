import { createHash } from 'node:crypto';
import { canonicalJson } from '../../../core/domain/json/json.ts';
import type { Principal } from '../../../core/domain/run/principal.ts';

/**
 * Returns the id of the session of a chat. The ids that browsers choose are one set for each tenant, so that two tenants never meet. A
 * caller without a principal reaches all sessions, and names them by their own ids.
 */
export function sessionIdOf(principal: Principal | undefined, chatId: string): string {
  if (principal === undefined) return chatId;
  const named = canonicalJson({ tenant: principal.tenant ?? null, chat: chatId });
  return `chat-${createHash('sha256').update(named).digest('hex').slice(0, 40)}`;
}
