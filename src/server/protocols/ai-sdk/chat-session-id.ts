import { createHash } from 'node:crypto';
import { canonicalJson } from '../../../core/domain/json/json.ts';
import type { Principal } from '../../../core/domain/run/principal.ts';

/**
 * Returns the id of the session of a chat. The ids that browsers choose are one set for each user of each tenant, so that two of them never
 * meet, and none takes the ids of another. A caller without a principal reaches all sessions, and names them by their own ids.
 */
export function sessionIdOf(principal: Principal | undefined, chatId: string): string {
  if (principal === undefined) return chatId;
  const named = canonicalJson({ tenant: principal.tenant ?? null, user: principal.user ?? null, chat: chatId });
  return `chat-${createHash('sha256').update(named).digest('hex').slice(0, 40)}`;
}
