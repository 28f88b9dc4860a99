import { checkJson } from '../../json-schema/check-json-schema.ts';
import type { ConditionDocument } from '../../domain/program-document.ts';
import type { Lookup } from './interpolate.ts';
import { readReference } from './reference.ts';

/** True if the value of the reference fits the schema. A reference that leads to no value does not hold. */
export function conditionHolds({ of, is }: ConditionDocument, lookup: Lookup): boolean {
  const reference = readReference(of);
  const found = reference === undefined ? undefined : lookup(reference);
  return found?.found === true && checkJson(is, found.value).length === 0;
}
