import type { JWTPayload } from 'jose';
import { identityOf } from '../../../core/domain/run/principal.ts';
import { unusableToken } from '../access/access-error.ts';
import { isScope } from '../access/scopes.ts';
import type { JwtRights } from './jwt-options.ts';

/**
 * Returns the rights that the usual claims stand for. Throws `unauthenticated` for a token without a subject, and for one in which a claim
 * has another type, or is null: to leave it out could widen the rights.
 */
export function claimedRights({ sub, tenant, org_id: organization, scope, agents }: JWTPayload): JwtRights {
  const owner = textIn('tenant', tenant) ?? textIn('org_id', organization);
  if (typeof sub !== 'string' || sub === '') throw unusableToken('the claim "sub" names nobody: write the user into it');
  if (!isTexts(agents)) throw unusableToken('the claim "agents" is no list of names: write a list, or leave it out');
  return {
    principal: identityOf({ tenant: owner, user: sub }),
    scopes: [...new Set(textIn('scope', scope)?.split(' '))].filter(isScope),
    ...(agents === undefined ? {} : { agents }),
  };
}

/** Returns the text of a claim; undefined if the token does not have it. */
function textIn(name: string, claim: unknown): string | undefined {
  if (claim === undefined || typeof claim === 'string') return claim;
  const kind = claim === null ? 'null' : Array.isArray(claim) ? 'a list' : `of type "${typeof claim}"`;
  throw unusableToken(`the claim "${name}" is ${kind}: write a text, or leave it out`);
}

function isTexts(claim: unknown): claim is string[] | undefined {
  return claim === undefined || (Array.isArray(claim) && claim.every((one) => typeof one === 'string'));
}
