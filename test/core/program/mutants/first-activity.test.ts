import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../../../../src/define/define-agent.ts';
import { defineTool } from '../../../../src/define/define-tool.ts';
import { agent, defineProgram, program as programStep, tool, unit } from '../../../../src/define/program/index.ts';
import type { RunResultFields } from '../../../../src/core/domain/result.ts';
import { effectsLedger } from '../../../../src/testing/tested-run.ts';
import { Harness } from '../../../../src/testing/harness/harness.ts';
import { programParts } from '../../../../src/testing/harness/worker-parts.ts';
import { approve, type Decide, respond, say, scriptedModel } from '../../../../src/testing/index.ts';
import { MemoryEnvironment } from '../../../../src/testing/memory/memory-environment.ts';
import { checkStart, readProgramInput } from '../../../../workflows/run/execute-run.ts';
import { mutantOf } from './judge-mutant.ts';
import { INPUT, TOOLS } from './valid-programs.ts';

const MODEL = 'scripted/model';
const tools = TOOLS.map((name) =>
  defineTool({ name, description: name, parameters: z.looseObject({}), execute: () => ({ n: 1, list: ['a'] }) }),
);
const desk = defineAgent({ name: 'desk', model: MODEL, instructions: 'x', deps: z.object({ user: z.unknown() }) });
const archive = defineProgram({ name: 'archive', model: MODEL, units: [{ name: 'u', steps: [{ name: 'A', sleep: { for: 1 } }] }] });
/** A program that the worker has, so that it has everything that the mutants name. */
const known = defineProgram({
  name: 'known',
  model: MODEL,
  units: [
    unit('u', {}, [
      ...tools.map((one, index) => tool(`T${index}`, one)),
      agent('A', desk, 'Go.', { deps: { user: 'x' } }),
      programStep('P', archive),
    ]),
  ],
});

/** Runs a document as the raw input of a workflow: its checks, its first activity, and its run in memory. */
async function runAsInput(document: unknown, seed: number): Promise<RunResultFields | { problem: string }> {
  const identity = { runId: `run-${seed}`, startedAt: 1, origin: { attempt: 1 } };
  const checked = checkStart({ program: document, input: INPUT }, identity, readProgramInput);
  if (!checked.ok) return { problem: checked.problem };
  const { start } = checked;
  if (start.type !== 'program') throw new TypeError('The start is none of a program');
  const options = { model: scriptedModel([say('It is [1].'), say('{"n": 1, "list": ["a"]}')], { repeatLast: true }) };
  const harness = new Harness(known, {});
  const worker = programParts(harness, known, options, effectsLedger());
  const decide: Decide = ({ kind }) => (kind === 'question' ? respond('Yes.') : approve());
  const environment = await MemoryEnvironment.open(harness, { start, worker, decide });
  try {
    return await Promise.race([environment.execute(), harness.failure]);
  } finally {
    await environment.close();
  }
}

/** The fate of a document that is the input of a run, and the reason if there is one. */
type Fate = [fate: string, reason: string];

async function fateOf(seed: number): Promise<Fate> {
  const result = await runAsInput(mutantOf(seed).document, seed);
  if ('problem' in result) return ['refused', result.problem];
  if (result.errorCode === 'invalid_program') return ['refused by the activity', result.error ?? ''];
  return result.errorCode === 'internal' ? ['crashed', `${seed}: ${result.error}`] : ['ended', result.status];
}

it('a mutated document as the input of a run is refused with its problems, or its run ends', { timeout: 60_000 }, async () => {
  const fates: Fate[] = [];
  for (let seed = 1; seed <= 100; seed += 1) fates.push(await fateOf(seed));
  expect(fates.filter(([, reason]) => reason === '')).toEqual([]);
  expect(fates.filter(([fate]) => fate === 'crashed')).toEqual([]);
  for (const fate of ['refused', 'refused by the activity', 'ended'])
    expect(fates.filter(([one]) => one === fate).length).toBeGreaterThan(5);
});
