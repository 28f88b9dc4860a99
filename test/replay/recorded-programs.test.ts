import { describe, expect, test } from 'vitest';
import type { Event } from '../../src/core/domain/record.ts';
import { isToolCall } from '../../src/core/domain/content.ts';
import {
  allSteps,
  type ProgramDocument,
  STEP_KINDS,
  type StepDocument,
  type UnitDocument,
} from '../../src/core/domain/program-document.ts';
import { ACTIVITIES } from '../../src/core/protocol.ts';
import { activitiesNamed, toolCallsOf } from '../../src/history/recorded-execution.ts';
import { type RecordedChainLink, recordedChains } from '../history/recorded-histories.ts';
import { recordOf } from './histories.ts';

/** A recorded run of a program. */
interface RecordedProgram {
  document: ProgramDocument;
  steps: StepDocument[];
  /** The events of all executions. */
  events: Event[];
  links: readonly RecordedChainLink[];
}

const programs: RecordedProgram[] = [...(await recordedChains())].flatMap(([runId, links]) => {
  const document = links[0]?.recorded.resolved?.snapshot.program;
  if (document === undefined) return [];
  return [{ document, steps: allSteps(document).map(({ step }) => step), events: recordOf(runId)?.events ?? [], links }];
});

const step =
  (has: (one: StepDocument) => boolean) =>
  ({ steps }: RecordedProgram): boolean =>
    steps.some(has);
const unit =
  (has: (one: UnitDocument) => boolean) =>
  ({ document }: RecordedProgram): boolean =>
    document.units.some(has);
const note =
  (has: (one: NonNullable<Event['step']>) => boolean) =>
  ({ events }: RecordedProgram): boolean =>
    events.some(({ step: one }) => one !== undefined && has(one));

/** The forms of steps, units and runs that have to be recorded. A new one gets a line here, and a scenario. */
const FORMS: Record<string, (program: RecordedProgram) => boolean> = {
  'an ask with an output schema': step(({ ask }) => ask?.output !== undefined),
  'an ask with a least confidence': step(({ ask }) => ask?.confidenceFloor !== undefined),
  'an ask with tools': step(({ ask }) => ask?.tools !== undefined),
  'an ask with a review': step(({ ask, review }) => ask !== undefined && review !== undefined),
  'a step with an approval': step(({ approval }) => approval !== undefined),
  'a step with a deadline for people': step(({ approval }) => typeof approval === 'object'),
  'a step with a linear backoff': step(({ refine }) => refine?.backoff === 'linear'),
  'a step with an exponential backoff': step(({ refine }) => refine?.backoff === 'exponential'),
  'a step with a fallback': step(({ refine }) => refine?.onExhaustion === 'fallback'),
  'a step that is skipped once its attempts are used up': step(({ refine }) => refine?.onExhaustion === 'skip'),
  'a step with a timeout': step(({ timeout }) => timeout !== undefined),
  'a unit with anchors': unit(({ anchors }) => anchors !== undefined),
  'a unit with needs': unit(({ needs = [] }) => needs.length > 0),
  'a unit with a condition': unit(({ when }) => when !== undefined),
  'a local tool': ({ links }) => links.some(({ recorded }) => recorded.localCalls.length > 0),
  'a tool that says itself which calls wait': ({ links }) =>
    links.some(({ recorded }) => activitiesNamed(recorded, ACTIVITIES.reevaluateApproval).length > 0),
  'an answer that breaches an anchor': note(({ error }) => error?.code === 'anchor_breach'),
  'a rejected step': note(({ error }) => error?.code === 'step_rejected'),
  'a skipped step': note(({ kind, status }) => kind !== 'unit' && status === 'skipped'),
  'a skipped unit': note(({ kind, status }) => kind === 'unit' && status === 'skipped'),
  'a unit that failed': note(({ kind, status }) => kind === 'unit' && status === 'failed'),
  'a step with several attempts': note(({ attempt = 1 }) => attempt > 1),
  'a result that is taken over from an earlier run': note(({ reused }) => reused === true),
  'an edited decision': ({ events }) => events.some(({ decision }) => decision?.arguments !== undefined),
  'a request to raise a limit': ({ events }) => events.some(({ decision }) => decision?.toolName === 'raise_limits'),
  'a limit that was raised': ({ events }) => events.some(({ raised }) => raised !== undefined),
  'a pause': ({ links }) => links.some(({ recorded }) => recorded.inboundMessages.some(({ name }) => name === 'pause')),
  'several executions': ({ links }) => links.length > 1,
  'a child of an earlier execution': ({ links }) => links.some(({ recorded }) => [...recorded.children.values()].some(({ told }) => told)),
  'a child that was cancelled': ({ links }) =>
    links.some(({ recorded }) => [...recorded.children.values()].some(({ cancelled }) => cancelled)),
  'a program that is the child of another': ({ links }) => links[0]?.recorded.program?.parent !== undefined,
  'a program that was given as a document': ({ links }) => typeof links[0]?.recorded.program?.program === 'object',
};

describe('the recorded programs', () => {
  test.each(STEP_KINDS)('have steps of the kind "%s", at least one of them completed', (kind) => {
    expect(programs.some(step((one) => kind in one))).toBe(true);
    expect(programs.some(note((one) => one.kind === kind && one.status === 'completed'))).toBe(true);
  });

  test.each(Object.entries(FORMS))('have %s', (_, has) => {
    expect(programs.some(has)).toBe(true);
  });

  // The record is what the worker answers after a replay, and the calls are in the history as made before.
  test('have each call at the same place in the record, before a replay and after it', () => {
    const places = programs.flatMap(({ events, links }) =>
      links.flatMap(({ recorded }) => [
        ...toolCallsOf(recorded).map(
          ({
            input: {
              at: [offset, index],
            },
          }) => events[offset]?.content[index]?.type,
        ),
        ...recorded.localCalls.map(
          ({ output }) =>
            events.flatMap(({ content }) =>
              content
                .filter(isToolCall)
                .filter(({ toolCallId }) => output !== undefined && 'callId' in output && toolCallId === output.callId),
            )[0]?.type,
        ),
      ]),
    );
    expect(places.length).toBeGreaterThan(30);
    expect(new Set(places)).toEqual(new Set(['tool_call']));
  });

  test('have agents that programs have started', async () => {
    const parents = [...(await recordedChains()).values()].map(([first]) => first?.recorded.input?.parent);
    expect(parents.some((parent) => parent !== undefined)).toBe(true);
  });
});
