import { describe, expect, it } from 'vitest';
import { approvalIdOf, approvalOf } from '../../../src/server/protocols/ai-sdk/turn-calls.ts';
import { TurnEncoder } from '../../../src/server/protocols/ai-sdk/turn-encoder.ts';
import { asks, built, call, decided, encoded, ended, item, partsOf, piece, recorded, result, says, textPiece } from './recorded-turn.ts';

const USAGE = { promptTokens: 2, completionTokens: 3, totalTokens: 5, cachedTokens: 0, reasoningTokens: 0, llmCalls: 1 };

describe('the chunks of a turn', () => {
  it('stream an answer, and send no text again when its event comes', async () => {
    const chunks = encoded([asks(0, 'Hi'), textPiece('e1', 'Hel'), textPiece('e1', 'lo'), says(1, 'e1', 'Hello'), ended(2)]);
    expect(chunks).toEqual([
      { type: 'start', messageId: 'chat-1-turn-1', messageMetadata: { runId: 'chat-1', turn: 1 } },
      { type: 'start-step' },
      { type: 'text-start', id: 'e1' },
      { type: 'text-delta', id: 'e1', delta: 'Hel' },
      { type: 'text-delta', id: 'e1', delta: 'lo' },
      { type: 'text-end', id: 'e1' },
      { type: 'finish-step' },
      {
        type: 'finish',
        finishReason: 'stop',
        messageMetadata: { runId: 'chat-1', turn: 1, stopReason: 'final_answer', usage: USAGE, cursor: 'event-2' },
      },
    ]);
    const { message } = await built(chunks);
    expect(message).toMatchObject({ id: 'chat-1-turn-1', role: 'assistant' });
    expect(partsOf(message)).toEqual([{ type: 'step-start' }, { type: 'text', text: 'Hello', state: 'done' }]);
  });

  it('send the rest that was not streamed from the event', () => {
    const types = encoded([asks(0, 'Hi'), says(1, 'e1', 'Hello'), ended(2)]).map(({ type }) => type);
    expect(types).toEqual(['start', 'start-step', 'text-start', 'text-delta', 'text-end', 'finish-step', 'finish']);
    const rest = encoded([textPiece('e1', 'Hel'), says(1, 'e1', 'Hello')]);
    expect(rest).toContainEqual({ type: 'text-delta', id: 'e1', delta: 'lo' });
  });

  it('discard a failed attempt, and an answer that was recorded differently', async () => {
    const chunks = encoded([
      textPiece('e1', 'Wrong'),
      item({ type: 'reset', step: 1, attempt: 2 }),
      piece('e2', { type: 'reasoning', text: 'Let me see' }),
      textPiece('e2', 'Sum: '),
      says(0, 'e2', 'The sum is 4'),
      ended(1),
    ]);
    expect(chunks.filter(({ type }) => type === 'reset-step')).toHaveLength(2);
    expect(partsOf((await built(chunks)).message)).toEqual([
      { type: 'step-start' },
      { type: 'reasoning', id: 'e2', text: 'Let me see', state: 'done' },
      { type: 'text', text: 'The sum is 4', state: 'done' },
    ]);
  });

  it('show nothing after a gap before the event has everything', () => {
    const chunks = encoded([textPiece('e1', 'a'), item({ type: 'gap' }), textPiece('e1', 'c'), says(0, 'e1', 'abc'), ended(1)]);
    expect(chunks.flatMap((chunk) => (chunk.type === 'text-delta' ? [chunk.delta] : []))).toEqual(['a', 'bc']);
  });

  it('stream the arguments of calls, and show their results, errors and data', async () => {
    const chunks = encoded([
      piece('e1', { type: 'tool_input', callId: 'c1', toolName: 'search', text: '{"q":' }),
      piece('e1', { type: 'tool_input', callId: 'c1', toolName: 'search', text: '1}' }),
      says(0, 'e1', '', call('c1', { q: 1 }), call('c2')),
      item({
        type: 'delta',
        step: 1,
        attempt: 1,
        eventId: 'e1',
        callId: 'c1',
        delta: { type: 'data', callId: 'c1', name: 'progress', data: { done: 3 } },
      }),
      recorded(1, 'r', [result('c1', [{ found: 1 }]), result('c2', ['boom'], 'error')]),
      says(2, 'e2', 'Done'),
      ended(3),
    ]);
    expect(chunks).toContainEqual({ type: 'data-progress', id: 'c1', data: { done: 3 }, transient: true });
    expect(chunks.filter(({ type }) => type === 'start-step')).toHaveLength(2);
    expect(partsOf((await built(chunks)).message)).toEqual([
      { type: 'step-start' },
      { type: 'tool-search', toolCallId: 'c1', state: 'output-available', input: { q: 1 }, output: { found: 1 } },
      { type: 'tool-search', toolCallId: 'c2', state: 'output-error', input: {}, errorText: 'boom' },
      { type: 'step-start' },
      { type: 'text', text: 'Done', state: 'done' },
    ]);
  });

  it('name a call by the id that the run has given it', async () => {
    const chunks = encoded([
      piece('e1', { type: 'tool_input', callId: 'call_1', toolName: 'search', text: '{}' }),
      says(0, 'e1', '', call('call_1-2')),
      ended(1),
    ]);
    expect(partsOf((await built(chunks)).message)).toMatchObject([{ type: 'step-start' }, { toolCallId: 'call_1-2' }]);
  });

  it('report a failed turn with its usage before the error, and a stopped one as interrupted', async () => {
    const failed = encoded([says(0, 'e1', 'Half'), ended(1, 1, { status: 'error', stopReason: 'error', error: 'No credit' })]);
    expect(failed.slice(-3)).toMatchObject([
      { type: 'message-metadata', messageMetadata: { stopReason: 'error', usage: { llmCalls: 1 } } },
      { type: 'error', errorText: 'The turn has failed' },
      { type: 'finish', finishReason: 'error' },
    ]);
    expect((await built(failed)).errors).toEqual(['Error: The turn has failed']);
    const interrupted = recorded(0, 'e1', [{ type: 'message', role: 'assistant', content: 'Ha' }], { usage: null, interrupted: true });
    const stopped = encoded([textPiece('e1', 'Ha'), interrupted, ended(1, 1, { status: 'cancelled', stopReason: 'cancelled' })]);
    expect(stopped.map(({ type }) => type).slice(-4)).toEqual(['text-end', 'finish-step', 'abort', 'finish']);
    expect(stopped.at(-1)).toMatchObject({ finishReason: 'interrupted' });
  });

  it("end with the reasons of the protocol, and with the run's own in the metadata", () => {
    const finish = (stopReason: 'step_limit' | 'guardrail') => encoded([ended(0, 1, { status: 'limit_reached', stopReason })]).at(-1);
    expect(finish('step_limit')).toMatchObject({ finishReason: 'other', messageMetadata: { stopReason: 'step_limit' } });
    expect(finish('guardrail')).toMatchObject({ finishReason: 'content-filter', messageMetadata: { stopReason: 'guardrail' } });
  });

  it('leave out everything that is not part of the answer', () => {
    const chunks = encoded([
      recorded(0, 'g', [{ type: 'message', role: 'assistant', content: 'Before' }], { given: true }),
      asks(1, 'Hi'),
      recorded(2, 's', [{ type: 'message', role: 'assistant', content: 'A summary' }], {
        usage: null,
        compaction: { summarized: { head: null, tail: null } },
      }),
      recorded(3, 'f', [], { usage: null, failed: { code: 'model_error' } }),
      says(4, 'e1', 'Hello'),
      ended(5),
    ]);
    expect(chunks.flatMap((chunk) => (chunk.type === 'text-delta' ? [chunk.delta] : []))).toEqual(['Hello']);
  });
});

