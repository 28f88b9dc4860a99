import { afterEach, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { quietHours as capability, quietUntil } from '../../src/core/capabilities/quiet-hours.ts';
import type { ToolSnapshot } from '../../src/core/domain/agent.ts';
import type { QuietHours } from '../../src/core/domain/quiet-hours.ts';
import { INTERRUPTED_CALL } from '../../src/core/domain/tool-calls.ts';
import type { Event } from '../../src/core/domain/record.ts';
import type { RunState } from '../../src/core/kernel/run-state.ts';
import { progressOf } from '../../src/core/queries/run-views.ts';
import { agent, defineProgram, tool, unit } from '../../src/define/program/index.ts';
import { offsetsOf, pinnedQuietHours } from '../../src/define/quiet-hours.ts';
import { agentTool, defineAgent, defineTool } from '../../src/index.ts';
import { callTool, say, scriptedModel, testAgent, testProgram } from '../../src/testing/index.ts';
import { approves, sends } from '../core/loop/fakes/callers.ts';
import { call, called, type Caller, type FakeScript, resultsOf, runFake, said } from '../core/loop/fakes/fake-ports.ts';
import { testSnapshot, testTool } from '../core/loop/fakes/snapshot.ts';

const zone = 'Europe/Berlin';
const hoursOfNight = { from: 22 * 60, to: 7 * 60 };
const HOUR = 3_600_000;

describe('quiet hours from 22:00 to 07:00 in Berlin', () => {
  const hours: QuietHours = { ...hoursOfNight, zone, offsets: offsetsOf(zone, Date.parse('2026-06-01T00:00:00Z')) };

  test.each([
    ['in winter, before midnight', '2026-01-10T22:30:00Z', '2026-01-11T06:00:00Z'],
    ['in winter, after midnight', '2026-01-11T05:59:59Z', '2026-01-11T06:00:00Z'],
    ['in winter, in the morning', '2026-01-11T06:00:00Z', undefined],
    ['in winter, before the evening', '2026-01-10T20:59:59Z', undefined],
    ['in summer', '2026-07-10T20:00:00Z', '2026-07-11T05:00:00Z'],
    ['in the night when the clock is put forward', '2026-03-28T21:00:00Z', '2026-03-29T05:00:00Z'],
    ['in the night when it is put back', '2026-10-24T20:00:00Z', '2026-10-25T06:00:00Z'],
    ['nine years later', '2035-07-10T20:00:00Z', '2035-07-11T05:00:00Z'],
    ['after the years that are pinned, with the last offset', '2040-07-10T21:30:00Z', '2040-07-11T06:00:00Z'],
  ])('%s', (_, at, end) => {
    const until = quietUntil(hours, Date.parse(at));
    expect(until && new Date(until).toISOString()).toBe(end && new Date(end).toISOString());
  });

  test('end at the change of the clock if it leaves their end out, and begin again if it repeats it', () => {
    const early = { ...hours, from: 60, to: 2 * 60 + 30 };
    expect(quietUntil(early, Date.parse('2026-03-29T00:30:00Z'))).toBe(Date.parse('2026-03-29T01:00:00Z'));
    expect(quietUntil(early, Date.parse('2026-10-25T00:10:00Z'))).toBe(Date.parse('2026-10-25T00:30:00Z'));
    expect(quietUntil(early, Date.parse('2026-10-25T01:10:00Z'))).toBe(Date.parse('2026-10-25T01:30:00Z'));
  });

  test.each(['UTC', 'Asia/Kathmandu', 'America/St_Johns', 'Australia/Lord_Howe', 'Africa/Casablanca', 'Pacific/Apia'])(
    'of the zone %s, the pinned offsets match the clock there',
    (timeZone) => {
      const offsets = offsetsOf(timeZone, Date.parse('2026-06-01T00:00:00Z'));
      const format = new Intl.DateTimeFormat('en', { timeZone, hourCycle: 'h23', hour: '2-digit', minute: '2-digit' });
      for (let at = Date.parse('2026-01-01T00:00:00Z'); at < Date.parse('2028-01-01T00:00:00Z'); at += 7 * HOUR) {
        const { minutes = 0 } = offsets.findLast(({ since }) => since <= at) ?? {};
        expect(format.format(at)).toBe(new Date(at + minutes * 60_000).toISOString().slice(11, 16));
      }
    },
  );
});

describe('a call of the category communicate', () => {
  /** Two calls in the night, at 22:13 UTC: `text` communicates, and `look` does not. */
  function inTheNight(changes: Partial<FakeScript> = {}, text: Partial<ToolSnapshot> = {}, parallel = true) {
    const tools = [testTool('text', { category: 'communicate', ...text }), testTool('look')];
    const quietHours = { ...hoursOfNight, zone: 'UTC', offsets: [{ since: 0, minutes: 0 }] };
    const snapshot = testSnapshot({ tools, quietHours, parallel });
    return runFake({ snapshot, model: [called(call('c1', 'text'), call('c2', 'look')), said('done'), said('done')], ...changes });
  }

  /** Records the time of each call of a tool. */
  function times(): { started: string[]; tools: NonNullable<FakeScript['tools']> } {
    const started: string[] = [];
    const noted: NonNullable<FakeScript['tools']>[string] = ({ call: { name } }, { scheduler }) => {
      started.push(`${name} at ${new Date(scheduler.now).toISOString().slice(11, 16)}`);
      return { type: 'result', status: 'success', content: ['ok'], durationMs: 1 };
    };
    return { started, tools: { text: noted, look: noted } };
  }

  const statuses: unknown[] = [];
  const looks: Caller = (run) => statuses.push(progressOf(run.state).postponed);

  test.each([true, false])('waits for the morning, and the others do not (in parallel: %s)', async (parallel) => {
    const { started, tools } = times();
    statuses.length = 0;
    const run = await inTheNight({ tools, callers: [looks] }, {}, parallel);
    expect(started).toEqual(['look at 22:13', 'text at 07:00']);
    expect(statuses).toEqual([
      [{ callId: 'c1', toolName: 'text', until: '2023-11-15T07:00:00.000Z', reason: 'quiet hours until 07:00 (UTC)' }],
    ]);
    expect(progressOf(run.state).postponed).toBeUndefined();
    expect(run.result.status).toBe('completed');
  });

  test('waits on in the next executions', async () => {
    const { started, tools } = times();
    const run = await inTheNight({ tools, continueDue: ({ positions, invocations }) => invocations.length > 0 && positions.length < 3 });
    expect(run.positions).toHaveLength(3);
    expect(started).toEqual(['look at 22:13', 'text at 07:00']);
  });

  test('waits although a person approves it in the night, and is decided about meanwhile', async () => {
    const { started, tools } = times();
    await inTheNight({ tools, callers: [approves('c1')] }, { approval: { when: 'always' } });
    expect(started).toEqual(['look at 22:13', 'text at 07:00']);
  });

  const cancels: Caller = (run) => run.cancel();
  test.each([
    ['a message waits with it', sends('also this'), { started: ['look at 22:13', 'text at 07:00'], status: 'completed', result: 'ok' }],
    [
      'a message that steers takes its place',
      sends('rather this', 'steer'),
      { started: ['look at 22:13'], status: 'completed', result: INTERRUPTED_CALL },
    ],
    ['a cancellation ends the wait', cancels, { started: ['look at 22:13'], status: 'cancelled', result: INTERRUPTED_CALL }],
  ])('if a caller acts in the night: %s', async (_, caller, expected) => {
    const { started, tools } = times();
    const run = await inTheNight({ tools, callers: [caller] });
    expect({ started, status: run.result.status, result: resultsOf(run, 1)[0] }).toEqual(expected);
  });
});

describe('an agent with quiet hours', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  const text = defineTool({
    name: 'text',
    description: 'Sends a text',
    parameters: z.object({}),
    category: 'communicate',
    execute: () => 'sent',
  });

  test.each([
    ['2026-10-24T23:00:00Z', '2026-10-25T06:00'],
    ['2026-10-25T12:00:00Z', '2026-10-25T12:00'],
  ])('that sends a text at %s sends it at %s', async (now, sent) => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse(now) });
    const quiet = defineAgent({ name: 'a', model: 'scripted/m', tools: [text], quietHours: { from: '22:00', to: '07:00', zone } });
    const { events } = await testAgent(quiet, { input: 'Go', model: scriptedModel([callTool('text', {}), say('Done.')]) });
    const result = events.find(({ content }) => content[0]?.type === 'tool_result');
    expect(result?.timestamp.slice(0, 16)).toBe(sent);
  });

  const hours = { from: '22:00', to: '07:00', zone };
  const night = '2026-10-24T23:00:00Z';
  const morning = '2026-10-25T06:00';

  /** Returns the times of the results of the tool that sends texts, in the run and in its trace. */
  const sentAt = (events: readonly Event[]): string[] =>
    events.flatMap(({ content, timestamp }) =>
      content.some((item) => item.type === 'tool_result' && item.name === 'text') ? [timestamp.slice(0, 16)] : [],
    );

  test('has them hold for an agent that takes over', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse(night) });
    const second = defineAgent({ name: 'second', description: 'Writes', model: 'scripted/m', tools: [text] });
    const first = defineAgent({ name: 'first', model: 'scripted/m', handoffs: [second], quietHours: hours });
    const model = scriptedModel([callTool('transfer_to_agent', { agent: 'second' }), callTool('text', {}), say('Done.')]);
    const { events, result } = await testAgent(first, { input: 'Go', model });
    expect({ sent: sentAt(events), last: result.lastAgent }).toEqual({ sent: [morning], last: 'second' });
  });

  test('has them hold for an agent that it starts as a tool', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse(night) });
    const writer = defineAgent({ name: 'writer', description: 'Writes', model: 'scripted/m', tools: [text] });
    const lead = defineAgent({ name: 'lead', model: 'scripted/m', tools: [agentTool(writer)], quietHours: hours });
    const model = scriptedModel([callTool('writer', { request: 'Go' }), callTool('text', {}), say('sent'), say('Done.')]);
    const { events } = await testAgent(lead, { input: 'Go', model });
    const answer = events.find(({ content }) => content.some((item) => item.type === 'tool_result'));
    expect(answer?.timestamp.slice(0, 16)).toBe(morning);
  });

  test.each([
    ['a call', [tool('Text', text, {})]],
    ['an agent', [agent('Ask', defineAgent({ name: 'writer', model: 'scripted/m', tools: [text] }), 'Go')]],
  ])('in a program: %s waits for the morning', async (_, steps) => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse(night) });
    const program = defineProgram({ name: 'p', units: [unit('all', {}, steps)], quietHours: hours });
    const model = scriptedModel(steps[0]?.document.agent === undefined ? [] : [callTool('text', {}), say('Done.')]);
    const { result } = await testProgram(program, { input: {}, model });
    expect({ status: result.status, ended: result.endTime?.slice(0, 16) }).toEqual({ status: 'completed', ended: morning });
  });

  test.each([
    [{ ...hours, to: '22:00' }, 'quietHours: they begin and end at "22:00"'],
    [{ ...hours, from: '24:00' }, 'quietHours.from: the time is "24:00": write one from "00:00" to "23:59"'],
    [{ ...hours, zone: 'Berlin' }, 'quietHours.zone: no time zone is named "Berlin": write its IANA name, such as "Europe/Berlin"'],
    [{ from: '22:00', to: '07:00' }, 'quietHours'],
  ])('in a program are refused if they are %j', (quietHours, problem) => {
    const units = [unit('all', {}, [tool('Text', text, {})])];
    expect(() => defineProgram({ name: 'p', units, quietHours: quietHours as never })).toThrow(problem);
  });

  test('in a program are refused by a worker that does not know their zone', () => {
    expect(() => pinnedQuietHours({ ...hours, zone: 'Berlin' })).toThrow(
      '"quietHours.zone" is "Berlin": write the IANA name of a time zone',
    );
  });

  test.each([
    ['none', '"quietHours" is "none": write { from: "22:00", to: "07:00", zone: "Europe/Berlin" }'],
    [{ from: '22:00', to: '07:00' }, '"quietHours.zone" is missing: write the IANA name of a time zone'],
    [{ from: '22:00', to: '07:00', zone: 'Berlin' }, '"quietHours.zone" is "Berlin": write the IANA name of a time zone'],
    [{ from: '24:00', to: '07:00', zone }, '"quietHours.from" is "24:00": write a time from "00:00" to "23:59"'],
    [{ from: '22:00', to: 7, zone }, '"quietHours.to" is 7: write a time'],
    [{ from: '22:00', to: '22:00', zone }, '"quietHours" begin and end at "22:00"'],
    [{ from: '22:00', to: '07:00', zone, days: 5 }, 'unknown option "days"'],
  ])('is refused if they are %j', (quietHours, problem) => {
    expect(() => defineAgent({ name: 'a', model: 'scripted/m', quietHours: quietHours as never })).toThrow(problem);
  });
});

