import type { ProgramOptions } from '../../client/start/start-program.ts';
import { modelsOf } from '../../core/domain/program-document.ts';
import type { AnyProgram } from '../../define/program/program-definition.ts';
import { inMemory } from '../../memory/in-memory.ts';
import type { EffectsLedger } from '../effects-ledger.ts';
import type { ProgramTestOptions } from '../tested-program.ts';
import type { Harness } from './harness.ts';
import { commonParts, type WorkerParts } from './worker-parts.ts';

/** Returns the parts of a worker for one run of a program. Throws a UsageError for a test without a model. */
export function programParts(harness: Harness, program: AnyProgram, options: ProgramTestOptions, ledger: EffectsLedger): WorkerParts {
  const { document } = program;
  const documents = [document, ...program.programs.map((one) => one.document)];
  const models = [
    ...documents.flatMap((one) => [...modelsOf(one), ...(one.model === undefined ? [] : [one.model])]),
    ...program.agents.flatMap(({ model, window: { summaryModel = model } }) => [model, summaryModel]),
  ];
  return {
    agents: program.agents,
    programs: [program],
    memory: options.memory ?? inMemory(),
    ...(options.anchors === undefined ? {} : { anchors: options.anchors }),
    ...commonParts(harness, { what: `program "${program.name}"`, models }, options, ledger),
  };
}

/** Returns the options of the start of a program in a test. */
export function programStart({ input, deps, state, principal, limits, deadline, tags }: ProgramTestOptions): ProgramOptions {
  return {
    ...(input === undefined ? {} : { input }),
    ...(deps === undefined ? {} : { deps }),
    ...(state === undefined ? {} : { state }),
    ...(principal === undefined ? {} : { principal }),
    ...(limits === undefined ? {} : { limits }),
    ...(deadline === undefined ? {} : { deadline }),
    ...(tags === undefined ? {} : { tags }),
  };
}
