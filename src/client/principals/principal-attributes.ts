import { defineSearchAttributeKey, type SearchAttributePair, SearchAttributeType } from '@temporalio/common';
import { createHmac } from 'node:crypto';
import type { Identity } from '../../core/domain/run.ts';
import { SEARCH_ATTRIBUTES } from '../../core/protocol.ts';

const TENANT = defineSearchAttributeKey(SEARCH_ATTRIBUTES.tenant, SearchAttributeType.KEYWORD);
const USER = defineSearchAttributeKey(SEARCH_ATTRIBUTES.user, SearchAttributeType.KEYWORD);

/** Returns the search attributes of a run that acts for a principal. The server carries them over, and children get those of their parent. */
export function principalAttributes({ tenant, user }: Identity, userKey: string | undefined): SearchAttributePair[] {
  return [
    ...(tenant === undefined ? [] : [{ key: TENANT, value: tenant }]),
    ...(user === undefined ? [] : [{ key: USER, value: publishedUser(user, userKey) }]),
  ];
}

/** A user as a client with a user key lists it: an HMAC-SHA-256. */
const HASHED = /^[0-9a-f]{64}$/;

/** True for a user as search attributes have it that is, to all appearances, the hash of one. */
export function isHashedUser(listed: string): boolean {
  return HASHED.test(listed);
}

/** Returns a user as search attributes have it: in clear text, or as its HMAC if the client has a key. */
export function publishedUser(user: string, userKey: string | undefined): string {
  return userKey === undefined ? user : createHmac('sha256', userKey).update(user).digest('hex');
}