describe('the quiet hours of the agents of a run', () => {
  const always = { from: 0, to: 1_439, offsets: [{ since: 0, minutes: 0 }] };
  const hoursIn = (name: string): QuietHours => ({ ...always, zone: name });
  const zonesPassedOn = (state: RunState): string[] => capability.passesOn?.(state).quietHours?.map((one) => one.zone) ?? [];

  /** Returns the state of a run whose first agent has quiet hours. */
  async function begun(): Promise<RunState> {
    const { state } = await runFake({ snapshot: testSnapshot({ quietHours: hoursIn('first') }), model: [said('done')] });
    return state;
  }

  function lets(state: RunState, next: QuietHours | undefined): void {
    const { quietHours: _, ...rest } = state.snapshot;
    state.snapshot = next === undefined ? rest : { ...rest, quietHours: next };
  }

  test('hold, however often others hand it to each other', async () => {
    const state = await begun();
    for (let turn = 0; turn < 50; turn += 1) {
      lets(state, hoursIn(turn % 2 === 0 ? 'second' : 'third'));
      capability.agentSwitched?.(state, turn < 2);
    }
    expect(zonesPassedOn(state).toSorted()).toEqual(['first', 'second', 'third']);
  });

  test('of an agent whose definition has changed hold in their new form, also after it has handed over', async () => {
    const state = await begun();
    const before = state.snapshot;
    lets(state, hoursIn('changed'));
    capability.agentRefreshed?.(state, before);
    lets(state, undefined);
    capability.agentSwitched?.(state, true);
    expect(zonesPassedOn(state)).toEqual(['changed']);
  });

  test('of an agent whose definition no longer has any do not hold', async () => {
    const state = await begun();
    const before = state.snapshot;
    lets(state, undefined);
    capability.agentRefreshed?.(state, before);
    expect(zonesPassedOn(state)).toEqual([]);
  });
});
