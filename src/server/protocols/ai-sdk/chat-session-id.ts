import type { Principal } from '../../../core/domain/run/principal.ts';
import { derivedId } from '../../requests/derived-id.ts';

/**
 * Returns the id of the session of a chat. The ids that browsers choose are one set for each user of each tenant, so that two of them never
 * meet, and none takes the ids of another. A caller without a principal reaches all sessions, and names them by their own ids.
 */
export function sessionIdOf(principal: Principal | undefined, chatId: string): string {
  if (principal === undefined) return chatId;
  return derivedId('chat', { tenant: principal.tenant ?? null, user: principal.user ?? null, chat: chatId });
}
