import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { activityDetails } from '../../src/core/domain/missing-definitions.ts';
import { spentIn } from '../../src/core/domain/usage.ts';
import { type StreamedAttempt, streamedOutputIn, withStreamedOutput } from '../../src/core/domain/stream.ts';
import { ATTEMPT, deltaEntry, streamSinkConformance, textEntry } from '../../src/streams/stream-sink-conformance.ts';
import { heartbeatStreams } from '../../src/streams/heartbeat-streams.ts';
import type { PublishingActivity, StreamChannel } from '../../src/streams/stream-sink.ts';
import { collect } from './collected.ts';
import { FakeHeartbeats } from './fake-heartbeats.ts';
import { sinkContext } from './sink-context.ts';

/** Cases of what heartbeats do not carry: only the newest attempt of each call, some kB of it, and no announcements. */
const NOT_CARRIED = [
  'carries attempts of several calls and tools',
  'carries what a run has recorded',
  'carries texts of any characters, and of 1 MB',
];

describe('heartbeatStreams()', () => {
  it.each(streamSinkConformance.filter(({ name }) => !NOT_CARRIED.includes(name)))('$name', async ({ run }) => {
    const server = new FakeHeartbeats();
    const sink = heartbeatStreams({ everyMs: 50 });
    const open = (side: 'worker' | 'client'): StreamChannel =>
      sink.open(sinkContext(side, side === 'client' ? { client: server.client } : {}));
    await expect(run({ open, activity: (runId, of) => server.activity(runId, of) })).resolves.toBeUndefined();
  });

  it('leaves out only cases that exist', () => {
    expect(streamSinkConformance.map(({ name }) => name)).toEqual(expect.arrayContaining(NOT_CARRIED));
  });
});