describe('approvals in a turn', () => {
  const waiting = {
    kind: 'tool' as const,
    callId: 'c1',
    toolName: 'refund',
    digest: 'x',
    key: 'k',
    step: 1,
    requestedAt: '2026-11-26T10:00:00.000Z',
    reason: 'a lot of money',
    arguments: { amount: 5 },
  };
  const before = [asks(0, 'Refund me'), says(1, 'e1', 'One moment', call('c1', { amount: 5 }, 'refund'))];
  const id = approvalIdOf({ runId: 'chat-1', callId: 'c1', digest: 'x', turn: 1, offset: 1 });

  function asked(pending = [waiting] as Parameters<TurnEncoder['ask']>[0]) {
    const encoder = new TurnEncoder({ sessionId: 'chat-1', turn: 1 });
    const chunks = [encoder.begin(), ...before.flatMap((one) => [...encoder.take(one)]), ...encoder.ask(pending)];
    return { encoder, chunks };
  }

  it('end the stream with a request whose id names the run, the call and the digest', async () => {
    const { encoder, chunks } = asked();
    expect(encoder.isOver).toBe(true);
    expect(chunks.slice(-3)).toMatchObject([
      { type: 'tool-approval-request', approvalId: id, toolCallId: 'c1', reason: 'a lot of money', approvalDescriptor: { kind: 'tool' } },
      { type: 'finish-step' },
      { type: 'finish', finishReason: 'tool-calls' },
    ]);
    expect(approvalOf(id)).toEqual({ runId: 'chat-1', callId: 'c1', digest: 'x', turn: 1, offset: 1 });
    for (const forged of ['', 'nothing', Buffer.from('["a"]').toString('base64url'), Buffer.from('{}').toString('base64url')]) {
      expect(approvalOf(forged)).toBeUndefined();
    }
    const { message } = await built(chunks);
    expect(partsOf(message)[2]).toMatchObject({ type: 'tool-refund', state: 'approval-requested', approval: { id } });
  });

  it('are requested once the response with the call has arrived', () => {
    const encoder = new TurnEncoder({ sessionId: 'chat-1', turn: 1 });
    expect([...encoder.ask([waiting])]).toEqual([]);
    for (const one of before) for (const _ of encoder.take(one)) continue;
    expect([...encoder.ask([waiting])]).toContainEqual(expect.objectContaining({ type: 'tool-approval-request', approvalId: id }));
  });

  it('continue after the request with the decision and the result, in the message that the client has', async () => {
    const { message } = await built(asked().chunks);
    const after = [
      decided(2, { type: 'approve', callId: 'c1', arguments: { amount: 4 } }),
      recorded(3, 'r', [result('c1', ['paid 4'])]),
      textPiece('e2', 'Paid'),
      says(4, 'e2', 'Paid'),
      ended(5),
    ];
    const continued = encoded([...before, ...after], { after: 1 });
    expect(continued.filter(({ type }) => type === 'text-start')).toHaveLength(1);
    const whole = await built(encoded([...before, ...after]));
    expect((await built(continued, message)).message?.id).toBe(message?.id);
    expect(partsOf((await built(continued, message)).message)).toMatchObject(partsOf(whole.message));
    expect(partsOf(whole.message)[2]).toMatchObject({
      state: 'output-available',
      input: { amount: 4 },
      output: 'paid 4',
      approval: { id, approved: true },
    });
    expect(continued.at(-1)).toMatchObject({ messageMetadata: { usage: { llmCalls: 2 } } });
  });

  it('show a rejected call as denied', async () => {
    const after = [
      decided(2, { type: 'reject', callId: 'c1', reason: 'too much' }),
      recorded(3, 'r', [result('c1', ['no'], 'error')]),
      ended(4),
    ];
    expect(partsOf((await built(encoded([...before, ...after]))).message)[2]).toMatchObject({
      state: 'output-denied',
      approval: { id, approved: false, reason: 'too much' },
    });
  });

  it("have a separate part for a descendant's call, and for a limit", async () => {
    const below = { ...waiting, runId: 'chat-1/0', callId: 'c9', toolName: 'mail' };
    const limit = { ...waiting, kind: 'limit' as const, callId: 'limit-1', toolName: 'raise_limits', arguments: { steps: 20 } };
    const { message } = await built(asked([below, limit]).chunks);
    expect(partsOf(message).slice(-2)).toMatchObject([
      { type: 'tool-mail', toolCallId: 'chat-1/0:c9', state: 'approval-requested' },
      { type: 'tool-raise_limits', toolCallId: 'limit-1', state: 'approval-requested', input: { steps: 20 } },
    ]);
    const raised = decided(2, { type: 'approve', callId: 'limit-1', toolName: 'raise_limits', arguments: { steps: 20 } });
    expect(partsOf((await built(encoded([...before, raised, ended(3)]))).message).at(-1)).toMatchObject({
      type: 'tool-raise_limits',
      state: 'output-available',
      approval: { approved: true },
    });
  });
});
