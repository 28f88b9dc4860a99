import { defineSearchAttributeKey, SearchAttributeType, type SearchAttributePair } from '@temporalio/common';
import type { SessionInput } from '../../core/domain/sessions/session-input.ts';
import { SEARCH_ATTRIBUTES, TITLE_MEMO } from '../../core/protocol.ts';

const SESSION = defineSearchAttributeKey(SEARCH_ATTRIBUTES.session, SearchAttributeType.KEYWORD);

/** Returns the search attribute by which lists know a session: the agent that it begins with. The server carries it over. */
export function sessionAttributes(agent: string): SearchAttributePair[] {
  return [{ key: SESSION, value: agent }];
}

/** Returns the memo of a session: the caller's, with its title. Unlike a search attribute, it is encrypted if payloads are. */
export function sessionMemo(
  memo: Record<string, unknown> | undefined,
  { title }: Pick<SessionInput, 'title'>,
): { memo?: Record<string, unknown> } {
  const whole = { ...memo, ...(title === undefined ? {} : { [TITLE_MEMO]: title }) };
  return Object.keys(whole).length === 0 ? {} : { memo: whole };
}
