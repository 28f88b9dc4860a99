import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import type { AgentSnapshot } from '../../../../src/core/domain/agent.ts';
import { isToolResult } from '../../../../src/core/domain/content.ts';
import { INTERRUPTED_CALL, RUN_CODE } from '../../../../src/core/domain/tool-calls.ts';
import { DEFAULT_EXECUTION_LIMITS } from '../../../../src/core/domain/code.ts';
import { journalOf, type SegmentCall, type SegmentOutcome } from '../../../../src/core/capabilities/code/code-cells.ts';
import { approves, rejects, sends } from '../fakes/callers.ts';
import { call, called, type FakeScript, message, responded, resultsOf, returned, runFake, said } from '../fakes/fake-ports.ts';
import { testSnapshot, testTool } from '../fakes/snapshot.ts';

const code: NonNullable<AgentSnapshot['code']> = {
  executor: { kind: 'quickjs', language: 'javascript', limits: DEFAULT_EXECUTION_LIMITS, allowedImports: [] },
  tier: 'local',
};

function coding(more: Partial<AgentSnapshot> = {}): AgentSnapshot {
  return testSnapshot({ code, tools: [testTool('find'), testTool('pay', { approval: { when: 'always' } })], ...more });
}

let segments = 0;

/** A segment that ends with calls of these tools. */
function calls({ call: { toolCallId }, calls: before }: SegmentCall, ...names: string[]): SegmentOutcome {
  const made = names.map((name, index) => call(`${toolCallId}.${before + index + 1}`, name, { n: before + index + 1 }));
  return { type: 'calls', id: `segment-${(segments += 1)}`, calls: made, digest: names.join(), durationMs: 2 };
}

/** A segment that ends the cell. */
function ended(text: string, more: Partial<Extract<SegmentOutcome, { type: 'ended' }>> = {}): SegmentOutcome {
  return { type: 'ended', id: `segment-${(segments += 1)}`, content: [text], digest: text, durationMs: 2, ...more };
}

/** Runs a cell that calls tools in the given batches, and prints their results. */
function cellOf(...batches: string[][]): NonNullable<FakeScript['runSegment']> {
  const got: unknown[] = [];
  return (segment) => {
    if (segment.segment === 0) got.length = 0;
    got.push(...(segment.results ?? []));
    const batch = batches[segment.segment];
    return batch === undefined ? ended(JSON.stringify(got)) : calls(segment, ...batch);
  };
}

const runCode = called(call('c1', RUN_CODE, { code: 'print(find())' }));

