import type { JWTPayload } from 'jose';
import { identityOf } from '../../../core/domain/run/principal.ts';
import { isScope } from '../access/scopes.ts';
import type { JwtRights } from './jwt-options.ts';

/**
 * Returns the rights that the usual claims stand for. Refuses a token without a subject, and one in which a claim has another type: to
 * leave it out could widen the rights.
 */
export function claimedRights({ sub, tenant, org_id: organization, scope, agents }: JWTPayload): JwtRights | undefined {
  const owner = tenant ?? organization;
  if (sub === undefined || sub === '' || !isText(owner) || !isText(scope) || !isTexts(agents)) return undefined;
  return {
    principal: identityOf({ tenant: owner, user: sub }),
    scopes: [...new Set(scope?.split(' '))].filter(isScope),
    ...(agents === undefined ? {} : { agents }),
  };
}

function isText(claim: unknown): claim is string | undefined {
  return claim === undefined || typeof claim === 'string';
}

function isTexts(claim: unknown): claim is string[] | undefined {
  return claim === undefined || (Array.isArray(claim) && claim.every((one) => typeof one === 'string'));
}