describe('the heartbeats of heartbeatStreams()', () => {
  let server: FakeHeartbeats;
  let worker: StreamChannel;
  let client: StreamChannel;
  beforeEach(() => {
    vi.useFakeTimers();
    server = new FakeHeartbeats();
    const sink = heartbeatStreams({ everyMs: 500, idleEveryMs: 8_000 });
    worker = sink.open(sinkContext('worker'));
    client = sink.open(sinkContext('client', { client: server.client }));
  });
  afterEach(async () => {
    await Promise.all([worker.close(), client.close()]);
    vi.useRealTimers();
  });

  function publish(activity: PublishingActivity, from: number, to: number, of: StreamedAttempt = ATTEMPT): void {
    for (let index = from; index < to; index += 1)
      worker.publish('r', { ...textEntry(index), of } as ReturnType<typeof textEntry>, activity);
  }

  it('are sent at most once in the time of the option, and only for live runs', async () => {
    const activity = server.activity('r', ATTEMPT);
    for (let index = 0; index < 200; index += 1) {
      publish(activity, index, index + 1);
      await vi.advanceTimersByTimeAsync(20);
    }
    // One at once, and eight in four seconds. The last delta was in time for the last of them.
    expect(server.heartbeats).toBe(9);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(server.heartbeats).toBe(9);
    const notLive = server.activity('r', { ...ATTEMPT, eventId: 'other' }, { live: false });
    publish(notLive, 0, 5, { ...ATTEMPT, eventId: 'other' });
    worker.publish('r', { type: 'recorded', executionId: 'e', events: 1, steps: 0, status: 'running' });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(server.heartbeats).toBe(9);
  });

  it("carry the output of the next model of an attempt, and no longer the previous model's", async () => {
    const activity = server.activity('r', ATTEMPT);
    const next = { ...ATTEMPT, eventId: 'of the next model' };
    publish(activity, 0, 1);
    await vi.advanceTimersByTimeAsync(100);
    // Waits for the time of its heartbeat.
    publish(activity, 1, 2);
    worker.publish('r', { type: 'attempt', of: next }, activity);
    publish(activity, 0, 2, next);
    await vi.advanceTimersByTimeAsync(500);
    const reading = collect(client, 'r');
    await vi.advanceTimersByTimeAsync(500);
    expect(reading.shown).toEqual(['attempt', 0, 1]);
    expect(reading.reads).toMatchObject(Array.from({ length: 3 }, () => ({ entry: { of: next } })));
  });

  it('carry the newest part of a long output, and the reader is told that the rest is missing', async () => {
    const activity = server.activity('r', ATTEMPT);
    publish(activity, 0, 10_000);
    await vi.advanceTimersByTimeAsync(500);
    const reading = collect(client, 'r');
    await vi.advanceTimersByTimeAsync(500);
    expect(reading.shown.slice(0, 2)).toEqual(['attempt', 'lost']);
    expect(reading.shown.at(-1)).toBe(9_999);
    expect(reading.shown.length).toBeGreaterThan(1_000);
    expect(reading.shown.filter((one) => one === 'lost')).toHaveLength(1);
  });

  it('are within their bound for any text', async () => {
    const sizes: number[] = [];
    const activity: PublishingActivity = { live: true, heartbeat: (output) => sizes.push(Buffer.byteLength(JSON.stringify(output))) };
    const texts = ['\u0000'.repeat(3_000), '\uD83D'.repeat(3_000), '"\\'.repeat(3_000), 'ü'.repeat(3_000), 'a', 'x'.repeat(100_000)];
    let index = 0;
    for (const text of texts) {
      for (let count = 0; count < 3_000 && index < 20_000; count += text.length > 1 ? 300 : 1) {
        worker.publish('r', textEntry(index++, text), activity);
        worker.publish(
          'r',
          deltaEntry(index++, { type: 'tool_input', callId: 'c'.repeat(40), toolName: `t${count % 2}`, text: 'a' }),
          activity,
        );
        if (count % 300 === 0) await vi.advanceTimersByTimeAsync(500);
      }
    }
    expect(Math.max(...sizes)).toBeLessThan(36_000);
    expect(Math.max(...sizes)).toBeGreaterThan(20_000);
  });

  it('are asked for at the pace of the option while a call is live, and more and more slowly otherwise', async () => {
    const reading = collect(client, 'r');
    await vi.advanceTimersByTimeAsync(120_000);
    const idle = server.questions;
    expect(idle).toBeLessThan(25);
    const activity = server.activity('r', ATTEMPT);
    publish(activity, 0, 1);
    await vi.advanceTimersByTimeAsync(8_000);
    expect(reading.shown).toEqual(['attempt', 0]);
    const before = server.questions;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(server.questions - before).toBe(20);
    server.end('r', ATTEMPT);
    await vi.advanceTimersByTimeAsync(20_000);
    const after = server.questions;
    await vi.advanceTimersByTimeAsync(80_000);
    expect(server.questions - after).toBe(10);
  });

  it('of a call that is not live cost a reader only a few more questions', async () => {
    collect(client, 'r');
    server.activity('r', ATTEMPT, { live: false });
    await vi.advanceTimersByTimeAsync(100_000);
    expect(server.questions).toBeLessThan(22);
  });

  it('of another attempt start over, also in another process', async () => {
    const reading = collect(client, 'r');
    publish(server.activity('r', ATTEMPT), 0, 2);
    await vi.advanceTimersByTimeAsync(1_000);
    const second = { ...ATTEMPT, attempt: 2 };
    const other = heartbeatStreams().open(sinkContext('worker'));
    const activity = server.activity('r', second);
    other.publish('r', { type: 'attempt', of: second }, activity);
    other.publish('r', { ...textEntry(0), of: second } as ReturnType<typeof textEntry>, activity);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(reading.shown).toEqual(['attempt', 0, 1, 'attempt', 0]);
  });

  it('of several calls are read in parallel, and a position names the place in each', async () => {
    const tool = { ...ATTEMPT, callId: 'tool' };
    const [model, emitting] = [server.activity('r', ATTEMPT), server.activity('r', tool)];
    publish(model, 0, 2);
    publish(emitting, 0, 2, tool);
    await vi.advanceTimersByTimeAsync(500);
    const reading = collect(client, 'r');
    await vi.advanceTimersByTimeAsync(100);
    const after = reading.reads[4]?.position ?? '';
    reading.stop();
    publish(model, 2, 3);
    publish(emitting, 2, 3, tool);
    await vi.advanceTimersByTimeAsync(500);
    const again = collect(client, 'r', after);
    await vi.advanceTimersByTimeAsync(100);
    expect(reading.shown).toEqual(['attempt', 0, 1, 'attempt', 0, 1]);
    expect(again.shown).toEqual([2, 1, 2]);
  });

  it('that ended while a reader was away are reported as lost', async () => {
    publish(server.activity('r', ATTEMPT), 0, 2);
    await vi.advanceTimersByTimeAsync(500);
    const reading = collect(client, 'r');
    await vi.advanceTimersByTimeAsync(100);
    server.end('r', ATTEMPT);
    const again = collect(client, 'r', reading.reads.at(-1)?.position);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(reading.shown).toEqual(['attempt', 0, 1]);
    expect(again.shown).toEqual(['lost']);
  });

  it('are read again as soon as the server is back', async () => {
    const reading = collect(client, 'r');
    const activity = server.activity('r', ATTEMPT);
    publish(activity, 0, 2);
    await vi.advanceTimersByTimeAsync(1_000);
    server.isAway = true;
    await vi.advanceTimersByTimeAsync(30_000);
    server.isAway = false;
    publish(activity, 2, 3);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(reading.shown).toEqual(['attempt', 0, 1, 2]);
  });

  it('that fail, because the attempt has ended, fail nothing else', async () => {
    const activity: PublishingActivity = {
      live: true,
      heartbeat: () => {
        throw new Error('The activity has ended');
      },
    };
    publish(activity, 0, 2);
    await expect(vi.advanceTimersByTimeAsync(1_000)).resolves.toBeDefined();
  });

  it("keep the call's own reports", () => {
    const spent = { reported: { promptTokens: 1, completionTokens: 2, totalTokens: 3 } };
    const details = withStreamedOutput({ of: ATTEMPT, next: 0, parts: [] }, { spent });
    expect(spentIn(details)).toEqual(spent);
    expect(activityDetails(withStreamedOutput({}, 'half done'))).toBe('half done');
    expect(activityDetails(withStreamedOutput({}, undefined))).toBeUndefined();
    expect(withStreamedOutput(undefined, 'half done')).toBe('half done');
  });

  it('of another form do not count as output', () => {
    const forged: unknown[] = [null, 'text', [], { 'longhaul:stream': null }, { 'longhaul:stream': { of: ATTEMPT, next: 1 } }];
    const part = { from: 0, type: 'text', text: 'a', lengths: [1] };
    for (const bad of [{ ...part, from: -1 }, { ...part, lengths: ['1'] }, { ...part, type: 'other' }, { ...part, text: 1 }, null]) {
      forged.push({ 'longhaul:stream': { of: ATTEMPT, next: 1, parts: [bad] } });
    }
    forged.push({ 'longhaul:stream': { of: { ...ATTEMPT, eventId: 1 }, next: 1, parts: [part] } });
    for (const details of forged) expect(streamedOutputIn(details)).toBeUndefined();
    expect(streamedOutputIn({ 'longhaul:stream': { of: ATTEMPT, next: 1, parts: [part] } })).toBeDefined();
  });

  it('are read by clients only', () => {
    expect(() => worker.read('r', { signal: new AbortController().signal })).toThrow('a worker cannot read');
    expect(() => heartbeatStreams({ everyMs: 1 })).toThrow('heartbeatStreams: "everyMs" is 1');
    expect([heartbeatStreams().heartbeatEveryMs, client.announces]).toEqual([500, false]);
  });
});