describe('a cell', () => {
  test('runs in segments: the calls of each are executed, and the next one gets their results', async () => {
    const run = await runFake({
      snapshot: coding(),
      model: [runCode, said('done')],
      runSegment: cellOf(['find', 'find'], ['find']),
      tools: { find: ({ call: { toolCallId } }) => returned(toolCallId) },
    });
    expect(resultsOf(run, 1)[0]).toBe('[{"value":"c1.1"},{"value":"c1.2"},{"value":"c1.3"}]');
    expect(run.result).toMatchObject({ status: 'completed', output: 'done' });
  });

  test('has its calls in the record and in the step, and not in the window', async () => {
    const run = await runFake({ snapshot: coding(), model: [runCode, said('done')], runSegment: cellOf(['find']) });
    expect(run.events.map(({ caller, content }) => [caller, content.map(({ type }) => type).join()])).toEqual([
      [undefined, 'message'],
      [undefined, 'tool_call'],
      ['code', 'tool_call'],
      ['code', 'tool_result'],
      [undefined, 'tool_result'],
      [undefined, 'message'],
    ]);
    expect(run.steps[0]?.toolCalls).toMatchObject([
      { toolName: RUN_CODE, callId: 'c1' },
      { toolName: 'find', callId: 'c1.1', caller: 'code', arguments: { n: 1 }, result: 'find ran' },
    ]);
    expect(run.state.window).toMatchObject({ through: 6 });
    expect(run.state.window.events.map(({ offset }) => offset)).toEqual([0, 1, 4, 5]);
    expect(run.modelCalls[1]).toMatchObject({ through: 5, skippedEvents: 2 });
    expect(run.modelCalls[1]).not.toHaveProperty('earlierIds');
    expect(run.result.toolCallsByName).toEqual({ find: 1, [RUN_CODE]: 1 });
  });

  test('keeps what a rerun needs: code, moment, digests and results', async () => {
    const asked: SegmentCall[] = [];
    const cell = cellOf(['find']);
    const run = await runFake({
      snapshot: coding(),
      model: [runCode, called(call('c2', RUN_CODE, { code: 'more()' })), said('done')],
      runSegment: (segment, fake) => {
        asked.push(segment);
        return cell(segment, fake);
      },
    });
    expect(journalOf(run.state)?.cells).toMatchObject([
      { code: 'print(find())', segments: [{ digest: 'find', results: [{ value: 'find ran' }] }, { digest: '[{"value":"find ran"}]' }] },
      { code: 'more()', segments: [{ digest: 'find' }, {}] },
    ]);
    expect(asked.map(({ cell: index, segment, calls: before, spentMs }) => [index, segment, before, spentMs])).toEqual([
      [0, 0, 0, 0],
      [0, 1, 1, 2],
      [1, 0, 0, 0],
      [1, 1, 1, 2],
    ]);
    expect(asked[0]?.moment).toEqual(asked[1]?.moment);
    expect(asked[0]?.moment.seed).not.toBe(asked[2]?.moment.seed);
  });

  test('that was ended by a limit is not part of the namespace', async () => {
    const { digest: _, ...timedOut } = ended('Error (timeout)', { isError: true }) as Extract<SegmentOutcome, { type: 'ended' }>;
    const run = await runFake({ snapshot: coding(), model: [runCode, said('done')], runSegment: () => timedOut });
    expect(journalOf(run.state)?.cells).toEqual([]);
    expect(run.steps[0]?.toolCalls[0]).toMatchObject({ isError: true, result: 'Error (timeout)' });
  });

  test('runs after the other calls of its response, whose results are recorded first', async () => {
    const run = await runFake({
      snapshot: coding(),
      model: [called(call('c1', RUN_CODE, { code: 'a' }), call('c2', 'find'), call('c3', RUN_CODE, { code: 'b' })), said('done')],
      runSegment: cellOf(),
    });
    expect(run.events.flatMap(({ content }) => content.flatMap((item) => (item.type === 'tool_result' ? [item.toolCallId] : [])))).toEqual([
      'c2',
      'c1',
      'c3',
    ]);
    expect(resultsOf(run, 1)).toEqual(['[]', 'find ran', '[]']);
  });

  test('whose calls ran with arguments that an approver changed has notes about them: the model reads only the result of the cell', async () => {
    let continued = 0;
    const run = await runFake({
      snapshot: coding(),
      model: [runCode, called(call('c2', RUN_CODE, { code: 'print(find())' })), said('done')],
      runSegment: (segment, ...more) => (segment.call.toolCallId === 'c1' ? cellOf(['pay'], ['pay']) : cellOf())(segment, ...more),
      callers: [approves('c1.1', { arguments: { n: 9 } }), approves('c1.2', { arguments: { n: 8 } })],
      // In the middle of the cell, after its first call.
      continueDue: ({ invocations }) => invocations.length === 1 && (continued += 1) === 1,
    });
    const notes = [9, 8].map((n) => `its call of "pay": the approver changed its arguments before it ran: {"n":${n}}`);
    const cells = run.events.flatMap(({ content }) => content.filter((item) => isToolResult(item) && item.name === RUN_CODE));
    expect(run.positions).toHaveLength(1);
    expect(cells).toMatchObject([{ content: [expect.any(String)], notes }, { content: ['[]'] }]);
    expect(cells[1]).not.toHaveProperty('notes');
  });

  test('that keeps too much in the state says so in a note, because the model reads what the cell has printed', async () => {
    const run = await runFake({
      snapshot: coding(),
      model: [runCode, said('done')],
      runSegment: () => ended('printed', { state: { big: 'x'.repeat(200_000) } }),
    });
    const [result] = run.events.flatMap(({ content }) => content.filter(isToolResult));
    expect(result).toMatchObject({ status: 'error', notes: [expect.stringContaining('Keep less in the state.')] });
    expect(result?.content[0]).toBe('printed');
  });

  test('whose call waits for a decision continues after it: approved, or denied as an error in the code', async () => {
    const approved = await runFake({
      snapshot: coding(),
      model: [runCode, said('done')],
      runSegment: cellOf(['pay']),
      callers: [approves('c1.1')],
    });
    expect(resultsOf(approved, 1)[0]).toBe('[{"value":"pay ran"}]');
    const denied = await runFake({
      snapshot: coding(),
      model: [runCode, said('done')],
      runSegment: cellOf(['pay']),
      callers: [rejects('c1.1')],
    });
    expect(resultsOf(denied, 1)[0]).toBe('[{"error":"User denied the tool execution."}]');
    expect(denied.invocations).toEqual([]);
  });

  test('is ended by a cancellation and by a message that steers; its calls that have not started do not start', async () => {
    const steered = await runFake({
      snapshot: coding(),
      model: [runCode, said('done')],
      runSegment: cellOf(['pay'], ['find']),
      callers: [sends('stop that', 'steer')],
    });
    expect(resultsOf(steered, 1)).toEqual(['The code was ended before its end, because a message to the run arrived.', INTERRUPTED_CALL]);
    expect(journalOf(steered.state)?.cells).toEqual([]);
    const cancelled = await runFake({
      snapshot: coding(),
      model: [runCode],
      runSegment: cellOf(['pay']),
      callers: [(run) => run.cancel()],
    });
    expect(cancelled.result.status).toBe('cancelled');
    expect(cancelled.steps[0]?.toolCalls.map(({ isError }) => isError)).toEqual([true, true]);
  });

  test('that is ended before its end names the calls that it has made, which nobody undoes', async () => {
    const { digest: _, ...timedOut } = ended('Error (timeout)', { isError: true }) as Extract<SegmentOutcome, { type: 'ended' }>;
    const results = async (last: SegmentOutcome, script: Partial<FakeScript> = {}): Promise<unknown> => {
      const cell = cellOf(['find', 'find'], ['unknown', 'pay']);
      const run = await runFake({
        snapshot: coding(),
        model: [runCode, said('done')],
        runSegment: (segment, fake) => (segment.segment === 2 ? last : cell(segment, fake)),
        callers: [approves('c1.4')],
        ...script,
      });
      return resultsOf(run, 1)[0];
    };
    const made = 'Calls that this code has made, which are not undone: find (2 times), pay.';
    expect(await results(timedOut)).toBe(`Error (timeout)\n\n${made}`);
    expect(await results({ type: 'failed', message: 'broken' })).toBe(`The code could not be run: broken\n\n${made}`);
    expect(await results(ended('Error (runtime)', { isError: true }))).toBe('Error (runtime)');
    // A call that waits for a decision has not been made.
    expect(await results(timedOut, { callers: [sends('stop that', 'steer')] })).toBe(
      'The code was ended before its end, because a message to the run arrived.\n\nCalls that this code has made, which are not undone: find (2 times).',
    );
  });

  test('that cannot be run is an error that the model reads; without any worker that has its agent, the run ends', async () => {
    const failed = await runFake({
      snapshot: coding(),
      model: [runCode, said('done')],
      runSegment: () => ({ type: 'failed', message: 'broken' }),
    });
    expect(resultsOf(failed, 1)).toEqual(['The code could not be run: broken']);
    const noWorker = { code: 'unknown_agent', message: 'no worker has it' } as const;
    const missing = await runFake({
      snapshot: coding(),
      model: [runCode],
      runSegment: () => ({ type: 'failed', message: 'none', noWorker }),
    });
    expect(missing.result).toMatchObject({ status: 'error', error: noWorker.message });
  });

  test('whose calls pass the limit of tool calls gets errors for the calls over the limit, and the limit ends the run after it', async () => {
    const run = await runFake({
      snapshot: coding({ limits: { steps: 10, finalAttempt: false, toolCalls: 1 } }),
      model: [runCode],
      runSegment: cellOf(['find', 'find']),
    });
    expect(run.invocations).toHaveLength(1);
    expect(resultsOf(run, 1)[0]).toContain('the limit of tool calls of this run is reached');
    expect(run.result).toMatchObject({ status: 'limit_reached', stopReason: 'tool_call_limit' });
  });

  test('of an answer with code runs the block of its text; an answer without a block is sent back, and runs nothing', async () => {
    const asked: string[] = [];
    const block = '```js\nfinal_answer(2 + 3)\n```';
    const run = await runFake({
      snapshot: coding({ replyFormat: 'code' }),
      model: [
        responded([message('I will compute it'), call('c1', RUN_CODE)], {
          problems: { c1: 'Please respond with a javascript block only.' },
        }),
        responded([message(block), call('c2', RUN_CODE)]),
      ],
      runSegment: ({ code: text }) => {
        asked.push(text);
        return ended('(no output)', { final: { value: 5 } });
      },
    });
    expect(asked).toEqual(['final_answer(2 + 3)']);
    expect(resultsOf(run, 1)).toEqual(['Please respond with a javascript block only.']);
    expect(run.result).toMatchObject({ status: 'completed', output: '5', stepsUsed: 2 });
  });

  test('in Python has its final answer written as Python writes it', async () => {
    const executor = { ...code.executor, kind: 'python', language: 'python' } as const;
    const run = await runFake({
      snapshot: coding({ replyFormat: 'code', code: { ...code, executor } }),
      model: [runCode],
      runSegment: () => ended('', { final: { value: [true, null, 'a'] } }),
    });
    expect(run.result).toMatchObject({ output: "[True, None, 'a']" });
  });

  test('is refused a final answer if another cell of the same response has given one', async () => {
    const cells = called(call('c1', RUN_CODE, { code: 'final_answer(1)' }), call('c2', RUN_CODE, { code: 'final_answer(2)' }));
    const runSegment = ({ call: { toolCallId } }: SegmentCall): SegmentOutcome =>
      ended(toolCallId, { final: { value: toolCallId === 'c1' ? null : 2 } });
    const run = await runFake({ snapshot: coding({ replyFormat: 'code' }), model: [cells], runSegment });
    expect(run.result).toMatchObject({ status: 'completed', output: 'null' });
    const refusal = 'Final answer already set. Each execution can only have one final answer.\n{"first":null,"attempted":2}';
    expect(run.steps[0]?.toolCalls).toMatchObject([{ isError: false }, { isError: true, result: refusal, durationMs: 2 }]);
    const asTools = await runFake({ snapshot: coding(), model: [cells, said('done')], runSegment });
    expect(asTools.steps[0]?.toolCalls).toMatchObject([{ isError: false }, { isError: false }]);
  });

  test('with a final answer ends a run whose answers are code, and is a result in any other', async () => {
    const final = (): SegmentOutcome => ended('Final answer: {"n":5}', { final: { value: { n: 5 } } });
    const inCode = await runFake({ snapshot: coding({ replyFormat: 'code' }), model: [runCode], runSegment: final });
    expect(inCode.result).toMatchObject({ status: 'completed', output: '{"n":5}' });
    const asTool = await runFake({ snapshot: coding(), model: [runCode, said('done')], runSegment: final });
    expect(asTool.result).toMatchObject({ status: 'completed', output: 'done' });
  });

  test('too large to be carried is forgotten between two steps, and the model is told once', async () => {
    const large = 'x'.repeat(310_000);
    let continued = 0;
    const run = await runFake({
      snapshot: coding(),
      model: [runCode, called(call('c2', RUN_CODE, { code: 'a' })), called(call('c3', RUN_CODE, { code: 'b' })), said('done')],
      runSegment: cellOf(['find']),
      tools: { find: ({ call: { toolCallId } }) => returned(toolCallId === 'c1.1' ? large : 'x') },
      // Between the first step and the second.
      continueDue: ({ state, modelCalls }) => modelCalls.length === 1 && state.steps.length === 1 && (continued += 1) === 1,
    });
    expect(run.result.status).toBe('completed');
    expect(run.positions).toHaveLength(1);
    const lost = 'The names and values of earlier cells are lost, because together they were too large to be kept. Define them again.';
    const cells = run.events.flatMap(({ content }) =>
      content.flatMap((item) => (isToolResult(item) && item.name === RUN_CODE ? [item] : [])),
    );
    expect(cells.map(({ content, notes }) => [content.length, notes])).toEqual([
      [1, undefined],
      [1, [lost]],
      [1, undefined],
    ]);
    expect(journalOf(run.state)?.cells.map(({ code: text }) => text)).toEqual(['a', 'b']);
  });
});

