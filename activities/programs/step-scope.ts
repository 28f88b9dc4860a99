import type { JsonObject, JsonValue } from '../../src/core/domain/json/json.ts';
import type { ProgramDocument } from '../../src/core/domain/program/document.ts';
import { lookupOf } from '../../src/core/program/interpreter/values.ts';
import type { Lookup } from '../../src/core/program/references/interpolate.ts';
import { parseAddress, type StepAddress } from '../../src/core/program/state/address.ts';
import { type IndexedStep, indexOf } from '../../src/core/program/state/program-index.ts';
import type { ActivityRuntime } from '../runtime.ts';
import type { StepReference } from './step-values.ts';

/** A step as its activity sees it. */
export interface StepScope {
  address: StepAddress;
  indexed: IndexedStep;
  lookup: Lookup;
}

/** Returns a step of a program with the look-up of the references in it. */
export async function stepScope({ stepValues }: ActivityRuntime, document: ProgramDocument, reference: StepReference): Promise<StepScope> {
  const address = parseAddress(reference.step);
  const outputs: ReadonlyMap<string, JsonValue> = await stepValues.outputs(reference);
  const input: JsonObject = await stepValues.input(reference);
  const indexed = indexOf(document).get(address.unit, address.step);
  return { address, indexed, lookup: lookupOf(document, { input, outputs }, address) };
}
