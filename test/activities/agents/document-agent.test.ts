import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { AgentRegistry } from '../../../activities/agents/agent-registry.ts';
import { resolveAgentActivity } from '../../../activities/agents/resolve-agent.ts';
import { AnchorRegistry, ProgramRegistry } from '../../../activities/programs/program-registry.ts';
import { type AgentDocument, type AgentSnapshot, withDocument } from '../../../src/core/domain/agent.ts';
import { QUERIES } from '../../../src/core/protocol.ts';
import { defineAnchor, defineTool } from '../../../src/index.ts';
import { scriptedModel } from '../../../src/testing/index.ts';
import { activityEnvironment } from '../activity-environment.ts';

const find = defineTool({ name: 'find', description: 'Finds.', parameters: z.object({ q: z.string() }), execute: ({ q }) => q });
const hidden = defineTool({ name: 'hidden', description: 'd', parameters: z.object({}), execute: () => 1, callers: ['code'] });
const programs = new ProgramRegistry([], [find, hidden]);
const anchors = new AnchorRegistry([defineAnchor({ name: 'NoPrices', reject: ['prices'], check: () => [] })]);

const DOCUMENT: AgentDocument = {
  step: 'Letter',
  model: 'scripted/model',
  instructions: ['A persona.', 'A context.'],
  tools: ['find'],
  anchors: ['NoPrices', 'SafeOutput'],
  settings: { temperature: 0 },
  output: { type: 'object', properties: { letter: { type: 'string' } } },
  requiredFields: ['letter'],
};

/** Resolves the agent of a document, as its run does. */
async function resolved(document: AgentDocument): Promise<{ returned: AgentSnapshot; whole: AgentSnapshot; cached: AgentSnapshot }> {
  const answers = { [QUERIES.data]: { deps: {}, state: {}, document } };
  const registry = new AgentRegistry([], { scripted: scriptedModel([]) }, programs);
  const environment = activityEnvironment({ programs, anchors, registry, answers });
  const { runtime } = environment;
  const returned = await environment.run(resolveAgentActivity(runtime), { agent: 'shop/u.Letter', ofDocument: true });
  return { returned, whole: withDocument(returned, document), cached: await runtime.snapshots.load({}, returned.digest) };
}

describe('an agent that comes as a document', () => {
  test('is pinned with the tools of the worker, the texts of its anchors, and the checks of its answer', async () => {
    const { whole } = await resolved(DOCUMENT);
    expect(whole).toMatchObject({
      name: 'shop/u.Letter',
      model: 'scripted/model',
      settings: { temperature: 0 },
      limits: { steps: 10, finalAttempt: false },
      output: { mode: 'schema', schema: DOCUMENT.output, maxRetries: 0 },
      checks: { step: 'Letter', anchors: ['NoPrices', 'SafeOutput'], requiredFields: ['letter'] },
    });
    expect(whole.tools.map(({ name }) => name)).toEqual(['find']);
    expect(whole.instructions.slice(0, 2)).toEqual(DOCUMENT.instructions);
    expect(whole.instructions[2]).toContain('[CONSTRAINT: NoPrices]');
    expect(whole.instructions[3]).toContain('[CONSTRAINT: SafeOutput]');
  });

  test.each<[string, AgentDocument]>([
    ['every field', DOCUMENT],
    ['an answer that is not an object', { ...DOCUMENT, output: { type: 'array', items: { type: 'number' } } }],
    ['an answer that no provider enforces', { ...DOCUMENT, output: { type: 'object', patternProperties: { x: {} } } }],
    ['nothing but its tools', { step: 'A', model: 'scripted/model', instructions: [], tools: ['find'] }],
  ])('is not stored again, and is the same in the run and on the worker: %s', async (_, document) => {
    const { returned, whole, cached } = await resolved(document);
    expect(whole).toEqual(cached);
    const stored = JSON.stringify(returned);
    for (const text of ['A persona', 'A context', 'temperature', 'patternProperties', 'requiredFields']) expect(stored).not.toContain(text);
  });

  test('is tried on other workers if this one lacks a tool, unless its program is lenient', async () => {
    const unknown = { ...DOCUMENT, tools: ['find', 'fnd'] };
    await expect(resolved(unknown)).rejects.toMatchObject({
      type: 'unknown_tool',
      message: expect.stringContaining('No tool "fnd" of program "shop/u.Letter" in this worker') as string,
    });
    await expect(resolved({ ...unknown, lenient: true })).rejects.toMatchObject({ type: 'unknown_tool', nonRetryable: true });
  });

  test('is refused with a tool that only code may call', async () => {
    await expect(resolved({ ...DOCUMENT, tools: ['find', 'hidden'] })).rejects.toMatchObject({
      type: 'invalid_agent',
      nonRetryable: true,
      message: expect.stringContaining('Step "Letter" names the tool "hidden", which only code may call: steps run no code') as string,
    });
  });

  test('is refused with an anchor or a model that the worker lacks', async () => {
    await expect(resolved({ ...DOCUMENT, anchors: ['Nope'] })).rejects.toMatchObject({
      type: 'invalid_program',
      message: expect.stringContaining('No anchor "Nope" is registered in this worker') as string,
    });
    await expect(resolved({ ...DOCUMENT, model: 'other/model' })).rejects.toMatchObject({ type: 'unknown_provider' });
    expect((await resolved({ ...DOCUMENT, anchors: ['Nope'], lenient: true })).whole.instructions).toEqual(DOCUMENT.instructions);
  });
});
