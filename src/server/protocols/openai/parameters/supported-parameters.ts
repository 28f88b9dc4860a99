import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../../../../core/domain/json.ts';
import { OpenaiRefusal, unsupported } from '../errors/openai-refusal.ts';

/** The parameters of a route. `null` counts as absent everywhere. */
export interface ParameterTable {
  /** Read by the service. */
  own: readonly string[];
  /** Accepted, and without effect here, such as hints for caches. */
  withoutEffect: readonly string[];
  /** Not supported: each may have one of the values that it has anyway. Without any, it is always refused. */
  others: Readonly<Record<string, readonly JsonValue[]>>;
}

/** Returns the parameters that the service reads. Throws for one that it does not support, and for one that the protocol does not have. */
export function supportedParameters(body: unknown, { own, withoutEffect, others }: ParameterTable): JsonObject {
  if (!isJsonObject(body)) throw new OpenaiRefusal('invalid_request', 'The request has no body: send a JSON object', {});
  const given = Object.entries(body).filter(([, value]) => value !== null);
  for (const [name, value] of given) {
    if (own.includes(name) || withoutEffect.includes(name)) continue;
    const usual = Object.hasOwn(others, name) ? others[name] : undefined;
    if (usual === undefined) {
      throw new OpenaiRefusal('invalid_request', `Unknown parameter: "${name}"`, { param: name, code: 'unknown_parameter' });
    }
    if (usual.some((one) => canonicalJson(one) === canonicalJson(value))) continue;
    throw unsupported(
      name,
      usual.length === 0 ? 'leave it out' : `leave it out, or give ${usual.map((one) => JSON.stringify(one)).join(' or ')}`,
    );
  }
  return Object.fromEntries(given.filter(([name]) => own.includes(name)));
}
