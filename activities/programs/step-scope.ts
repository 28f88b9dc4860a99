import type { ProgramDocument } from '../../src/core/domain/program/document.ts';
import { contextOf, lookupOf } from '../../src/core/program/interpreter/values.ts';
import type { Lookup } from '../../src/core/program/references/interpolate.ts';
import { parseAddress, type StepAddress } from '../../src/core/program/state/address.ts';
import { type IndexedStep, indexOf } from '../../src/core/program/state/program-index.ts';
import type { UnitContext } from '../../src/core/program/state/unit-context.ts';
import type { ActivityRuntime } from '../runtime.ts';
import type { StepReference } from './step-values.ts';

/** A step as its activity sees it. */
export interface StepScope {
  address: StepAddress;
  indexed: IndexedStep;
  /** The outputs that the step refers to, by the address of their step, and the input of the program as a variable. */
  context: UnitContext;
  lookup: Lookup;
}

/** Returns a step of a program with the look-up of the references in it. */
export async function stepScope({ stepValues }: ActivityRuntime, document: ProgramDocument, reference: StepReference): Promise<StepScope> {
  const address = parseAddress(reference.step);
  const outputs = await stepValues.outputs(reference);
  const context = contextOf(await stepValues.input(reference), outputs);
  const indexed = indexOf(document).get(address.unit, address.step);
  return { address, indexed, context, lookup: lookupOf(document, context, address) };
}