describe('the local segments of a cell', () => {
  const local = (): AgentSnapshot => coding({ tools: [testTool('find', { tier: 'local' }), testTool('ask')] });

  async function remoteSegments(cells: string[][], text = 'x'): Promise<number[]> {
    const remote: number[] = [];
    await runFake({
      snapshot: local(),
      model: [runCode, said('done')],
      runSegment: (segment, run) => {
        if (segment.remote) remote.push(segment.segment);
        return cellOf(...cells)(segment, run);
      },
      tools: { find: () => returned(text) },
    });
    return remote;
  }

  test('are interrupted by a remote one after 50, so that the workflow task ends', async () => {
    expect(await remoteSegments(Array.from({ length: 120 }, () => ['find']))).toEqual([50, 101]);
  });

  test('are interrupted by a remote one before their output is too large for one workflow task', async () => {
    expect(
      await remoteSegments(
        Array.from({ length: 8 }, () => ['find', 'find']),
        'x'.repeat(200_000),
      ),
    ).toEqual([3, 6]);
  });

  test('are not interrupted if their calls are remote', async () => {
    expect(await remoteSegments(Array.from({ length: 120 }, () => ['ask']))).toEqual([]);
  });
});

const batches = fc.array(fc.array(fc.constantFrom('find', 'pay', 'unknown'), { minLength: 1, maxLength: 3 }), { maxLength: 4 });

it('has the same record if it continues as new at any points', async () => {
  const positions = new Set<string>();
  await fc.assert(
    fc.asyncProperty(
      fc.array(batches, { minLength: 1, maxLength: 3 }),
      fc.array(fc.boolean(), { maxLength: 40 }),
      async (cells, points) => {
        const script = (): FakeScript => ({
          snapshot: coding(),
          model: [...cells.map((_, index) => called(call(`c${index + 1}`, RUN_CODE, { code: `${index}` }))), said('done')],
          runSegment: (segment, run) => cellOf(...(cells[Number(segment.code)] ?? []))(segment, run),
          callers: cells.flatMap((cell, index) =>
            cell.flat().flatMap((name, place) => (name === 'pay' ? [approves(`c${index + 1}.${place + 1}`)] : [])),
          ),
        });
        const outline = ({ events, steps, result }: Awaited<ReturnType<typeof runFake>>) => ({
          events: events.filter(({ decision }) => decision === undefined).map(({ caller, content }) => ({ caller, content })),
          steps: steps.map(({ toolCalls }) => toolCalls.map(({ timestamp: _, ...record }) => record)),
          result: [result.status, result.output, result.toolCallsByName],
        });
        let asked = 0;
        const whole = outline(await runFake(script()));
        const run = await runFake({ ...script(), continueDue: () => points[(asked += 1)] ?? false });
        for (const { type } of run.positions) positions.add(type);
        expect(outline(run)).toEqual(whole);
      },
    ),
    { numRuns: 60 },
  );
  expect(positions).toEqual(new Set(['call_model', 'run_tools', 'run_phase']));
});
